package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/strabo-engine/strabo/internal/testspeed"
)

// TestMain lets scripts run strabo as a program without building one.
func TestMain(m *testing.M) {
	if name := filepath.Base(os.Args[0]); strings.HasSuffix(name, ".test") || strings.HasSuffix(name, ".test.exe") { // Else it is strabo in a script.
		testspeed.Raise()
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
