package syncserver_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/protocols"
	"github.com/strabo-engine/strabo/syncserver"
	"github.com/strabo-engine/strabo/syncserver/embedded"
)

// lines is a writer that hands on what is written.
type lines chan string

func (l lines) Write(line []byte) (int, error) {
	l <- string(line)
	return len(line), nil
}

// Whoever waits for a server that is not there is told so in the log, and not at each try.
func TestWaitingForNobodyIsLogged(t *testing.T) {
	rules, err := protocols.Load("request-reply")
	require.NoError(t, err)
	nats, err := embedded.Start(embedded.Options{StoreDir: t.TempDir()})
	require.NoError(t, err)
	defer nats.Shutdown()
	conn, err := nats.Connect()
	require.NoError(t, err)
	defer conn.Close()
	logged := make(lines, 100)
	client, err := syncserver.NewClient(conn, rules, syncserver.ClientConfig{
		Try: time.Millisecond, FirstWait: time.Millisecond, LongestWait: time.Millisecond,
		Logger: slog.New(slog.NewTextHandler(logged, nil)),
	})
	require.NoError(t, err)
	defer client.Close()
	stopped := errors.New("stopped")
	ctx, stop := context.WithCancelCause(t.Context())
	joined := make(chan error, 1)
	go func() {
		_, err := client.Join(ctx, enactment.Identity{Role: "Client"})
		joined <- err
	}()
	line := <-logged
	require.True(t, strings.Contains(line, "no server answers") && strings.Contains(line, "identity=Client"), line)
	stop(stopped)
	require.ErrorIs(t, <-joined, stopped)
	require.Empty(t, logged, "it is said once a minute")
}
