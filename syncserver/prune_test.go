package syncserver_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/enactment"
	. "github.com/strabo-engine/strabo/internal/played"
	"github.com/strabo-engine/strabo/syncserver"
	"github.com/strabo-engine/strabo/syncserver/embedded"
	. "github.com/strabo-engine/strabo/syncserver/internal/conformance"
)

// archiveOf opens the log of the system of the rules.
func archiveOf(t testing.TB, conn *nats.Conn, rules *enactment.Rules, system string) *syncserver.Archive {
	t.Helper()
	archive, err := syncserver.NewArchive(t.Context(), conn, rules, system, nil)
	require.NoError(t, err)
	return archive
}

// prune gives a line for each enactment that was old enough: key, sequence, and why it was kept.
func prune(t testing.TB, archive *syncserver.Archive, config syncserver.PruneConfig) []string {
	t.Helper()
	var lines []string
	require.NoError(t, archive.Prune(t.Context(), config, func(p syncserver.Prunable) bool {
		lines = append(lines, fmt.Sprintf("%s %d %s%s", p.Enactment, p.Sequence, p.Kept, p.Behind))
		return true
	}))
	return lines
}

// buy plays a purchase to its completion, at two executors in turn.
func buy(t testing.TB, id string, one, other adapter.Executor) {
	t.Helper()
	Accepted(t, one, Attempt(Buyer, "RFQ", id, "item", "fig"))
	Accepted(t, other, Attempt(Seller, "Quote", id, "price", 5))
	Accepted(t, one, Attempt(Buyer, "Accept", id, "address", "here"))
}

// messages counts those of a stream, under one subject.
func messages(t testing.TB, conn *nats.Conn, stream, subject string) int {
	t.Helper()
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	s, err := js.Stream(t.Context(), stream)
	require.NoError(t, err)
	info, err := s.Info(t.Context(), jetstream.WithSubjectFilter(subject))
	require.NoError(t, err)
	count := 0
	for _, n := range info.State.Subjects {
		count += int(n)
	}
	return count
}

// TestPrune has two servers with enactments in memory, which are removed under them; then the servers are started again, and
// then the system is restored from a backup.
func TestPrune(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]syncserver.ServerConfig{
		"immediate": {}, "batch": {Window: time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rules := Rules(t, Purchase)
			s := store(t, embedded.Options{})
			conn := connect(t, s)
			executors := func(system string) (*syncserver.Server, *syncserver.Client, *syncserver.Client, func()) {
				config.Logger, config.System = quiet(), system
				first, err := syncserver.NewServer(t.Context(), connect(t, s), rules, config)
				require.NoError(t, err)
				second, err := syncserver.NewServer(t.Context(), connect(t, s), rules, config)
				require.NoError(t, err)
				one, other := first.Client(syncserver.ClientConfig{Logger: quiet()}), second.Client(syncserver.ClientConfig{Logger: quiet()})
				return first, one, other, func() {
					one.Close()
					other.Close()
					require.NoError(t, first.Close(context.Background()))
					require.NoError(t, second.Close(context.Background()))
				}
			}
			server, one, other, end := executors("")
			Accepted(t, one, Attempt(Buyer, "RFQ", "done", "item", "fig"))
			requireOpen(t, "1", server, "purchase")
			buy(t, "done", one, other)
			Accepted(t, other, Attempt(Buyer, "RFQ", "open", "item", "fig"))
			Accepted(t, one, Attempt(Seller, "Quote", "open", "price", 5))
			archive := archiveOf(t, conn, rules, "")

			require.Empty(t, prune(t, archive, syncserver.PruneConfig{Older: time.Hour}))
			whole := []string{`{"ID":"done"} 3 `}
			require.Equal(t, whole, prune(t, archive, syncserver.PruneConfig{DryRun: true}))
			require.Equal(t, whole, prune(t, archive, syncserver.PruneConfig{DryRun: true}), "a dry run removes nothing")
			require.Equal(t, whole, prune(t, archive, syncserver.PruneConfig{}))
			require.Empty(t, prune(t, archive, syncserver.PruneConfig{}))

			late := Attempt(Buyer, "RFQ", "done", "item", "fig")
			fresh := Attempt(Buyer, "RFQ", "done", "item", "quince")
			fresh.ID, fresh.At = "fresh", time.Now()
			gone := func(executors ...adapter.Executor) {
				t.Helper()
				for _, e := range executors {
					for _, a := range []enactment.Attempt{fresh, late, Attempt(Auditor, "File", "done", "report", "x")} {
						require.Equal(t, enactment.Expired, Refused(t, e, a))
					}
				}
			}
			// A server that has it in memory gives a copy its first answer, until it learns better.
			Accepted(t, one, late)
			gone(one, other)
			requireOpen(t, "1", server, "purchase")
			// The one that is open goes on at both, also with what they have in memory.
			Accepted(t, other, Attempt(Buyer, "Urge", "open"))
			Accepted(t, one, Attempt(Seller, "Stop", "open"))
			end()

			server, one, other, end = executors("")
			gone(other, one)
			Accepted(t, one, Attempt(Buyer, "Reject", "open"))
			requireOpen(t, "0", server, "purchase")
			looked := func(archive *syncserver.Archive) {
				t.Helper()
				all, err := archive.Enactments(t.Context())
				require.NoError(t, err)
				require.Len(t, all, 1)
				require.Equal(t, KeyOf("open"), all[0].Enactment)
				state, err := archive.State(t.Context(), KeyOf("done"))
				require.NoError(t, err)
				require.True(t, state.Empty())
				judged, err := archive.Verify(t.Context(), "", func(f syncserver.Fault) { t.Error(f) })
				require.NoError(t, err)
				require.Equal(t, 5, judged)
			}
			looked(archive)
			var backup bytes.Buffer
			_, err := archive.Backup(t.Context(), &backup, false)
			require.NoError(t, err)
			end()

			config.System = "restored"
			_, err = syncserver.Restore(t.Context(), conn, rules, config, &backup)
			require.NoError(t, err)
			restored := archiveOf(t, conn, rules, "restored")
			looked(restored)
			_, one, other, end = executors("restored")
			gone(one, other)
			require.Equal(t, []string{`{"ID":"open"} 5 `}, prune(t, restored, syncserver.PruneConfig{}))
			require.Equal(t, enactment.Expired, Refused(t, one, Attempt(Auditor, "File", "open", "report", "x")))
			end()
		})
	}
}

