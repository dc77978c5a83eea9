// Package leak finds goroutines that outlive the tests that started them, on machines that are busy, too. Start reading
// at [Main].
package leak

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// patience is how long goroutines that are about to end are waited for. goleak by itself waits less than half a second,
// in which a busy machine may not have run them at all; those that are left for good are still there afterwards.
const patience = 15 * time.Second

// Main runs the tests of a package, does what is to be done after them, and exits: with status 1 if a test has failed or
// goroutines are left. It is all that a TestMain does.
func Main(m *testing.M, after ...func()) {
	code := m.Run()
	for _, do := range after {
		do()
	}
	if code == 0 {
		if err := Find(); err != nil {
			fmt.Fprintln(os.Stderr, "goroutines outlive the tests:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// Check fails a test if goroutines are left when it ends which were not there when Check was called, apart from those
// that what is cleaned up before ends: call it first.
func Check(t testing.TB) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() {
		if err := Find(before); err != nil {
			t.Error("goroutines outlive the test: ", err)
		}
	})
}

// Find waits until no goroutines are left but the caller's and those that the options leave out, and says which are if
// that lasts too long.
func Find(options ...goleak.Option) error {
	for deadline := time.Now().Add(patience); ; {
		err := goleak.Find(options...)
		if err == nil || time.Now().After(deadline) {
			return err
		}
	}
}
