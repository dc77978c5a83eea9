// Package wire says how servers and clients of one system spell what they send and store: subjects, attempts, answers,
// log entries and deliveries. Everything is JSON, so that the tools of NATS show something readable.
//
// It knows no connection and decides nothing. Start reading at [Subjects] and [Entry].
package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// longest is how many bytes a token may have; what is longer is hashed.
const longest = 200

const hashedPrefix = "=="

// Token spells any string as one token of a subject: letters, digits, _ and - stand for themselves, any other byte is =
// and two hexadecimal digits, and the empty string is =. A spelling of more than 200 bytes is == and the SHA-256 of the
// string instead: see [Hashed].
func Token(text string) string {
	var buffer [longest + 3]byte
	return string(appendToken(buffer[:0], text))
}

// appendToken is [Token], behind what is there.
func appendToken(to []byte, text string) []byte {
	const digits = "0123456789ABCDEF"
	if text == "" {
		return append(to, '=')
	}
	before := len(to)
	for i := range len(text) {
		if c := text[i]; plain(c) {
			to = append(to, c)
		} else {
			to = append(to, '=', digits[c>>4], digits[c&15])
		}
		if len(to)-before > longest {
			sum := sha256.Sum256([]byte(text))
			return hex.AppendEncode(append(to[:before], hashedPrefix...), sum[:])
		}
	}
	return to
}

func plain(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-'
}

// Hashed tells whether a token stands for a string that it does not tell.
func Hashed(token string) bool { return strings.HasPrefix(token, hashedPrefix) }

// ParseToken gives the string that a token was made of. The error says that no string, or one that was hashed, has that
// token.
func ParseToken(token string) (string, error) {
	if token == "=" {
		return "", nil
	}
	text := make([]byte, 0, len(token))
	for i := 0; i < len(token); i++ {
		switch c := token[i]; {
		case plain(c):
			text = append(text, c)
		case c == '=' && i+2 < len(token):
			b, err := hex.DecodeString(token[i+1 : i+3])
			if err != nil {
				return "", fmt.Errorf("wire: token %q: %w", token, err)
			}
			text = append(text, b...)
			i += 2
		default:
			return "", fmt.Errorf("wire: %q is no token that tells a string", token)
		}
	}
	if len(text) == 0 || Token(string(text)) != token {
		return "", fmt.Errorf("wire: %q is not how a token is spelt", token)
	}
	return string(text), nil
}
