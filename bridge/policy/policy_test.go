package policy_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/strabo-engine/strabo/bridge/acc"
	"github.com/strabo-engine/strabo/bridge/audit"
	"github.com/strabo-engine/strabo/bridge/policy"
	"github.com/strabo-engine/strabo/enactment"
)

// document is one with an operation for each contract, named a, b, ...
func document(contracts ...string) policy.File {
	text := "openapi: 3.1.0\ninfo: {title: t, version: '1'}\npaths:\n"
	for i, contract := range contracts {
		text += fmt.Sprintf(`  /%[1]c:
    post:
      operationId: %[1]c
      requestBody: {content: {application/json: {schema: {type: object, properties: {amount: {type: number}}}}}}
      responses: {"200": {description: ok}}
      x-agent-capability: {version: 1, enabled: true, scope: %[1]c%[2]s}
`, 'a'+i, contract)
	}
	return policy.File{Name: "test.yaml", Text: []byte(text)}
}

func contracts(t testing.TB, declared ...string) *policy.Contracts {
	t.Helper()
	c, err := policy.ReadContracts(document(declared...))
	require.NoError(t, err)
	return c
}

// operation gives the operation a, with its contract and what is wanted locally.
func operation(t testing.TB, contract string, local policy.Local) *policy.Operation {
	t.Helper()
	p, err := policy.New(contracts(t, contract), policy.Options{Default: local})
	require.NoError(t, err)
	o, err := p.Operation("a")
	require.NoError(t, err)
	return o
}

const (
	keyedWrite = `, execution: {idempotent: true}`
	read       = `, execution: {readonly: true, idempotent: true}`
)

// may is a retry that may be made.
func may(class policy.Class) policy.Retry {
	now := time.Unix(1_800_000_000, 0)
	return policy.Retry{
		Class: class, Keyed: true, Attempts: 1, Most: 3, Opened: now, Now: now, Deadline: now.Add(time.Minute),
		Wait: time.Second, SameBytes: true,
	}
}

// TestRetryPredicate has one row for each part of the predicate, of which all must hold.
func TestRetryPredicate(t *testing.T) {
	for name, test := range map[string]struct {
		contract string
		local    policy.Local
		class    policy.Class
		change   func(*policy.Retry)
		want     error
	}{
		"unreached":                       {keyedWrite, policy.Local{}, policy.Unreached, nil, nil},
		"busy":                            {keyedWrite, policy.Local{}, policy.Busy, nil, nil},
		"asked":                           {keyedWrite, policy.Local{}, policy.Asked, nil, nil},
		"500 of a write":                  {keyedWrite, policy.Local{}, policy.ServerError, nil, policy.ErrNotRetryable},
		"500 of a read":                   {read, policy.Local{}, policy.ServerError, nil, nil},
		"lost write":                      {keyedWrite, policy.Local{}, policy.Lost, nil, policy.ErrNotRetryable},
		"lost read":                       {read, policy.Local{}, policy.Lost, nil, nil},
		"refused":                         {keyedWrite, policy.Local{}, policy.Refused, nil, policy.ErrNotRetryable},
		"refused read":                    {read, policy.Local{}, policy.Refused, nil, policy.ErrNotRetryable},
		"no class":                        {read, policy.Local{}, 0, nil, policy.ErrNotRetryable},
		"not idempotent":                  {``, policy.Local{}, policy.Unreached, nil, policy.ErrNotIdempotent},
		"readonly alone":                  {`, execution: {readonly: true}`, policy.Local{}, policy.Busy, nil, policy.ErrNotIdempotent},
		"not relied upon":                 {keyedWrite, policy.Local{LocalPolicy: acc.LocalPolicy{Idempotent: new(bool)}}, policy.Busy, nil, policy.ErrNotIdempotent},
		"forbidden locally":               {keyedWrite, policy.Local{LocalPolicy: acc.LocalPolicy{Retry: new(bool)}}, policy.Busy, nil, policy.ErrRetryForbidden},
		"no key":                          {keyedWrite, policy.Local{}, policy.Busy, func(r *policy.Retry) { r.Keyed = false }, policy.ErrNoKey},
		"a read needs no key":             {read, policy.Local{}, policy.Busy, func(r *policy.Retry) { r.Keyed = false }, nil},
		"other bytes":                     {keyedWrite, policy.Local{}, policy.Busy, func(r *policy.Retry) { r.SameBytes = false }, policy.ErrChanged},
		"spent":                           {keyedWrite, policy.Local{}, policy.Busy, func(r *policy.Retry) { r.Attempts = 3 }, policy.ErrSpent},
		"spent locally":                   {keyedWrite, policy.Local{Attempts: 1}, policy.Busy, nil, policy.ErrSpent},
		"more locally counts for no more": {keyedWrite, policy.Local{Attempts: 9}, policy.Busy, func(r *policy.Retry) { r.Attempts = 3 }, policy.ErrSpent},
		"at the deadline":                 {keyedWrite, policy.Local{}, policy.Busy, func(r *policy.Retry) { r.Deadline = r.Now.Add(time.Second) }, policy.ErrNoTime},
		"just in time":                    {keyedWrite, policy.Local{}, policy.Busy, func(r *policy.Retry) { r.Deadline = r.Now.Add(time.Second + 1) }, nil},
		"Retry-After beyond it":           {keyedWrite, policy.Local{}, policy.Busy, func(r *policy.Retry) { r.RetryAfter = time.Hour }, policy.ErrNoTime},
		"an old key":                      {keyedWrite, policy.Local{}, policy.Busy, func(r *policy.Retry) { r.Opened = r.Now.Add(-24 * time.Hour) }, policy.ErrKeyExpired},
		"a key that will be too old":      {keyedWrite, policy.Local{}, policy.Busy, func(r *policy.Retry) { r.Opened = r.Now.Add(time.Second - 24*time.Hour) }, policy.ErrKeyExpired},
		"a key with a shorter life":       {keyedWrite, policy.Local{KeyLifetime: time.Hour}, policy.Busy, func(r *policy.Retry) { r.Opened = r.Now.Add(-time.Hour) }, policy.ErrKeyExpired},
	} {
		t.Run(name, func(t *testing.T) {
			r := may(test.class)
			if test.change != nil {
				test.change(&r)
			}
			wait, err := operation(t, test.contract, test.local).MayRetry(r)
			require.ErrorIs(t, err, test.want)
			if test.want == nil {
				assert.Equal(t, time.Second, wait)
			}
		})
	}
}

