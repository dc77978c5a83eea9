package bridge_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge"
	"github.com/strabo-engine/strabo/bridge/acc"
	"github.com/strabo-engine/strabo/bridge/audit"
	"github.com/strabo-engine/strabo/bridge/policy"
)

// The items of ACC's checklist for implementers, each against a hostile shop in a process of its own.

// A GET that is declared to change something is treated as what it is: it has a key, and a 500 does not send it again.
func TestChecklist01ReadonlyByRealEffect(t *testing.T) {
	for readonly, asked := range map[string]int{"true": 2, "false": 1} {
		t.Run(readonly, func(t *testing.T) {
			g := newGoverning(t)
			g.withoutStatus()
			g.declare("look", "execution: {readonly: "+readonly+", idempotent: true}")
			g.shop.behaves(map[string][]string{lookLine: {"status 500"}}, false)
			g.begin()
			g.reserved()
			g.payFor("r1")
			if readonly == "true" {
				g.expect("Paid")
			} else {
				assert.Equal(t, "look", receive(g.stage, g.unknown).Step)
			}
			assert.Equal(t, asked, g.shop.asked(lookLine))
			for _, r := range g.shop.books().Requests {
				if r.Line == lookLine {
					assert.Equal(t, readonly == "true", r.Key == "", "what changes something has a key")
				}
			}
		})
	}
	t.Run("no status query", func(t *testing.T) {
		g := newGoverning(t)
		g.declare("look", "execution: {readonly: false, idempotent: true}")
		p, err := g.newPolicy()
		require.NoError(t, err)
		g.stage.mapping, err = bridge.Load("governed.yaml", []byte(g.mapping), g.rules, nil)
		require.NoError(t, err)
		_, err = bridge.New(g.rules, g.exec, g.stage.mapping, bridge.Options{BaseURL: g.shop.url, Policy: p})
		require.ErrorContains(t, err, "a status query must only read")
	})
}

// What only reads may be of high risk all the same: somebody is asked, and nothing is written down.
func TestChecklist02ReadonlyIsRiskRated(t *testing.T) {
	g := newGoverning(t)
	g.withoutStatus()
	g.declare("look", "risk: {level: high}\n        approval: {required: true}\n        audit: {sensitive: true}\n        execution: {readonly: true, idempotent: true}")
	g.begin(func(o *bridge.Options) { o.Approvals = policy.StandingGrant{By: "ben"} })
	g.reserved()
	g.payFor("r1")
	g.expect("Paid")
	assert.Equal(t, []audit.Kind{audit.ApprovalDecided, audit.FirstCall}, g.kinds("look"))
	for _, r := range g.called() {
		if r.Step == "look" {
			assert.Equal(t, "high", r.Risk)
			assert.Empty(t, r.Response+r.BodyDigest)
		}
	}
}

// An operation that changes something and is declared idempotent is not sent again where nothing says how a repetition
// would be recognised; and whoever runs the bridge is told.
func TestChecklist03IdempotentNeedsAKey(t *testing.T) {
	g := newGoverning(t)
	g.edit(&g.mapping, "      retry: same-key\n      status: same-key\n", "")
	g.shop.behaves(map[string][]string{reserveLine: {"reset"}}, false)
	g.begin()
	g.reserve("r1")
	receive(g.stage, g.unknown)
	assert.Equal(t, 1, g.shop.asked(reserveLine))
	assert.Contains(t, g.told(nil), "the mapping does not say how a repetition is recognised")
}

// One exchange has one key, with which it is repeated byte by byte; the same arguments in another enactment are another
// action; and a key that the shop may have forgotten is not relied upon.
func TestChecklist04SameArgumentsAreNotTheSameAction(t *testing.T) {
	g := newGoverning(t)
	g.shop.behaves(map[string][]string{reserveLine: {"commit-and-reset"}}, false)
	stop := g.begin()
	g.reserved()
	g.reserve("r2")
	g.expect("Booked")
	got := g.shop.books().Requests
	require.Len(t, got, 3)
	assert.Equal(t, got[0], got[1], "the repetition is the same")
	assert.Equal(t, got[0].Body, got[2].Body)
	assert.NotEqual(t, got[0].Key, got[2].Key, "the same words, another action")
	assert.Equal(t, 2, g.shop.effects(reserveLine))

	g.shop.behaves(map[string][]string{payLine: {"reset"}, lookLine: {"", "status 500", "status 500"}}, false)
	g.payFor("r1")
	g.expect("Paid")
	assert.Equal(t, []audit.Kind{audit.FirstCall, audit.StatusQuery, audit.StatusQuery, audit.Retry}, g.kinds("pay"))
	stop()
}

