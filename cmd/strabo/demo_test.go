package main

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update-demo", false, "write the expected timelines anew")

// varying are the parts of a timeline that are another each time.
var varying = []struct {
	pattern     *regexp.Regexp
	replacement string
}{
	{regexp.MustCompile(`(?m)^ *\d+ ms`), "TIME"},
	{regexp.MustCompile(`[0-9a-f]{8}~`), "ID~"},
	{regexp.MustCompile(`[a-z2-7]{26}`), "ID"},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "HOST"},
}

func requireTimeline(t *testing.T, name, got string) {
	t.Helper()
	for _, v := range varying {
		got = v.pattern.ReplaceAllString(got, v.replacement)
	}
	file := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(string(want), got))
}

func TestDemo(t *testing.T) {
	for file, arguments := range map[string][]string{
		"demo.golden":        {"demo"},
		"demo-cancel.golden": {"demo", "--cancel"},
	} {
		code, stdout, stderr := runStrabo("", arguments...)
		require.Zero(t, code, stderr)
		require.Empty(t, stderr)
		requireTimeline(t, file, stdout)
	}
}

// TestDemoOnEveryExecutor has the same agents meet on whatever they are told to: the story is the same.
func TestDemoOnEveryExecutor(t *testing.T) {
	for _, executor := range []string{"local", "process", "nats"} {
		for _, finalize := range []string{"immediate", "batch"} {
			t.Run(executor+" "+finalize, func(t *testing.T) {
				code, stdout, stderr := runStrabo("", "demo", "--executor", executor, "--finalize", finalize, "--window", "2ms", "--durability", "none")
				require.Zero(t, code, stderr)
				require.Empty(t, stderr)
				requireTimeline(t, "demo.golden", stdout)
			})
		}
	}
}

func TestDemoRace(t *testing.T) {
	code, stdout, stderr := runStrabo("", "demo", "--race", "--rounds", "15")
	require.Zero(t, code, stdout+stderr)
	require.Regexp(t, `(?m)^15 rounds: \d+ paid, \d+ cancelled, 0 neither, 0 both$`, stdout)
	rounds := regexp.MustCompile(`(?m)^round +\d+: (?:` + strings.Join([]string{
		`Completed\.(?: Cancel was attempted too, and came to nothing\.| Cancel was refused by the engine \(\w+\)\.)?`,
		`Cancelled\. Complete was refused by the engine \(blocked\)\.`,
		`Cancelled\. Complete was attempted too, and came to nothing\.`,
	}, "|") + `)$`)
	require.Len(t, rounds.FindAllString(stdout, -1), 15, stdout)
}

// TestDemoJSON holds every line against what architecture says of records, and the shopper's coins against all of it.
func TestDemoJSON(t *testing.T) {
	code, stdout, stderr := runStrabo("", "demo", "--json")
	require.Zero(t, code, stderr)
	kinds := make(map[string]int)
	var last time.Time
	for line := range strings.Lines(stdout) {
		decoder := json.NewDecoder(strings.NewReader(line))
		decoder.DisallowUnknownFields()
		var record struct {
			Kind, Protocol, Hash, Action, Role, Party, At string
			Attempt                                       any // the id of one in the engine, the number of one on the wire
			Enactment                                     map[string]any
			Sequence                                      int
			Values                                        map[string]any
			Hidden                                        []string
			Reason                                        any
			// Of the audit.
			Step, Method, URL, Outcome, Request, Response, Operation, Scope, Risk, Subject, Approval, Detail string
			KeyHash                                                                                          string `json:"key_hash"`
			BodyDigest                                                                                       string `json:"body_digest"`
			Latency                                                                                          int64  `json:"latency_ns"`
			Status                                                                                           int
			Sources                                                                                          map[string]string
		}
		require.NoError(t, decoder.Decode(&record), line)
		kinds[record.Kind]++
		require.Contains(t, record.Enactment, "cid")
		at, err := time.Parse(time.RFC3339Nano, record.At)
		require.NoError(t, err)
		require.False(t, at.Truncate(time.Millisecond).Before(last.Truncate(time.Millisecond)), line)
		last = at
		if record.Action == "Complete" && record.Kind == "happened" {
			require.Contains(t, [][]string{{"payment"}, {"credential"}}, record.Hidden)
		}
		if record.Kind == "first_call" {
			require.Equal(t, "known", record.Outcome)
			require.NotContains(t, record.Request, "Drachma")
		}
		require.NotContains(t, line, "Drachma")
	}
	require.Equal(t, map[string]int{"happened": 12, "completed": 2, "first_call": 5, "approval_decided": 1}, kinds)
}

func TestDemoWrongUse(t *testing.T) {
	for _, arguments := range [][]string{
		{"demo", "--cancel", "--race"},
		{"demo", "--rounds", "0"},
		{"demo", "--race", "--rounds", "1001"},
		{"demo", "extra"},
		{"demo", "--store", t.TempDir()},
		{"demo", "--executor", "process", "--nats", "nats://127.0.0.1:1"},
		{"demo", "--finalize", "batch", "--window", "0"},
	} {
		code, stdout, stderr := runStrabo("", arguments...)
		require.Equal(t, exitWrongUse, code, arguments)
		require.Empty(t, stdout)
		require.NotEmpty(t, stderr)
	}
}
