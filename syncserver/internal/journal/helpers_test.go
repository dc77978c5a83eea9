package journal_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/internal/leak"
	"github.com/strabo-engine/strabo/internal/request"
	"github.com/strabo-engine/strabo/internal/testspeed"
	"github.com/strabo-engine/strabo/syncserver/embedded"
	"github.com/strabo-engine/strabo/syncserver/internal/journal"
	"github.com/strabo-engine/strabo/syncserver/internal/wire"
)

func TestMain(m *testing.M) {
	testspeed.Raise()
	leak.Main(m)
}

// store starts a NATS server in a directory; the same directory is the same store.
func store(t testing.TB, dir string) *embedded.Server {
	t.Helper()
	server, err := embedded.Start(embedded.Options{StoreDir: dir})
	require.NoError(t, err)
	t.Cleanup(server.Shutdown)
	return server
}

func connect(t testing.TB, server *embedded.Server) *nats.Conn {
	t.Helper()
	conn, err := server.Connect()
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	return conn
}

func subjects(t testing.TB) wire.Subjects {
	t.Helper()
	s, err := wire.NewSubjects("test")
	require.NoError(t, err)
	return s
}

// open makes a journal of its own connection.
func open(t testing.TB, server *embedded.Server, rules *enactment.Rules, change ...func(*journal.Config)) *journal.Journal {
	t.Helper()
	conn := connect(t, server)
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	layout := journal.Layout{Subjects: subjects(t), Rules: rules, Batch: true, Retention: time.Hour}
	require.NoError(t, journal.Open(ctx, js, layout))
	requests, err := request.Over(conn)
	require.NoError(t, err)
	t.Cleanup(requests.End)
	config := journal.Config{
		MaxEntry: wire.LimitsOf(conn.MaxPayload()).Entry,
		Conn:     requests, Subjects: subjects(t), Codec: wire.Codec{Rules: rules}, Retention: time.Hour,
		Clock: time.Now, Timeout: time.Minute, Cache: 1000, Logger: slog.Default(),
	}
	for _, c := range change {
		c(&config)
	}
	j, err := journal.New(config)
	require.NoError(t, err)
	t.Cleanup(j.Close)
	return j
}

func decide(t testing.TB, j *journal.Journal, key enactment.Key, window ...enactment.Attempt) []enactment.Outcome {
	t.Helper()
	outcomes, err := j.Decide(context.Background(), key, window, 0)
	require.NoError(t, err)
	require.Len(t, outcomes, len(window))
	return outcomes
}
