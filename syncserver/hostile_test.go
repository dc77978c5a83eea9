package syncserver_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/enactment"
	. "github.com/strabo-engine/strabo/internal/played"
	"github.com/strabo-engine/strabo/syncserver"
	"github.com/strabo-engine/strabo/syncserver/embedded"
	. "github.com/strabo-engine/strabo/syncserver/internal/conformance"
)

// counters are what a server has counted, by name and labels but for that of the system.
func counters(t *testing.T, server *syncserver.Server) map[string]int {
	t.Helper()
	var text strings.Builder
	require.NoError(t, server.WriteMetrics(&text))
	counted := make(map[string]int)
	for line := range strings.Lines(text.String()) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		at := strings.LastIndexByte(line, ' ')
		name := strings.NewReplacer(`system="purchase",`, "", `system="purchase"`, "").Replace(line[:at])
		value, err := strconv.ParseFloat(strings.TrimSpace(line[at:]), 64)
		require.NoError(t, err)
		counted[name] = int(value)
	}
	return counted
}

// lockedBuffer is a log that several goroutines write.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// hostile is a request as no agent of ours would make it, and what becomes of it.
type hostile struct {
	name    string
	subject string // behind strabo.purchase.
	text    string
	answer  string // is in it; nobody gets one if it is empty
	counter string // that goes up by one
	reply   string // where the answer is to go, if not to who asks
}

const (
	// evil would begin a new line of a log, and colour a terminal.
	evil    = "\n{\"level\":\"ERROR\",\"msg\":\"pwned\"}\r\x1b[31m\x00\u2028\u202e"
	refused = `strabo_refused_requests_total{reason="%s"}`
	decided = `strabo_attempts_total{outcome="%s"}`
)

