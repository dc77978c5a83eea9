//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd || windows)

package filelock

import (
	"errors"
	"fmt"
	"os"
)

// take cannot lock here.
func take(*os.File) error { return fmt.Errorf("filelock: %w", errors.ErrUnsupported) }
