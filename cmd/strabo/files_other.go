//go:build !unix

package main

// openFiles is how many files and connections the process may have open, where nothing says so.
func openFiles() int { return 1 << 30 }
