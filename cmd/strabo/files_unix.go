//go:build unix

package main

import "syscall"

// openFiles is how many files and connections the process may have open.
func openFiles() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || limit.Cur > 1<<30 {
		return 1 << 30
	}
	return int(limit.Cur)
}
