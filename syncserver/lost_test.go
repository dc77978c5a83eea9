package syncserver_test

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	. "github.com/strabo-engine/strabo/internal/played"
	"github.com/strabo-engine/strabo/syncserver"
	"github.com/strabo-engine/strabo/syncserver/embedded"
	. "github.com/strabo-engine/strabo/syncserver/internal/conformance"
)

// remove removes a stream, as it is where the power went before anything of it was flushed.
func remove(t *testing.T, s *embedded.Server, stream string) {
	t.Helper()
	js, err := jetstream.New(connect(t, s))
	require.NoError(t, err)
	require.NoError(t, js.DeleteStream(t.Context(), stream))
}

// TestArrivalsLost has the stream of arrivals begin anew while no server runs, as it does where the power went before it
// was flushed, and the sequencers' own notes were: attempts are decided all the same.
func TestArrivalsLost(t *testing.T) {
	t.Parallel()
	rules := Rules(t, Purchase)
	s := store(t, embedded.Options{})
	config := syncserver.ServerConfig{Window: time.Millisecond, Lease: 100 * time.Millisecond, Logger: quiet()}
	server, err := syncserver.NewServer(t.Context(), connect(t, s), rules, config)
	require.NoError(t, err)
	e := client(t, connect(t, s), rules)
	ordered := Attempt(Buyer, "RFQ", "1", "item", "fig")
	for range 20 {
		Accepted(t, e, ordered)
	}
	require.NoError(t, server.Close(t.Context()))
	remove(t, s, "STRABO_purchase_ARRIVALS")

	serve(t, s, rules, config)
	require.Equal(t, uint64(1), Accepted(t, e, ordered).Sequence)
	Accepted(t, e, Attempt(Seller, "Quote", "1", "price", 5))
}

// TestLogLost has the log begin anew while no server runs. A feed that had received more than there is begins anew too,
// and misses nothing of what follows.
func TestLogLost(t *testing.T) {
	t.Parallel()
	rules := Rules(t, Purchase)
	s := store(t, embedded.Options{})
	config := syncserver.ServerConfig{Logger: quiet()}
	server, err := syncserver.NewServer(t.Context(), connect(t, s), rules, config)
	require.NoError(t, err)
	e := client(t, connect(t, s), rules)
	feed := Join(t, e, Seller)
	for _, id := range []string{"1", "2"} {
		Accepted(t, e, Attempt(Buyer, "RFQ", id, "item", "fig"))
	}
	Receive(t, feed, 2)
	require.NoError(t, server.Close(t.Context()))
	remove(t, s, "STRABO_purchase_LOG")
	remove(t, s, "STRABO_purchase_POSITIONS")

	serve(t, s, rules, config)
	Accepted(t, e, Attempt(Buyer, "RFQ", "3", "item", "fig"))
	require.ElementsMatch(t, []string{"1 0 revoked", "2 0 revoked"}, Receive(t, feed, 2))
	require.Equal(t, []string{"3 1 RFQ"}, Receive(t, feed, 1))
}
