package stream_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/internal/stream"
)

// TestLostRequests has the first requests be taken by somebody who falls silent over them, as a server does that stops
// with them in hand. They must be made again, and what came already must not come twice.
func TestLostRequests(t *testing.T) {
	s, err := server.NewServer(&server.Options{ServerName: "lost", DontListen: true, StoreDir: t.TempDir(), NoSigs: true})
	require.NoError(t, err)
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	require.True(t, s.ReadyForConnections(time.Minute))
	conn, err := nats.Connect("", nats.InProcessServer(s))
	require.NoError(t, err)
	t.Cleanup(conn.Close)

	silent := make(chan *nats.Msg, 1024)
	var subscriptions []*nats.Subscription
	for _, subject := range []string{"$JS.API.DIRECT.GET.S", "$JS.API.STREAM.MSG.GET.S"} {
		subscription, err := conn.ChanSubscribe(subject, silent)
		require.NoError(t, err)
		subscriptions = append(subscriptions, subscription)
	}
	reader := stream.Reader{Conn: conn, Stream: "S", Silence: 200 * time.Millisecond}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var all []string
	var last stream.Message
	read, lastRead := make(chan error, 1), make(chan error, 1)
	go func() {
		read <- reader.Read(ctx, "s", 1, func(m stream.Message) (bool, error) {
			all = append(all, strconv.FormatUint(m.Sequence, 10)+" "+string(m.Data))
			return true, nil
		})
	}()
	go func() {
		var err error
		last, err = reader.Last(ctx, "s")
		lastRead <- err
	}()
	begun, lastAsked := false, 0
	for !begun || lastAsked < 2 {
		switch request := <-silent; {
		case request.Subject == "$JS.API.STREAM.MSG.GET.S":
			if lastAsked++; lastAsked == 2 {
				require.NoError(t, request.Respond([]byte(`{"message":{"seq":2,"data":"dHdv","time":"2026-11-30T00:00:00Z"}}`)))
			}
		case !begun: // it stops after the first message of two
			begun = true
			answer := nats.NewMsg(request.Reply)
			answer.Data = []byte("one")
			answer.Header.Set(jetstream.SubjectHeader, "s")
			answer.Header.Set(jetstream.SequenceHeader, "1")
			answer.Header.Set(jetstream.TimeStampHeaer, time.Now().Format(time.RFC3339Nano))
			answer.Header.Set("Nats-Num-Pending", "1")
			require.NoError(t, conn.PublishMsg(answer))
		}
	}
	require.NoError(t, <-lastRead)
	require.Equal(t, "two", string(last.Data))
	for _, subscription := range subscriptions {
		require.NoError(t, subscription.Unsubscribe())
	}
	require.NoError(t, s.EnableJetStream(nil))
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	// It is not to be read before both are there.
	made, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}, Storage: jetstream.MemoryStorage})
	require.NoError(t, err)
	for _, text := range []string{"one", "two"} {
		_, err := js.Publish(ctx, "s", []byte(text))
		require.NoError(t, err)
	}
	config := made.CachedInfo().Config
	config.AllowDirect = true
	_, err = js.UpdateStream(ctx, config)
	require.NoError(t, err)

	require.NoError(t, <-read)
	require.Equal(t, []string{"1 one", "2 two"}, all)
}
