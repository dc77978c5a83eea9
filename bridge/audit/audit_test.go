package audit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/audit"
)

// whole is a record in which every field says something.
func whole() audit.Record {
	return audit.Record{
		At: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC), Kind: audit.FirstCall, Enactment: `{"cid":"c1"}`,
		Action: "Complete", Step: "complete", Operation: "checkout_complete", Scope: "checkout.complete", Risk: "high",
		Subject: "u1", Approval: "a1", KeyHash: "k", BodyDigest: "d", Attempt: 1, Method: "POST", URL: "https://shop.example/a?b=<c>",
		Request: `{"a":1}`, Response: `{"b":2}`, Status: 200, Outcome: "known", Latency: 1500 * time.Microsecond, Inferred: true,
		Detail: "as it says", Sources: map[string]string{"timeout": "runtime.yaml:3:4"},
	}
}

// TestNames holds the names of members, which programs rely upon.
func TestNames(t *testing.T) {
	line, err := audit.Encode(whole())
	require.NoError(t, err)
	require.Equal(t, `{"at":"2026-11-30T12:00:00Z","kind":"first_call","enactment":{"cid":"c1"},"action":"Complete","step":"complete",`+
		`"operation":"checkout_complete","scope":"checkout.complete","risk":"high","subject":"u1","approval":"a1","key_hash":"k",`+
		`"body_digest":"d","attempt":1,"method":"POST","url":"https://shop.example/a?b=<c>","request":"{\"a\":1}",`+
		`"response":"{\"b\":2}","status":200,"outcome":"known","latency_ns":1500000,"inferred":true,"detail":"as it says",`+
		`"sources":{"timeout":"runtime.yaml:3:4"}}`, string(line))
	back, err := audit.Decode(line)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(whole(), back))
}

func TestEncodeBounds(t *testing.T) {
	r := whole()
	long := strings.Repeat("ä\n", 2<<20)
	for _, text := range []*string{&r.Request, &r.Response, &r.URL, &r.Detail, &r.Subject, &r.Action, &r.Step, &r.Operation, &r.Scope, &r.Outcome} {
		*text = long
	}
	r.Sources = make(map[string]string)
	for i := range 1000 {
		r.Sources[fmt.Sprint(i)] = long
	}
	line, err := audit.Encode(r)
	require.NoError(t, err)
	require.Less(t, len(line), 1<<20, "a message of NATS has 1 MiB by default")
	require.NotContains(t, string(line), "\n")
	back, err := audit.Decode(line)
	require.NoError(t, err)
	require.Contains(t, back.Request, fmt.Sprintf("… (%d bytes)", len(long)))
	_, err = audit.Encode(audit.Record{})
	require.ErrorContains(t, err, "no kind")
	for _, text := range []string{"", "{}", "[]", `{"kind":1}`, "\x00"} {
		_, err = audit.Decode([]byte(text))
		require.Error(t, err, text)
	}
}

func TestHasher(t *testing.T) {
	key := bytes.Repeat([]byte{7}, audit.HashKeySize)
	a, b := audit.NewHasher(key), audit.NewHasher(key)
	require.Equal(t, a.Request("POST", "/a", []byte("1")), b.Request("POST", "/a", []byte("1")))
	require.Equal(t, a.Key("k"), b.Key("k"))
	require.Empty(t, a.Key(""))
	seen := map[string]bool{}
	for _, hash := range []string{
		a.Key("k"), a.Key("POST"), a.Request("POST", "/a", nil), a.Request("POST", "/", []byte("a")), a.Request("POST/", "a", nil),
		a.Request("POST", "/a", []byte("1")), audit.NewHasher(nil).Key("k"), audit.NewHasher(nil).Key("k"),
	} {
		require.Len(t, hash, 64)
		require.False(t, seen[hash], "hashes of different things differ")
		seen[hash] = true
	}
	require.Panics(t, func() { audit.NewHasher([]byte("short")) })
}

func TestLoadHasher(t *testing.T) {
	name := filepath.Join(t.TempDir(), "audit.key")
	var group sync.WaitGroup
	hashes := make([]string, 8)
	for i := range hashes {
		group.Go(func() {
			if h, err := audit.LoadHasher(name); err == nil {
				hashes[i] = h.Key("k")
			}
		})
	}
	group.Wait()
	for _, hash := range hashes {
		require.Equal(t, hashes[0], hash, "the same key for all")
		require.Len(t, hash, 64)
	}
	about, err := os.Stat(name)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), about.Mode())
	files, err := os.ReadDir(filepath.Dir(name))
	require.NoError(t, err)
	require.Len(t, files, 1)
	require.NoError(t, os.WriteFile(name, []byte("abc"), 0o600))
	_, err = audit.LoadHasher(name)
	require.ErrorContains(t, err, "is no key")
	_, err = audit.LoadHasher(filepath.Join(name, "x"))
	require.Error(t, err)
}

