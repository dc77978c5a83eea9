package syncserver_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/internal/played"
	"github.com/strabo-engine/strabo/syncserver"
)

func TestFeedDeliversWhatTheRoleSees(t *testing.T) {
	tests := []struct {
		as   enactment.Identity
		want []string
	}{
		{played.Buyer, []string{"1 1 RFQ more", "1 2 Stop more", "1 3 Quote more", "1 4 Accept completed"}},
		{played.Seller, []string{"1 1 RFQ more", "1 2 Stop more", "1 3 Quote more", "1 4 Accept completed"}},
		{played.Auditor, []string{"1 4 Accept completed"}},
	}
	for _, test := range tests {
		t.Run(test.as.Role, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := local(t)
				early := join(t, l, test.as)
				accepted(t, l, played.Attempt(played.Buyer, "RFQ", "1", "item", "fig"))
				accepted(t, l, played.Attempt(played.Seller, "Stop", "1"))
				accepted(t, l, played.Attempt(played.Seller, "Quote", "1", "price", 5))
				accepted(t, l, played.Attempt(played.Buyer, "Accept", "1", "address", "here"))
				require.Empty(t, cmp.Diff(test.want, brief(drain(t, early))))
				require.NoError(t, early.Close())
				require.Empty(t, cmp.Diff(test.want, brief(drain(t, join(t, l, test.as)))), "history for who joins later")
			})
		})
	}
}

func TestFeedProjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := local(t)
		accepted(t, l, played.Attempt(played.Buyer, "RFQ", "1", "item", "fig"))
		accepted(t, l, played.Attempt(played.Buyer, "Accept", "1", "price", 5, "address", "here"))
		deliveries := drain(t, join(t, l, played.Seller))
		require.Len(t, deliveries, 2)
		instance := deliveries[1].Finalisation.Instances[0]
		_, sees := instance.Value("address")
		require.False(t, sees, "the seller does not need the address")
		price, sees := instance.Value("price")
		require.True(t, sees)
		require.Equal(t, "5", price.String())
	})
}

func TestFeedSharesWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := local(t)
		one, two := join(t, l, played.Seller), join(t, l, played.Seller)
		accepted(t, l, played.Attempt(played.Buyer, "RFQ", "1", "item", "fig"))
		accepted(t, l, played.Attempt(played.Buyer, "RFQ", "2", "item", "fig"))
		first, err := one.Receive(t.Context())
		require.NoError(t, err)
		second, err := two.Receive(t.Context())
		require.NoError(t, err)
		require.Equal(t, []string{"1 1 RFQ", "2 1 RFQ"}, brief([]adapter.Delivery{first, second}), "each takes what is nobody's")

		accepted(t, l, played.Attempt(played.Seller, "Quote", "1", "price", 5))
		accepted(t, l, played.Attempt(played.Seller, "Quote", "2", "price", 5))
		require.Equal(t, []string{"2 2 Quote"}, brief(drain(t, two)), "and keeps it")
		require.Equal(t, []string{"1 2 Quote"}, brief(drain(t, one)))

		// The other takes over what is not handled, history first.
		require.NoError(t, one.Store(t.Context(), played.KeyOf("1"), 1))
		require.ErrorIs(t, one.Store(t.Context(), played.KeyOf("2"), 1), adapter.ErrRevoked)
		require.NoError(t, one.Close())
		_, err = one.Receive(t.Context())
		require.ErrorIs(t, err, adapter.ErrClosed)
		require.ErrorIs(t, one.Store(t.Context(), played.KeyOf("1"), 2), adapter.ErrRevoked)
		require.Equal(t, []string{"1 1 RFQ handled more", "1 2 Quote"}, brief(drain(t, two)))
		accepted(t, l, played.Attempt(played.Buyer, "Reject", "1"))
		require.Equal(t, []string{"1 3 Reject completed"}, brief(drain(t, two)))
	})
}

func TestFeedWakesWhoWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := local(t)
		got := make(chan adapter.Delivery)
		for range 2 {
			feed := join(t, l, played.Seller)
			go func() {
				for {
					d, err := feed.Receive(t.Context())
					if err != nil {
						return
					}
					got <- d
				}
			}()
		}
		synctest.Wait()
		accepted(t, l, played.Attempt(played.Buyer, "RFQ", "1", "item", "fig"))
		require.Equal(t, played.KeyOf("1"), (<-got).Key)
		accepted(t, l, played.Attempt(played.Seller, "Stop", "1"))
		require.Equal(t, uint64(2), (<-got).Finalisation.Sequence)
	})
}

func TestFeedTakesTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := local(t)
		for _, id := range []string{"1", "2"} {
			accepted(t, l, played.Attempt(played.Buyer, "RFQ", id, "item", "fig"))
			accepted(t, l, played.Attempt(played.Seller, "Quote", id, "price", 5))
			accepted(t, l, played.Attempt(played.Buyer, "Urge", id))
		}
		want := []string{"1 1 RFQ more", "1 2 Quote more", "2 1 RFQ more", "1 3 Urge", "2 2 Quote more", "2 3 Urge"}
		require.Empty(t, cmp.Diff(want, brief(drain(t, join(t, l, played.Buyer)))))
	})
}

