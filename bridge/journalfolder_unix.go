//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package bridge

import (
	"errors"
	"fmt"
	"os"
)

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