// hostileRequests are for a server that takes attempts of 200,000 bytes.
func hostileRequests(rules *enactment.Rules) []hostile {
	quoted, err := json.Marshal(evil)
	if err != nil {
		panic(err)
	}
	bad, mismatch := fmt.Sprintf(refused, "bad_request"), fmt.Sprintf(refused, "protocol_mismatch")
	malformed, unknown := fmt.Sprintf(decided, "malformed"), fmt.Sprintf(decided, "unknown_action")
	head := `{"hash":"` + rules.Hash() + `"`
	attempt := func(name, subject, text, answer, counter string) hostile {
		return hostile{name: name, subject: "attempt." + subject, text: text, answer: answer, counter: counter}
	}
	feed := func(name, subject, text, answer, counter string) hostile {
		return hostile{name: name, subject: "observe." + subject, text: text, answer: answer, counter: counter}
	}
	with := func(values string) string { return head + `,"id":"h","action":"RFQ","values":` + values + `}` }
	all := []hostile{
		attempt("another protocol", "Buyer.=", `{"hash":"other"}`, "protocol_mismatch", mismatch),
		attempt("another protocol of any name", "Buyer.=", `{"hash":`+string(quoted)+`}`, "protocol_mismatch", mismatch),
		attempt("an identity that is no token", "Buyer.=zz", head+"}", "bad_request", bad),
		attempt("an identity not spelt as it is", "=42uyer.=", head+"}", "bad_request", bad),
		attempt("a hashed identity", "Buyer."+"=="+strings.Repeat("0", 64), head+"}", "bad_request", bad),
		attempt("a role of any name", "=0A=1B.=", with(`{"ID":"1","item":1}`), "wrong_role", fmt.Sprintf(decided, "wrong_role")),
		attempt("nothing", "Buyer.=", head+"}", "malformed", malformed),
		attempt("an action of any name", "Buyer.=", head+`,"id":"h","action":`+string(quoted)+`,"values":{"ID":"1"}}`, "unknown_action", unknown),
		attempt("an id of any content", "Buyer.=", head+`,"id":`+string(quoted)+`,"action":"Urge","values":{"ID":"1"}}`, "not_enabled", fmt.Sprintf(decided, "not_enabled")),
		attempt("a key of any content", "Buyer.=", head+`,"id":"k","action":"Urge","values":{"ID":`+string(quoted)+`}}`, "not_enabled", fmt.Sprintf(decided, "not_enabled")),
		attempt("an attribute of any name", "Buyer.=", with(`{"ID":"1","item":1,`+string(quoted)+`:1}`), "malformed", malformed),
		attempt("values that are none", "Buyer.=", with(`[]`), "malformed", malformed),
		attempt("a value twice", "Buyer.=", with(`{"ID":"1","ID":"2"}`), "malformed", malformed),
		attempt("half a character", "Buyer.=", with(`{"ID":"\ud800","item":1}`), "malformed", malformed),
		attempt("no characters", "Buyer.=", with("{\"ID\":\"\xff\xfe\",\"item\":1}"), "malformed", malformed),
		attempt("a key that is no scalar", "Buyer.=", with(`{"ID":{}}`), "malformed", malformed),
		attempt("a number with many zeros", "Buyer.=", with(fmt.Sprintf("%01500d", 0)), "malformed", malformed),
		attempt("a number with no end", "Buyer.=", with(`{"ID":1e99999999999999999999,"item":1}`), "malformed", malformed),
		attempt("deep", "Buyer.=", with(`{"ID":"1","item":`+strings.Repeat("[", 90_000)+strings.Repeat("]", 90_000)+`}`), "malformed", malformed),
		attempt("deep without end", "Buyer.=", head+`,"values":`+strings.Repeat("[", 190_000), "bad_request", bad),
		attempt("large", "Buyer.=", with(`{"ID":"1","item":"`+strings.Repeat("0", 200_000)+`"}`), "malformed", malformed),
		attempt("parties that play no role", "Buyer.=", head+`,"id":"p","action":"RFQ","values":{"ID":"p","item":1},"parties":{`+string(quoted)+`:"x"}}`, "malformed", malformed),
		attempt("in the future", "Buyer.=", head+`,"at":"2999-01-01T00:00:00Z","id":"f","action":"RFQ","values":{"ID":"f","item":1}}`, `"clock"`, fmt.Sprintf(refused, "clock")),
		attempt("long ago", "Buyer.=", head+`,"at":"2001-01-01T00:00:00Z","id":"o","action":"RFQ","values":{"ID":"o","item":1}}`, "expired", fmt.Sprintf(decided, "expired")),
		attempt("before all time", "Buyer.=", head+`,"at":"0000-01-01T00:00:00+12:00","id":"b","action":"RFQ","values":{"ID":"b","item":1}}`, "bad_request", bad),

		feed("another protocol in a feed", "Buyer.=", `{"hash":"other"}`, "protocol_mismatch", mismatch),
		feed("a feed without a name", "Buyer.=", head+"}", "bad_request", bad),
		feed("a feed of nobody", "Banker.=", head+`,"feed":"f"}`, "bad_request", bad),
		feed("a feed of a role of any name", "=0A=1B.=", head+`,"feed":`+string(quoted)+`}`, "bad_request", bad),
		feed("a batch number below none", "Buyer.=", head+`,"feed":"f","batch":-1}`, "bad_request", bad),
		feed("a feed at a server that does not know it", "Buyer.=.SERVER", head+`,"feed":`+string(quoted)+`,"operation":"pull","most":-5,"wait":-5}`, "no_feed", fmt.Sprintf(refused, "no_feed")),
		feed("an operation of any name", "Buyer.=.SERVER", head+`,"feed":"f","operation":`+string(quoted)+`}`, "bad_request", bad),
		feed("positions of nothing", "Buyer.=.SERVER", head+`,"feed":"f","operation":"store","positions":[{"key":`+string(quoted)+`}]}`, "bad_request", bad),
		feed("a feed from beyond the end", "Buyer.=", head+`,"feed":"f","after":18446744073709551615}`, `"lost"`, fmt.Sprintf(refused, "lost")),
	}
	for n, text := range []string{
		"", "{", "[]", "null", "\x00\xff", `"x"`, `{"hash":1}`, head, head + `,"at":"yesterday"}`, head + `,"id":{}}`,
		head + `,"values":{"ID":"1"},}`, head + `,"parties":[]}`, evil,
	} {
		all = append(all, attempt(fmt.Sprint("no attempt ", n), "Buyer.=", text, `"bad_request"`, bad))
		if n < 8 || text == evil {
			answer, counter := `"bad_request"`, bad
			if text == "null" {
				answer, counter = "protocol_mismatch", mismatch // which is as good as {}
			}
			all = append(all, feed(fmt.Sprint("no request ", n), "Buyer.=", text, answer, counter))
		}
	}
	// Without accounts nothing but the server itself keeps answers from being aimed at a log.
	for _, reply := range []string{"strabo.purchase.log.x", "strabo.purchase.attempt.Seller.=", "anywhere"} {
		for _, kind := range []string{"attempt", "observe"} {
			all = append(all, hostile{
				name: kind + " to be answered to " + reply, subject: kind + ".Buyer.=", text: head + "}", reply: reply,
				counter: fmt.Sprintf(refused, "bad_reply"),
			})
		}
	}
	return all
}

