package syncserver_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/enactment"
	. "github.com/strabo-engine/strabo/internal/played"
	"github.com/strabo-engine/strabo/syncserver"
	"github.com/strabo-engine/strabo/syncserver/embedded"
	. "github.com/strabo-engine/strabo/syncserver/internal/conformance"
)

// cluster starts three NATS servers that know each other.
func cluster(t testing.TB) []*embedded.Server {
	t.Helper()
	var nodes []*embedded.Server
	var routes []string
	for n := range 3 {
		node := store(t, embedded.Options{
			Name: fmt.Sprint("n", n), Listen: "127.0.0.1:0",
			Cluster: &embedded.Cluster{Name: "test", Listen: "127.0.0.1:0", Routes: routes},
		})
		routes = append(routes, node.RouteURL())
		nodes = append(nodes, node)
	}
	require.Eventually(t, func() bool { return nodes[0].Clustered() && nodes[1].Clustered() && nodes[2].Clustered() },
		time.Minute, 20*time.Millisecond)
	return nodes
}

// TestClusterLosesItsLeader stops the leader of the log's stream in the middle of a storm.
func TestClusterLosesItsLeader(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("three servers")
	}
	for name, window := range map[string]time.Duration{"immediate": 0, "batch": 5 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rules := Rules(t, Purchase)
			nodes := cluster(t)
			urls := nodes[0].URL() + "," + nodes[1].URL() + "," + nodes[2].URL()
			dial := func() *nats.Conn {
				conn, err := nats.Connect(urls, nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond), nats.ReconnectJitter(0, 0))
				require.NoError(t, err)
				t.Cleanup(conn.Close)
				return conn
			}
			for range 2 {
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				defer cancel()
				server, err := syncserver.NewServer(ctx, dial(), rules, syncserver.ServerConfig{Replicas: 3, Window: window, Logger: quiet()})
				require.NoError(t, err)
				t.Cleanup(func() { require.NoError(t, server.Close(context.Background())) })
			}
			var executors []adapter.Executor
			for range 6 {
				executors = append(executors, client(t, dial(), rules))
			}
			storm{executors: executors, batch: window > 0, meanwhile: func(s *storming) {
				s.wait(100)
				for _, node := range nodes {
					if node.LeadsStream("$G", "STRABO_purchase_LOG") {
						node.Shutdown()
						s.wait(200)
						return
					}
				}
				t.Error("nobody leads the log")
			}}.run(t)
		})
	}
}

// TestManyEnactmentsChangeHands has one feed with more enactments than one answer of JetStream holds die without a word.
func TestManyEnactmentsChangeHands(t *testing.T) {
	t.Parallel()
	const many = 1500
	rules := Rules(t, Purchase)
	s := store(t, embedded.Options{})
	serve(t, s, rules, syncserver.ServerConfig{Lease: 6 * time.Second}) // a loaded machine renews late
	e := client(t, connect(t, s), rules)
	var attempts errgroup.Group
	attempts.SetLimit(64) // So many are answered soon; who is not asks again, and again.
	for n := range many {
		attempts.Go(func() error {
			Accepted(t, e, Attempt(Buyer, "RFQ", fmt.Sprint(n), "item", "fig"))
			return nil
		})
	}
	require.NoError(t, attempts.Wait())
	dying := connect(t, s)
	feed := Join(t, client(t, dying, rules), Seller)
	stored := false
	receiveAll(t, feed, many, func(d adapter.Delivery) {
		if d.Key == KeyOf("7") {
			err := feed.Store(t.Context(), d.Key, 1)
			stored = stored || err == nil
			require.True(t, err == nil || errors.Is(err, adapter.ErrRevoked), err)
		}
	})
	require.True(t, stored)
	dying.Close()
	receiveAll(t, Join(t, e, Seller), many, func(d adapter.Delivery) { require.Equal(t, d.Key == KeyOf("7"), d.Handled) })

	// The one that died, if it still runs, has given everything up by then.
	lost := make(map[enactment.Key]bool)
	for len(lost) < many {
		d, err := feed.Receive(t.Context())
		require.NoError(t, err)
		require.True(t, d.Revoked)
		lost[d.Key] = true
	}
}

// receiveAll receives until a feed has so many enactments, also where it loses them meanwhile because the machine is too
// slow to renew its lease.
func receiveAll(t *testing.T, feed adapter.Feed, many int, received func(adapter.Delivery)) {
	t.Helper()
	has := make(map[enactment.Key]bool)
	for len(has) < many {
		d, err := feed.Receive(t.Context())
		require.NoError(t, err)
		if d.Revoked { // perhaps before it was received
			delete(has, d.Key)
			continue
		}
		require.False(t, has[d.Key])
		has[d.Key] = true
		received(d)
	}
}

// TestFeedsOutliveTheirServer stops the server that serves a feed; another goes on where it was.
func TestFeedsOutliveTheirServer(t *testing.T) {
	rules := Rules(t, Purchase)
	s := store(t, embedded.Options{})
	e := client(t, connect(t, s), rules)
	var running *syncserver.Server
	next := func() {
		old := running
		running = serve(t, s, rules, syncserver.ServerConfig{})
		if old != nil {
			require.NoError(t, old.Close(context.Background()))
		}
	}
	next()
	feed := Join(t, e, Seller)
	for n := range 5 {
		id := fmt.Sprint(n)
		Accepted(t, e, Attempt(Buyer, "RFQ", id, "item", "fig"))
		require.Equal(t, []string{id + " 1 RFQ"}, Receive(t, feed, 1))
		next()
		require.NoError(t, feed.Store(t.Context(), KeyOf(id), 1))
		Accepted(t, e, Attempt(Seller, "Quote", id, "price", 5))
		require.Equal(t, []string{id + " 2 Quote"}, Receive(t, feed, 1), "nothing twice, nothing lost")
	}
}
