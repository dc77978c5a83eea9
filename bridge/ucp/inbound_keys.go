package ucp

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/strabo-engine/strabo/bridge/keyvalue"
)

// keyEntry is what is kept of an Idempotency-Key: what it stands for and, once that was answered, the answer. On its way
// to the store it is its JSON, a line feed, and the bytes of the answer's body.
type keyEntry struct {
	Fingerprint string `json:"fingerprint"`
	Status      int    `json:"status,omitempty"` // 0 while there is no answer
	ETag        string `json:"etag,omitempty"`
	body        []byte
	revision    uint64 // in the store; 0 while it is not there
}

func (k *keyEntry) encode() ([]byte, error) {
	head, err := json.Marshal(k)
	if err != nil {
		return nil, fmt.Errorf("ucp: inbound: an idempotency key: %w", err)
	}
	value := make([]byte, 0, len(head)+1+len(k.body))
	return append(append(append(value, head...), '\n'), k.body...), nil
}

func decodeKey(entry keyvalue.Entry) (*keyEntry, error) {
	k := &keyEntry{revision: entry.Revision}
	head, body, _ := bytes.Cut(entry.Value, []byte{'\n'})
	if err := json.Unmarshal(head, k); err != nil {
		return nil, fmt.Errorf("ucp: inbound: an idempotency key in the store: %w", err)
	}
	k.body = body
	return k, nil
}

func (k *keyEntry) reply() reply { return reply{status: k.Status, body: k.body, etag: k.ETag} }

// fingerprintOf identifies what a key was used for: the operation, the checkout, and the bytes of the body.
func fingerprintOf(operation, checkout string, body []byte) string {
	var buffer [1024]byte
	text := append(append(buffer[:0], operation...), '\n')
	text = append(append(append(text, checkout...), '\n'), body...)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// keyName is the name in the store of an Idempotency-Key.
func keyName(key string) string {
	sum := sha256.Sum256([]byte(key))
	return "key." + hex.EncodeToString(sum[:])
}

var tokens = base32.NewEncoding(tokenLetters).WithPadding(base32.NoPadding)

// tokenLetters are what a token is made of.
const tokenLetters = "abcdefghijklmnopqrstuvwxyz234567"

// tokenOf makes what ids of attempts are made of: of the key, so that repeating a request repeats its attempts; at random
// where there is none.
func tokenOf(key string) string {
	if key == "" {
		key = uuid.NewString()
	}
	sum := sha256.Sum256([]byte("token\n" + key))
	return tokens.EncodeToString(sum[:16])
}

// checkoutPrefix begins every checkout id.
const checkoutPrefix = "chk_"

// checkoutID is the id of the checkout that a create with a token makes.
func checkoutID(token string) string { return checkoutPrefix + token }

// isCheckoutID tells whether there may be a checkout with an id.
func isCheckoutID(id string) bool {
	token, ok := strings.CutPrefix(id, checkoutPrefix)
	return ok && len(token) == tokens.EncodedLen(16) && strings.Trim(token, tokenLetters) == ""
}

// flight is the request with a key that this process is answering.
type flight struct {
	fingerprint string
	done        chan struct{}
	answer      reply // once done is closed
}

// once answers a request with a key: by do, or as it was answered before. Of several requests with one key in this
// process one is done and the others wait for it. An answer that is transient is not kept; the next request with the key
// is done again, with the same token, and must still be the same request.
//
// A create is not noted down before it is done: its checkout is made of its key, so the engine sees to it that it is done
// once, and only its answer is kept.
func (in *Inbound) once(ctx context.Context, c call, do func() (reply, bool, error)) reply {
	if c.key == "" {
		answer, _, err := do()
		if err != nil {
			return in.failed(ctx, err)
		}
		return answer
	}
	name := keyName(c.key)
	mine := &flight{fingerprint: c.fingerprint, done: make(chan struct{})}
	for {
		other, taken := in.flights.LoadOrStore(name, mine)
		if !taken {
			break
		}
		running := other.(*flight)
		if running.fingerprint != c.fingerprint {
			return in.failed(ctx, keyReused)
		}
		select {
		case <-running.done:
			if running.answer.status != 0 {
				return running.answer
			}
		case <-ctx.Done():
			return in.failed(ctx, unanswered("The request with this Idempotency-Key"))
		}
	}
	defer func() {
		in.flights.Delete(name)
		close(mine.done)
	}()
	answer, kept, err := in.answerOnce(ctx, c, name, do)
	if err != nil {
		return in.failed(ctx, err)
	}
	if kept {
		mine.answer = answer
	}
	return answer
}

// answerOnce is once, for the one request of a key in this process. It tells whether the answer is kept.
func (in *Inbound) answerOnce(ctx context.Context, c call, name string, do func() (reply, bool, error)) (reply, bool, error) {
	entry := &keyEntry{Fingerprint: c.fingerprint}
	if !c.creates {
		var err error
		if entry, err = in.reserve(ctx, name, c.fingerprint); err != nil {
			return reply{}, false, err
		}
		if entry.Status != 0 {
			return entry.reply(), true, nil
		}
	}
	answer, transient, err := do()
	if errors.Is(err, errReused) {
		return in.recall(ctx, name, c.fingerprint)
	}
	if err != nil || transient {
		return answer, false, err
	}
	return in.keep(ctx, name, entry, answer)
}

// reserve notes down what a key stands for, or finds what it stood for before.
func (in *Inbound) reserve(ctx context.Context, name, fingerprint string) (*keyEntry, error) {
	entry := &keyEntry{Fingerprint: fingerprint}
	value, err := entry.encode()
	if err != nil {
		return nil, err
	}
	entry.revision, err = in.options.Keys.Put(ctx, name, value, 0)
	if !errors.Is(err, keyvalue.ErrConflict) {
		return entry, err
	}
	stored, err := in.options.Keys.Get(ctx, name)
	if err != nil {
		return nil, err
	}
	if entry, err = decodeKey(stored); err != nil {
		return nil, err
	}
	if entry.Fingerprint != fingerprint {
		return nil, keyReused
	}
	return entry, nil
}

// keep keeps an answer, or finds the one that another process has kept for the same request.
func (in *Inbound) keep(ctx context.Context, name string, entry *keyEntry, answer reply) (reply, bool, error) {
	entry.Status, entry.ETag, entry.body = answer.status, answer.etag, answer.body
	value, err := entry.encode()
	if err != nil {
		return reply{}, false, err
	}
	_, err = in.options.Keys.Put(ctx, name, value, entry.revision)
	if errors.Is(err, keyvalue.ErrConflict) {
		return in.recall(ctx, name, entry.Fingerprint)
	}
	if err != nil {
		return reply{}, false, err
	}
	return answer, true, nil
}

// recall finds the answer that was given for a key.
func (in *Inbound) recall(ctx context.Context, name, fingerprint string) (reply, bool, error) {
	stored, err := in.options.Keys.Get(ctx, name)
	switch {
	case errors.Is(err, keyvalue.ErrNone):
		// Another request with the key is being answered, or was asked for otherwise and never answered.
		return reply{}, false, keyReused
	case err != nil:
		return reply{}, false, err
	}
	entry, err := decodeKey(stored)
	switch {
	case err != nil:
		return reply{}, false, err
	case entry.Fingerprint != fingerprint:
		return reply{}, false, keyReused
	case entry.Status == 0:
		return reply{}, false, unanswered("The request with this Idempotency-Key")
	}
	return entry.reply(), true, nil
}