func TestRetryAfterIsHonoured(t *testing.T) {
	r := may(policy.Busy)
	r.RetryAfter = 7 * time.Second
	wait, err := operation(t, keyedWrite, policy.Local{}).MayRetry(r)
	require.NoError(t, err)
	assert.Equal(t, 7*time.Second, wait)
}

func TestRetryBudget(t *testing.T) {
	o := operation(t, keyedWrite, policy.Local{BudgetReserve: 2, BudgetRatio: 0.5})
	retry := func() error {
		_, err := o.MayRetry(may(policy.Busy))
		return err
	}
	require.NoError(t, retry())
	require.NoError(t, retry())
	require.ErrorIs(t, retry(), policy.ErrBudgetExhausted)
	_, err := o.Admit(t.Context(), policy.Principal{}, false)
	require.NoError(t, err)
	require.ErrorIs(t, retry(), policy.ErrBudgetExhausted, "a call earns half a retry")
	_, err = o.Admit(t.Context(), policy.Principal{}, false)
	require.NoError(t, err)
	require.NoError(t, retry())
	_, err = o.Admit(t.Context(), policy.Principal{}, true)
	require.NoError(t, err)
	require.ErrorIs(t, retry(), policy.ErrBudgetExhausted, "a retry earns none")
}

// TestRetriesNeverMultiply: whatever happens, retries are at most the reserve and the ratio of the calls.
func TestRetriesNeverMultiply(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		reserve, ratio := rapid.IntRange(1, 5).Draw(r, "reserve"), rapid.Float64Range(0.01, 1).Draw(r, "ratio")
		o := operation(t, keyedWrite, policy.Local{BudgetReserve: reserve, BudgetRatio: ratio})
		calls, retries := 0, 0
		for range rapid.IntRange(0, 100).Draw(r, "events") {
			if rapid.Bool().Draw(r, "call") {
				_, err := o.Admit(t.Context(), policy.Principal{}, false)
				require.NoError(t, err)
				calls++
			} else if _, err := o.MayRetry(may(policy.Busy)); err == nil {
				retries++
			}
			require.LessOrEqual(t, float64(retries), float64(reserve)+ratio*float64(calls)+1e-9)
		}
	})
}

