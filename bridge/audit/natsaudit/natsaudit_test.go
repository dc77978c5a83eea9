package natsaudit_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/audit"
	"github.com/strabo-engine/strabo/bridge/audit/natsaudit"
	"github.com/strabo-engine/strabo/syncserver/embedded"
)

func connect(t *testing.T) (*embedded.Server, *nats.Conn) {
	t.Helper()
	server, err := embedded.Start(embedded.Options{StoreDir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(server.Shutdown)
	conn, err := server.Connect()
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	return server, conn
}

func record(n int, kind audit.Kind) audit.Record {
	return audit.Record{At: time.Now().UTC().Truncate(time.Millisecond), Kind: kind, Enactment: `{"cid":"c1"}`, Attempt: n}
}

func attempts(t *testing.T, s *natsaudit.Stream, filter audit.Filter) (found []int) {
	t.Helper()
	for r, err := range s.Read(t.Context(), filter, false) {
		require.NoError(t, err)
		found = append(found, r.Attempt)
	}
	return found
}

func TestStream(t *testing.T) {
	_, conn := connect(t)
	s, err := natsaudit.Open(t.Context(), conn, natsaudit.Options{})
	require.NoError(t, err)
	require.Empty(t, attempts(t, s, audit.Filter{}))
	for i := range 6 {
		kind := audit.FirstCall
		if i%2 == 1 {
			kind = audit.Denied
		}
		require.NoError(t, s.Record(t.Context(), record(i, kind)))
	}
	again, err := natsaudit.Open(t.Context(), conn, natsaudit.Options{})
	require.NoError(t, err)
	require.Equal(t, []int{0, 1, 2, 3, 4, 5}, attempts(t, again, audit.Filter{}))
	require.Equal(t, []int{1, 3, 5}, attempts(t, again, audit.Filter{Kinds: []audit.Kind{audit.Denied, audit.Limited}}))
	require.Equal(t, []int{0, 1, 2, 3, 4, 5}, attempts(t, again, audit.Filter{Since: time.Now().Add(-time.Minute)}))
	require.Empty(t, attempts(t, again, audit.Filter{Since: time.Now().Add(time.Minute)}))
	require.Empty(t, attempts(t, again, audit.Filter{Enactment: `{"cid":"c2"}`}))
	require.Empty(t, attempts(t, again, audit.Filter{Kinds: []audit.Kind{audit.Limited}}))
	for range s.Read(t.Context(), audit.Filter{}, false) {
		break // Whoever has enough may stop.
	}

	// Nobody removes a record.
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	stream, err := js.Stream(t.Context(), natsaudit.DefaultStream)
	require.NoError(t, err)
	require.Error(t, stream.Purge(t.Context()))
	require.Error(t, stream.DeleteMsg(t.Context(), 1))

	// What is no record is told, and does not hide the others.
	require.NoError(t, conn.Publish(natsaudit.DefaultSubject+".first_call", []byte("?")))
	require.NoError(t, conn.Flush())
	require.NoError(t, s.Record(t.Context(), record(6, audit.Denied)))
	good, damaged := 0, 0
	for _, err := range s.Read(t.Context(), audit.Filter{}, false) {
		var damage *audit.DamagedError
		if errors.As(err, &damage) {
			require.Equal(t, 7, damage.Line)
			damaged++
			continue
		}
		require.NoError(t, err)
		good++
	}
	require.Equal(t, []int{7, 1}, []int{good, damaged})
}

func TestFollow(t *testing.T) {
	_, conn := connect(t)
	s, err := natsaudit.Open(t.Context(), conn, natsaudit.Options{Stream: "A", Subject: "a"})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	given := make(chan audit.Record)
	var failure error
	go func() {
		defer close(given)
		for r, err := range s.Read(ctx, audit.Filter{}, true) {
			if failure = err; err == nil {
				given <- r
			}
		}
	}()
	for i := range 3 {
		r := record(i, audit.Retry)
		require.NoError(t, s.Record(t.Context(), r))
		require.Empty(t, cmp.Diff(r, <-given))
	}
	cancel()
	_, more := <-given
	require.False(t, more)
	require.ErrorIs(t, failure, context.Canceled)
}

// TestRequired is an audit whose NATS goes away: what has happened is written when it is back.
func TestRequired(t *testing.T) {
	dir := t.TempDir()
	server, err := embedded.Start(embedded.Options{StoreDir: dir})
	require.NoError(t, err)
	conn, err := server.Connect()
	require.NoError(t, err)
	s, err := natsaudit.Open(t.Context(), conn, natsaudit.Options{})
	require.NoError(t, err)
	var current audit.Sink = s
	sink := audit.Require(audit.SinkFunc(func(ctx context.Context, r audit.Record) error { return current.Record(ctx, r) }))
	require.NoError(t, sink.Record(t.Context(), record(1, audit.Intent)))
	conn.Close()
	server.Shutdown()
	require.Error(t, sink.Record(t.Context(), record(1, audit.FirstCall)))
	require.Error(t, sink.Record(t.Context(), record(2, audit.Intent)), "no other call leaves")
	server, err = embedded.Start(embedded.Options{StoreDir: dir})
	require.NoError(t, err)
	defer server.Shutdown()
	conn, err = server.Connect()
	require.NoError(t, err)
	defer conn.Close()
	s, err = natsaudit.Open(t.Context(), conn, natsaudit.Options{})
	require.NoError(t, err)
	current = s
	require.NoError(t, sink.Record(t.Context(), record(3, audit.Intent)))
	var told []string
	for r, err := range s.Read(t.Context(), audit.Filter{}, false) {
		require.NoError(t, err)
		told = append(told, fmt.Sprint(r.Kind, r.Attempt))
	}
	require.Equal(t, []string{"intent1", "first_call1", "intent3"}, told)
}
