package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain lets scripts run strabo as a program without building one.
func TestMain(m *testing.M) {
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
