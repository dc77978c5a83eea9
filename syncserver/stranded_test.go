package syncserver_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	. "github.com/strabo-engine/strabo/internal/played"
	"github.com/strabo-engine/strabo/syncserver"
	"github.com/strabo-engine/strabo/syncserver/embedded"
)

// TestUnansweredRemoval has NATS never answer the request to remove arrivals that are decided, as it does not where the
// leader of the stream stops with the request in hand. What arrives afterwards must be decided all the same.
func TestUnansweredRemoval(t *testing.T) {
	t.Parallel()
	rules := Rules(t, Purchase)
	s := store(t, embedded.Options{Config: `
		accounts: {ALL: {jetstream: enabled, users: [
			{user: server, password: s, permissions: {publish: {deny: "$JS.API.STREAM.PURGE.>"}}}
			{user: agent, password: a}
		]}}
	`})
	var once sync.Once
	unanswered := make(chan struct{})
	serving := connect(t, s, nats.UserInfo("server", "s"), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
		if strings.Contains(err.Error(), "STREAM.PURGE") {
			once.Do(func() { close(unanswered) })
		}
	}))
	server, err := syncserver.NewServer(t.Context(), serving, rules, syncserver.ServerConfig{
		Window: time.Millisecond, Lease: time.Second, Logger: quiet(),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close(context.Background())) })
	e := client(t, connect(t, s, nats.UserInfo("agent", "a")), rules)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	attempt := func(n int) {
		outcome, err := e.Attempt(ctx, Attempt(Buyer, "RFQ", fmt.Sprint(n), "item", "fig"))
		require.NoError(t, err)
		require.Nil(t, outcome.Rejection)
	}
	attempt(0)
	select {
	case <-unanswered:
	case <-ctx.Done():
		t.Fatal("nothing was to be removed")
	}
	for n := range 64 { // in every partition
		attempt(n + 1)
	}
}
