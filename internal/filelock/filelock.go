// Package filelock keeps two processes from using one file. Start reading at [Take].
package filelock

import (
	"errors"
	"os"
)

// ErrHeld says that somebody else holds the lock.
var ErrHeld = errors.New("filelock: somebody else has it locked")

// Take takes the one lock of an open file without waiting for it. The system gives it back when the file is closed, also
// when the process dies; a child process does not inherit it. The error is [ErrHeld], or says why no lock can be had.
func Take(file *os.File) error { return take(file) }
