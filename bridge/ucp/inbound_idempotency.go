package ucp

import (
	"container/list"
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"
)

// answers remembers what was answered for each Idempotency-Key, bounded in number, bytes and time.
type answers struct {
	most      int
	mostBytes int64
	until     time.Duration

	mu     sync.Mutex
	bytes  int64 // of all replies that are kept
	byKey  map[string]*list.Element
	oldest *list.List // of *answered, by first use
}

// answered is one Idempotency-Key.
type answered struct {
	key         string
	fingerprint [sha256.Size]byte
	first       time.Time
	// token is what ids of attempts are made of: repeating a request whose outcome is unknown repeats its attempts, and
	// so asks for their outcome.
	token string
	// running is closed when the request that is being answered now is; nil if none is.
	running chan struct{}
	// reply is the answer to be repeated, once known.
	reply *reply
}

func newAnswers(most int, mostBytes int64, until time.Duration) *answers {
	return &answers{most: most, mostBytes: mostBytes, until: until, byKey: make(map[string]*list.Element), oldest: list.New()}
}

// fingerprintOf identifies what a key was used for: the operation, the checkout, and the bytes of the body.
func fingerprintOf(operation, checkout string, body []byte) [sha256.Size]byte {
	hash := sha256.New()
	fmt.Fprintf(hash, "%s\n%s\n", operation, checkout)
	hash.Write(body)
	return [sha256.Size]byte(hash.Sum(nil))
}

// once answers a request with a key: by do, or as it was answered before. Of several requests with one key at the same
// time one is done and the others wait for it. Without a key it is just done. An answer that do calls transient is not
// kept; the next request with the key is done again, with the same token.
func (a *answers) once(ctx context.Context, key string, fingerprint [sha256.Size]byte, do func(token string) (reply, bool)) (reply, error) {
	if key == "" {
		r, _ := do(uuid.NewString())
		return r, nil
	}
	for {
		entry, begun, waiting := a.begin(key, fingerprint)
		switch {
		case entry == nil:
			return reply{}, &problem{
				status: http.StatusConflict, code: "IDEMPOTENCY_CONFLICT", transient: true,
				detail: "The Idempotency-Key was used for another request.",
			}
		case begun:
			return a.do(entry, do), nil
		case waiting == nil:
			return *entry.reply, nil
		}
		select {
		case <-waiting:
		case <-ctx.Done():
			return reply{}, unanswered("The request with this Idempotency-Key")
		}
	}
}

// begin finds or makes the entry of a key: begun, if the caller is to answer; to wait for, if another does; answered,
// if neither. It gives no entry if the key stands for another request.
func (a *answers) begin(key string, fingerprint [sha256.Size]byte) (entry *answered, begun bool, waiting chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	a.forget(now, 1)
	element, ok := a.byKey[key]
	if !ok {
		entry = &answered{key: key, fingerprint: fingerprint, first: now, token: uuid.NewString(), running: make(chan struct{})}
		a.byKey[key] = a.oldest.PushBack(entry)
		return entry, true, nil
	}
	entry = element.Value.(*answered)
	switch {
	case entry.fingerprint != fingerprint:
		return nil, false, nil
	case entry.running != nil:
		return entry, false, entry.running
	case entry.reply != nil:
		return entry, false, nil
	}
	entry.running = make(chan struct{})
	return entry, true, nil
}

// forget drops what is too old, and the oldest of what is too much, so that there is place for more; never what is being
// answered.
func (a *answers) forget(now time.Time, more int) {
	for element := a.oldest.Front(); element != nil; {
		next := element.Next()
		entry := element.Value.(*answered)
		if now.Sub(entry.first) < a.until && a.oldest.Len()+more <= a.most && a.bytes <= a.mostBytes {
			return
		}
		if entry.running == nil {
			a.oldest.Remove(element)
			delete(a.byKey, entry.key)
			if entry.reply != nil {
				a.bytes -= int64(len(entry.reply.body))
			}
		}
		element = next
	}
}

func (a *answers) do(entry *answered, do func(token string) (reply, bool)) reply {
	var kept *reply
	defer func() { // Also if do panics: whoever waits must not wait for ever.
		a.mu.Lock()
		defer a.mu.Unlock()
		entry.reply = kept
		close(entry.running)
		entry.running = nil
		if kept != nil {
			a.bytes += int64(len(kept.body))
			a.forget(time.Now(), 0)
		}
	}()
	answer, transient := do(entry.token)
	if !transient {
		kept = &answer
	}
	return answer
}
