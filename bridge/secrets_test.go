package bridge_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/bridge"
	"github.com/strabo-engine/strabo/bridge/acc"
	"github.com/strabo-engine/strabo/bridge/approval"
	"github.com/strabo-engine/strabo/bridge/approval/natsapproval"
	"github.com/strabo-engine/strabo/bridge/audit"
	"github.com/strabo-engine/strabo/bridge/audit/natsaudit"
	"github.com/strabo-engine/strabo/syncserver/embedded"
)

// oddSecret is spelled differently wherever it is quoted.
const oddSecret = `s3cr"t\/+&<ü>=? 4`

// spellings are the ways in which a secret may be written down.
func spellings(secret string) []string {
	asJSON, _ := json.Marshal(secret)
	inside := string(asJSON[1 : len(asJSON)-1])
	twice, _ := json.Marshal(inside)
	found := []string{
		secret, inside, string(twice[1 : len(twice)-1]), url.QueryEscape(secret), url.PathEscape(secret), html.EscapeString(secret),
		strings.NewReplacer(`"`, `\"`, `\`, `\\`).Replace(secret), fmt.Sprintf("%+q", secret), hex.EncodeToString([]byte(secret)),
		strings.ToUpper(hex.EncodeToString([]byte(secret))),
	}
	for shift := range 3 {
		encoded := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + secret + "xx"))
		middle := encoded[(shift*8+5)/6 : (shift+len(secret))*8/6]
		found = append(found, middle, strings.NewReplacer("+", "-", "/", "_").Replace(middle))
	}
	return found
}

// requireNone looks for secrets in every spelling.
func requireNone(t *testing.T, where string, text []byte, secrets ...string) {
	t.Helper()
	require.NotEmpty(t, text, where)
	for _, secret := range secrets {
		for _, spelling := range spellings(secret) {
			require.NotContains(t, string(text), spelling, where)
		}
	}
}

const secretsRuntime = `version: 1
defaults:
  retries: {attempts: 3, backoff: {first: 1ms, longest: 1ms}}
  idempotency: {header: Idempotency-Key}
  rate_limit: {dimension: operation}
  breaker: {failures: 100}
  audit: {required: true}
operations:
  reserve: {audit: {redact: [guest]}}
  withdraw: {retries: {attempts: 1}, idempotency: null}
  pay: {approval: {required: true, expires: 1h}%s}
`

// TestNoSecretIsWrittenDown plays with a shop that quotes what it was sent, in as many spellings as it can, and looks for
// the secrets in everything that a bridge writes down: every sink of the audit, both stores of approvals, the log. That
// the contract calls a call sensitive must not be what keeps them out, so both are tried.
func TestNoSecretIsWrittenDown(t *testing.T) {
	for name, sensitive := range map[string]string{"as it is": "", "sensitive": ", audit: {sensitive: true}"} {
		t.Run(name, func(t *testing.T) { testSecrets(t, sensitive) })
	}
}

func testSecrets(t *testing.T, sensitive string) {
	g := newGoverning(t)
	runtime, found := acc.ParseRuntime([]byte(fmt.Sprintf(secretsRuntime, sensitive)))
	require.Empty(t, found)
	g.policy.Runtime, g.policy.RuntimeName = runtime, "runtime.yaml"
	g.policy.Breaker.Failures = 0
	dir := t.TempDir()
	file, err := audit.OpenFile(filepath.Join(dir, "audit.jsonl"), audit.FileOptions{MaxSize: 4000, NoSync: true})
	require.NoError(t, err)
	defer file.Close()
	questions, err := approval.OpenFileStore(filepath.Join(dir, "approvals"), approval.FileOptions{NoSync: true})
	require.NoError(t, err)
	defer questions.Close()
	server, err := embedded.Start(embedded.Options{StoreDir: t.TempDir()})
	require.NoError(t, err)
	defer server.Shutdown()
	conn, err := server.Connect()
	require.NoError(t, err)
	defer conn.Close()
	stream, err := natsaudit.Open(t.Context(), conn, natsaudit.Options{})
	require.NoError(t, err)
	bucket, err := natsapproval.Open(t.Context(), conn, natsapproval.Options{})
	require.NoError(t, err)
	hasher, err := audit.LoadHasher(filepath.Join(t.TempDir(), "key"))
	require.NoError(t, err)

	secrets := []string{token, oddSecret}
	const guest = "Anneliese Redacted"
	quoted := map[string]any{"error": "refused: " + token + " and " + oddSecret, "card": map[string]any{"token": token, "pin": oddSecret}}
	for _, secret := range secrets {
		for i, spelling := range spellings(secret) {
			quoted[fmt.Sprintf("%d of %d", i, len(secret))] = spelling
		}
	}
	asJSON, err := json.Marshal(quoted)
	require.NoError(t, err)
	asText := "<html>" + strings.Join(append(spellings(token), spellings(oddSecret)...), " , ") + "</html>"
	g.shop.behaves(map[string][]string{
		payLine:      {"says " + string(asJSON), "says " + asText},
		withdrawLine: {"commit-and-reset"},
	}, false)
	stop := g.begin(func(o *bridge.Options) {
		o.Audit = audit.Require(audit.All(o.Audit, file, stream, audit.NewLog(g.logger(), slog.LevelInfo)))
		o.Approvals, o.Hasher = questions, hasher
	})
	g.attempt("Ask", adapter.Values{"rid": "r1", "room": 7, "guest": guest})
	g.expect("Booked")
	g.attempt("Pay", adapter.Values{"rid": "r1", "number": "n1", "card": map[string]any{"token": token, "pin": oddSecret}})
	asked := waitForQuestion(t, questions)
	_, err = bucket.Ask(t.Context(), asked)
	require.NoError(t, err)
	require.NoError(t, questions.Decide(t.Context(), asked.ID, approval.Verdict{Granted: true, Digest: asked.Digest, By: "ada"}))
	g.expect("Paid")
	g.withdraw("r1")
	<-g.unknown
	stop()

	// What was said on the wire is what is looked for.
	books := g.shop.books()
	sent, err := json.Marshal(books.Requests)
	require.NoError(t, err)
	require.Contains(t, string(sent), token)
	require.Contains(t, string(sent), guest)
	require.GreaterOrEqual(t, count(books.Requests, payLine), 3)
	for _, request := range books.Requests {
		if request.Key != "" {
			secrets = append(secrets, request.Key) // Whoever has it can have the shop answer as if it were the bridge.
		}
	}
	for _, kind := range []audit.Kind{audit.Intent, audit.FirstCall, audit.Retry, audit.StatusQuery, audit.ApprovalRequested, audit.ApprovalDecided, audit.UnknownOutcome} {
		require.NotEmpty(t, g.of(kind), kind)
	}

	looked := 0
	look := func(where string, text []byte) {
		looked++
		requireNone(t, where, text, append(secrets, guest)...)
	}
	require.NoError(t, filepath.WalkDir(dir, func(name string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(name, "lock") {
			return err
		}
		text, err := os.ReadFile(name)
		if err == nil {
			look(name, text)
		}
		return err
	}))
	require.GreaterOrEqual(t, looked, 4, "several files of an audit and a question")
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	for _, name := range []string{natsaudit.DefaultStream, "KV_" + natsapproval.DefaultBucket} {
		raw, err := js.Stream(t.Context(), name)
		require.NoError(t, err)
		info, err := raw.Info(t.Context())
		require.NoError(t, err)
		require.NotZero(t, info.State.Msgs)
		for sequence := info.State.FirstSeq; sequence <= info.State.LastSeq; sequence++ {
			message, err := raw.GetMsg(t.Context(), sequence)
			require.NoError(t, err)
			look(name, message.Data)
		}
	}
	records, err := json.Marshal(g.called())
	require.NoError(t, err)
	look("records", records)
	g.mu.Lock()
	logged := append([]byte(nil), g.logs.Bytes()...)
	g.mu.Unlock()
	require.Contains(t, string(logged), `"kind":"unknown_outcome"`)
	look("log", logged)
}

// waitForQuestion waits until something is asked.
func waitForQuestion(t *testing.T, store approval.Store) approval.Request {
	t.Helper()
	for {
		entries, err := store.List(t.Context())
		require.NoError(t, err)
		if len(entries) > 0 {
			return entries[0].Request
		}
		select {
		case <-t.Context().Done():
			t.Fatal("nothing is asked")
		case <-time.After(5 * time.Millisecond):
		}
	}
}
