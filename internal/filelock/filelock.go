// Package filelock locks open files between processes, and makes sure that new files are found again after the machine
// went down. A lock ends when its file is closed, also when the process dies, and a child process does not inherit it.
// There are locks on Linux, macOS, the BSDs, illumos and Windows; elsewhere the error is errors.ErrUnsupported.
package filelock

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/strabo-engine/strabo/internal/pause"
)

// ErrHeld says that somebody else has the lock.
var ErrHeld = errors.New("the file is locked")

const (
	firstWait   = time.Millisecond
	longestWait = 50 * time.Millisecond
)

// Try takes the one lock of an open file without waiting for it; the error is [ErrHeld] if somebody else has it, in this
// process with another open file as well.
func Try(file *os.File) error { return try(file) }

// Lock takes the lock, and waits for it until the context ends. It asks again after at most 50 ms, since waiting in the
// system could not be broken off.
func Lock(ctx context.Context, file *os.File) error {
	for wait := firstWait; ; wait = min(2*wait, longestWait) {
		err := try(file)
		if !errors.Is(err, ErrHeld) {
			return err
		}
		if pause.For(ctx, wait) != nil {
			return ctx.Err()
		}
	}
}

// Unlock gives the lock back before the file is closed.
func Unlock(file *os.File) error { return unlock(file) }

// SyncFolder makes sure that a file which was just created, renamed or removed in the folder stays so. On Windows, which
// flushes no folders and keeps the names of files itself, it does nothing.
func SyncFolder(name string) error { return syncFolder(name) }