func TestChecklist04NoRetryPastTheLifeOfTheKey(t *testing.T) {
	t.Parallel()
	g := newGoverning(t)
	g.shop.behaves(map[string][]string{payLine: {"commit-and-hang"}}, false)
	stop := g.begin()
	g.reserved()
	g.payFor("r1")
	require.Eventually(t, func() bool { return g.shop.effects(payLine) == 1 }, time.Minute, time.Millisecond)
	stop()
	entries, err := g.journal.Load(t.Context(), key)
	require.NoError(t, err)
	g.journal = &bridge.MemoryJournal{}
	for _, e := range entries {
		e.At = e.At.Add(-policy.DefaultKeyLifetime)
		require.NoError(t, g.journal.Append(t.Context(), e))
	}
	g.shop.behaves(map[string][]string{lookLine: slices.Repeat([]string{`says {"number":"n1","state":"open"}`}, 2000)}, true)
	g.begin(impatient)
	g.unsettled(func(u bridge.Unsettled) bool { return errors.Is(u.Err, policy.ErrKeyExpired) })
	assert.Equal(t, 1, g.shop.effects(payLine), "a shop that has forgotten the key would do it again")
}

// After a lost answer it is asked what became of the request, before anything is sent again.
func TestChecklist05StatusQueryAfterALostAnswer(t *testing.T) {
	g := newGoverning(t)
	g.shop.behaves(map[string][]string{payLine: {"commit-and-reset"}}, false)
	g.begin()
	g.reserved()
	g.payFor("r1")
	assert.Equal(t, `"q2"`, g.value(g.expect("Paid"), "receipt"))
	assert.Equal(t, []audit.Kind{audit.FirstCall, audit.StatusQuery}, g.kinds("pay"))
	assert.Equal(t, 1, g.shop.asked(payLine))
	assert.Equal(t, 1, g.shop.effects(payLine))
}

// To stop waiting stops nothing: the shop commits afterwards, and there is exactly one payment. Without a way to ask it
// stays unknown, and nobody acts as if it had failed.
func TestChecklist06WaitStopIsNotCancel(t *testing.T) {
	t.Run("with a status query", func(t *testing.T) {
		g := newGoverning(t)
		g.declare("pay", "execution: {idempotent: true, "+brief+"}")
		g.shop.behaves(map[string][]string{payLine: {"hang-and-commit"}}, false)
		g.begin()
		g.reserved()
		g.payFor("r1")
		g.expect("Paid")
		assert.Equal(t, 1, g.shop.effects(payLine))
		assert.Equal(t, string(bridge.Unknown), g.of(audit.FirstCall)[2].Outcome)
		assert.Empty(t, g.diverged)
	})
	t.Run("without", func(t *testing.T) {
		g := newGoverning(t)
		g.declare("withdraw", "execution: {"+brief+"}")
		g.shop.behaves(map[string][]string{withdrawLine: {"hang-and-commit"}}, false)
		g.begin()
		g.reserved()
		g.withdraw("r1")
		u := receive(g.stage, g.unknown)
		assert.False(t, u.Unsent)
		assert.Equal(t, []string{"Ask", "Booked", "Withdraw"}, g.happened(), "no answering action")
		assert.Equal(t, []audit.Kind{audit.FirstCall, audit.UnknownOutcome}, g.kinds("withdraw"))
		require.Eventually(t, func() bool { return g.shop.effects(withdrawLine) == 1 }, time.Minute, time.Millisecond)
		assert.Equal(t, 1, g.shop.asked(withdrawLine))
	})
}

