package audit

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// Hasher gives hashes of what must be told apart but not be known. A plain hash would not do: whoever reads it can try
// every card number, or every body with one, until it fits. These are HMAC-SHA-256 under a key that is kept apart from
// the records, so that only who has the key can try. Equal inputs have equal hashes under the same key.
type Hasher struct {
	key []byte
	// macs are hash.Hash that are ready for use again, for a new one hashes the key twice.
	macs sync.Pool
}

// HashKeySize is the length of a Hasher's key in bytes.
const HashKeySize = 32

// NewHasher makes a hasher of a secret key of at least [HashKeySize] random bytes; nil makes a key of its own that is
// gone with the process, so that hashes of two runs cannot be compared. It panics at a shorter key, which is a fault of
// the program.
func NewHasher(key []byte) *Hasher {
	if key == nil {
		key = make([]byte, HashKeySize)
		_, _ = rand.Read(key) // It never fails.
	}
	if len(key) < HashKeySize {
		panic("audit: the key of a hasher is too short")
	}
	return &Hasher{key: append([]byte(nil), key...)}
}

// Key gives the hash of an idempotency key; empty for none.
func (h *Hasher) Key(key string) string {
	if key == "" {
		return ""
	}
	return h.sum("key", []byte(key))
}

// Request gives the hash of the exact bytes of a request: it changes with the method, the URL and the body.
func (h *Hasher) Request(method, url string, body []byte) string {
	return h.sum("request", []byte(method), []byte(url), body)
}

// sum hashes parts so that no two lists of parts give the same bytes.
func (h *Hasher) sum(use string, parts ...[]byte) string {
	mac, again := h.macs.Get().(hash.Hash)
	if !again {
		mac = hmac.New(sha256.New, h.key)
	}
	mac.Reset()
	defer h.macs.Put(mac)
	write(mac, []byte(use))
	for _, part := range parts {
		write(mac, part)
	}
	return hex.EncodeToString(mac.Sum(nil))
}

func write(mac hash.Hash, part []byte) {
	var length [8]byte
	binary.BigEndian.PutUint64(length[:], uint64(len(part)))
	mac.Write(length[:])
	mac.Write(part)
}

// LoadHasher makes a hasher of the key in a file, which is made if there is none, readable by its owner only, so that the
// hashes of several runs and processes can be compared. Keep the file apart from the records: it is a secret. The error
// says that the file cannot be read or made, or holds no key.
func LoadHasher(name string) (*Hasher, error) {
	for {
		text, err := os.ReadFile(name)
		if err == nil {
			key, err := hex.DecodeString(strings.TrimSpace(string(text)))
			if err != nil || len(key) != HashKeySize {
				return nil, fmt.Errorf("audit: %s is no key of %d bytes in hexadecimal", name, HashKeySize)
			}
			return NewHasher(key), nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("audit: key: %w", err)
		}
		if err := makeKey(name); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("audit: key: %w", err)
		}
	}
}

// makeKey makes a key file that is there as a whole or not at all, unless another is ahead.
func makeKey(name string) error {
	key := make([]byte, HashKeySize)
	_, _ = rand.Read(key)                                                        // It never fails.
	file, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".tmp-*") // of mode 0600
	if err != nil {
		return err
	}
	_, err = file.WriteString(hex.EncodeToString(key) + "\n")
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Link(file.Name(), name)
	}
	return errors.Join(err, os.Remove(file.Name()))
}
