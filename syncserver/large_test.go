package syncserver_test

import (
	"context"
	"fmt"
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

var writer = enactment.Identity{Role: "Writer"}

// page writes a page of a book, with so many bytes of text.
func page(book string, n, bytes int) enactment.Attempt {
	return enactment.Attempt{
		ID: fmt.Sprint(book, "-", n), Identity: writer, Action: "Write", Values: enactment.Values{
			"Book": enactment.MustValue(book), "Page": enactment.MustValue(n), "text": enactment.MustValue(strings.Repeat("x", bytes)),
		},
	}
}

func bookKey(book string) enactment.Key { return enactment.Key(fmt.Sprintf(`{"Book":%q}`, book)) }

// pagesOf receives until so many pages of a book came, each once and in order, and gives the sequence of the last
// delivery. The history begins with the first; if it is known to be history, there is more after each but the last.
func pagesOf(t *testing.T, feed adapter.Feed, key enactment.Key, count int, known bool) uint64 {
	t.Helper()
	var sequence uint64
	for pages := 0; pages < count; {
		d := received(t, feed)
		require.Equal(t, key, d.Key)
		require.False(t, d.Revoked)
		require.Equal(t, pages == 0, d.Begins)
		require.Greater(t, d.Finalisation.Sequence, sequence)
		sequence = d.Finalisation.Sequence
		pages += len(d.Finalisation.Instances)
		if known || pages == count {
			require.Equal(t, pages < count, d.More, "%d of %d", pages, count)
		}
	}
	return sequence
}

// patient is a client that asks once and waits: whoever asks a busy server again and again for what is large keeps it busy.
func patient(t *testing.T, conn *nats.Conn, rules *enactment.Rules) *syncserver.Client {
	t.Helper()
	c, err := syncserver.NewClient(conn, rules, syncserver.ClientConfig{Try: time.Minute, Logger: quiet()})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// received is the next delivery of a feed. It may take as long as a busy machine needs for one, however many there are.
func received(t *testing.T, feed adapter.Feed) adapter.Delivery {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	d, err := feed.Receive(ctx)
	require.NoError(t, err)
	return d
}

// TestLargeHistory has enactments whose history is larger than a message of NATS may be, and longer than a feed has room
// for: who joins late gets all of it, and so does who has let go of it.
func TestLargeHistory(t *testing.T) {
	t.Parallel()
	const bytes = 10_000
	count := 300
	rules := Rules(t, Notes)
	s := store(t, embedded.Options{})
	server := serve(t, s, rules, syncserver.ServerConfig{})
	here := server.Client(syncserver.ClientConfig{Logger: quiet()})
	t.Cleanup(here.Close)
	for n := range count {
		Accepted(t, here, page("1", n, bytes))
	}
	for _, test := range []struct {
		name string
		at   adapter.Executor
	}{{"over NATS", patient(t, connect(t, s), rules)}, {"in process", here}} {
		t.Run(test.name, func(t *testing.T) {
			feed := Join(t, test.at, writer)
			last := pagesOf(t, feed, bookKey("1"), count, false)
			require.True(t, feed.Release(bookKey("1"), last))
			Accepted(t, here, page("1", count, bytes))
			count++
			pagesOf(t, feed, bookKey("1"), count, true)
			require.NoError(t, feed.Close())
		})
	}
}

// TestLargeHistoryChangesServers has a server go away while it delivers a large history, of an enactment that is new to the
// identity and of one that another feed of it had before.
func TestLargeHistoryChangesServers(t *testing.T) {
	t.Parallel()
	for _, another := range []bool{false, true} {
		t.Run(fmt.Sprint("another feed had it: ", another), func(t *testing.T) { changeServers(t, another) })
	}
}

func changeServers(t *testing.T, another bool) {
	t.Helper()
	const count, bytes = 120, 20_000
	rules := Rules(t, Notes)
	s := store(t, embedded.Options{})
	first, err := syncserver.NewServer(t.Context(), connect(t, s), rules, syncserver.ServerConfig{Timeout: time.Minute, Logger: quiet()})
	require.NoError(t, err)
	writing := patient(t, connect(t, s), rules)
	for n := range count {
		Accepted(t, writing, page("1", n, bytes))
	}
	if another {
		feed, err := writing.Join(t.Context(), writer)
		require.NoError(t, err)
		Receive(t, feed, 1)
		require.NoError(t, feed.Close())
	}
	c, err := syncserver.NewClient(connect(t, s), rules, syncserver.ClientConfig{Buffer: 8, Logger: quiet()})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	feed := Join(t, c, writer)
	next := uint64(1)
	for ; next <= 20; next++ {
		require.Equal(t, next, received(t, feed).Finalisation.Sequence)
		require.LessOrEqual(t, syncserver.Queued(feed), 8)
	}
	require.NoError(t, first.Close(t.Context()))
	serve(t, s, rules, syncserver.ServerConfig{})
	Accepted(t, writing, page("1", count, bytes))
	for ; next <= count+1; next++ {
		require.Equal(t, next, received(t, feed).Finalisation.Sequence)
	}
}

// TestLargeWindow has attempts in one window that together are larger than a message of NATS may be.
func TestLargeWindow(t *testing.T) {
	t.Parallel()
	const count, bytes = 32, 100_000
	rules := Rules(t, Notes)
	s := store(t, embedded.Options{})
	for range 2 {
		serve(t, s, rules, syncserver.ServerConfig{Window: 200 * time.Millisecond})
	}
	e := patient(t, connect(t, s), rules)
	feed := Join(t, e, writer)
	var all sync.WaitGroup
	for n := range count {
		all.Go(func() { Accepted(t, e, page("1", n, bytes)) })
	}
	all.Wait()
	seen := make(map[string]bool)
	for len(seen) < count {
		d := received(t, feed)
		for _, i := range d.Finalisation.Instances {
			value, _ := i.Value("Page")
			require.False(t, seen[value.String()], "twice")
			seen[value.String()] = true
		}
	}
}

// bundle has an action that repeats what others have bound, so that it is as large as all of them.
const bundle = `Bundle
who Packer, Reader
what Box key, All
do
  Packer: One(Box, a)
  Packer: Two(Box, b)
  Packer: Three(Box, c)
  Packer: Four(Box, d)
  Packer: All(Box, a, b, c, d)
sayso
  Packer: a, b, c, d
`

// TestTooLarge has attempts by which something would happen that fits no message: they are refused, once for all, by
// whoever they come and however they are decided, and what is about as large as may be is delivered.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	for _, window := range []time.Duration{0, time.Millisecond} {
		for _, place := range []string{"in process", "over NATS"} {
			t.Run(fmt.Sprint(place, " ", window), func(t *testing.T) {
				t.Parallel()
				rules := Rules(t, bundle)
				s := store(t, embedded.Options{})
				server := serve(t, s, rules, syncserver.ServerConfig{Window: window})
				var e adapter.Executor
				if place == "in process" {
					c := server.Client(syncserver.ClientConfig{Logger: quiet()})
					t.Cleanup(c.Close)
					e = c
				} else {
					e = patient(t, connect(t, s), rules)
				}
				try := func(action, box string, values ...any) enactment.Attempt {
					a := Attempt(enactment.Identity{Role: "Packer"}, action, box)
					delete(a.Values, "ID")
					a.Values["Box"] = enactment.MustValue(box)
					for i := 0; i < len(values); i += 2 {
						a.Values[values[i].(string)] = enactment.MustValue(values[i+1])
					}
					return a
				}
				much := strings.Repeat("x", 250<<10)
				require.Equal(t, enactment.Malformed, Refused(t, e, try("One", "1", "a", much+much)))
				require.Equal(t, enactment.Malformed, Refused(t, e, try("One", "1", "a", strings.Repeat(much, 5))))
				for action, name := range map[string]string{"One": "a", "Two": "b", "Three": "c", "Four": "d"} {
					Accepted(t, e, try(action, "1", name, much))
				}
				all := try("All", "1")
				require.Equal(t, enactment.Malformed, Refused(t, e, all))
				require.Equal(t, enactment.Malformed, Refused(t, e, all), "the same answer again")

				// Two of these beside each other are as large as may be.
				for action, name := range map[string]string{"One": "a", "Two": "b", "Three": "c", "Four": "d"} {
					Accepted(t, e, try(action, "2", name, much[:140<<10]))
				}
				Accepted(t, e, try("All", "2"))
				// A key is in a message more than once.
				large := try("One", much[:200<<10], "a", much[:50<<10])
				large.ID = "large"
				Accepted(t, e, large)

				feed := Join(t, patient(t, connect(t, s), rules), enactment.Identity{Role: "Packer"})
				for completed, seen := false, false; !completed || !seen; {
					d := received(t, feed)
					completed = completed || d.Finalisation.Completed
					if len(d.Key) > 200<<10 {
						seen = true
						storing, cancel := context.WithTimeout(t.Context(), time.Minute)
						require.NoError(t, feed.Store(storing, d.Key, d.Finalisation.Sequence))
						cancel()
					}
				}
			})
		}
	}
}

