package syncserver_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/enactment"
	. "github.com/strabo-engine/strabo/internal/played"
	"github.com/strabo-engine/strabo/syncserver"
	"github.com/strabo-engine/strabo/syncserver/embedded"
	. "github.com/strabo-engine/strabo/syncserver/internal/conformance"
)

// TestLaggingFeedSeesNothingOfOthers has a feed that is behind look at enactments whose role was open when they began
// and is another party's by now, in the server's own process and elsewhere.
func TestLaggingFeedSeesNothingOfOthers(t *testing.T) {
	t.Parallel()
	rules := Rules(t, Purchase)
	one, other := enactment.Identity{Role: "Seller", Party: "one"}, enactment.Identity{Role: "Seller", Party: "other"}
	for _, place := range []string{"here", "elsewhere"} {
		t.Run(place, func(t *testing.T) {
			s := store(t, embedded.Options{})
			server := serve(t, s, rules, syncserver.ServerConfig{})
			config := syncserver.ClientConfig{Buffer: 1, Logger: quiet()}
			slow := server.Client(config)
			if place == "elsewhere" {
				var err error
				slow, err = syncserver.NewClient(connect(t, s), rules, config)
				require.NoError(t, err)
			}
			t.Cleanup(slow.Close)
			feed := Join(t, slow, one)
			e := client(t, connect(t, s), rules)
			Accepted(t, e, Attempt(Buyer, "RFQ", "1", "item", "fig")) // by which the feed is full
			Accepted(t, e, Attempt(Buyer, "RFQ", "2", "item", "fig"))
			Accepted(t, e, Attempt(Buyer, "RFQ", "3", "item", "fig"))
			Accepted(t, e, Attempt(other, "Quote", "3", "price", 5))
			Accepted(t, e, Attempt(one, "Quote", "2", "price", 5))
			Accepted(t, e, Attempt(Buyer, "RFQ", "4", "item", "fig"))
			require.Equal(t, []string{"1 1 RFQ", "2 1 RFQ", "2 2 Quote", "4 1 RFQ"}, Receive(t, feed, 4))
		})
	}
}