func TestBackoffIsFullJitter(t *testing.T) {
	const first, longest = 100 * time.Millisecond, time.Second
	low, high, grown := false, false, false
	for range 200 {
		b := policy.NewBackoff(first, longest)
		bound := first
		for range 8 {
			pause := b.Next()
			require.LessOrEqual(t, pause, bound+1)
			require.GreaterOrEqual(t, pause, time.Duration(0))
			low, high = low || pause < bound/10, high || pause > bound*9/10
			grown = grown || pause > 5*first
			bound = min(2*bound, longest)
		}
	}
	assert.True(t, grown, "the bound is doubled")
	assert.True(t, low && high, "the whole of the range is drawn from")
}

func TestPermit(t *testing.T) {
	ada := policy.Principal{Subject: "ada"}
	t.Run("disabled locally", func(t *testing.T) {
		_, err := operation(t, ``, policy.Local{LocalPolicy: acc.LocalPolicy{Expose: new(bool)}}).Permit(ada, nil)
		require.ErrorIs(t, err, policy.ErrDisabled)
	})
	t.Run("subject", func(t *testing.T) {
		o := operation(t, `, subject: {required: true}`, policy.Local{})
		_, err := o.Permit(policy.Principal{Agent: "a", Tenant: "t"}, enactment.Values{"subject": enactment.MustValue("ada")})
		require.ErrorIs(t, err, policy.ErrNoSubject, "an argument names nobody who is trusted")
		_, err = o.Permit(ada, nil)
		require.NoError(t, err)
	})
	t.Run("arguments", func(t *testing.T) {
		_, err := operation(t, ``, policy.Local{}).Permit(ada, enactment.Values{"amount": enactment.MustValue("secret words")})
		require.ErrorIs(t, err, policy.ErrInvalidArguments)
		require.NotContains(t, err.Error(), "secret words")
	})
	t.Run("approval", func(t *testing.T) {
		o := operation(t, `, approval: {prompt: "Sure?", when: [{param: amount, op: ">", value: 10, label: Much}]}`, policy.Local{})
		q, err := o.Permit(ada, enactment.Values{"amount": enactment.MustValue(10)})
		require.NoError(t, err)
		require.Nil(t, q)
		q, err = o.Permit(ada, enactment.Values{"amount": enactment.MustValue(11)})
		require.NoError(t, err)
		require.Equal(t, &policy.Question{Labels: []string{"Much"}, Prompt: "Sure?", Lifetime: policy.DefaultApprovalLifetime}, q)
		_, err = o.Permit(ada, nil)
		require.ErrorIs(t, err, policy.ErrInvalidArguments, "a condition that cannot be judged lets nothing through")
	})
	t.Run("approval of every call, wanted locally", func(t *testing.T) {
		wanted := true
		o := operation(t, ``, policy.Local{LocalPolicy: acc.LocalPolicy{ApprovalRequired: &wanted}})
		q, err := o.Permit(ada, nil)
		require.NoError(t, err)
		require.Equal(t, []string{"every call of a"}, q.Labels)
		require.Equal(t, "local", o.Sources()["approval.required"])
	})
}

func TestNewRefuses(t *testing.T) {
	yes := true
	for name, test := range map[string]struct {
		contract string
		local    policy.Local
		want     error
	}{
		"a limit without a dimension": {`, execution: {rate_limit: {count: 1, window: 1m}}`, policy.Local{}, acc.ErrNoDimension},
		"a longer timeout":            {`, execution: {timeout_ms: 1000}`, policy.Local{LocalPolicy: acc.LocalPolicy{Timeout: time.Minute}}, acc.ErrLooser},
		"retries of what must not be": {``, policy.Local{LocalPolicy: acc.LocalPolicy{Retry: &yes}}, acc.ErrLooser},
		"a queue without an end":      {``, policy.Local{OnExceed: policy.Queue}, acc.ErrInvalidPolicy},
		"a queue that is too long":    {``, policy.Local{OnExceed: policy.Queue, MaxWait: time.Hour}, acc.ErrInvalidPolicy},
		"another way to exceed":       {``, policy.Local{OnExceed: "drop"}, acc.ErrInvalidPolicy},
		"attempts below none":         {``, policy.Local{Attempts: -1}, acc.ErrInvalidPolicy},
		"more retries than calls":     {``, policy.Local{BudgetRatio: 2}, acc.ErrInvalidPolicy},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := policy.New(contracts(t, test.contract), policy.Options{Local: map[string]policy.Local{"a": test.local}})
			require.ErrorIs(t, err, test.want)
			require.ErrorContains(t, err, "operation a")
		})
	}
	_, err := policy.New(contracts(t, ``), policy.Options{Local: map[string]policy.Local{"aa": {}}})
	require.ErrorIs(t, err, policy.ErrNoContract)
	_, err = policy.New(contracts(t, ``), policy.Options{Default: policy.Local{LocalPolicy: acc.LocalPolicy{When: []acc.Condition{{Param: "price", Op: acc.Exists}}}}})
	require.ErrorContains(t, err, "price")
}