func TestFilter(t *testing.T) {
	r := whole()
	for name, test := range map[string]struct {
		filter audit.Filter
		want   bool
	}{
		"nothing":         {audit.Filter{}, true},
		"kind":            {audit.Filter{Kinds: []audit.Kind{audit.Retry, audit.FirstCall}}, true},
		"other kind":      {audit.Filter{Kinds: []audit.Kind{audit.Retry}}, false},
		"enactment":       {audit.Filter{Enactment: `{"cid":"c1"}`}, true},
		"other enactment": {audit.Filter{Enactment: `{"cid":"c2"}`}, false},
		"operation":       {audit.Filter{Operation: "checkout_complete", Action: "Complete", Subject: "u1"}, true},
		"other operation": {audit.Filter{Operation: "checkout"}, false},
		"other action":    {audit.Filter{Action: "Cancel"}, false},
		"other subject":   {audit.Filter{Subject: "u2"}, false},
		"since and until": {audit.Filter{Since: r.At, Until: r.At}, true},
		"too early":       {audit.Filter{Since: r.At.Add(1)}, false},
		"too late":        {audit.Filter{Until: r.At.Add(-1)}, false},
	} {
		require.Equal(t, test.want, test.filter.Chooses(r), name)
	}
}

func TestLog(t *testing.T) {
	var out bytes.Buffer
	logger := slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: slog.LevelInfo}))
	require.NoError(t, audit.NewLog(logger, slog.LevelDebug).Record(t.Context(), whole()))
	require.Empty(t, out.String(), "not at this level")
	require.NoError(t, audit.NewLog(logger, slog.LevelInfo).Record(t.Context(), whole()))
	var logged, written map[string]any
	require.NoError(t, json.Unmarshal(out.Bytes(), &logged))
	line, err := audit.Encode(whole())
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(line, &written))
	require.Equal(t, "audit", logged["msg"])
	for name := range written {
		switch name {
		case "request", "response":
			require.NotContains(t, logged, name)
		default:
			require.Contains(t, logged, name, "every other field is an attribute")
		}
	}
}

// memory is a sink that keeps what it is given, unless it is told to fail.
type memory struct {
	failure error
	records []audit.Record
}

func (m *memory) Record(_ context.Context, r audit.Record) error {
	if m.failure != nil {
		return m.failure
	}
	m.records = append(m.records, r)
	return nil
}

func (m *memory) kinds() (kinds []audit.Kind) {
	for _, r := range m.records {
		kinds = append(kinds, r.Kind)
	}
	return kinds
}

func record(kind audit.Kind) audit.Record { return audit.Record{At: time.Now(), Kind: kind} }

var errDisk = errors.New("the disk is full")

func TestSeveralSinks(t *testing.T) {
	var log bytes.Buffer
	first, second, third := &memory{failure: errDisk}, &memory{}, &memory{failure: errDisk}
	sink := audit.All(first, second, audit.BestEffort(third, slog.New(slog.NewTextHandler(&log, nil))))
	require.ErrorIs(t, sink.Record(t.Context(), record(audit.Denied)), errDisk)
	require.Len(t, second.records, 1, "one that fails does not keep the others from it")
	require.Equal(t, 1, strings.Count(log.String(), "a record of the audit is lost"))
	first.failure = nil
	require.NoError(t, sink.Record(t.Context(), record(audit.Denied)), "one that is not needed fails")
}

// TestRequire is what keeps a call from leaving unaudited.
func TestRequire(t *testing.T) {
	behind := &memory{}
	sink := audit.Require(behind)
	require.NoError(t, sink.Record(t.Context(), record(audit.Intent)))
	behind.failure = errDisk
	require.ErrorIs(t, sink.Record(t.Context(), record(audit.FirstCall)), errDisk, "it has happened, and is owed")
	require.ErrorIs(t, sink.Record(t.Context(), record(audit.Intent)), errDisk, "no other call leaves")
	require.ErrorIs(t, sink.Record(t.Context(), record(audit.UnknownOutcome)), errDisk)
	behind.failure = nil
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, sink.Record(canceled, record(audit.Intent)), "this sink does not look at the context")
	require.Equal(t, []audit.Kind{audit.Intent, audit.FirstCall, audit.UnknownOutcome, audit.Intent}, behind.kinds(),
		"all that happened, in order; the intent that was refused is not among it")

	behind.failure = errDisk
	for range audit.MaxOwed {
		err := sink.Record(t.Context(), record(audit.Retry))
		require.ErrorIs(t, err, errDisk)
		require.NotErrorIs(t, err, audit.ErrOwed)
	}
	require.ErrorIs(t, sink.Record(t.Context(), record(audit.Retry)), audit.ErrOwed)
	behind.failure = nil
	require.NoError(t, sink.Record(t.Context(), record(audit.Intent)))
	require.Len(t, behind.records, 4+audit.MaxOwed+1)
}