// A declared limit needs to be told per what it counts, and what becomes of a call beyond it.
func TestChecklist07LimitNeedsADimension(t *testing.T) {
	const contract = "execution: {idempotent: true, rate_limit: {count: 1, window: 1h}}"
	t.Run("none is a load error", func(t *testing.T) {
		g := newGoverning(t)
		g.declare("reserve", contract)
		_, err := g.newPolicy()
		require.ErrorIs(t, err, acc.ErrNoDimension)
	})
	t.Run("rejects", func(t *testing.T) {
		g := newGoverning(t)
		g.declare("reserve", contract)
		g.wanted("reserve", dimension(acc.PerOperation))
		g.begin()
		g.reserved()
		g.reserve("r2")
		u := receive(g.stage, g.unknown)
		require.ErrorAs(t, u.Err, new(*policy.LimitedError))
		assert.True(t, u.Unsent)
		assert.Equal(t, 1, g.shop.asked(reserveLine))
		require.Len(t, g.of(audit.Limited), 1)
		assert.Contains(t, g.of(audit.Limited)[0].Detail, "1/1h per operation")
	})
	t.Run("counts retries", func(t *testing.T) {
		g := newGoverning(t)
		g.declare("reserve", contract)
		g.wanted("reserve", dimension(acc.PerOperation))
		g.shop.behaves(map[string][]string{reserveLine: {"busy 503 0"}}, false)
		g.begin()
		g.reserve("r1")
		assert.False(t, receive(g.stage, g.unknown).Unsent)
		assert.Equal(t, 1, g.shop.asked(reserveLine))
	})
	t.Run("queues", func(t *testing.T) {
		g := newGoverning(t)
		g.declare("reserve", contract)
		local := dimension(acc.PerOperation)
		local.OnExceed, local.MaxWait = policy.Queue, time.Minute
		g.wanted("reserve", local)
		g.policy.Buckets = slowBuckets{}
		g.begin()
		g.reserved()
		require.Len(t, g.of(audit.Limited), 1, "it waited, and that is written down")
		assert.Equal(t, time.Millisecond, g.of(audit.Limited)[0].Latency)
		assert.Equal(t, 1, g.shop.effects(reserveLine))
	})
}

// slowBuckets let everybody wait a little.
type slowBuckets struct{}

func (slowBuckets) Take(_ context.Context, _ string, _ acc.RateLimit, longest time.Duration) (time.Duration, bool, error) {
	return time.Millisecond, time.Millisecond <= longest, nil
}

// Local policy only tightens.
func TestChecklist08LocalPolicyOnlyTightens(t *testing.T) {
	for name, local := range map[string]policy.Local{
		"a longer timeout":   {LocalPolicy: acc.LocalPolicy{Timeout: time.Minute}},
		"a promise not made": {LocalPolicy: acc.LocalPolicy{Readonly: yes()}},
		"a lower risk":       {LocalPolicy: acc.LocalPolicy{Risk: acc.LowRisk}},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGoverning(t)
			g.wanted("reserve", local)
			_, err := g.newPolicy()
			require.ErrorIs(t, err, acc.ErrLooser)
		})
	}
	t.Run("a shorter timeout", func(t *testing.T) {
		g := newGoverning(t)
		g.wanted("withdraw", policy.Local{LocalPolicy: acc.LocalPolicy{Timeout: 500 * time.Millisecond}})
		g.shop.behaves(map[string][]string{withdrawLine: {"commit-and-hang"}}, false)
		g.begin()
		g.reserved()
		g.withdraw("r1")
		receive(g.stage, g.unknown)
		assert.Equal(t, "local", g.of(audit.UnknownOutcome)[0].Sources["execution.timeout_ms"])
	})
}

func yes() *bool {
	value := true
	return &value
}

// Retries, transactions and concurrency are no matter of a contract: what it says of them has no effect.
func TestChecklist09LayersAreKeptApart(t *testing.T) {
	g := newGoverning(t)
	g.declare("withdraw", "execution: {idempotent: false, retries: 5, retry: true, atomic: true, concurrency: 9}")
	g.shop.behaves(map[string][]string{withdrawLine: {"busy 503 0"}}, false)
	g.begin()
	g.reserved()
	g.withdraw("r1")
	receive(g.stage, g.unknown)
	assert.Equal(t, 1, g.shop.asked(withdrawLine))
}

// The business has the last word: its denial is final. And whom a call is made for is said by nobody but who is trusted.
func TestChecklist10TheBusinessStillAuthorizes(t *testing.T) {
	for _, status := range []string{"401", "403"} {
		t.Run(status, func(t *testing.T) {
			g := newGoverning(t)
			g.shop.behaves(map[string][]string{reserveLine: {"status " + status}}, false)
			g.begin()
			g.reserve("r1")
			assert.JSONEq(t, `{"status":`+status+`}`, g.value(g.expect("Full"), "why"))
			assert.Equal(t, 1, g.shop.asked(reserveLine))
		})
	}
	t.Run("no subject", func(t *testing.T) {
		g := newGoverning(t)
		g.declare("reserve", "subject: {required: true}")
		g.edit(&g.mapping, "      retry: same-key\n      status: same-key\n", "")
		g.subject = ""
		g.begin()
		g.reserve("r1")
		assert.Contains(t, g.value(g.expect("Full"), "why"), "needs a trusted subject")
		assert.Zero(t, g.shop.asked(reserveLine))
		assert.Equal(t, []audit.Kind{audit.Denied}, g.kinds("reserve"))
	})
}

