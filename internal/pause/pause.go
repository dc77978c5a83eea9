// Package pause waits for time to pass. It knows nothing of what is waited for. Start reading at [For].
package pause

import (
	"context"
	"time"
)

// For waits as long as said, not longer than the context lives; then the error is why that has ended. A wait of no
// time is over at once.
func For(ctx context.Context, wait time.Duration) error {
	if wait <= 0 {
		return context.Cause(ctx)
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
