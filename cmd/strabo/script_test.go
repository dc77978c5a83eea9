package main

import (
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain lets scripts run strabo as a program without building one.
func TestMain(m *testing.M) {
	if name := filepath.Base(os.Args[0]); strings.HasSuffix(name, ".test") || strings.HasSuffix(name, ".test.exe") { // Else it is strabo in a script.
		flag.Parse()
		if given := flag.Lookup("test.parallel"); given.Value.String() == given.DefValue && !testing.Short() {
			// Those that run side by side wait most of the time, for processes and deadlines.
			if err := given.Value.Set(strconv.Itoa(2 * runtime.GOMAXPROCS(0))); err != nil {
				panic(err)
			}
		}
	}
	testscript.Main(m, map[string]func(){"strabo": main})
}

// TestScripts runs testdata/script/*.txtar. With STRABO_UPDATE set it rewrites what they compare with.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       os.Getenv("STRABO_UPDATE") != "",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}
