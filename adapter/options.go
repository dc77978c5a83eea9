package adapter

import (
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// The limits that hold where no option says otherwise.
const (
	// DefaultConcurrency is how many enactments are handled in parallel.
	DefaultConcurrency = 64
	// DefaultQueue is how many deliveries may wait for their handlers.
	DefaultQueue = 1024
	// DefaultFirstWait and DefaultLongestWait bound the time between two submissions of an attempt.
	DefaultFirstWait   = 50 * time.Millisecond
	DefaultLongestWait = 5 * time.Second
)

type options struct {
	party       string
	logger      *slog.Logger
	concurrency int
	queue       int
	firstWait   time.Duration
	longestWait time.Duration
}

// Option changes how an adapter works.
type Option func(*options) error

// WithParty says which party plays the role. Without it the party is the one that the rules have configured for the
// role, or none.
func WithParty(party string) Option {
	return func(o *options) error {
		o.party = party
		return nil
	}
}

// WithLogger says where failures of handlers and submissions are logged; slog.Default() if it is not given.
func WithLogger(logger *slog.Logger) Option {
	return func(o *options) error {
		if logger == nil {
			return errors.New("adapter: the logger is nil")
		}
		o.logger = logger
		return nil
	}
}

// WithConcurrency bounds how many enactments are handled in parallel, at least 1; [DefaultConcurrency] if it is not
// given. An enactment that has nothing to do takes no place and has no goroutine.
func WithConcurrency(enactments int) Option {
	return func(o *options) error {
		if enactments < 1 {
			return fmt.Errorf("adapter: concurrency of %d: at least 1 is needed", enactments)
		}
		o.concurrency = enactments
		return nil
	}
}

// WithQueue bounds how many deliveries of all enactments together may wait for their handlers, at least 1;
// [DefaultQueue] if it is not given. When it is full the adapter receives nothing, and what happens meanwhile stays
// with the executor.
func WithQueue(deliveries int) Option {
	return func(o *options) error {
		if deliveries < 1 {
			return fmt.Errorf("adapter: queue of %d: at least 1 is needed", deliveries)
		}
		o.queue = deliveries
		return nil
	}
}

// WithBackoff says how long to wait before an attempt whose outcome is unknown is submitted again: the first time
// between half of first and first, then twice as long each time, and never more than longest. [DefaultFirstWait] and
// [DefaultLongestWait] if it is not given.
func WithBackoff(first, longest time.Duration) Option {
	return func(o *options) error {
		if first <= 0 || longest < first {
			return fmt.Errorf("adapter: backoff from %v to %v: both must be positive and in order", first, longest)
		}
		o.firstWait, o.longestWait = first, longest
		return nil
	}
}
