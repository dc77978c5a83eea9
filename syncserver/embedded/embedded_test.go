package embedded_test

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/internal/leak"
	"github.com/strabo-engine/strabo/syncserver/embedded"
)

func TestMain(m *testing.M) { leak.Main(m) }

func TestServer(t *testing.T) {
	quiet, err := embedded.Start(embedded.Options{StoreDir: t.TempDir()})
	require.NoError(t, err)
	require.Empty(t, quiet.URL(), "it listens to nobody")
	require.Empty(t, quiet.RouteURL())
	quiet.Shutdown()

	dir := t.TempDir() + "/made"
	one, err := embedded.Start(embedded.Options{StoreDir: dir})
	require.NoError(t, err)
	_, err = embedded.Start(embedded.Options{StoreDir: dir})
	require.ErrorIs(t, err, embedded.ErrInUse, "two would spoil what is there")
	one.Shutdown()
	again, err := embedded.Start(embedded.Options{StoreDir: dir})
	require.NoError(t, err)
	again.Shutdown()

	s, err := embedded.Start(embedded.Options{StoreDir: t.TempDir(), Listen: "127.0.0.1:0", SyncAlways: true})
	require.NoError(t, err)
	defer s.Shutdown()
	require.True(t, s.SyncAlways())
	inside, err := s.Connect()
	require.NoError(t, err)
	defer inside.Close()
	outside, err := nats.Connect(s.URL())
	require.NoError(t, err)
	defer outside.Close()
	sub, err := inside.SubscribeSync("x")
	require.NoError(t, err)
	require.NoError(t, inside.Flush())
	require.NoError(t, outside.Publish("x", []byte("hello")))
	msg, err := sub.NextMsg(time.Minute)
	require.NoError(t, err)
	require.Equal(t, "hello", string(msg.Data))
}

func TestOptions(t *testing.T) {
	dir := t.TempDir()
	for _, o := range []embedded.Options{
		{},
		{StoreDir: dir, Listen: "nowhere"},
		{StoreDir: dir, Listen: "127.0.0.1:x"},
		{StoreDir: dir, Listen: "127.0.0.1:70000"},
		{StoreDir: dir, Config: "accounts {"},
		{StoreDir: dir, Cluster: &embedded.Cluster{Name: "c", Listen: "x"}},
	} {
		_, err := embedded.Start(o)
		require.Error(t, err, "%+v", o)
		require.True(t, strings.HasPrefix(err.Error(), "embedded: "), "%v", err)
	}
}
