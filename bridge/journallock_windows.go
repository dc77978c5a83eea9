package bridge

import (
	"errors"
	"fmt"
	"math"
	"os"

	"golang.org/x/sys/windows"
)

// lockFile takes the one lock of an open file without waiting for it. The system gives it back when the file is closed,
// also when the process dies. The byte that is locked lies far behind the end, for a lock keeps others from reading.
func lockFile(file *os.File) error {
	at := &windows.Overlapped{Offset: math.MaxUint32 - 1, OffsetHigh: math.MaxInt32}
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err := windows.LockFileEx(windows.Handle(file.Fd()), flags, 0, 1, 0, at)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, windows.ERROR_LOCK_VIOLATION):
		return ErrJournalInUse
	default:
		return fmt.Errorf("bridge: lock journal: %w", err)
	}
}

// syncFolder does nothing: Windows flushes no folders, and keeps the names of files itself.
func syncFolder(string) error { return nil }
