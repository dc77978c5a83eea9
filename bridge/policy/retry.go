package policy

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Class says what is known after an attempt that did not settle its request.
type Class int

// The classes. Only the remote party's answer is ever taken for an answer of it: that a wait has ended says nothing.
const (
	// Unreached: the request has certainly not left, since nobody could be reached, the connection broke before the
	// request was written, or a breaker was open.
	Unreached Class = iota + 1
	// Busy: 429 or 503 with Retry-After. The remote party asks to come again.
	Busy
	// ServerError: 500, 502 or 504, after which it is not known whether the request was executed.
	ServerError
	// Lost: a timeout, a reset after the request was written, or a response without a meaning: the same.
	Lost
	// Asked: lost, and the status query was asked and leaves it open, says that nothing was done, or there is none but
	// the request itself, under its key.
	Asked
	// Refused: an answer of the business, such as 400, 401, 403, 404, 409 or 422, or a no in a 200.
	Refused
)

// Retry is what decides whether a request may be sent again.
type Retry struct {
	Class Class
	// Keyed tells that the remote party recognises a repetition, by an idempotency key or natively.
	Keyed bool
	// Attempts is how often the request was tried, Most how often it may be.
	Attempts, Most int
	// Opened is when the idempotency key was made, Now the time.
	Opened, Now time.Time
	// Deadline is when the exchange ends at the latest.
	Deadline time.Time
	// Wait is the pause that comes first, RetryAfter what the remote party asks for; the longer of the two holds.
	Wait, RetryAfter time.Duration
	// SameBytes tells that the request is byte by byte the one that was sent, under the same key.
	SameBytes bool
}

// Errors of [Operation.MayRetry].
var (
	ErrNotIdempotent   = errors.New("the operation is not declared idempotent")
	ErrRetryForbidden  = errors.New("local policy forbids to send it again")
	ErrNoKey           = errors.New("nothing says how a repetition would be recognised")
	ErrNotRetryable    = errors.New("what happened does not allow to send it again")
	ErrSpent           = errors.New("it was tried as often as it may be")
	ErrNoTime          = errors.New("the deadline would pass before it could be sent again")
	ErrKeyExpired      = errors.New("the idempotency key is too old to be relied upon")
	ErrChanged         = errors.New("it would not be the same request")
	ErrBudgetExhausted = errors.New("the retry budget of the operation is exhausted")
)

// MayRetry tells whether a request may be sent again by itself, and after which pause; the error says why not. It does
// not ask the limits, which [Operation.Admit] does before the attempt leaves. A retry that is permitted is taken from the
// budget.
func (o *Operation) MayRetry(r Retry) (time.Duration, error) {
	readonly := o.Contract.Readonly.Value
	most := r.Most
	if o.local.Attempts > 0 {
		most = min(most, o.local.Attempts)
	}
	wait := max(r.Wait, r.RetryAfter)
	switch {
	case !o.Contract.Idempotent.Value:
		return 0, ErrNotIdempotent
	case !o.Contract.Retry.Value:
		return 0, ErrRetryForbidden
	case !r.Class.retryable(readonly):
		return 0, ErrNotRetryable
	case !readonly && !r.Keyed:
		return 0, ErrNoKey
	case !r.SameBytes:
		return 0, ErrChanged
	case r.Attempts >= most:
		return 0, ErrSpent
	case !readonly && !r.Opened.IsZero() && r.Now.Add(wait).Sub(r.Opened) >= o.local.KeyLifetime:
		return 0, ErrKeyExpired
	case !r.Now.Add(wait).Before(r.Deadline):
		return 0, fmt.Errorf("%w (in %s)", ErrNoTime, wait.Round(time.Millisecond))
	case !o.budget.spend():
		return 0, ErrBudgetExhausted
	}
	return wait, nil
}

// retryable tells whether a class allows to send a request again.
func (c Class) retryable(readonly bool) bool {
	switch c {
	case Unreached, Busy, Asked:
		return true
	case ServerError, Lost:
		return readonly // A read that was lost is its own status query.
	case Refused:
		return false
	}
	return false
}

// ClassOfStatus classifies a response that settles nothing by its status and its Retry-After; 0 where it does not by
// itself decide.
func ClassOfStatus(status int, retryAfter bool) Class {
	switch {
	case (status == 429 || status == 503) && retryAfter:
		return Busy
	case status == 500 || status == 502 || status == 504:
		return ServerError
	default:
		return Lost
	}
}

// budget bounds retries to a part of the calls: each call earns a part of a retry, and a few may be saved. So retries
// cannot multiply an outage.
type budget struct {
	mu           sync.Mutex
	ratio, limit float64
	left         float64
}

func newBudget(ratio float64, reserve int) *budget {
	return &budget{ratio: ratio, limit: float64(reserve), left: float64(reserve)}
}

func (b *budget) earn() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left = min(b.left+b.ratio, b.limit)
}

func (b *budget) spend() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.left < 1 {
		return false
	}
	b.left--
	return true
}

// Backoff gives the pauses between the attempts of one exchange: full jitter, each between nothing and a bound that
// doubles. It is not safe for concurrent use.
type Backoff struct{ exponential *backoff.ExponentialBackOff }

// NewBackoff makes the pauses: the first is up to first, and none is above longest.
func NewBackoff(first, longest time.Duration) *Backoff {
	// A factor of 1 draws between 0 and twice the interval.
	b := &backoff.ExponentialBackOff{
		InitialInterval: max(first/2, 1), RandomizationFactor: 1, Multiplier: 2, MaxInterval: max(longest/2, 1),
	}
	b.Reset()
	return &Backoff{b}
}

// Next gives the next pause.
func (b *Backoff) Next() time.Duration { return b.exponential.NextBackOff() }
