package bridge_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge"
	"github.com/strabo-engine/strabo/bridge/acc"
	"github.com/strabo-engine/strabo/bridge/approval"
	"github.com/strabo-engine/strabo/bridge/audit"
	"github.com/strabo-engine/strabo/bridge/policy"
)

// An agreement to one body is none to another.
func TestApprovalIsOfTheBody(t *testing.T) {
	g := newGoverning(t)
	g.edit(&g.contracts, "scope: hotel.pay\n        risk: {level: high}", approvedPay)
	store, err := approval.OpenFileStore(t.TempDir(), approval.FileOptions{})
	require.NoError(t, err)
	hasher := audit.NewHasher(make([]byte, audit.HashKeySize))
	configure := func(o *bridge.Options) { o.Approvals, o.Hasher = store, hasher }
	question := func() approval.Request {
		var asked []approval.Entry
		require.Eventually(t, func() bool {
			asked, err = store.List(t.Context())
			return err == nil && len(asked) == 1 && asked[0].Decision.State == approval.Pending
		}, time.Minute, time.Millisecond)
		return asked[0].Request
	}
	grant := func(q approval.Request) {
		require.NoError(t, store.Decide(t.Context(), q.ID, approval.Verdict{Granted: true, Digest: q.Digest, By: "ben"}))
	}
	stop := g.begin(configure)
	g.reserved()
	g.payFor("r1")
	before := question()
	stop()
	grant(before)

	g.edit(&g.mapping, "body: {card: $.observed.card}", "body: {card: $.observed.card, tip: 1000}")
	g.begin(configure)
	after := question()
	assert.Equal(t, before.ID, after.ID)
	assert.NotEqual(t, before.Digest, after.Digest)
	assert.Zero(t, g.shop.asked(payLine))
	grant(after)
	g.expect("Paid")
	assert.Equal(t, 1, g.shop.effects(payLine))
}

// What was counted once is not counted again, where the operator wants that; else it is.
func TestLimitsOfRetries(t *testing.T) {
	for name, uncounted := range map[string]bool{"counted": false, "not counted": true} {
		t.Run(name, func(t *testing.T) {
			g := newGoverning(t)
			g.declare("reserve", "execution: {idempotent: true, rate_limit: {count: 1, window: 1d}}")
			local := dimension(acc.PerOperation)
			local.RetriesNotCounted = uncounted
			g.wanted("reserve", local)
			g.shop.behaves(map[string][]string{reserveLine: {"commit-and-reset"}}, false)
			g.begin()
			g.reserve("r1")
			if uncounted {
				g.expect("Booked")
				assert.Equal(t, 2, g.shop.asked(reserveLine))
				return
			}
			require.ErrorAs(t, receive(g.stage, g.unknown).Err, new(*policy.LimitedError))
			assert.Equal(t, 1, g.shop.asked(reserveLine))
		})
	}
}

// Who is no longer known after a restart is not acted for: neither is the request sent again, nor is it asked about.
func TestSubjectIsNeededAfterARestart(t *testing.T) {
	t.Run("to send again", func(t *testing.T) {
		g := newGoverning(t)
		g.declare("reserve", "subject: {required: true}\n        execution: {idempotent: true}")
		g.shop.behaves(map[string][]string{reserveLine: {"commit-and-hang"}}, false)
		stop := g.begin()
		g.reserve("r1")
		require.Eventually(t, func() bool { return g.shop.effects(reserveLine) == 1 }, time.Minute, time.Millisecond)
		stop()
		g.subject = ""
		g.begin()
		require.ErrorIs(t, receive(g.stage, g.unknown).Err, policy.ErrNoSubject)
		assert.Equal(t, 1, g.shop.asked(reserveLine))
	})
	t.Run("to ask", func(t *testing.T) {
		g := newGoverning(t)
		g.declare("look", "subject: {required: true}\n        execution: {readonly: true, idempotent: true}")
		g.shop.behaves(map[string][]string{payLine: {"commit-and-hang"}}, false)
		stop := g.begin()
		g.reserved()
		g.payFor("r1")
		require.Eventually(t, func() bool { return g.shop.effects(payLine) == 1 }, time.Minute, time.Millisecond)
		stop()
		g.subject = ""
		g.begin()
		require.ErrorIs(t, receive(g.stage, g.unknown).Err, policy.ErrNoSubject)
		assert.Equal(t, 1, g.shop.asked(lookLine))
		assert.Len(t, g.of(audit.Denied), 1)
	})
}

// A status query is a call like any other, and counts.
func TestStatusQueriesAreLimited(t *testing.T) {
	t.Parallel()
	g := newGoverning(t)
	g.declare("look", "execution: {readonly: true, idempotent: true, rate_limit: {count: 1, window: 1d}}")
	g.wanted("look", dimension(acc.PerOperation))
	g.shop.behaves(map[string][]string{payLine: {"reset", "reset", "reset"}}, false)
	g.begin(impatient)
	g.reserved()
	g.payFor("r1")
	g.unsettled(func(u bridge.Unsettled) bool { return sent(u) && len(g.of(audit.Limited)) > 0 })
	assert.Equal(t, 1, g.shop.asked(lookLine))
	assert.NotEmpty(t, g.of(audit.Limited))
}

// That the bridge has broken off a call says nothing about the target.
func TestBreakerIsNotOpenedByTheBridgeItself(t *testing.T) {
	t.Parallel()
	g := newGoverning(t)
	g.policy.Breaker = policy.BreakerOptions{Failures: 1, Rest: time.Hour}
	g.shop.behaves(map[string][]string{withdrawLine: {"commit-and-hang"}}, false)
	g.begin(impatient)
	g.reserved()
	g.withdraw("r1")
	g.unsettled(sent)
	g.reserve("r2")
	g.expect("Booked")
	assert.Empty(t, g.of(audit.BreakerOpen))
}

// A call that the end of the bridge breaks off is written down, though the context has ended.
func TestWhatIsBrokenOffIsRecorded(t *testing.T) {
	g := newGoverning(t)
	g.shop.behaves(map[string][]string{reserveLine: {"commit-and-hang"}}, false)
	stop := g.begin(func(o *bridge.Options) {
		o.Audit = audit.SinkFunc(func(ctx context.Context, r audit.Record) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return g.Record(ctx, r)
		})
	})
	g.reserve("r1")
	require.Eventually(t, func() bool { return g.shop.effects(reserveLine) == 1 }, time.Minute, time.Millisecond)
	stop()
	assert.Equal(t, []audit.Kind{audit.FirstCall}, g.kinds("reserve"))
}
