// Package conformance checks that a store of approvals does what it must: the same for every implementation.
package conformance

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/strabo-engine/strabo/bridge/approval"
)

// Digest gives one of several digests.
func Digest(n int) string { return strings.Repeat(fmt.Sprint(n%10), 64) }

// Request is a question in which every field says something.
func Request(id string) approval.Request {
	return approval.Request{
		ID: id, Operation: "order_refund", Scope: "order.refund", Enactment: `{"cid":"c1"}`, Action: "Refund", Step: "refund",
		Arguments: []byte(`{"amount":1200,"card":"***"}`), Digest: Digest(1), Labels: []string{"Large <refund>"},
		Prompt: "Refund it?", At: time.Now().UTC().Truncate(time.Millisecond), Expires: time.Now().UTC().Add(time.Hour).Truncate(time.Millisecond),
	}
}

// Run checks two views of one empty store, such as those of two processes.
func Run(t *testing.T, a, b approval.Store) {
	ctx := t.Context()
	yes := approval.Verdict{Granted: true, Digest: Digest(1), By: "ada", Reason: "fine"}

	t.Run("a question and its answer", func(t *testing.T) {
		request := Request("plain")
		decision, err := a.Ask(ctx, request)
		require.NoError(t, err)
		require.Equal(t, approval.Decision{State: approval.Pending}, decision)
		entry, err := b.Get(ctx, "plain")
		require.NoError(t, err)
		require.Empty(t, cmp.Diff(request, entry.Request))
		require.NoError(t, b.Decide(ctx, "plain", yes))
		entry, err = a.Get(ctx, "plain")
		require.NoError(t, err)
		require.Equal(t, approval.Granted, entry.Decision.State)
		require.Equal(t, "ada", entry.Decision.By)
		require.Equal(t, "fine", entry.Decision.Reason)
		require.ErrorIs(t, a.Decide(ctx, "plain", approval.Verdict{Digest: Digest(1), By: "bob"}), approval.ErrDecided)
		again, err := a.Ask(ctx, request)
		require.NoError(t, err)
		require.Equal(t, entry.Decision, again, "asking again changes nothing")
	})

	t.Run("a grant counts for its bytes only", func(t *testing.T) {
		request := Request("bytes")
		_, err := a.Ask(ctx, request)
		require.NoError(t, err)
		require.ErrorIs(t, b.Decide(ctx, "bytes", approval.Verdict{Granted: true, Digest: Digest(2), By: "ada"}), approval.ErrChanged)
		require.NoError(t, b.Decide(ctx, "bytes", yes))
		request.Digest = Digest(2)
		decision, err := a.Ask(ctx, request)
		require.NoError(t, err)
		require.Equal(t, approval.Pending, decision.State, "other bytes are another question")
		require.ErrorIs(t, b.Decide(ctx, "bytes", yes), approval.ErrChanged, "the answer to the one before is none to this")
	})

	t.Run("expiry", func(t *testing.T) {
		request := Request("late")
		request.Expires = time.Now().Add(-time.Second)
		decision, err := a.Ask(ctx, request)
		require.NoError(t, err)
		require.Equal(t, approval.Expired, decision.State)
		require.ErrorIs(t, b.Decide(ctx, "late", yes), approval.ErrExpired)
		decision, err = b.Wait(ctx, "late")
		require.NoError(t, err)
		require.Equal(t, approval.Expired, decision.State)
		decision, err = a.Ask(ctx, request)
		require.NoError(t, err)
		require.Equal(t, approval.Expired, decision.State, "the same again does not revive it")
		request.Expires = time.Now().Add(time.Hour)
		decision, err = a.Ask(ctx, request)
		require.NoError(t, err)
		require.Equal(t, approval.Pending, decision.State, "a later expiry asks anew")
	})

	t.Run("waiting", func(t *testing.T) {
		_, err := a.Ask(ctx, Request("wait"))
		require.NoError(t, err)
		waiting, cancel := context.WithCancel(ctx)
		cancel()
		_, err = a.Wait(waiting, "wait")
		require.ErrorIs(t, err, context.Canceled)
		type result struct {
			decision approval.Decision
			err      error
		}
		results := make(chan result, 2)
		for _, s := range []approval.Store{a, b} {
			go func() {
				decision, err := s.Wait(ctx, "wait")
				results <- result{decision, err}
			}()
		}
		require.NoError(t, b.Decide(ctx, "wait", approval.Verdict{Digest: Digest(1), By: "bob", Reason: "no"}))
		for range 2 {
			r := <-results
			require.NoError(t, r.err)
			require.Equal(t, approval.Denied, r.decision.State)
			require.Equal(t, "no", r.decision.Reason)
		}
	})

	t.Run("waiting for what changes", func(t *testing.T) {
		request := Request("changes")
		_, err := a.Ask(ctx, request)
		require.NoError(t, err)
		started, result := make(chan struct{}), make(chan error)
		go func() {
			close(started)
			_, err := a.Wait(ctx, "changes")
			result <- err
		}()
		<-started
		// Whether it has begun to wait cannot be seen; if it has not, it waits for the changed question.
		request.Digest = Digest(2)
		_, err = b.Ask(ctx, request)
		require.NoError(t, err)
		require.NoError(t, b.Decide(ctx, "changes", approval.Verdict{Digest: Digest(2), By: "bob"}))
		if err := <-result; err != nil {
			require.ErrorIs(t, err, approval.ErrChanged)
		}
	})

	t.Run("of decisions at once one succeeds", func(t *testing.T) {
		for round := range 5 {
			id := fmt.Sprint("race-", round)
			_, err := a.Ask(ctx, Request(id))
			require.NoError(t, err)
			var group sync.WaitGroup
			errs := make([]error, 8)
			for i := range errs {
				group.Go(func() {
					s := []approval.Store{a, b}[i%2]
					errs[i] = s.Decide(ctx, id, approval.Verdict{Granted: i%3 == 0, Digest: Digest(1), By: fmt.Sprint(i)})
				})
			}
			group.Wait()
			entry, err := b.Get(ctx, id)
			require.NoError(t, err)
			won := 0
			for i, err := range errs {
				if err == nil {
					won++
					require.Equal(t, fmt.Sprint(i), entry.Decision.By)
					continue
				}
				require.ErrorIs(t, err, approval.ErrDecided)
			}
			require.Equal(t, 1, won)
		}
	})

	t.Run("what is invalid", func(t *testing.T) {
		for name, change := range map[string]func(*approval.Request){
			"no id":           func(r *approval.Request) { r.ID = "" },
			"a strange id":    func(r *approval.Request) { r.ID = "a b" },
			"an id with @":    func(r *approval.Request) { r.ID = "a@b" },
			"a long id":       func(r *approval.Request) { r.ID = strings.Repeat("x", approval.MaxID+1) },
			"no digest":       func(r *approval.Request) { r.Digest = "" },
			"a short digest":  func(r *approval.Request) { r.Digest = "ab" },
			"no JSON":         func(r *approval.Request) { r.Arguments = []byte("{") },
			"large arguments": func(r *approval.Request) { r.Arguments = make([]byte, approval.MaxArguments+1) },
			"a long prompt":   func(r *approval.Request) { r.Prompt = strings.Repeat("x", approval.MaxText+1) },
			"many labels":     func(r *approval.Request) { r.Labels = make([]string, 1000) },
		} {
			request := Request("invalid")
			change(&request)
			_, err := a.Ask(ctx, request)
			require.ErrorIs(t, err, approval.ErrInvalid, name)
		}
		_, err := a.Get(ctx, "invalid")
		require.ErrorIs(t, err, approval.ErrNotFound)
		_, err = a.Wait(ctx, "invalid")
		require.ErrorIs(t, err, approval.ErrNotFound)
		require.ErrorIs(t, a.Decide(ctx, "invalid", yes), approval.ErrNotFound)
		_, err = a.Ask(ctx, Request("nobody"))
		require.NoError(t, err)
		require.ErrorIs(t, a.Decide(ctx, "nobody", approval.Verdict{Granted: true, Digest: Digest(1), By: " "}), approval.ErrInvalid)
	})

	t.Run("the list", func(t *testing.T) {
		entries, err := b.List(ctx)
		require.NoError(t, err)
		require.IsNonDecreasing(t, times(entries))
		seen := map[string]bool{}
		for _, entry := range entries {
			require.False(t, seen[entry.Request.ID])
			seen[entry.Request.ID] = true
		}
		require.True(t, seen["plain"] && seen["late"] && seen["race-4"])
	})
}

