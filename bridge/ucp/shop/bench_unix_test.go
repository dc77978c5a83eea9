//go:build unix

package shop_test

import (
	"syscall"
	"time"
)

// processorTime is how long this process has had a processor.
func processorTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