func TestPartiesDoNotSeeEachOther(t *testing.T) {
	b1, b2 := enactment.Identity{Role: "Buyer", Party: "b1"}, enactment.Identity{Role: "Buyer", Party: "b2"}
	s1, s2 := enactment.Identity{Role: "Seller", Party: "s1"}, enactment.Identity{Role: "Seller", Party: "s2"}
	synctest.Test(t, func(t *testing.T) {
		rules := played.Rules(t, played.Purchase, enactment.WithParties("Buyer", "b1", "b2"))
		l := syncserver.NewLocal(rules)
		defer l.Close()
		feeds := make(map[enactment.Identity]adapter.Feed)
		for _, as := range []enactment.Identity{b1, b2, s1, s2} {
			feeds[as] = join(t, l, as)
		}
		_, err := l.Join(t.Context(), enactment.Identity{Role: "Buyer", Party: "b3"})
		require.Error(t, err, "it is not configured")
		_, err = l.Join(t.Context(), enactment.Identity{Role: "Banker"})
		require.Error(t, err, "there is no such role")

		accepted(t, l, played.Attempt(b1, "RFQ", "1", "item", "fig"))
		named := played.Attempt(b2, "RFQ", "2", "item", "fig")
		named.Parties = map[string]string{"Seller": "s2"}
		accepted(t, l, named)
		// Who plays the seller in 1 is open, so both see it; the buyer is not.
		require.Equal(t, []string{"1 1 RFQ"}, brief(drain(t, feeds[s1])))
		require.Equal(t, []string{"1 1 RFQ", "2 1 RFQ"}, brief(drain(t, feeds[s2])))
		require.Equal(t, []string{"1 1 RFQ"}, brief(drain(t, feeds[b1])))
		require.Equal(t, []string{"2 1 RFQ"}, brief(drain(t, feeds[b2])))

		// Whoever acts first has the part, and the other loses sight of it.
		accepted(t, l, played.Attempt(s1, "Quote", "1", "price", 5))
		require.Equal(t, []string{"1 2 Quote"}, brief(drain(t, feeds[s1])))
		require.Equal(t, []string{"1 0 revoked"}, brief(drain(t, feeds[s2])))
		require.ErrorIs(t, feeds[s2].Store(t.Context(), played.KeyOf("1"), 1), adapter.ErrRevoked)
		outcome, err := l.Attempt(t.Context(), played.Attempt(s2, "Stop", "1"))
		require.NoError(t, err)
		require.ErrorIs(t, outcome.Err(), enactment.WrongParty)

		// Who joins later learns the same, and who had not looked yet never does.
		accepted(t, l, played.Attempt(b1, "RFQ", "3", "item", "fig"))
		accepted(t, l, played.Attempt(s1, "Stop", "3"))
		require.NoError(t, feeds[s2].Close())
		require.Equal(t, []string{"2 1 RFQ"}, brief(drain(t, join(t, l, s2))))
		require.Equal(t, []string{"3 1 RFQ more", "3 2 Stop"}, brief(drain(t, feeds[s1])))
	})
}

func TestRevokedWhileNobodys(t *testing.T) {
	s1, s2 := enactment.Identity{Role: "Seller", Party: "s1"}, enactment.Identity{Role: "Seller", Party: "s2"}
	synctest.Test(t, func(t *testing.T) {
		l := local(t)
		feed := join(t, l, s2)
		accepted(t, l, played.Attempt(played.Buyer, "RFQ", "1", "item", "fig"))
		accepted(t, l, played.Attempt(s1, "Stop", "1"))
		require.Empty(t, drain(t, feed), "it has never had it")

		accepted(t, l, played.Attempt(played.Buyer, "RFQ", "2", "item", "fig"))
		require.Len(t, drain(t, feed), 1)
		accepted(t, l, played.Attempt(s1, "Stop", "2"))
		require.NoError(t, feed.Close())
		require.Empty(t, drain(t, join(t, l, s2)), "nobody is told of what the one before had")
		require.Zero(t, l.MemberCount())
	})
}

func TestReceiveEndsWithTheContext(t *testing.T) {
	l := local(t)
	accepted(t, l, played.Attempt(played.Buyer, "RFQ", "1", "item", "fig"))
	feed := join(t, l, played.Buyer)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := feed.Receive(ctx)
	require.ErrorIs(t, err, context.Canceled)
	_, err = l.Join(ctx, played.Seller)
	require.ErrorIs(t, err, context.Canceled)
	d, err := feed.Receive(context.Background())
	require.NoError(t, err)
	require.Equal(t, played.KeyOf("1"), d.Key)
}
