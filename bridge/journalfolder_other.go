//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd)

package bridge

// syncFolder does nothing: Windows, for one, flushes no folders, and keeps the names of files itself.
func syncFolder(string) error { return nil }
