//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package bridge

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// lockFile takes the one lock of an open file without waiting for it. The system gives it back when the file is closed,
// also when the process dies; a child process does not inherit it.
func lockFile(file *os.File) error {
	for {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK):
			return ErrJournalInUse
		default:
			return fmt.Errorf("bridge: lock journal: %w", err)
		}
	}
}

// syncFolder makes sure that a file which was just created is found again.
func syncFolder(name string) error {
	folder, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("bridge: open folder of journal: %w", err)
	}
	if err := errors.Join(folder.Sync(), folder.Close()); err != nil {
		return fmt.Errorf("bridge: flush folder of journal: %w", err)
	}
	return nil
}
