package syncserver_test

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/syncserver"
	"github.com/strabo-engine/strabo/syncserver/embedded"
	"github.com/strabo-engine/strabo/syncserver/internal/conformance"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	t.Run("local", func(t *testing.T) {
		t.Parallel()
		conformance.Run(t, localSystem(), false)
	})
	t.Run("local batch", func(t *testing.T) {
		t.Parallel()
		conformance.Run(t, localSystem(syncserver.WithBatch(50*time.Millisecond, 0)), true)
	})
	t.Run("one server", func(t *testing.T) {
		t.Parallel()
		conformance.Run(t, natsSystem(1, syncserver.ServerConfig{}), false)
	})
	t.Run("one process", func(t *testing.T) {
		t.Parallel()
		conformance.Run(t, func(t *testing.T, rules *enactment.Rules) func() adapter.Executor {
			server := serve(t, store(t, embedded.Options{}), rules, syncserver.ServerConfig{})
			return func() adapter.Executor {
				c := server.Client(syncserver.ClientConfig{Logger: quiet()})
				t.Cleanup(c.Close)
				return c
			}
		}, false)
	})
	t.Run("three servers", func(t *testing.T) {
		t.Parallel()
		conformance.Run(t, natsSystem(3, syncserver.ServerConfig{Cache: 1}), false) // which remember next to nothing
	})
	t.Run("two servers in batches", func(t *testing.T) {
		t.Parallel()
		conformance.Run(t, natsSystem(2, syncserver.ServerConfig{Window: 50 * time.Millisecond}), true)
	})
}

func localSystem(options ...syncserver.Option) conformance.System {
	return func(t *testing.T, rules *enactment.Rules) func() adapter.Executor {
		l := syncserver.NewLocal(rules, options...)
		t.Cleanup(l.Close)
		return func() adapter.Executor { return l }
	}
}

// natsSystem is a system of several servers on one embedded NATS in memory; each executor is a client with a connection
// of its own.
func natsSystem(servers int, config syncserver.ServerConfig) conformance.System {
	return func(t *testing.T, rules *enactment.Rules) func() adapter.Executor {
		store := store(t, embedded.Options{})
		for range servers {
			serve(t, store, rules, config)
		}
		return func() adapter.Executor { return client(t, connect(t, store), rules) }
	}
}

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// store starts a NATS that ends with the test.
func store(t testing.TB, options embedded.Options) *embedded.Server {
	t.Helper()
	if options.StoreDir == "" {
		options.StoreDir = t.TempDir()
	}
	s, err := embedded.Start(options)
	require.NoError(t, err)
	t.Cleanup(s.Shutdown)
	return s
}

func connect(t testing.TB, s *embedded.Server, options ...nats.Option) *nats.Conn {
	t.Helper()
	conn, err := s.Connect(append(options, nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond))...)
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	return conn
}

// serve starts a server with a connection of its own. Where the config says nothing else it waits for writes, and for agents
// that are silent, for as long as a busy machine may need.
func serve(t testing.TB, s *embedded.Server, rules *enactment.Rules, config syncserver.ServerConfig) *syncserver.Server {
	t.Helper()
	if config.Logger == nil {
		config.Logger = quiet()
	}
	if config.Timeout == 0 {
		config.Timeout = time.Minute
	}
	if config.Lease == 0 {
		config.Lease = time.Minute
	}
	server, err := syncserver.NewServer(t.Context(), connect(t, s), rules, config)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.NoError(t, server.Close(ctx))
	})
	return server
}

func client(t testing.TB, conn *nats.Conn, rules *enactment.Rules) *syncserver.Client {
	t.Helper()
	c, err := syncserver.NewClient(conn, rules, syncserver.ClientConfig{Logger: quiet()})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}
