package syncserver_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/enactment"
	. "github.com/strabo-engine/strabo/internal/played"
	"github.com/strabo-engine/strabo/syncserver"
	"github.com/strabo-engine/strabo/syncserver/embedded"
	. "github.com/strabo-engine/strabo/syncserver/internal/conformance"
)

// wire is a network between whoever connects to it and a server, which can be cut.
type wire struct {
	listener net.Listener
	done     sync.WaitGroup

	mu     sync.Mutex
	target string
	open   chan struct{} // closed while bytes may pass
	conns  map[net.Conn]bool
	ended  bool
}

// newWire starts a wire that ends with the test.
func newWire(t *testing.T, target string) *wire {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	w := &wire{listener: listener, target: target, open: make(chan struct{}), conns: make(map[net.Conn]bool)}
	close(w.open)
	w.done.Go(w.accept)
	t.Cleanup(w.close)
	return w
}

// URL is where the server seems to be.
func (w *wire) URL() string { return "nats://" + w.listener.Addr().String() }

// lead has new connections lead to another server.
func (w *wire) lead(target string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.target = target
}

// cut keeps all bytes back, in both directions and in new connections, without a word to anybody.
func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open = make(chan struct{})
}

// heal lets bytes pass again, first of all those that were kept back. If they are to be lost, all connections are
// closed instead.
func (w *wire) heal(lose bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if lose {
		for conn := range w.conns {
			_ = conn.Close()
		}
	}
	select {
	case <-w.open:
	default:
		close(w.open)
	}
}

func (w *wire) close() {
	w.mu.Lock()
	w.ended = true
	w.mu.Unlock()
	_ = w.listener.Close()
	w.heal(true)
	w.done.Wait()
}

func (w *wire) accept() {
	for {
		near, err := w.listener.Accept()
		if err != nil {
			return
		}
		w.mu.Lock()
		target := w.target
		w.mu.Unlock()
		far, err := net.Dial("tcp", target)
		if err != nil {
			_ = near.Close()
			continue
		}
		w.mu.Lock()
		w.conns[near], w.conns[far] = true, true
		if w.ended {
			_, _ = near.Close(), far.Close()
		}
		w.mu.Unlock()
		w.done.Go(func() { w.carry(near, far) })
		w.done.Go(func() { w.carry(far, near) })
	}
}

// carry carries bytes until one of the connections is closed.
func (w *wire) carry(from, to net.Conn) {
	defer func() { _, _ = from.Close(), to.Close() }()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		w.mu.Lock()
		open := w.open
		w.mu.Unlock()
		<-open
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// divided is a system of two servers, the first of which reaches its NATS by a wire. Each has agents in its process.
type divided struct {
	wire      *wire
	near, far *syncserver.Client
	server    *syncserver.Server // of near
	direct    *nats.Conn         // to the NATS, not by the wire
}

// dividedTimeout is how long its servers wait for a write.
const dividedTimeout = 300 * time.Millisecond

func divide(t *testing.T, rules *enactment.Rules, window time.Duration) divided {
	t.Helper()
	s := store(t, embedded.Options{Listen: "127.0.0.1:0"})
	d := divided{wire: newWire(t, strings.TrimPrefix(s.URL(), "nats://")), direct: connect(t, s)}
	// Short of a lease, by which the far side knows that the near one is gone, nothing here waits for time to pass.
	config := syncserver.ServerConfig{Window: window, Lease: time.Second, Timeout: dividedTimeout, Logger: quiet()}
	conn, err := nats.Connect(d.wire.URL(), nats.MaxReconnects(-1), nats.ReconnectWait(5*time.Millisecond), nats.ReconnectJitter(0, 0),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})) // it is to have errors
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	server, err := syncserver.NewServer(t.Context(), conn, rules, config)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.NoError(t, server.Close(ctx))
	})
	d.server = server
	d.near = server.Client(syncserver.ClientConfig{Logger: quiet()})
	t.Cleanup(d.near.Close)
	d.far = serve(t, s, rules, config).Client(syncserver.ClientConfig{Logger: quiet()})
	t.Cleanup(d.far.Close)
	t.Cleanup(func() { d.wire.heal(false) })
	return d
}