func TestReadContractsFailsClosed(t *testing.T) {
	_, err := policy.ReadContracts(document(``), policy.File{Name: "other.yaml", Text: document(``).Text})
	require.ErrorContains(t, err, "operation a is declared in test.yaml and in other.yaml")
	_, err = policy.ReadContracts(policy.File{Name: "x", Text: []byte("nonsense")})
	require.ErrorContains(t, err, "x: ")
	c, err := policy.ReadContracts(document(``, `, risk: {level: none}`))
	require.NoError(t, err)
	p, err := policy.New(c, policy.Options{})
	require.NoError(t, err)
	_, err = p.Operation("b")
	require.ErrorIs(t, err, policy.ErrNoContract)
	require.ErrorContains(t, err, "test.yaml: ")
	_, err = p.Operation("c")
	require.ErrorIs(t, err, policy.ErrNoContract)
	require.True(t, p.Governs())
}

// TestUndeclared: the conservative fallback infers nothing.
func TestUndeclared(t *testing.T) {
	p, err := policy.New(nil, policy.Options{})
	require.NoError(t, err)
	require.False(t, p.Governs())
	o, err := p.Undeclared("P.a.s", false)
	require.NoError(t, err)
	assert.False(t, o.Contract.Readonly.Value)
	assert.False(t, o.Contract.Idempotent.Value)
	assert.Equal(t, acc.MediumRisk, o.Contract.Risk.Value)
	assert.Equal(t, acc.DefaultTimeout, o.Contract.Timeout.Value)
	again, err := p.Undeclared("P.a.s", false)
	require.NoError(t, err)
	assert.Same(t, o, again)
}

const limited = `, execution: {idempotent: true, rate_limit: {count: 2, window: 1m}}`

func per(dimension acc.Dimension, local policy.Local) policy.Local {
	local.Dimension = dimension
	return local
}

func TestLimitRejects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := operation(t, limited, per(acc.PerSubject, policy.Local{}))
		admit := func(subject string, again bool) error {
			_, err := o.Admit(t.Context(), policy.Principal{Subject: subject}, again)
			return err
		}
		require.NoError(t, admit("ada", false))
		require.NoError(t, admit("ada", true), "a retry counts")
		var over *policy.LimitedError
		require.ErrorAs(t, admit("ada", false), &over)
		assert.Equal(t, 30*time.Second, over.RetryAfter.Round(time.Second))
		assert.Equal(t, "policy: a is limited to 2/1m per subject: come again in 30s", over.Error())
		require.NoError(t, admit("ben", false), "another subject has a bucket of its own")
		require.NoError(t, admit("", false))
		require.NoError(t, admit("", false))
		require.Error(t, admit("", false), "nobody known is one")
		time.Sleep(30 * time.Second)
		require.NoError(t, admit("ada", false))
		require.Error(t, admit("ada", false))
	})
}

func TestLimitDimensions(t *testing.T) {
	for dimension, other := range map[acc.Dimension]policy.Principal{
		acc.PerAgent:   {Agent: "x", Subject: "s", Tenant: "t"},
		acc.PerSubject: {Agent: "a", Subject: "x", Tenant: "t"},
		acc.PerTenant:  {Agent: "a", Subject: "s", Tenant: "x"},
	} {
		o := operation(t, limited, per(dimension, policy.Local{}))
		who := policy.Principal{Agent: "a", Subject: "s", Tenant: "t"}
		for range 2 {
			_, err := o.Admit(t.Context(), who, false)
			require.NoError(t, err)
		}
		_, err := o.Admit(t.Context(), who, false)
		require.Error(t, err)
		_, err = o.Admit(t.Context(), other, false)
		require.NoError(t, err, dimension)
	}
	o := operation(t, limited, per(acc.PerOperation, policy.Local{}))
	for i := range 3 {
		_, err := o.Admit(t.Context(), policy.Principal{Agent: fmt.Sprint(i)}, false)
		require.Equal(t, i == 2, err != nil, "all count together")
	}
}

func TestLimitQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := operation(t, limited, per(acc.PerOperation, policy.Local{OnExceed: policy.Queue, MaxWait: 45 * time.Second, RetriesNotCounted: true}))
		for i, wait := range []time.Duration{0, 0, 30 * time.Second} {
			admission, err := o.Admit(t.Context(), policy.Principal{}, false)
			require.NoError(t, err, i)
			require.Equal(t, wait, admission.Waited.Round(time.Second))
		}
		_, err := o.Admit(t.Context(), policy.Principal{}, true)
		require.NoError(t, err, "retries are not counted here")

		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		begun := time.Now()
		_, err = o.Admit(ctx, policy.Principal{}, false)
		require.ErrorAs(t, err, new(*policy.LimitedError), "nobody waits beyond the deadline")
		require.Zero(t, time.Since(begun))

		ctx, stop := context.WithCancel(t.Context())
		go func() {
			time.Sleep(time.Second)
			stop()
		}()
		_, err = o.Admit(ctx, policy.Principal{}, false)
		require.ErrorIs(t, err, context.Canceled)
	})
}

// TestLimitHolds: however the calls come, no window has more than the bucket and what flows in.
func TestLimitHolds(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		synctest.Test(t, func(t *testing.T) {
			count := rapid.Int64Range(1, 5).Draw(r, "count")
			o := operation(t, fmt.Sprintf(`, execution: {rate_limit: {count: %d, window: 10s}}`, count), per(acc.PerOperation, policy.Local{}))
			var admitted []time.Time
			for range rapid.IntRange(1, 40).Draw(r, "calls") {
				time.Sleep(time.Duration(rapid.IntRange(0, 4000).Draw(r, "pause")) * time.Millisecond)
				if _, err := o.Admit(t.Context(), policy.Principal{}, false); err == nil {
					admitted = append(admitted, time.Now())
				}
			}
			for i, from := range admitted {
				for j := i; j < len(admitted); j++ {
					span := admitted[j].Sub(from)
					require.LessOrEqual(t, float64(j-i+1), float64(count)*(1+span.Seconds()/10)+1e-6)
				}
			}
		})
	})
}

func TestBucketsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		buckets := policy.NewLocalBuckets(3)
		limit := acc.RateLimit{Count: 1, Window: time.Minute}
		take := func(name string) error {
			_, _, err := buckets.Take(t.Context(), name, limit, 0)
			return err
		}
		for i := range 3 {
			require.NoError(t, take(fmt.Sprint(i)))
		}
		require.ErrorIs(t, take("one more"), policy.ErrTooManyBuckets, "who is not counted is not admitted")
		time.Sleep(time.Minute)
		require.NoError(t, take("one more"), "a full bucket is as good as new")
	})
}

func TestBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, err := policy.New(nil, policy.Options{Breaker: policy.BreakerOptions{Failures: 2, Rest: time.Second}})
		require.NoError(t, err)
		call := func(target string, h policy.Health) error {
			done, err := p.Reach(target)
			if err == nil {
				done(h)
			}
			return err
		}
		require.NoError(t, call("a", policy.Failing))
		require.NoError(t, call("a", policy.Healthy))
		require.NoError(t, call("a", policy.Failing))
		require.NoError(t, call("a", policy.Unjudged))
		require.NoError(t, call("a", policy.Failing))
		var open *policy.OpenError
		require.ErrorAs(t, call("a", policy.Healthy), &open)
		require.Equal(t, "a", open.Target)
		require.NoError(t, call("b", policy.Healthy), "each target has its own")
		time.Sleep(time.Second + 1)
		require.NoError(t, call("a", policy.Failing), "one tries again")
		require.Error(t, call("a", policy.Healthy))
		time.Sleep(time.Second + 1)
		require.NoError(t, call("a", policy.Healthy))
		require.NoError(t, call("a", policy.Healthy))
	})
}

// BenchmarkPolicy is all that the policy does for a call that is made once: permit with a condition, limit, breaker, and
// what it would take to decide about a retry.
// BenchmarkPolicy measures what the policy adds to one call; with "audited", also the hashes and the record of the call
// as it is written, without the disk.
func BenchmarkPolicy(b *testing.B) {
	b.Run("decided", func(b *testing.B) { benchmarkPolicy(b, false) })
	b.Run("audited", func(b *testing.B) { benchmarkPolicy(b, true) })
}

