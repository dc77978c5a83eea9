package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBuyLooksAtItsFlagsFirst: what is wrong with the flags, or with the files that they name, is said before anything is
// sent to anybody.
func TestBuyLooksAtItsFlagsFirst(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer server.Close()
	dir := t.TempDir()
	text, missing := filepath.Join(dir, "text"), filepath.Join(dir, "none", "file")
	require.NoError(t, os.WriteFile(text, []byte("no key\n"), 0o600))
	const profile = "https://me.example/{release}"
	for _, test := range []struct {
		says  string
		flags []string
	}{
		{"--pay must be HANDLER:TOKEN", []string{"--pay", "handler"}},
		{"--pay must be HANDLER:TOKEN", []string{"--pay", ":SECRETTOKEN"}},
		{"--pay must be HANDLER:TOKEN", []string{"--pay", "handler:"}},
		{"--profile me.example: a URL of https is needed", []string{"--profile", "me.example"}},
		{"--profile https:///p: a URL of https is needed", []string{"--profile", "https:///p"}},
		{"--profile ftp://me.example: a URL of https is needed", []string{"--profile", "ftp://me.example"}},
		{"a URL of https is needed", []string{"--profile", `https://me.example/"x`}},
		{"a URL of https is needed", []string{"--profile", "https://me.example/{date}"}},
		{"a URL of https is needed", []string{"--profile", "https://ada:secret@me.example/"}},
		{"a URL of https is needed", []string{"--profile", "https://me.example/#p"}},
		{"--public-url me: a URL of https is needed", []string{"--follow", "--webhooks", "127.0.0.1:0", "--public-url", "me"}},
		{"--webhooks: ", []string{"--follow", "--webhooks", "127.0.0.1:none"}},
		{"--signing-key: open ", []string{"--signing-key", missing}},
		{"--signing-key " + text + ": ucp: not a key", []string{"--signing-key", text}},
		{"--signing-key-id is empty", []string{"--signing-key", text, "--signing-key-id", ""}},
		{"--mandate-key: open ", []string{"--profile", profile, "--mandate-key", missing}},
		{"--mandate-key " + text + ": ucp: not a key", []string{"--profile", profile, "--mandate-key", text}},
		{"--mandate-key-id is empty", []string{"--profile", profile, "--mandate-key", text, "--mandate-key-id", ""}},
		{"--policy: open ", []string{"--policy", missing}},
		{text + ":1:1: ", []string{"--policy", text}},
		{"--audit", []string{"--audit", missing}},
		{"--ask", []string{"--ask", text}},
		{"--journal: ", []string{"--journal", missing}},
		{"is damaged in line 1", []string{"--journal", text}},
		{"--require-signed is for shops of UCP 2026-04-08", []string{"--require-signed"}},
		{"--require-signed needs a release", []string{"--require-signed", "--profile", profile, "--release", "2026-01-23"}},
		{"--option is empty", []string{"--option", ""}},
		{"--transport is", []string{"--transport", "a2a"}},
	} {
		code, out, err := runStrabo("", append([]string{"buy", "--business", server.URL, "--item", "x"}, test.flags...)...)
		require.Equal(t, exitWrongUse, code, "%v: %s", test.flags, err)
		require.Empty(t, out)
		require.Contains(t, err, test.says, test.flags)
		require.NotContains(t, err, "SECRETTOKEN")
		require.NotContains(t, err, "secret@")
	}
	require.Zero(t, asked.Load())
}