// TestPartition cuts a server off from its NATS. What is attempted through it is unknown until the network heals: it is
// neither accepted nor refused by what the server knew before. The other server goes on. Afterwards both give the same
// answers, those that the other gave meanwhile; also when what was kept back arrives late.
func TestPartition(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		window time.Duration
		lose   bool
	}{
		{"late", 0, false}, {"lost", 0, true}, {"late in batch", 5 * time.Millisecond, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && test.window > 0 {
				t.Skip("waits for a lease")
			}
			const enactments = 8
			d := divide(t, Rules(t, Purchase), test.window)
			for n := range enactments {
				Accepted(t, d.near, Attempt(Buyer, "RFQ", fmt.Sprint(n), "item", "fig"))
				Accepted(t, d.near, Attempt(Buyer, "RFQ", fmt.Sprint("alone", n), "item", "fig"))
			}
			d.wire.cut()
			each := func(do func(id string)) {
				var all sync.WaitGroup
				for n := range enactments {
					all.Go(func() { do(fmt.Sprint(n)) })
				}
				all.Wait()
			}
			accept := func(id string) enactment.Attempt {
				return Attempt(Buyer, "Accept", id, "price", 1, "address", "here")
			}
			illegal := func(id string) enactment.Attempt { return Attempt(Seller, "Quote", id, "price", 2, "item", "date") }
			unknown := func(a enactment.Attempt) {
				ctx, cancel := context.WithTimeout(t.Context(), 400*time.Millisecond)
				defer cancel()
				outcome, err := d.near.Attempt(ctx, a)
				if err == nil {
					t.Errorf("%s was answered: %v", a.Action, outcome)
				}
			}
			each(func(id string) {
				var all sync.WaitGroup
				// Where the far side does nothing, it may happen in the end.
				for _, a := range []enactment.Attempt{accept(id), illegal(id), accept("alone" + id)} {
					all.Go(func() { unknown(a) })
				}
				all.Wait()
			})
			each(func(id string) { Accepted(t, d.far, Attempt(Buyer, "Reject", id)) })
			each(func(id string) { unknown(Attempt(Buyer, "Urge", id)) })
			d.wire.heal(test.lose)

			each(func(id string) {
				for _, e := range []adapter.Executor{d.near, d.far} {
					if code := Refused(t, e, accept(id)); code != enactment.Excluded {
						t.Errorf("%s: %s after the other was accepted", id, code)
					}
					if code := Refused(t, e, illegal(id)); code != enactment.BoundDifferently {
						t.Errorf("%s: %s for another item", id, code)
					}
				}
				late := Accepted(t, d.far, accept("alone"+id))
				if own := Accepted(t, d.near, accept("alone"+id)); own.Sequence != 2 || late.Sequence != 2 {
					t.Errorf("%s: accepted at %d and %d", id, own.Sequence, late.Sequence)
				}
				urged := Accepted(t, d.near, Attempt(Buyer, "Urge", id))
				if other := Accepted(t, d.far, Attempt(Buyer, "Urge", id)); other.Sequence != urged.Sequence {
					t.Errorf("%s: urged at %d and %d", id, urged.Sequence, other.Sequence)
				}
			})
		})
	}
}

// TestPartitionInStorm cuts a server off in the middle of a storm, more than once, and checks every history.
func TestPartitionInStorm(t *testing.T) {
	t.Parallel()
	for name, window := range map[string]time.Duration{"immediate": 0, "batch": 5 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && window > 0 {
				t.Skip("waits for leases")
			}
			d := divide(t, Rules(t, Purchase), window)
			executors := []adapter.Executor{d.far, d.near, d.far, d.near, d.far, d.near}
			storm{executors: executors, batch: window > 0, meanwhile: func(s *storming) {
				for n := range 2 {
					s.wait(100)
					d.wire.cut()
					for i := range 5 {
						Accepted(t, d.far, Attempt(Buyer, "RFQ", fmt.Sprint("meanwhile", n, i), "item", "fig"))
					}
					d.wire.heal(n == 1)
				}
				s.wait(100)
			}}.run(t)
		})
	}
}

// TestGivenUpBehindPartition has many attempts given up while the server that has them cannot reach the stream of
// arrivals. All but the few that are in messages on their way are forgotten: nothing piles up however long it lasts. One
// message is on its way until the server has waited long enough for it.
func TestGivenUpBehindPartition(t *testing.T) {
	t.Parallel()
	const (
		many    = 1000
		message = 128 // has as many at the most
	)
	rules := Rules(t, Purchase)
	d := divide(t, rules, 5*time.Millisecond)
	Accepted(t, d.near, Attempt(Buyer, "RFQ", "1", "item", "fig"))
	d.wire.cut()
	began := time.Now()
	var all sync.WaitGroup
	for n := range many {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			a := Attempt(Buyer, "Urge", "1")
			a.ID = fmt.Sprint(n)
			if _, err := d.near.Attempt(ctx, a); err == nil {
				t.Error("it was answered")
			}
		})
	}
	all.Wait()
	// The server waits a little longer than those who asked it.
	require.Eventually(t, func() bool { return counters(t, d.server)["strabo_in_flight{}"] == 0 }, time.Minute, 10*time.Millisecond)
	messages := 1 + int(time.Since(began)/dividedTimeout)
	d.wire.heal(false)
	Accepted(t, d.near, Attempt(Seller, "Stop", "1"))
	archive, err := syncserver.NewArchive(t.Context(), d.direct, rules, "", nil)
	require.NoError(t, err)
	urged := 0
	require.NoError(t, archive.Records(t.Context(), "", func(r enactment.Record) bool {
		if r.Action == "Urge" {
			urged++
		}
		return true
	}))
	require.LessOrEqual(t, urged, messages*message)
}