// TestHostileRequests: what is malformed, huge or aimed elsewhere is refused, told so where there is somebody to tell,
// and counted; it goes into no log as anything but what was refused, and leaves nothing in the server's own log that
// could be taken for a line of it.
func TestHostileRequests(t *testing.T) {
	t.Parallel()
	for name, window := range map[string]time.Duration{"immediate": 0, "batch": time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rules := Rules(t, Purchase)
			s := store(t, embedded.Options{Listen: "127.0.0.1:0"})
			var log lockedBuffer
			server := serve(t, s, rules, syncserver.ServerConfig{
				Window: window, MaxAttempt: 200_000, Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
			})
			conn := connect(t, s)
			e := client(t, conn, rules)
			Accepted(t, e, Attempt(Buyer, "RFQ", "good", "item", "fig"))
			for _, test := range hostileRequests(rules) {
				t.Run(test.name, func(t *testing.T) {
					before := counters(t, server)[test.counter]
					subject := "strabo.purchase." + strings.Replace(test.subject, "SERVER", server.Name(), 1)
					if test.reply != "" {
						require.NoError(t, conn.PublishRequest(subject, test.reply, []byte(test.text)))
					} else {
						reply, err := conn.Request(subject, []byte(test.text), time.Minute)
						require.NoError(t, err)
						require.Contains(t, string(reply.Data), test.answer)
					}
					require.Eventually(t, func() bool { return counters(t, server)[test.counter] == before+1 }, time.Minute, time.Millisecond,
						"%s is not counted", test.counter)
				})
			}
			tooLargeForNATS(t, s)

			// All is well.
			require.Equal(t, uint64(2), Accepted(t, e, Attempt(Buyer, "Urge", "good")).Sequence)
			for line := range strings.Lines(log.String()) {
				require.Regexp(t, `^time=\S+ level=(DEBUG|INFO|WARN) msg=`, line)
				require.NotContains(t, strings.TrimSuffix(line, "\n"), "\n")
				require.False(t, strings.ContainsFunc(strings.TrimSuffix(line, "\n"), unicode.IsControl), "%q", line)
			}
			archive, err := syncserver.NewArchive(t.Context(), conn, rules, "", nil)
			require.NoError(t, err)
			judged, err := archive.Verify(t.Context(), "", func(f syncserver.Fault) { t.Errorf("%v", f) })
			require.NoError(t, err)
			require.Equal(t, 2, judged, "nothing happened but what was good")

			other, err := syncserver.NewClient(conn, Rules(t, Notes), syncserver.ClientConfig{System: "purchase", Logger: quiet()})
			require.NoError(t, err)
			defer other.Close()
			_, err = other.Attempt(t.Context(), enactment.Attempt{ID: "a", Identity: enactment.Identity{Role: "Buyer"}, Action: "RFQ"})
			require.ErrorIs(t, err, syncserver.ErrProtocol)
			require.ErrorIs(t, err, adapter.ErrClosed)
		})
	}
}

// tooLargeForNATS sends a message over the limit of NATS itself, as no client library would.
func tooLargeForNATS(t *testing.T, s *embedded.Server) {
	t.Helper()
	raw, err := net.Dial("tcp", strings.TrimPrefix(s.URL(), "nats://"))
	require.NoError(t, err)
	defer func() { _ = raw.Close() }()
	_, err = fmt.Fprintf(raw, "CONNECT {\"verbose\":false}\r\nPUB strabo.purchase.attempt.Buyer.= _INBOX.x %d\r\n", embedded.DefaultMaxPayload+1)
	require.NoError(t, err)
	lines := bufio.NewScanner(raw)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "-ERR 'Maximum Payload Violation'") {
			return
		}
	}
	t.Error("NATS took it")
}
