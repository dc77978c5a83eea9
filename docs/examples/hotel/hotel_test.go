package hotel_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/docs/examples/hotel"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/syncserver"
	"github.com/strabo-engine/strabo/syncserver/embedded"
)

// Both agents in one process.
func TestBookings(t *testing.T) {
	rules, err := hotel.Rules()
	require.NoError(t, err)
	local := syncserver.NewLocal(rules)
	defer local.Close()
	for _, test := range []struct {
		nights int
		ending string
	}{{2, "Confirmed"}, {3, "Cancelled"}} {
		t.Run(test.ending, func(t *testing.T) {
			require.Equal(t, test.ending, book(t, rules, local, test.ending, test.nights, hosting(t, rules, local)))
		})
	}
}

// hosting runs a hotel; what it returns stops it.
func hosting(t *testing.T, rules *enactment.Rules, executor adapter.Executor) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	agent, err := hotel.NewHotel(rules, executor)
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() { ended <- agent.Run(ctx) }()
	return func() {
		cancel()
		require.NoError(t, <-ended)
	}
}

// book runs a guest with a budget of 250 until a booking has ended, and then stops the hotel.
func book(t *testing.T, rules *enactment.Rules, executor adapter.Executor, name string, nights int, stop func()) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	endings := make(chan string, 1)
	agent, err := hotel.NewGuest(rules, executor, 250, func(_ enactment.Key, ending string) { endings <- ending })
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() { ended <- agent.Run(ctx) }()
	require.NoError(t, hotel.Ask(ctx, agent, name, "sea", nights))
	require.NoError(t, hotel.Ask(ctx, agent, name, "sea", nights), "the same again is the same")
	ending := <-endings
	stop()
	cancel()
	require.NoError(t, <-ended)
	return ending
}

// The agents do not change on a server; and a hotel that was away finds what was asked of it meanwhile.
func TestBookingsOnServerOutliveTheHotel(t *testing.T) {
	rules, err := hotel.Rules()
	require.NoError(t, err)
	nats, err := embedded.Start(embedded.Options{StoreDir: t.TempDir()})
	require.NoError(t, err)
	defer nats.Shutdown()
	conn, err := nats.Connect()
	require.NoError(t, err)
	defer conn.Close()
	server, err := syncserver.NewServer(t.Context(), conn, rules, syncserver.ServerConfig{Memory: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, server.Close(context.Background())) }()
	client, err := syncserver.NewClient(conn, rules, syncserver.ClientConfig{})
	require.NoError(t, err)
	defer client.Close()

	asked := adapter.Values{"booking": "early", "room": "sea", "nights": 1}
	guest, err := adapter.New(rules, "Guest", client)
	require.NoError(t, err)
	require.NoError(t, guest.Attempt(t.Context(), "Ask", asked).Err(t.Context()))
	require.Equal(t, "Confirmed", book(t, rules, client, "late", 2, hosting(t, rules, client)))
	for _, name := range []string{"early", "late"} {
		again := adapter.Values{"booking": name, "room": "sea", "nights": 9}
		err := guest.Attempt(t.Context(), "Ask", again).Err(t.Context())
		require.ErrorIs(t, err, enactment.AlreadyHappened)
	}
}

// An agent chooses among what is enabled, so what a test has to look at is what it chooses.
func Example() {
	rules, err := hotel.Rules()
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	local := syncserver.NewLocal(rules)
	defer local.Close()
	host, err := hotel.NewHotel(rules, local)
	if err != nil {
		fmt.Println(err)
		return
	}
	guest, err := hotel.NewGuest(rules, local, 250, func(booking enactment.Key, ending string) {
		fmt.Println(ending, booking)
		cancel()
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	hosted := make(chan error, 1)
	go func() { hosted <- host.Run(ctx) }()
	if err := hotel.Ask(ctx, guest, "b1", "sea", 2); err != nil {
		fmt.Println(err)
	}
	if err := errors.Join(guest.Run(ctx), <-hosted); err != nil {
		fmt.Println(err)
	}
	// Output: Confirmed {"booking":"b1"}
}
