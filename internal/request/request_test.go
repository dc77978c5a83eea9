package request_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/internal/leak"
	"github.com/strabo-engine/strabo/internal/request"
	"github.com/strabo-engine/strabo/syncserver/embedded"
)

func TestMain(m *testing.M) { leak.Main(m) }

func connect(t testing.TB, s *embedded.Server) *nats.Conn {
	t.Helper()
	conn, err := s.Connect()
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	return conn
}

// start gives a NATS at which somebody answers what was asked on echo, and nothing on silence.
func start(t testing.TB) *embedded.Server {
	t.Helper()
	s, err := embedded.Start(embedded.Options{StoreDir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(s.Shutdown)
	conn := connect(t, s)
	_, err = conn.Subscribe("echo", func(m *nats.Msg) { _ = m.Respond(m.Data) })
	require.NoError(t, err)
	_, err = conn.Subscribe("silence", func(*nats.Msg) {})
	require.NoError(t, err)
	require.NoError(t, conn.Flush())
	return s
}

const long = time.Minute

func TestEachGetsItsAnswer(t *testing.T) {
	c, err := request.Over(connect(t, start(t)))
	require.NoError(t, err)
	defer c.End()
	var done sync.WaitGroup
	for n := range 32 {
		done.Go(func() {
			msg := nats.NewMsg("echo")
			for k := range 100 {
				msg.Data = fmt.Appendf(nil, "%d %d", n, k)
				// Some are given up, so that what they waited with is used again while they are answered.
				if k%4 == 0 {
					_, err := c.Call(t.Context(), msg, time.Microsecond)
					if err != nil && !errors.Is(err, request.ErrTimeout) {
						t.Error(err)
					}
					continue
				}
				answer, err := c.Call(t.Context(), msg, long)
				if err != nil || string(msg.Data) != string(answer.Data) {
					t.Errorf("%s was answered %v, %v", msg.Data, answer, err)
				}
			}
		})
	}
	done.Wait()
}

func TestSeveralAreWaitedForAfterwards(t *testing.T) {
	c, err := request.Over(connect(t, start(t)))
	require.NoError(t, err)
	defer c.End()
	var calls []*request.Call
	msg := nats.NewMsg("echo")
	for n := range 100 {
		msg.Data = fmt.Append(nil, n)
		call, err := c.Start(msg)
		require.NoError(t, err)
		calls = append(calls, call)
	}
	for n, call := range calls {
		answer, err := call.Wait(t.Context(), long)
		require.NoError(t, err)
		require.Equal(t, fmt.Sprint(n), string(answer.Data))
	}
}

func TestNoAnswer(t *testing.T) {
	conn := connect(t, start(t))
	c, err := request.Over(conn)
	require.NoError(t, err)
	_, err = c.Call(t.Context(), nats.NewMsg("nobody"), long)
	require.ErrorIs(t, err, nats.ErrNoResponders)
	_, err = c.Call(t.Context(), nats.NewMsg("silence"), time.Millisecond)
	require.ErrorIs(t, err, request.ErrTimeout)
	ctx, cancel := context.WithCancel(t.Context())
	call, err := c.Start(nats.NewMsg("silence"))
	require.NoError(t, err)
	cancel()
	_, err = call.Wait(ctx, long)
	require.ErrorIs(t, err, context.Canceled)

	call, err = c.Start(nats.NewMsg("silence"))
	require.NoError(t, err)
	c.End()
	_, err = call.Wait(t.Context(), long)
	require.ErrorIs(t, err, request.ErrClosed)

	c, err = request.Over(conn)
	require.NoError(t, err)
	call, err = c.Start(nats.NewMsg("silence"))
	require.NoError(t, err)
	conn.Close()
	_, err = call.Wait(t.Context(), long)
	require.ErrorIs(t, err, nats.ErrConnectionClosed)
	_, err = c.Call(t.Context(), nats.NewMsg("echo"), long)
	require.ErrorIs(t, err, nats.ErrConnectionClosed)
	_, err = request.Over(conn)
	require.ErrorIs(t, err, nats.ErrConnectionClosed)
}

// A connection that breaks tells at once those who wait, and goes on afterwards.
func TestBrokenConnection(t *testing.T) {
	conn := connect(t, start(t))
	c, err := request.Over(conn)
	require.NoError(t, err)
	defer c.End()
	for range 3 {
		var calls []*request.Call
		for range 10 {
			call, err := c.Start(nats.NewMsg("silence"))
			require.NoError(t, err)
			calls = append(calls, call)
		}
		require.NoError(t, conn.ForceReconnect())
		for _, call := range calls {
			_, err := call.Wait(t.Context(), long)
			require.ErrorIs(t, err, request.ErrBroken)
		}
		for {
			_, err := c.Call(t.Context(), nats.NewMsg("echo"), long)
			if err == nil {
				break
			}
			// It was made before all had heard that the connection broke, or before somebody was there again.
			if !errors.Is(err, request.ErrBroken) {
				require.ErrorIs(t, err, nats.ErrNoResponders)
			}
		}
	}
}

// BenchmarkCall measures one request of one caller at a time.
func BenchmarkCall(b *testing.B) {
	c, err := request.Over(connect(b, start(b)))
	require.NoError(b, err)
	defer c.End()
	msg := nats.NewMsg("echo")
	msg.Data = make([]byte, 256)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Call(b.Context(), msg, long); err != nil {
			b.Fatal(err)
		}
	}
}
