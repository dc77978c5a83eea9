package stream

import (
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"
)

// Health knows whether writes come through. A nil Health knows nothing. Its methods are safe for concurrent use.
type Health struct {
	logger *slog.Logger
	failed atomic.Pointer[failedWrite] // nil after a write that came through
}

type failedWrite struct {
	at  time.Time
	err error
}

// remembered is for how long a failure counts where nothing was written since: a server that nobody asks would otherwise
// never learn that all is well again.
const remembered = time.Minute

// NewHealth logs when writes begin to fail, and when they come through again.
func NewHealth(logger *slog.Logger) *Health { return &Health{logger: logger} }

// Note takes note of what came of a write; a conflict is as good as no error.
func (h *Health) Note(err error) {
	if h == nil {
		return
	}
	if err == nil || errors.Is(err, ErrConflict) {
		if h.failed.Load() != nil && h.failed.Swap(nil) != nil {
			h.logger.Info("writes come through again")
		}
		return
	}
	if h.failed.Swap(&failedWrite{time.Now(), err}) == nil {
		h.logger.Warn("a write failed", "error", err)
	}
}

// Err says why the last write failed, if it did and that was not long ago.
func (h *Health) Err() error {
	if h == nil {
		return nil
	}
	failed := h.failed.Load()
	if failed == nil || time.Since(failed.at) > remembered {
		return nil
	}
	return fmt.Errorf("the last write failed: %w", failed.err)
}