// TestPruneRaces removes enactments while two servers decide attempts in them and an agent observes. Each attempt has
// happened, or is refused and the enactment is gone; the agent gets each enactment from its beginning without a gap.
func TestPruneRaces(t *testing.T) {
	t.Parallel()
	const purchases = 40
	rules := Rules(t, Purchase)
	s := store(t, embedded.Options{})
	conn := connect(t, s)
	executors := make([]*syncserver.Client, 2)
	for n := range executors {
		executors[n] = serve(t, s, rules, syncserver.ServerConfig{Cache: 20 + 1000*n}).Client(syncserver.ClientConfig{Logger: quiet()})
		t.Cleanup(executors[n].Close)
	}
	for n := range purchases {
		buy(t, fmt.Sprint(n), executors[n%2], executors[(n+1)%2])
	}
	archive := archiveOf(t, conn, rules, "")
	pruned := make(map[enactment.Key]syncserver.Prunable)
	rejections := make([]*enactment.Rejection, purchases)
	seen := make(map[enactment.Key]uint64)
	var working sync.WaitGroup
	start := make(chan struct{})
	observing, stop := context.WithCancel(t.Context())
	feed := Join(t, executors[1], Auditor)
	var observer sync.WaitGroup
	observer.Go(func() {
		<-start
		for {
			d, err := feed.Receive(observing)
			if err != nil {
				return
			}
			if d.Revoked {
				delete(seen, d.Key)
				continue
			}
			// The auditor sees Accept, which is third, and what follows.
			if had := seen[d.Key]; d.Finalisation.Sequence != max(had, 2)+1 {
				t.Errorf("%s %d after %d", d.Key, d.Finalisation.Sequence, had)
			}
			seen[d.Key] = d.Finalisation.Sequence
		}
	})
	for half := range executors {
		working.Go(func() {
			<-start
			for n := half; n < purchases; n += 2 {
				outcome, err := executors[half].Attempt(t.Context(), Attempt(Auditor, "File", fmt.Sprint(n), "report", "x"))
				if err != nil {
					t.Errorf("File of %d: %v", n, err)
				}
				rejections[n] = outcome.Rejection
			}
		})
	}
	working.Go(func() {
		<-start
		if err := archive.Prune(t.Context(), syncserver.PruneConfig{Ignore: []enactment.Identity{Auditor}}, func(p syncserver.Prunable) bool {
			pruned[p.Enactment] = p
			return true
		}); err != nil {
			t.Error(err)
		}
	})
	close(start)
	working.Wait()
	all, err := archive.Enactments(t.Context())
	require.NoError(t, err)
	there := make(map[enactment.Key]uint64)
	for _, e := range all {
		there[e.Enactment] = e.Sequence
	}
	for n := range purchases {
		key := KeyOf(fmt.Sprint(n))
		p, old := pruned[key]
		require.True(t, old || there[key] == 4, key) // what happens while the log is read may be later than it began
		switch r := rejections[n]; {
		case r != nil:
			require.Equal(t, enactment.Expired, r.Code, key)
			require.Equal(t, []any{syncserver.Kept(""), uint64(3), uint64(0)}, []any{p.Kept, p.Sequence, there[key]}, key)
		case old && p.Kept == "":
			require.Equal(t, []uint64{4, 0}, []uint64{p.Sequence, there[key]}, key)
		default:
			require.Equal(t, uint64(4), there[key], key)
		}
		again, err := executors[(n+1)%2].Attempt(t.Context(), Attempt(Auditor, "File", fmt.Sprint(n), "report", "x"))
		require.NoError(t, err)
		require.Equal(t, there[key] == 4, again.Rejection == nil, key)
	}
	_, err = archive.Verify(t.Context(), "", func(f syncserver.Fault) { t.Error(f) })
	require.NoError(t, err)
	stop()
	observer.Wait()
}