// The audit tells apart what happens: one record for each attempt on the wire and each decision not to call.
func TestChecklist11AuditDistinguishes(t *testing.T) {
	g := newGoverning(t)
	g.edit(&g.contracts, "scope: hotel.pay", "scope: hotel.pay\n        approval: {required: true, prompt: Pay}")
	g.shop.behaves(map[string][]string{
		reserveLine: {`says {"ticket":1}`, `says {"ticket":1}`, ""},
		payLine:     {"commit-and-reset"}, lookLine: {"", "status 500"},
	}, false)
	stop := g.begin(func(o *bridge.Options) { o.Approvals = policy.StandingGrant{By: "ben", Reason: "fine"} })
	g.reserved()
	assert.Equal(t, []audit.Kind{audit.FirstCall, audit.Retry, audit.IdempotencyHit, audit.Retry, audit.ConflictingResult}, g.kinds("reserve"))
	g.payFor("r1")
	g.expect("Paid")
	assert.Equal(t, []audit.Kind{audit.ApprovalDecided, audit.FirstCall, audit.StatusQuery, audit.StatusQuery}, g.kinds("pay"))
	first := g.of(audit.FirstCall)
	pay := first[len(first)-1]
	assert.Equal(t, "pay", pay.Operation)
	assert.Equal(t, "hotel.pay", pay.Scope)
	assert.Equal(t, "high", pay.Risk)
	assert.Equal(t, "ada", pay.Subject)
	assert.NotEmpty(t, pay.Approval)
	assert.NotEmpty(t, pay.KeyHash)
	assert.NotEmpty(t, pay.BodyDigest)
	assert.Equal(t, 1, pay.Attempt)
	assert.Positive(t, pay.Latency)
	assert.Regexp(t, `^declared \d+:\d+$`, pay.Sources["execution.idempotent"])
	assert.Equal(t, `{"card":"[secret]"}`, pay.Request)
	hit := g.of(audit.IdempotencyHit)[0]
	assert.True(t, hit.Inferred)
	for _, r := range g.called() {
		assert.NotContains(t, quoted(r), token)
		assert.Equal(t, r.Kind == audit.FirstCall || r.Kind == audit.Retry || r.Kind == audit.StatusQuery, r.Method != "")
	}
	stop()
	t.Run("replay and duplicate", func(t *testing.T) {
		g := newGoverning(t)
		stop := g.begin()
		g.reserved()
		stop()
		again := &forgetfulExecutor{g.exec}
		options := bridge.Options{Logger: g.logger(), Audit: g}
		g.options()(&options)
		b, err := bridge.New(g.rules, again, g.stage.mapping, options)
		require.NoError(t, err)
		g.background(b.Run)
		require.Eventually(t, func() bool { return len(g.of(audit.DuplicateObserved)) == 1 }, time.Minute, time.Millisecond)
		assert.Equal(t, 1, g.shop.asked(reserveLine))
	})
}

// The misconceptions that ACC warns of.

func TestMisconception1GETReadsOnly(t *testing.T) {
	g := newGoverning(t)
	g.withoutStatus()
	g.declare("look", "execution: {idempotent: true}") // which is silent about readonly
	g.shop.behaves(map[string][]string{lookLine: {"status 502"}}, false)
	g.begin()
	g.reserved()
	g.payFor("r1")
	assert.Equal(t, "look", receive(g.stage, g.unknown).Step)
	assert.Equal(t, 1, g.shop.asked(lookLine))
}

func TestMisconception2POSTIsNeverIdempotent(t *testing.T) {
	g := newGoverning(t)
	g.shop.behaves(map[string][]string{reserveLine: {"busy 503 0"}}, false)
	g.begin()
	g.reserved()
	got := g.shop.books().Requests
	require.Len(t, got, 2)
	assert.Equal(t, got[0], got[1])
	assert.Equal(t, []audit.Kind{audit.FirstCall, audit.Retry}, g.kinds("reserve"))
}

