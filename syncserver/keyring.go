package syncserver

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// Keyring seals values that are secret before they are stored (AES-256-GCM). The first key seals; every key opens, so
// that a new one can be put in front of the old ones.
type Keyring struct {
	keys []key
}

// ErrNoKeys says that a protocol has secrets and that there are no keys to seal and open them with.
var ErrNoKeys = errors.New("syncserver: the protocol has secrets, and there are no keys to seal and open them with")

type key struct {
	id   [keyIDSize]byte
	aead cipher.AEAD
}

const (
	keySize   = 32
	keyIDSize = 4
)

// NewKeyring makes a keyring of keys of 32 bytes each. The first seals. The error says that there is none, or one of
// another size.
func NewKeyring(keys ...[]byte) (*Keyring, error) {
	if len(keys) == 0 {
		return nil, errors.New("syncserver: a keyring needs a key")
	}
	k := &Keyring{}
	for _, text := range keys {
		if len(text) != keySize {
			return nil, fmt.Errorf("syncserver: a key has %d bytes, not %d", keySize, len(text))
		}
		block, err := aes.NewCipher(text)
		if err != nil {
			return nil, err
		}
		aead, err := cipher.NewGCM(block)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(append([]byte("strabo key "), text...))
		k.keys = append(k.keys, key{[keyIDSize]byte(sum[:keyIDSize]), aead})
	}
	return k, nil
}

// LoadKeyring reads a keyring from a file: one key a line, in base64. If there is no file, it is made with a new key,
// readable by its owner alone. The error says that the file cannot be read or made, or what in it is no key.
func LoadKeyring(path string) (*Keyring, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		fresh := make([]byte, keySize)
		_, _ = rand.Read(fresh) // it never fails
		text = []byte(base64.StdEncoding.EncodeToString(fresh) + "\n")
		err = writeNew(path, text)
	}
	if err != nil {
		return nil, fmt.Errorf("syncserver: keys: %w", err)
	}
	var keys [][]byte
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		decoded, err := base64.StdEncoding.DecodeString(line)
		if err != nil {
			return nil, fmt.Errorf("syncserver: keys: a line of %s is not base64", path)
		}
		keys = append(keys, decoded)
	}
	return NewKeyring(keys...)
}

// writeNew writes a file that must not be there, and has it on disk before it returns.
func writeNew(path string, text []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	return errors.Join(err, file.Sync(), file.Close())
}

// Seal makes a text that only the keyring opens, and only with the same context.
func (k *Keyring) Seal(plain, context []byte) []byte {
	first := &k.keys[0]
	nonce := make([]byte, first.aead.NonceSize())
	_, _ = rand.Read(nonce) // it never fails
	sealed := append(first.id[:], nonce...)
	return first.aead.Seal(sealed, nonce, plain, context)
}

// Open gives what was sealed. The error says that no key of the ring sealed it, or that it or its context was changed.
func (k *Keyring) Open(sealed, context []byte) ([]byte, error) {
	for i := range k.keys {
		key := &k.keys[i]
		size := key.aead.NonceSize()
		if len(sealed) < keyIDSize+size || [keyIDSize]byte(sealed[:keyIDSize]) != key.id {
			continue
		}
		nonce := sealed[keyIDSize : keyIDSize+size]
		return key.aead.Open(nil, nonce, sealed[keyIDSize+size:], context)
	}
	return nil, errors.New("syncserver: no key of the ring opens this")
}
