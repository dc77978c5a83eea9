package syncserver_test

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/internal/played"
	"github.com/strabo-engine/strabo/syncserver"
	"github.com/strabo-engine/strabo/syncserver/embedded"
)

// disorder carries attempts from one NATS, where agents are, to another, where the servers are: a few at a time, in an
// order of its own, and every one twice. It keeps all that it carried.
type disorder struct {
	from, to *nats.Conn
	arrived  chan *nats.Msg
	quit     chan struct{}
	done     sync.WaitGroup

	mu      sync.Mutex
	carried []*nats.Msg
	answers sync.WaitGroup // that are carried back
}

func newDisorder(t *testing.T, from, to *nats.Conn) *disorder {
	t.Helper()
	d := &disorder{from: from, to: to, arrived: make(chan *nats.Msg, 1024), quit: make(chan struct{})}
	_, err := from.ChanSubscribe("strabo.purchase.attempt.>", d.arrived)
	require.NoError(t, err)
	require.NoError(t, from.Flush())
	d.done.Go(d.carry)
	t.Cleanup(func() {
		close(d.quit)
		d.done.Wait()
		d.answers.Wait()
	})
	return d
}

// carry waits for a few messages, or a moment, and sends what there is.
func (d *disorder) carry() {
	var together []*nats.Msg
	for {
		var late <-chan time.Time
		if len(together) > 0 {
			late = time.After(3 * time.Millisecond)
		}
		select {
		case <-d.quit:
			return
		case msg := <-d.arrived:
			if together = append(together, msg); len(together) < 8 {
				continue
			}
		case <-late:
		}
		d.send(together)
		together = nil
	}
}

// send sends each of the messages twice, in any order. The first answer is carried back.
func (d *disorder) send(together []*nats.Msg) {
	d.mu.Lock()
	d.carried = append(d.carried, together...)
	d.mu.Unlock()
	twice := append(together, together...)
	rand.Shuffle(len(twice), func(i, j int) { twice[i], twice[j] = twice[j], twice[i] })
	for _, msg := range twice {
		d.answers.Go(func() {
			if answer, err := d.to.Request(msg.Subject, msg.Data, 10*time.Second); err == nil {
				_ = d.from.Publish(msg.Reply, answer.Data) // nobody listens by the second time
			}
		})
	}
}

// TestDisorder has attempts arrive in another order than they were made in and all of them twice, and checks every
// history. When all is decided, everything is delivered once more, in any order at all, and nothing comes of it.
func TestDisorder(t *testing.T) {
	t.Parallel()
	for name, window := range map[string]time.Duration{"immediate": 0, "batch": 2 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rules := played.Rules(t, played.Purchase)
			near, far := store(t, embedded.Options{}), store(t, embedded.Options{})
			for range 2 {
				serve(t, far, rules, syncserver.ServerConfig{Window: window})
			}
			// One agent is where the servers are; it is also the one that reads the logs in the end.
			executors := []adapter.Executor{client(t, connect(t, far), rules)}
			d := newDisorder(t, connect(t, near), connect(t, far))
			for range 7 {
				executors = append(executors, client(t, connect(t, near), rules))
			}
			storm{executors: executors, batch: window > 0, enactments: 12}.run(t)
			d.answers.Wait()
			before := written(t, d.to)
			require.Greater(t, len(d.carried), 100)
			d.send(d.carried)
			d.answers.Wait()
			require.Equal(t, before, written(t, d.to))
		})
	}
}
