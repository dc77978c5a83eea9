package natsapproval_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/approval"
	"github.com/strabo-engine/strabo/bridge/approval/internal/conformance"
	"github.com/strabo-engine/strabo/bridge/approval/natsapproval"
	"github.com/strabo-engine/strabo/internal/testspeed"
	"github.com/strabo-engine/strabo/syncserver/embedded"
)

func TestMain(m *testing.M) {
	testspeed.Raise()
	m.Run()
}

// stores gives two views of one store, over connections of their own.
func stores(t *testing.T) [2]*natsapproval.Store {
	t.Helper()
	server, err := embedded.Start(embedded.Options{StoreDir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(server.Shutdown)
	var views [2]*natsapproval.Store
	for i := range views {
		conn, err := server.Connect()
		require.NoError(t, err)
		t.Cleanup(conn.Close)
		views[i], err = natsapproval.Open(t.Context(), conn, natsapproval.Options{})
		require.NoError(t, err)
	}
	return views
}

func TestStore(t *testing.T) {
	s := stores(t)
	conformance.Run(t, s[0], s[1])
}

func TestStoreMachine(t *testing.T) {
	s := stores(t)
	runs := 0
	prefix := func() string { runs++; return fmt.Sprint(runs, "-") }
	conformance.Machine(t, s[0], s[1], prefix, nil)
}

func TestDamage(t *testing.T) {
	server, err := embedded.Start(embedded.Options{StoreDir: t.TempDir()})
	require.NoError(t, err)
	defer server.Shutdown()
	conn, err := server.Connect()
	require.NoError(t, err)
	defer conn.Close()
	s, err := natsapproval.Open(t.Context(), conn, natsapproval.Options{Bucket: "other"})
	require.NoError(t, err)
	_, err = s.Ask(t.Context(), conformance.Request("good"))
	require.NoError(t, err)
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	kv, err := js.KeyValue(t.Context(), "other")
	require.NoError(t, err)
	_, err = kv.Put(t.Context(), "abc", []byte("{}"))
	require.NoError(t, err)
	entries, err := s.List(t.Context())
	require.ErrorContains(t, err, "is damaged")
	require.Len(t, entries, 1)
	conn.Close()
	_, err = s.Wait(t.Context(), "good")
	require.Error(t, err)
}

func TestWaitUntilItExpires(t *testing.T) {
	s := stores(t)
	request := conformance.Request("r")
	request.Expires = time.Now().Add(200 * time.Millisecond)
	_, err := s[0].Ask(t.Context(), request)
	require.NoError(t, err)
	decision, err := s[1].Wait(t.Context(), "r")
	require.NoError(t, err)
	require.Equal(t, approval.Expired, decision.State)
	require.False(t, time.Now().Before(request.Expires))
}
