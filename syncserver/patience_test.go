package syncserver_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/syncserver"
	"github.com/strabo-engine/strabo/syncserver/embedded"
	"github.com/strabo-engine/strabo/syncserver/internal/conformance"
)

// TestNobodyWaitsLongerThanTheyCare: while the network keeps a write back, nobody in the server's process has to wait for
// it, and neither has who wants the same enactment. When it is healed, it turns out that what was begun has happened.
func TestNobodyWaitsLongerThanTheyCare(t *testing.T) {
	rules := conformance.Rules(t, conformance.Purchase)
	network := newWire(t, strings.TrimPrefix(store(t, embedded.Options{Listen: "127.0.0.1:0"}).URL(), "nats://"))
	conn, err := nats.Connect(network.URL(), nats.MaxReconnects(-1))
	require.NoError(t, err)
	defer conn.Close()
	server, err := syncserver.NewServer(t.Context(), conn, rules, syncserver.ServerConfig{Timeout: time.Hour})
	require.NoError(t, err)
	defer func() { require.NoError(t, server.Close(context.Background())) }()
	attendance, err := server.Attend(syncserver.AttendanceConfig{})
	require.NoError(t, err)
	defer attendance.Close()

	key := conformance.KeyOf("1")
	rfq := conformance.Attempt(conformance.Buyer, "RFQ", "1", "item", "fig")
	network.cut()
	for range 3 {
		short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		_, err = attendance.Attempt(short, rfq)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		_, err = attendance.Visit(short, conformance.Buyer, key, adapter.Known)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		cancel()
	}
	network.heal(false)
	outcome, err := attendance.Attempt(t.Context(), rfq)
	require.NoError(t, err)
	require.NoError(t, outcome.Err())
	require.Equal(t, uint64(1), outcome.Sequence)
}
