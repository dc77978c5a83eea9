package policy_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/strabo-engine/strabo/bridge/acc"
	"github.com/strabo-engine/strabo/bridge/policy"
)

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