func times(entries []approval.Entry) (times []int64) {
	for _, entry := range entries {
		times = append(times, entry.Request.At.UnixMilli())
	}
	return times
}

// model is what a store must know of one question.
type model struct {
	digest  string
	state   approval.State
	by      string
	expires time.Time
}

func (m *model) standing() approval.State {
	if !m.expires.IsZero() && !time.Now().Before(m.expires) && m.state != approval.Denied {
		return approval.Expired
	}
	return m.state
}

// Machine compares a store, through two views of it, with a model of it, in drawn order. sleep lets time pass; without
// it, what expires has expired when it is asked, or does not do so in the test. The store must have no questions whose ids begin with prefix().
func Machine(t rapid.TB, a, b approval.Store, prefix func() string, sleep func(time.Duration)) {
	lives := []int{-5, 0, 3600}
	if sleep != nil {
		lives = append(lives, 5)
	}
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		begin := prefix()
		questions := map[string]*model{}
		id := func(t *rapid.T) string { return begin + rapid.SampledFrom([]string{"x", "y"}).Draw(t, "id") }
		view := func(t *rapid.T) approval.Store { return rapid.SampledFrom([]approval.Store{a, b}).Draw(t, "view") }
		actions := map[string]func(*rapid.T){
			"ask": func(t *rapid.T) {
				request := Request(id(t))
				request.Digest = Digest(rapid.IntRange(1, 2).Draw(t, "digest"))
				seconds := rapid.SampledFrom(lives).Draw(t, "expires in")
				request.Expires = time.Now().Add(time.Duration(seconds) * time.Second)
				if seconds == 0 {
					request.Expires = time.Time{}
				}
				q := questions[request.ID]
				if q == nil || q.digest != request.Digest ||
					q.standing() == approval.Expired && (seconds == 0 || request.Expires.After(q.expires)) {
					q = &model{digest: request.Digest, state: approval.Pending, expires: request.Expires}
					questions[request.ID] = q
				}
				decision, err := view(t).Ask(ctx, request)
				require.NoError(t, err)
				require.Equal(t, q.standing(), decision.State)
			},
			"decide": func(t *rapid.T) {
				name, by := id(t), rapid.SampledFrom([]string{"ada", "bob"}).Draw(t, "by")
				verdict := approval.Verdict{Granted: rapid.Bool().Draw(t, "granted"), Digest: Digest(rapid.IntRange(1, 2).Draw(t, "digest")), By: by}
				err := view(t).Decide(ctx, name, verdict)
				q := questions[name]
				switch {
				case q == nil:
					require.ErrorIs(t, err, approval.ErrNotFound)
				case q.digest != verdict.Digest:
					require.ErrorIs(t, err, approval.ErrChanged)
				case q.standing() == approval.Expired:
					require.ErrorIs(t, err, approval.ErrExpired)
				case q.state != approval.Pending:
					require.ErrorIs(t, err, approval.ErrDecided)
				default:
					require.NoError(t, err)
					q.by, q.state = by, approval.Denied
					if verdict.Granted {
						q.state = approval.Granted
					}
				}
			},
			"": func(t *rapid.T) {
				for name, q := range questions {
					entry, err := view(t).Get(ctx, name)
					require.NoError(t, err)
					require.Equal(t, q.standing(), entry.Decision.State)
					require.Equal(t, q.digest, entry.Request.Digest)
					require.Equal(t, q.by, entry.Decision.By)
				}
			},
		}
		if sleep != nil {
			actions["wait"] = func(t *rapid.T) { sleep(time.Duration(rapid.IntRange(1, 10).Draw(t, "seconds")) * time.Second) }
		}
		t.Repeat(actions)
	})
}
