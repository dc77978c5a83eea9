package enactment_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/big"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/enactment"
)

func FuzzParseValue(f *testing.F) {
	for _, text := range []string{
		`null`, `true`, `-0`, `1.0`, `10e-1`, `1e1000000000`, `18446744073709551617`, `"\ud83d\ude00"`, `"\ud83d"`, `"\\ud83d"`,
		`{"a":1,"b":[{"c":2}]}`, `{"a":1,"\u0061":2}`, `[[[[[]]]]]`, `{"a":{"a":{}}}`, "\"\xff\"", ` [1 , 2] `, `01`, `1.e1`, `"\u00`,
		strings.Repeat("[", 1001) + strings.Repeat("]", 1001),
	} {
		f.Add([]byte(text), []byte(`1`))
		f.Add([]byte(text), []byte(text))
	}
	f.Fuzz(func(t *testing.T, text, other []byte) {
		v, err := enactment.ParseValue(text)
		require.Equal(t, acceptable(text), err == nil, "%q: %v", text, err)
		if err != nil {
			require.ErrorIs(t, err, enactment.Malformed)
			return
		}
		require.True(t, json.Valid([]byte(v.String())))
		again, err := enactment.ParseValue([]byte(v.String()))
		require.NoError(t, err)
		require.True(t, again.Equal(v))
		require.Equal(t, v.String(), again.String())
		var compact bytes.Buffer
		require.NoError(t, json.Compact(&compact, text))
		require.Equal(t, compact.String(), v.String())

		w, err := enactment.ParseValue(other)
		if err != nil || !comparable(text) || !comparable(other) {
			return
		}
		require.Equal(t, plain(v) == plain(w), v.Equal(w), "%s and %s", text, other)
		require.Equal(t, v.Equal(w), w.Equal(v))
	})
}

// acceptable is the rule for values in other words: what encoding/json takes, in UTF-8, without duplicate members and
// lone surrogates, not nested too deep.
func acceptable(text []byte) bool {
	return json.Valid(text) && utf8.Valid(text) && !loneSurrogate(text) && distinctMembers(text) && depth(text) <= 1000
}

var escapes = regexp.MustCompile(`\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)`)

// loneSurrogate looks for an escape of half a character in valid JSON.
func loneSurrogate(text []byte) bool {
	for _, escape := range escapes.FindAllString(string(text), -1) {
		if len(escape) == len(`\ud800`) && strings.Contains("dD", escape[2:3]) && strings.Contains("89abcdefABCDEF", escape[3:4]) {
			return true
		}
	}
	return false
}

func depth(text []byte) int {
	deepest, now, quoted := 0, 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			now++
			deepest = max(deepest, now)
		case c == '}' || c == ']':
			now--
		}
	}
	return deepest
}

// distinctMembers reads valid JSON token by token.
func distinctMembers(text []byte) bool {
	type level struct {
		object bool
		names  map[string]bool
		name   bool // whether a name comes next
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	stack := []level{{}}
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return true
		}
		top := &stack[len(stack)-1]
		if name, ok := token.(string); ok && top.object && top.name {
			if top.names[name] {
				return false
			}
			top.names[name] = true
			top.name = false
			continue
		}
		top.name = top.object
		switch token {
		case json.Delim('{'):
			stack = append(stack, level{object: true, names: make(map[string]bool), name: true})
		case json.Delim('['):
			stack = append(stack, level{})
		case json.Delim('}'), json.Delim(']'):
			stack = stack[:len(stack)-1]
			top := &stack[len(stack)-1]
			top.name = top.object
		}
	}
}

var exponents = regexp.MustCompile(`[0-9][eE][+-]?0*[0-9]{4,}`)

// comparable tells whether the oracle can compare a value: one with small exponents.
func comparable(text []byte) bool { return !exponents.Match(text) && len(text) < 10_000 }

func FuzzNumbersCompareAsRationals(f *testing.F) {
	f.Add(int64(1), int16(0), int64(10), int16(-1))
	f.Add(int64(0), int16(5), int64(0), int16(-5))
	f.Add(int64(-150), int16(-1), int64(-15), int16(0))
	f.Fuzz(func(t *testing.T, a int64, e int16, b int64, g int16) {
		left, right := scientific(a, e), scientific(b, g)
		x, _ := new(big.Rat).SetString(left)
		y, _ := new(big.Rat).SetString(right)
		require.Equal(t, x.Cmp(y) == 0, parse(t, left).Equal(parse(t, right)), "%s and %s", left, right)
	})
}

func scientific(digits int64, exponent int16) string {
	return new(big.Int).SetInt64(digits).String() + "e" + new(big.Int).SetInt64(int64(exponent%400)).String()
}
