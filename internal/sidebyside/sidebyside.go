// Package sidebyside lets tests that wait, for processes, disks and deadlines, do that at the same time. It is for TestMain,
// and knows nothing of what is tested.
package sidebyside

import (
	"flag"
	"fmt"
	"runtime"
	"strconv"
	"testing"
)

// Run has twice as many tests with t.Parallel run at once as there are processors, as they hardly need one, unless
// -parallel says how many. With -short, which is for the race detector, there are as many as processors.
// To be called by TestMain before it runs the tests; it parses the flags.
func Run() {
	flag.Parse()
	given := flag.Lookup("test.parallel")
	if testing.Short() || given.Value.String() != given.DefValue {
		return
	}
	if err := given.Value.Set(strconv.Itoa(2 * runtime.GOMAXPROCS(0))); err != nil {
		panic(fmt.Sprintf("-test.parallel is a number: %v", err))
	}
}