func benchmarkPolicy(b *testing.B, audited bool) {
	hasher := audit.NewHasher(nil)
	body := []byte(`{"line_items":[{"item":{"id":"pot_ceramic"},"quantity":2}],"note":"` + strings.Repeat("x", 400) + `"}`)
	declared := `, subject: {required: true}, approval: {when: [{param: amount, op: ">", value: 1000}]}, ` +
		`execution: {idempotent: true, timeout_ms: 1000, rate_limit: {count: 1000000000, window: 1s}}`
	p, err := policy.New(contracts(b, declared), policy.Options{Default: per(acc.PerSubject, policy.Local{BudgetRatio: 1})})
	require.NoError(b, err)
	o, err := p.Operation("a")
	require.NoError(b, err)
	who, arguments := policy.Principal{Subject: "ada"}, enactment.Values{"amount": enactment.MustValue(10)}
	retry := may(policy.Busy)
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		if question, err := o.Permit(who, arguments); err != nil || question != nil {
			b.Fatal(err)
		}
		if _, err := o.Admit(ctx, who, false); err != nil {
			b.Fatal(err)
		}
		done, err := p.Reach("https://shop.example")
		if err != nil {
			b.Fatal(err)
		}
		done(policy.Healthy)
		if _, err := o.MayRetry(retry); err != nil {
			b.Fatal(err)
		}
		if !audited {
			continue
		}
		if _, err := audit.Encode(audit.Record{
			At: retry.Now, Kind: audit.FirstCall, Enactment: `{"cid":"c1"}`, Action: "Complete", Step: "pay", Operation: o.Name,
			Scope: o.Contract.Scope.Value, Risk: string(o.Contract.Risk.Value), Subject: who.Subject, Method: "POST",
			URL: "https://shop.example/checkout-sessions/c1/complete", Attempt: 1, Status: 200, Latency: time.Millisecond,
			KeyHash: hasher.Key("1e7f1a3c-0c52-4b5c-9d0a-4f1a8f6b6a11"), BodyDigest: hasher.Request("POST", "https://shop.example/", body),
			Request: string(body), Response: string(body), Outcome: "known", Sources: o.Sources(),
		}); err != nil {
			b.Fatal(err)
		}
	}
}

// What the operator asks for holds also where nothing is declared; what cannot be judged there is refused.
func TestUndeclaredMayNeedAnApproval(t *testing.T) {
	yes := true
	p, err := policy.New(nil, policy.Options{Default: policy.Local{LocalPolicy: acc.LocalPolicy{ApprovalRequired: &yes}}})
	require.NoError(t, err)
	o, err := p.Undeclared("P.a.s", false)
	require.NoError(t, err)
	question, err := o.Permit(policy.Principal{}, nil)
	require.NoError(t, err)
	require.Equal(t, &policy.Question{Labels: []string{"every call of P.a.s"}, Lifetime: policy.DefaultApprovalLifetime}, question)

	p, err = policy.New(nil, policy.Options{Default: policy.Local{LocalPolicy: acc.LocalPolicy{When: []acc.Condition{{Param: "price", Op: acc.Exists}}}}})
	require.NoError(t, err)
	_, err = p.Undeclared("P.a.s", false)
	require.ErrorContains(t, err, "no inputs are declared")
}

// TestContractsReferToOthers: a document may refer to others of its folder, and of none without one.
func TestContractsReferToOthers(t *testing.T) {
	file := document(`, approval: {when: [{param: amount, op: ">", value: 10}]}`)
	file.Text = []byte(strings.ReplaceAll(string(file.Text), "{type: object, properties: {amount: {type: number}}}", "{$ref: 'refund.yaml'}"))
	file.Folder = fstest.MapFS{"refund.yaml": {Data: []byte("type: object\nproperties: {amount: {type: number}}\n")}}
	read := func() (*policy.Operation, error) {
		c, err := policy.ReadContracts(file)
		require.NoError(t, err)
		p, err := policy.New(c, policy.Options{})
		require.NoError(t, err)
		return p.Operation("a")
	}
	o, err := read()
	require.NoError(t, err)
	question, err := o.Permit(policy.Principal{}, values(t, `{"amount":11}`))
	require.NoError(t, err)
	require.NotNil(t, question)
	file.Folder = nil
	_, err = read()
	require.ErrorIs(t, err, policy.ErrNoContract)
}
