package bridge_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/bridge"
)

// chaos is a hotel without a network that keeps idempotency keys, and a network that loses whatever it likes. It kills
// the bridge too.
type chaos struct {
	mu      sync.Mutex
	random  *rand.Rand
	calm    bool
	done    map[string]bridge.Response // by key
	effects map[string]int             // by what was done
	bodies  map[string]string          // by key
	receipt string
	kill    chan struct{}
	faulty  []string
}

var errLost = errors.New("lost")

func (c *chaos) Call(ctx context.Context, r bridge.Request) (bridge.Response, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fate := 99
	if !c.calm {
		fate = c.random.IntN(16)
	}
	switch fate {
	case 0, 1:
		return bridge.Response{}, &bridge.NotSentError{Err: errLost}
	case 2:
		return bridge.Response{}, errLost
	case 3:
		return bridge.Response{Status: 500}, nil
	}
	response := c.serve(r)
	switch fate {
	case 4, 5, 6:
		return bridge.Response{}, errLost
	case 7:
		response.Body = response.Body[:len(response.Body)/2]
	case 8, 9:
		// The process dies after the request has had its effect.
		c.mu.Unlock()
		select {
		case c.kill <- struct{}{}:
			<-ctx.Done()
		default:
		}
		c.mu.Lock()
		return bridge.Response{}, errLost
	}
	return response, nil
}

func (c *chaos) serve(r bridge.Request) bridge.Response {
	if r.Method == http.MethodGet {
		if c.receipt != "" {
			return bridge.Response{Status: 200, Body: fmt.Appendf(nil, `{"receipt":%q,"bed":"left"}`, c.receipt)}
		}
		return bridge.Response{Status: 200, Body: []byte(`{"state":"open","bed":"left"}`)}
	}
	key := r.Header.Get("Idempotency-Key")
	if before, again := c.done[key]; again {
		if c.bodies[key] != string(r.Body) {
			c.faulty = append(c.faulty, "another body under the same key: "+string(r.Body))
		}
		return before
	}
	what := r.Method + " " + r.URL[strings.LastIndexByte(r.URL, '/')+1:]
	c.effects[what]++
	response := bridge.Response{Status: 200, Body: []byte(`{}`)}
	switch what {
	case "POST reservations":
		response = bridge.Response{Status: 201, Body: []byte(`{"number":"n1","price":1,"beds":["left"]}`)}
	case "POST payment":
		c.receipt = fmt.Sprintf("q%d", c.effects[what])
		response.Body = fmt.Appendf(nil, `{"receipt":%q}`, c.receipt)
	}
	c.done[key], c.bodies[key] = response, string(r.Body)
	return response
}

// Whatever is lost and whoever dies: each thing is done once, is answered as it was done, and is never answered while it
// is unknown.
func TestChaos(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			s := newStage(t)
			c := &chaos{
				random: rand.New(rand.NewPCG(seed, 1)), kill: make(chan struct{}),
				done: make(map[string]bridge.Response), effects: make(map[string]int), bodies: make(map[string]string),
			}
			journal := &bridge.MemoryJournal{}
			start := func() func() {
				return s.start(with(journal), func(o *bridge.Options) { o.Caller = c })
			}
			stop := start()
			await := func(action string) {
				for {
					select {
					case o := <-s.observed:
						require.Equal(t, action, o.Action)
						return
					case <-c.kill:
						stop()
						stop = start()
					case d := <-s.diverged:
						t.Fatalf("diverged: %+v", d)
					case u := <-s.unknown:
						require.NotContains(t, s.happened(), action)
						require.NotEmpty(t, u.Detail)
						c.mu.Lock()
						c.calm = true
						c.mu.Unlock()
						if err := s.bridge.Settle(t.Context(), key); err != nil {
							require.ErrorIs(t, err, bridge.ErrNotHeld)
						}
					}
				}
			}
			s.ask()
			await("Booked")
			c.mu.Lock()
			c.calm = false
			c.mu.Unlock()
			s.attempt("Pay", adapter.Values{"rid": "r1", "number": "n1", "card": token})
			await("Paid")

			c.mu.Lock()
			defer c.mu.Unlock()
			assert.Equal(t, 1, c.effects["POST reservations"])
			assert.Equal(t, 1, c.effects["POST payment"])
			assert.LessOrEqual(t, c.effects["PUT n1"], 1)
			assert.Equal(t, "q1", c.receipt)
			assert.Empty(t, c.faulty)
			assert.Equal(t, []string{"Ask", "Booked", "Pay", "Paid"}, s.happened())
		})
	}
}
