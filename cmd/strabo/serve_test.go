package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/syncserver"
)

// serving is a strabo serve in a process of its own.
type serving struct {
	cmd  *exec.Cmd
	NATS string `json:"nats"`
	HTTP string `json:"http"`
}

func startServing(t *testing.T, arguments ...string) *serving {
	t.Helper()
	s := &serving{cmd: exec.Command("strabo", append([]string{"serve"}, arguments...)...)}
	var log bytes.Buffer
	s.cmd.Stderr = &log
	out, err := s.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, s.cmd.Start())
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		_ = s.cmd.Wait()
		require.FailNow(t, "it does not serve", log.String())
	}
	require.NoError(t, json.Unmarshal(line, s))
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
	})
	return s
}

// stop asks the process to end and demands that it does so in order.
func (s *serving) stop(t *testing.T) {
	t.Helper()
	require.NoError(t, s.cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, s.cmd.Wait())
}

func get(t *testing.T, url string) string {
	t.Helper()
	response, err := http.Get(url)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return string(body)
}

func strabo(t *testing.T, code int, arguments ...string) string {
	t.Helper()
	var out, err bytes.Buffer
	require.Equal(t, code, run(arguments, strings.NewReader(""), &out, &err), err.String())
	return out.String()
}

func TestServe(t *testing.T) {
	dir := t.TempDir()
	protocol := filepath.Join(dir, "deal.lsh")
	require.NoError(t, os.WriteFile(protocol, []byte("Deal\nwho Buyer, Seller\nwhat ID key, Pay\ndo\n  Buyer: Ask(ID, item)\n"+
		"  Seller: Offer(ID, item, price)\n  Buyer: Pay(ID, price, card)\nsayso\n  Buyer: item, card\n  Seller: price\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "deal.yaml"), []byte("secrets: [card]\n"), 0o600))
	data := filepath.Join(dir, "data")
	s := startServing(t, protocol, "--store", data, "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0")
	require.Equal(t, "ok\n", get(t, s.HTTP+"/healthz"))
	require.Equal(t, "ready\n", get(t, s.HTTP+"/readyz"))

	rules, err := openRules(&streams{err: io.Discard}, protocol)
	require.NoError(t, err)
	conn, err := nats.Connect(s.NATS)
	require.NoError(t, err)
	defer conn.Close()
	client, err := syncserver.NewClient(conn, rules, syncserver.ClientConfig{})
	require.NoError(t, err)
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	attempt := func(role, action string, values map[string]any) {
		v, err := enactment.ValuesOf(values)
		require.NoError(t, err)
		outcome, err := client.Attempt(ctx, enactment.Attempt{ID: action + v["ID"].String(), Identity: enactment.Identity{Role: role}, Action: action, Values: v})
		require.NoError(t, err)
		require.NoError(t, outcome.Err())
	}
	attempt("Buyer", "Ask", map[string]any{"ID": "1", "item": "fig"})
	attempt("Seller", "Offer", map[string]any{"ID": "1", "price": 5})
	attempt("Buyer", "Pay", map[string]any{"ID": "1", "card": "4242"})
	attempt("Buyer", "Ask", map[string]any{"ID": "2", "item": "date"})
	evil := enactment.Attempt{
		ID: "evil", Identity: enactment.Identity{Role: "\x1b[31m\nSeller"}, Action: "Ask",
		Values: enactment.Values{"ID": enactment.MustValue("1")},
	}
	outcome, err := client.Attempt(ctx, evil)
	require.NoError(t, err)
	require.ErrorIs(t, outcome.Err(), enactment.WrongRole)
	metrics := get(t, s.HTTP+"/metrics")
	require.Contains(t, metrics, `strabo_attempts_total{system="deal",outcome="accepted"} 4`)

	// Live, over the network.
	strabo(t, exitWrongUse, "enactments", "ls", protocol, "--store", data) // a server has the directory
	live := strabo(t, exitFine, "enactments", "ls", protocol, "--nats", s.NATS, "--keys", filepath.Join(data, "keys"), "--open")
	require.Regexp(t, `^{"ID":"2"} +1 +open +Ask `, live)
	s.stop(t)

	// And afterwards, from the files.
	require.Contains(t, strabo(t, exitFine, "enactments", "ls", protocol, "--store", data, "--json"), `"complete":true`)
	shown := strabo(t, exitFine, "enactments", "show", protocol, `{"ID":"1"}`, "--store", data)
	require.Contains(t, shown, `Buyer Pay ID="1" price=5 card=…`)
	require.NotContains(t, shown, "4242")
	require.Contains(t, shown, "\ufffd[31m\ufffdSeller refused Ask", "what could move the cursor does not come through")
	require.Contains(t, strabo(t, exitFine, "enactments", "show", protocol, `{"ID":"2"}`, "--store", data), "Seller may Offer, binding price")
	require.Contains(t, strabo(t, exitFine, "enactments", "show", protocol, `{"ID":"2"}`, "--store", data), "\nopen\nneeds Pay\n")
	require.Contains(t, strabo(t, exitFine, "enactments", "show", protocol, `{"ID":"2"}`, "--store", data, "--json"), `"needs":[["Pay"]]`)
	require.Contains(t, shown, "\ncomplete\n")
	strabo(t, exitNo, "enactments", "show", protocol, `{"ID":"3"}`, "--store", data)
	for _, key := range []string{"3", `{"Id":"3"}`} {
		var failure bytes.Buffer
		require.Equal(t, exitWrongUse, run([]string{"enactments", "show", protocol, key, "--store", data}, nil, io.Discard, &failure), key)
		require.Contains(t, failure.String(), `such as {"ID":"1"}`, key)
	}
	exported := strabo(t, exitFine, "enactments", "export", protocol, "--store", data)
	require.Equal(t, 6, strings.Count(exported, "\n"))
	require.NotContains(t, exported, "4242")
	require.JSONEq(t, `{"judged":4,"faults":[]}`, strabo(t, exitFine, "enactments", "verify", protocol, "--store", data, "--json"))

	for _, test := range []struct {
		name  string
		flags []string
		keys  bool
		shows bool
	}{{"sealed", nil, true, false}, {"open", []string{"--with-secrets"}, false, true}} {
		file, again := filepath.Join(dir, test.name), filepath.Join(dir, test.name+".data")
		strabo(t, exitFine, append([]string{"backup", protocol, "--store", data, "--out", file}, test.flags...)...)
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, test.shows, strings.Contains(string(text), "4242"))
		flags := []string{"--store", again}
		if test.keys {
			flags = append(flags, "--keys", filepath.Join(data, "keys"))
		}
		strabo(t, exitFine, append([]string{"restore", protocol, file}, flags...)...)
		require.Equal(t, exported, strabo(t, exitFine, append([]string{"enactments", "export", protocol}, flags...)...))
		strabo(t, exitWrongUse, append([]string{"restore", protocol, file}, flags...)...)
	}

	// Another version of the protocol is not served on the same streams.
	changed := filepath.Join(dir, "changed.lsh")
	require.NoError(t, os.WriteFile(changed, []byte("Deal\nwho Buyer\nwhat ID key, Ask\ndo\n  Buyer: Ask(ID)\n"), 0o600))
	var out, failure bytes.Buffer
	require.Equal(t, exitWrongUse, run([]string{"serve", changed, "--store", data}, nil, &out, &failure))
	require.Contains(t, failure.String(), "serve it under another system name")
}

func TestServeRefuses(t *testing.T) {
	for _, arguments := range [][]string{
		{"purchase", "--nats", "nats://127.0.0.1:1", "--durability", "fsync"},
		{"purchase", "--nats", "nats://127.0.0.1:1", "--listen", "127.0.0.1:0"},
		{"purchase", "--accounts"},
		{"purchase", "--finalize", "batch", "--window", "0"},
		{"purchase", "--refusal-retention", "0"},
		{"purchase", "--lease", "-1s"},
		{"purchase", "--replicas", "0"},
		{"purchase", "--listen", "0.0.0.0:0"},
		{"purchase", "--listen", ":0"},
		{"purchase", "--listen", "127.0.0.1:0", "--tls-cert", "nonesuch"},
		{"purchase", "--tls-ca", "nonesuch"},
		{"purchase", "purchase"},
		{"nonesuch"},
		{"purchase", "--party", "Buyer"},
	} {
		strabo(t, exitWrongUse, append([]string{"serve"}, arguments...)...)
	}
}

func TestBench(t *testing.T) {
	for _, executor := range []string{"local", "process", "nats"} {
		var answer benchAnswer
		text := strabo(t, exitFine, "bench", "--executor", executor, "--attempts", "200", "--at-once", "4", "--json", "--durability", "none")
		require.NoError(t, json.Unmarshal([]byte(text), &answer))
		require.EqualValues(t, 200, answer.Attempts)
		require.Zero(t, answer.Refused)
		require.Positive(t, answer.P50)
		require.LessOrEqual(t, answer.P50, answer.Slowest)
	}
	text := strabo(t, exitFine, "bench", "--executor", "local", "--attempts", "300", "--rivals", "3")
	require.Contains(t, text, "300 attempts in ")
	require.Regexp(t, `[12]\d\d refused: already_happened [12]\d\d\n`, text)
	for _, wrong := range [][]string{
		{"--rivals", "0"},
		{"--duration", "0s"},
		{"--replicas", "3"},
		{"--executor", "local", "--store", t.TempDir()},
		{"nonesuch"},
		{"--nats", "nats://127.0.0.1:1"},
	} {
		strabo(t, exitWrongUse, append([]string{"bench"}, wrong...)...)
	}
}

// TestBenchLeavesNothingBehind has a system that is measured on a NATS of the user's own be gone afterwards.
func TestBenchLeavesNothingBehind(t *testing.T) {
	s := startServing(t, "purchase", "--listen", "127.0.0.1:0", "--durability", "none")
	strabo(t, exitFine, "bench", "--nats", s.NATS, "--attempts", "50", "--finalize", "batch", "--window", "2ms")
	strabo(t, exitFine, "bench", "--nats", s.NATS, "--attempts", "50", "--executor", "nats")
	conn, err := nats.Connect(s.NATS)
	require.NoError(t, err)
	defer conn.Close()
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	for name := range js.StreamNames(t.Context()).Name() {
		require.True(t, strings.HasPrefix(name, "STRABO_purchase_"), name)
	}
}
