// Package testspeed has the tests of a package take less time. It is for TestMain, and knows nothing of what is tested.
package testspeed

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"testing"
)

// Raise parses the flags of go test, and is to be called before the tests run.
//
// Garbage is collected more seldom, unless GOGC says how often or something is measured: heaps of tests are small, and to
// keep them so takes a fifth of the processor's time.
//
// Twice as many tests with t.Parallel as there are processors run at once, unless -parallel says how many: they wait most
// of the time, for processes, disks and deadlines. With -short, which is for the race detector, they do not.
func Raise() {
	flag.Parse()
	if _, given := os.LookupEnv("GOGC"); !given && flag.Lookup("test.bench").Value.String() == "" {
		debug.SetGCPercent(400)
	}
	parallel := flag.Lookup("test.parallel")
	if testing.Short() || parallel.Value.String() != parallel.DefValue {
		return
	}
	if err := parallel.Value.Set(strconv.Itoa(2 * runtime.GOMAXPROCS(0))); err != nil {
		panic(fmt.Sprintf("-test.parallel is a number: %v", err))
	}
}
