package policy_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/strabo-engine/strabo/bridge/acc"
	"github.com/strabo-engine/strabo/bridge/policy"
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