// TestLargeKeys has positions stored at once whose enactments have keys that together fit no message.
func TestLargeKeys(t *testing.T) {
	t.Parallel()
	rules := Rules(t, Notes)
	s := store(t, embedded.Options{})
	serve(t, s, rules, syncserver.ServerConfig{})
	e := patient(t, connect(t, s), rules)
	feed := Join(t, e, writer)
	const count = 24
	for n := range count {
		Accepted(t, e, page(fmt.Sprint(n, strings.Repeat("k", 100_000)), n, 10))
	}
	var all sync.WaitGroup
	for range count {
		d := received(t, feed)
		all.Go(func() {
			if err := feed.Store(t.Context(), d.Key, d.Finalisation.Sequence); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// TestLargeNames has whoever attempts give names that would make an answer too large: they are refused nevertheless.
func TestLargeNames(t *testing.T) {
	t.Parallel()
	rules := Rules(t, Purchase)
	s := store(t, embedded.Options{})
	serve(t, s, rules, syncserver.ServerConfig{})
	e := patient(t, connect(t, s), rules)
	for _, hostile := range []string{strings.Repeat("<", 250_000), strings.Repeat("\u2028", 80_000), strings.Repeat(`"\`, 60_000)} {
		a := Attempt(Buyer, "RFQ", "1", "item", "fig")
		a.Action = hostile
		Refused(t, e, a)
		Refused(t, e, Attempt(Buyer, "RFQ", "1", "item", "fig", hostile, 1))
		a = Attempt(Seller, "Quote", "1", "item", "fig", "price", 1)
		a.ID = hostile
		Refused(t, e, a)
	}
}