func TestMisconception3IdempotentMeansRetry(t *testing.T) {
	t.Run("422", func(t *testing.T) {
		g := newGoverning(t)
		g.shop.behaves(map[string][]string{reserveLine: {"status 422"}}, false)
		g.begin()
		g.reserve("r1")
		g.expect("Full")
		assert.Equal(t, 1, g.shop.asked(reserveLine))
	})
	t.Run("a spent budget", func(t *testing.T) {
		g := newGoverning(t)
		g.wanted("reserve", policy.Local{BudgetReserve: 1, BudgetRatio: 0.01})
		g.shop.behaves(map[string][]string{reserveLine: {"busy 503 0", "busy 503 0"}}, false)
		g.begin()
		g.reserve("r1")
		u := receive(g.stage, g.unknown)
		require.ErrorIs(t, u.Err, policy.ErrBudgetExhausted)
		assert.Equal(t, 2, g.shop.asked(reserveLine))
	})
	t.Run("a deadline that would pass", func(t *testing.T) {
		g := newGoverning(t)
		g.shop.behaves(map[string][]string{reserveLine: {"busy 429 3600"}}, false)
		g.begin()
		g.reserve("r1")
		assert.JSONEq(t, `{"status":429}`, g.value(g.expect("Full"), "why"))
		assert.Equal(t, 1, g.shop.asked(reserveLine))
	})
}

func TestMisconception4TimeoutMeansNotExecuted(t *testing.T) {
	g := newGoverning(t)
	g.declare("pay", "execution: {idempotent: true, "+brief+"}")
	g.shop.behaves(map[string][]string{payLine: {"commit-and-hang"}}, true) // and it keeps no keys
	g.begin()
	g.reserved()
	g.payFor("r1")
	g.expect("Paid")
	assert.Equal(t, 1, g.shop.effects(payLine))
	assert.Equal(t, 1, g.shop.asked(payLine))
}

func TestMisconception5LimitsProtectServersOnly(t *testing.T) {
	g := newGoverning(t)
	g.declare("withdraw", "execution: {rate_limit: {count: 1, window: 1h}}")
	g.wanted("withdraw", dimension(acc.PerSubject))
	stop := g.begin()
	for _, rid := range []string{"r1", "r2", "r3"} {
		g.reserve(rid)
		g.expect("Booked")
	}
	g.withdraw("r1")
	g.expect("Withdrawn")
	g.withdraw("r2")
	u := receive(g.stage, g.unknown)
	var limited *policy.LimitedError
	require.True(t, errors.As(u.Err, &limited))
	assert.Equal(t, acc.PerSubject, limited.Limit.Dimension)
	assert.Equal(t, 1, g.shop.asked(withdrawLine), "ada is not told again, however well the server bears it")
	stop()
}

func TestMisconception6ReadonlyMeansLowRisk(t *testing.T) {
	g := newGoverning(t)
	g.withoutStatus()
	g.declare("look", "risk: {level: high}\n        approval: {required: true}\n        execution: {readonly: true, idempotent: true}")
	g.begin() // Nobody is there to agree.
	g.reserved()
	g.payFor("r1")
	assert.Contains(t, g.value(g.expect("Failed"), "reason"), "not approved")
	assert.Zero(t, g.shop.asked(lookLine))
	require.Len(t, g.of(audit.Denied), 1)
	assert.Equal(t, "high", g.of(audit.Denied)[0].Risk)
}

func TestMisconception7DeclaringMakesItSo(t *testing.T) {
	g := newGoverning(t)
	g.shop.behaves(map[string][]string{reserveLine: {`commit-and-say {"ticket":"t1"}`}}, true)
	g.begin()
	g.reserved()
	assert.Equal(t, 2, g.shop.effects(reserveLine), "it was declared idempotent, and is not")
	require.Len(t, g.of(audit.ConflictingResult), 1)
	conflict := g.of(audit.ConflictingResult)[0]
	assert.Equal(t, 2, conflict.Attempt)
	assert.Equal(t, g.of(audit.FirstCall)[0].KeyHash, conflict.KeyHash)
	assert.Contains(t, g.told(nil), "one request under one key has had different results")
}

func TestMisconception8HintsAreAuthorization(t *testing.T) {
	g := newGoverning(t)
	g.edit(&g.contracts, "scope: hotel.pay", "scope: hotel.pay\n        approval: {required: true}")
	g.shop.behaves(map[string][]string{payLine: {"status 403"}}, false)
	g.begin(func(o *bridge.Options) { o.Approvals = policy.StandingGrant{By: "ben"} })
	g.reserved()
	g.payFor("r1")
	assert.JSONEq(t, `{"status":403}`, g.value(g.expect("Failed"), "reason"))
	assert.Equal(t, []audit.Kind{audit.ApprovalDecided, audit.FirstCall}, g.kinds("pay"))
	assert.Equal(t, 403, g.of(audit.FirstCall)[2].Status)
}