// TestPruneWaitsForAgents keeps what an agent has not handled, or not even been told of.
func TestPruneWaitsForAgents(t *testing.T) {
	t.Parallel()
	rules := Rules(t, Purchase)
	s := store(t, embedded.Options{})
	conn := connect(t, s)
	server := serve(t, s, rules, syncserver.ServerConfig{})
	e := server.Client(syncserver.ClientConfig{Logger: quiet()})
	t.Cleanup(e.Close)
	archive := archiveOf(t, conn, rules, "")
	buy(t, "1", e, e)
	feed := Join(t, e, Seller)
	Receive(t, feed, 3)
	require.Equal(t, []string{`{"ID":"1"} 3 unhandledSeller`}, prune(t, archive, syncserver.PruneConfig{}))
	require.NoError(t, feed.Store(t.Context(), KeyOf("1"), 2))
	require.Equal(t, []string{`{"ID":"1"} 3 unhandledSeller`}, prune(t, archive, syncserver.PruneConfig{}))
	require.NoError(t, feed.Store(t.Context(), KeyOf("1"), 3))
	require.NoError(t, feed.Close())

	buy(t, "2", e, e) // while the agent is away
	position := "strabo.purchase.position.>"
	require.Equal(t, 1, messages(t, conn, "STRABO_purchase_POSITIONS", position))
	require.Equal(t, []string{`{"ID":"1"} 3 `, `{"ID":"2"} 3 unhandledSeller`}, prune(t, archive, syncserver.PruneConfig{}))
	require.Equal(t, []string{`{"ID":"2"} 3 unhandledSeller`}, prune(t, archive, syncserver.PruneConfig{}))

	// It comes back and goes on, and an open one that is removed is taken from it.
	feed = Join(t, e, Seller)
	require.Equal(t, []string{"2 1 RFQ", "2 2 Quote", "2 3 Accept completed"}, Receive(t, feed, 3))
	require.ErrorIs(t, feed.Store(t.Context(), KeyOf("1"), 3), adapter.ErrRevoked)
	Accepted(t, e, Attempt(Buyer, "RFQ", "3", "item", "fig"))
	require.Equal(t, []string{"3 1 RFQ"}, Receive(t, feed, 1))
	require.Equal(t, []string{`{"ID":"2"} 3 unhandledSeller`, `{"ID":"3"} 1 unhandledSeller`}, prune(t, archive, syncserver.PruneConfig{Open: true}))
	require.Equal(t, []string{`{"ID":"2"} 3 `, `{"ID":"3"} 1 `}, prune(t, archive, syncserver.PruneConfig{Open: true, Ignore: []enactment.Identity{Seller}}))
	require.Equal(t, []string{"2 0 revoked", "3 0 revoked"}, Receive(t, feed, 2))
	require.Zero(t, messages(t, conn, "STRABO_purchase_POSITIONS", position))
	require.Equal(t, enactment.Expired, Refused(t, e, Attempt(Seller, "Quote", "3", "price", 5)))
	requireOpen(t, "0", server, "purchase")
}

