package policy

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/strabo-engine/strabo/bridge/acc"
	"github.com/strabo-engine/strabo/internal/pause"
)

// Buckets count calls against limits. Implementations are safe for concurrent use; one that several processes share
// makes a limit hold for all of them together.
type Buckets interface {
	// Take takes one call out of a bucket that holds as many as the limit counts and fills up evenly over its window. It
	// gives how long the call has to wait, 0 if it may leave at once. If it would have to wait longer than longest,
	// nothing is taken, and admitted is false; wait then says when to come again. The error is what keeps it from
	// knowing: the call must not leave then.
	Take(ctx context.Context, bucket string, limit acc.RateLimit, longest time.Duration) (wait time.Duration, admitted bool, err error)
}

// LimitedError says that a limit does not admit a call.
type LimitedError struct {
	Operation string
	Limit     acc.Limit
	// RetryAfter is when it may come again; 0 where that is not known.
	RetryAfter time.Duration
	// Err is why the limit could not be asked; nil if it was.
	Err error
}

// Error says which limit.
func (e *LimitedError) Error() string {
	text := fmt.Sprintf("policy: %s is limited to %s", e.Operation, e.Limit)
	switch {
	case e.Err != nil:
		text += ", and nobody can tell how many there were: " + e.Err.Error()
	case e.RetryAfter > 0:
		text += fmt.Sprintf(": come again in %s", e.RetryAfter.Round(time.Millisecond))
	}
	return text
}

// Unwrap gives Err.
func (e *LimitedError) Unwrap() error { return e.Err }

// Admission says how an attempt was admitted.
type Admission struct {
	// Waited is how long it was held up by limits, Limit the one that held it up longest.
	Waited time.Duration
	Limit  acc.Limit
}

// Admit lets an attempt leave when every limit admits it, and waits for that where local policy has a queue. The error is
// a [*LimitedError], or the end of the context. A first attempt earns its part of the retry budget; again tells that it
// is another.
//
// What one limit has counted stays counted if another does not admit the call: that is never looser.
func (o *Operation) Admit(ctx context.Context, who Principal, again bool) (Admission, error) {
	var admission Admission
	if !again {
		o.budget.earn()
	}
	if again && o.local.RetriesNotCounted {
		return admission, nil
	}
	longest := time.Duration(0)
	if o.local.OnExceed == Queue {
		longest = o.local.MaxWait
		if deadline, ok := ctx.Deadline(); ok {
			longest = max(min(longest, time.Until(deadline)), 0)
		}
	}
	for i, setting := range o.Contract.Limits {
		limit := setting.Value
		wait, admitted, err := o.policy.options.Buckets.Take(ctx, o.bucket(i, limit.Dimension, who), limit.RateLimit, longest)
		switch {
		case err != nil && ctx.Err() != nil:
			return admission, context.Cause(ctx)
		case err != nil:
			return admission, &LimitedError{Operation: o.Name, Limit: limit, Err: err}
		case !admitted:
			return admission, &LimitedError{Operation: o.Name, Limit: limit, RetryAfter: wait}
		case wait > admission.Waited:
			admission = Admission{Waited: wait, Limit: limit}
		}
	}
	return admission, pause.For(ctx, admission.Waited)
}

// bucket names what a limit counts together. Those of whom the dimension is not known share one.
func (o *Operation) bucket(at int, by acc.Dimension, who Principal) string {
	counted := ""
	switch by {
	case acc.PerAgent:
		counted = who.Agent
	case acc.PerSubject:
		counted = who.Subject
	case acc.PerTenant:
		counted = who.Tenant
	case acc.PerOperation:
	}
	return o.Name + "\x00" + strconv.Itoa(at) + "\x00" + string(by) + "\x00" + counted
}

// ErrTooManyBuckets says that more agents, subjects or tenants call at a time than a limit keeps account of. It is
// temporary: a bucket that is full again is forgotten.
var ErrTooManyBuckets = errors.New("policy: too many are counted at a time")
