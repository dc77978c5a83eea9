package policy

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sony/gobreaker/v2"
)

// BreakerOptions say when a target that fails is left alone. Fields that are 0 take the default.
type BreakerOptions struct {
	// Failures is how many calls in a row must fail; by default 10. A failure is a call without a whole response, and a
	// status of 500 and above.
	Failures int
	// Rest is how long the target is left alone before one call tries again; by default 5 seconds.
	Rest time.Duration
}

// OpenError says that a target is left alone, since calls to it have failed. Nothing has left.
type OpenError struct{ Target string }

// Error names the target.
func (e *OpenError) Error() string {
	return fmt.Sprintf("policy: calls to %s have failed, so that it is left alone for a while", e.Target)
}

// maxTargets bounds how many targets are kept account of; those beyond are called without a breaker.
const maxTargets = 10_000

// breakers has one for each target.
type breakers struct {
	options BreakerOptions
	mu      sync.Mutex
	targets map[string]*gobreaker.TwoStepCircuitBreaker[struct{}]
}

func newBreakers(options BreakerOptions) *breakers {
	if options.Failures <= 0 {
		options.Failures = 10
	}
	if options.Rest <= 0 {
		options.Rest = 5 * time.Second
	}
	return &breakers{options: options, targets: make(map[string]*gobreaker.TwoStepCircuitBreaker[struct{}])}
}

func (b *breakers) of(target string) *gobreaker.TwoStepCircuitBreaker[struct{}] {
	b.mu.Lock()
	defer b.mu.Unlock()
	breaker, ok := b.targets[target]
	if !ok && len(b.targets) < maxTargets {
		breaker = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
			Name: target, Timeout: b.options.Rest,
			ReadyToTrip: func(counts gobreaker.Counts) bool {
				return counts.ConsecutiveFailures >= uint32(b.options.Failures)
			},
			IsExcluded: func(err error) bool { return errors.Is(err, errNotCounted) },
		})
		b.targets[target] = breaker
	}
	return breaker
}

var (
	errNotCounted = errors.New("says nothing about the target")
	errFailed     = errors.New("failed")
)

// Health is what an attempt says about its target.
type Health int

// What an attempt says about its target.
const (
	// Unjudged: nothing, as when the caller broke it off.
	Unjudged Health = iota
	// Healthy: it has answered.
	Healthy
	// Failing: it has not, or with a status of 500 and above.
	Failing
)

// Reach asks for a target, such as a scheme and a host, whether it may be called; the error is an [*OpenError]. After the
// call, done must be told what it says about the target.
func (p *Policy) Reach(target string) (done func(Health), err error) {
	breaker := p.breakers.of(target)
	if breaker == nil {
		return func(Health) {}, nil
	}
	report, err := breaker.Allow()
	if err != nil {
		return nil, &OpenError{Target: target}
	}
	return func(h Health) {
		switch h {
		case Healthy:
			report(nil)
		case Failing:
			report(errFailed)
		case Unjudged:
			report(errNotCounted)
		}
	}, nil
}