// TestPruneLong removes an enactment that has a snapshot.
func TestPruneLong(t *testing.T) {
	t.Parallel()
	const pages = 1001
	rules := Rules(t, Notes)
	s := store(t, embedded.Options{})
	conn := connect(t, s)
	writer := enactment.Identity{Role: "Writer"}
	attempt := func(action, id string, values enactment.Values) enactment.Attempt {
		values["Book"] = enactment.MustValue("b")
		return enactment.Attempt{ID: id, Identity: writer, Action: action, Values: values}
	}
	write := func(n int) enactment.Attempt {
		return attempt("Write", fmt.Sprint(n), enactment.Values{"Page": enactment.MustValue(n), "text": enactment.MustValue("x")})
	}
	server, err := syncserver.NewServer(t.Context(), connect(t, s), rules, syncserver.ServerConfig{Logger: quiet()})
	require.NoError(t, err)
	e := server.Client(syncserver.ClientConfig{Logger: quiet()})
	Accepted(t, e, attempt("Open", "open", enactment.Values{"title": enactment.MustValue("t")}))
	for n := range pages {
		Accepted(t, e, write(n))
	}
	e.Close()
	require.NoError(t, server.Close(t.Context())) // waits for the snapshot
	snapshots := "strabo.notes.snapshot.>"
	require.NotZero(t, messages(t, conn, "STRABO_notes_SNAPSHOTS", snapshots))

	e = serve(t, s, rules, syncserver.ServerConfig{}).Client(syncserver.ClientConfig{Logger: quiet()})
	t.Cleanup(e.Close)
	Accepted(t, e, write(pages)) // it was read from the snapshot
	require.Equal(t, []string{fmt.Sprintf(`{"Book":"b"} %d `, pages+2)}, prune(t, archiveOf(t, conn, rules, ""), syncserver.PruneConfig{}))
	require.Zero(t, messages(t, conn, "STRABO_notes_SNAPSHOTS", snapshots))
	require.Equal(t, 1, messages(t, conn, "STRABO_notes_LOG", "strabo.notes.log.>"))
	require.Equal(t, enactment.Expired, Refused(t, e, write(pages+1)))
	require.Equal(t, enactment.Expired, Refused(t, e, write(1)))
	other := serve(t, s, rules, syncserver.ServerConfig{}).Client(syncserver.ClientConfig{Logger: quiet()})
	t.Cleanup(other.Close)
	require.Equal(t, enactment.Expired, Refused(t, other, write(pages+1)))
}

