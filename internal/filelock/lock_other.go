//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd || windows)

package filelock

import (
	"errors"
	"fmt"
	"os"
)

// try cannot lock here, and a file that two processes may write is none to rely on.
func try(*os.File) error { return fmt.Errorf("lock file: %w", errors.ErrUnsupported) }

func unlock(*os.File) error { return nil }

func syncFolder(string) error { return nil }