// TestPruneAttended removes what two processes attend to.
func TestPruneAttended(t *testing.T) {
	t.Parallel()
	s, err := embedded.Start(embedded.Options{StoreDir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(s.Shutdown)
	here, there := attend(t, s, 0, answering), attend(t, s, 0, nil)
	request(t, here, 1)
	visits := make([]adapter.Visit, 2)
	for n, process := range []attendedProcess{here, there} {
		visits[n], err = process.Visit(t.Context(), asking, requestKey(1), adapter.Latest)
		require.NoError(t, err)
		defer visits[n].Close(false)
		if n == 0 {
			reached(t, visits[n], 2)
		}
	}
	require.Len(t, visits[1].Instances(), 2)
	rules, err := compileRequestReply()
	require.NoError(t, err)
	require.Equal(t, []string{`{"ID":"1"} 2 `}, prune(t, archiveOf(t, connect(t, s), rules, "attended"), syncserver.PruneConfig{}))
	for n, process := range []attendedProcess{here, there} {
		changed := visits[n].Changed()
		latest, err := process.Visit(t.Context(), asking, requestKey(1), adapter.Latest)
		require.NoError(t, err)
		require.Empty(t, latest.Instances())
		latest.Close(false)
		<-changed
		require.Empty(t, visits[n].Instances())
		require.Zero(t, visits[n].Sequence())
	}
}

// TestPruneOldLog: logs of earlier versions let nothing be removed.
func TestPruneOldLog(t *testing.T) {
	t.Parallel()
	rules := Rules(t, Purchase)
	s := store(t, embedded.Options{})
	conn := connect(t, s)
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	_, err = js.CreateStream(t.Context(), jetstream.StreamConfig{
		Name: "STRABO_purchase_LOG", Subjects: []string{"strabo.purchase.log.*"}, AllowDirect: true, AllowMsgTTL: true,
		DenyDelete: true, DenyPurge: true, Metadata: map[string]string{"strabo-protocol-hash": rules.Hash()},
	})
	require.NoError(t, err)
	e := serve(t, s, rules, syncserver.ServerConfig{}).Client(syncserver.ClientConfig{Logger: quiet()})
	t.Cleanup(e.Close)
	buy(t, "1", e, e)
	archive := archiveOf(t, conn, rules, "")
	require.ErrorIs(t, archive.Prune(t.Context(), syncserver.PruneConfig{}, nil), syncserver.ErrNotRemovable)
	var backup bytes.Buffer
	_, err = archive.Backup(t.Context(), &backup, false)
	require.NoError(t, err)
	_, err = syncserver.Restore(t.Context(), conn, rules, syncserver.ServerConfig{System: "again"}, &backup)
	require.NoError(t, err)
	require.Equal(t, []string{`{"ID":"1"} 3 `}, prune(t, archiveOf(t, conn, rules, "again"), syncserver.PruneConfig{}))
}

// TestPruneKeeps what something else still needs, for the reason that it gives.
func TestPruneKeeps(t *testing.T) {
	t.Parallel()
	rules := Rules(t, Purchase)
	s := store(t, embedded.Options{})
	conn := connect(t, s)
	e := serve(t, s, rules, syncserver.ServerConfig{}).Client(syncserver.ClientConfig{Logger: quiet()})
	t.Cleanup(e.Close)
	for _, id := range []string{"1", "2"} {
		buy(t, id, e, e)
	}
	archive := archiveOf(t, conn, rules, "")
	keep := func(_ context.Context, state *enactment.State) (syncserver.Kept, error) {
		require.Equal(t, 3, state.Len())
		if state.Key() == KeyOf("1") {
			return "needed", nil
		}
		return "", nil
	}
	require.Equal(t, []string{`{"ID":"1"} 3 needed`, `{"ID":"2"} 3 `}, prune(t, archive, syncserver.PruneConfig{Keep: keep, DryRun: true}))
	require.Equal(t, []string{`{"ID":"1"} 3 needed`, `{"ID":"2"} 3 `}, prune(t, archive, syncserver.PruneConfig{Keep: keep}))
	unknown := errors.New("it cannot be known")
	require.ErrorIs(t, archive.Prune(t.Context(), syncserver.PruneConfig{
		Keep: func(context.Context, *enactment.State) (syncserver.Kept, error) { return "", unknown },
	}, func(syncserver.Prunable) bool { return true }), unknown)
	require.Equal(t, []string{`{"ID":"1"} 3 `}, prune(t, archive, syncserver.PruneConfig{}))
}

// TestPruneEndsEarly: what a run has left to do is done by the next one.
func TestPruneEndsEarly(t *testing.T) {
	t.Parallel()
	rules := Rules(t, Purchase)
	s := store(t, embedded.Options{})
	conn := connect(t, s)
	e := serve(t, s, rules, syncserver.ServerConfig{}).Client(syncserver.ClientConfig{Logger: quiet()})
	t.Cleanup(e.Close)
	feed := Join(t, e, Seller)
	for _, id := range []string{"1", "2", "3"} {
		buy(t, id, e, e)
		Receive(t, feed, 3)
		require.NoError(t, feed.Store(t.Context(), KeyOf(id), 3))
	}
	positions := func() int { return messages(t, conn, "STRABO_purchase_POSITIONS", "strabo.purchase.position.>") }
	archive := archiveOf(t, conn, rules, "")
	left := 2
	require.NoError(t, archive.Prune(t.Context(), syncserver.PruneConfig{}, func(syncserver.Prunable) bool {
		left--
		return left > 0
	}))
	require.Equal(t, 3, positions())
	require.Equal(t, []string{`{"ID":"3"} 3 `}, prune(t, archive, syncserver.PruneConfig{}))
	require.Equal(t, 1, positions(), "the last one tells that there is an agent")
}
