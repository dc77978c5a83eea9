package syncserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/enactment"
	. "github.com/strabo-engine/strabo/internal/played"
	"github.com/strabo-engine/strabo/syncserver"
	"github.com/strabo-engine/strabo/syncserver/embedded"
	. "github.com/strabo-engine/strabo/syncserver/internal/conformance"
)

// childAttempt is the arguments of conformance.Attempt.
type childAttempt struct {
	Role   string         `json:"role"`
	Action string         `json:"action"`
	ID     string         `json:"id"`
	Values map[string]any `json:"values"`
}

func (a childAttempt) attempt() enactment.Attempt {
	var values []any
	for name, value := range a.Values {
		values = append(values, name, value)
	}
	return Attempt(enactment.Identity{Role: a.Role}, a.Action, a.ID, values...)
}

// runAttempt attempts, and prints the answer.
func runAttempt(c childConfig) error {
	rules, err := compile(Purchase)
	if err != nil {
		return err
	}
	conn, err := nats.Connect(c.URL)
	if err != nil {
		return err
	}
	defer conn.Close()
	executor, err := syncserver.NewClient(conn, rules, syncserver.ClientConfig{Try: time.Minute, Logger: quiet()})
	if err != nil {
		return err
	}
	defer executor.Close()
	outcome, err := executor.Attempt(context.Background(), c.Attempt.attempt())
	if err != nil {
		return err
	}
	fmt.Println("answer", answerOf(outcome))
	return nil
}

// answerOf is an outcome in a word.
func answerOf(o enactment.Outcome) string {
	if o.Rejection != nil {
		return fmt.Sprintf("%s at %d", o.Rejection.Code, o.Sequence)
	}
	return fmt.Sprintf("accepted at %d", o.Sequence)
}

// written counts the messages of the log.
func written(t *testing.T, conn *nats.Conn) uint64 { return lastOf(t, conn, "STRABO_purchase_LOG") }

// lastOf is the sequence of a stream's last message.
func lastOf(t *testing.T, conn *nats.Conn, name string) uint64 {
	t.Helper()
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	stream, err := js.Stream(t.Context(), name)
	require.NoError(t, err)
	return stream.CachedInfo().State.LastSeq
}

// TestClientDiesInFlight kills a client (-9) while its attempt is on its way: before any server decided it, and when it
// is in the log but not answered. Whatever becomes of it is decided once, and a new process that submits the same
// attempt gets that answer.
func TestClientDiesInFlight(t *testing.T) {
	t.Parallel()
	accept := childAttempt{Role: "Buyer", Action: "Accept", ID: "1", Values: map[string]any{"address": "here"}}
	order := childAttempt{Role: "Buyer", Action: "RFQ", ID: "2", Values: map[string]any{"item": "fig"}}
	tests := []struct {
		name    string
		attempt childAttempt
		window  time.Duration
		decided bool // when the client dies
		want    string
	}{
		{"accepted", order, 0, true, "accepted at 1"},
		{"refused", accept, 0, true, "missing at 1"},
		{"undecided", order, 0, false, "accepted at 1"},
		{"accepted in batch", order, 5 * time.Millisecond, true, "accepted at 1"},
		{"refused in batch", accept, 5 * time.Millisecond, true, "missing at 1"},
	}
	if testing.Short() {
		tests = tests[:3]
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			rules := Rules(t, Purchase)
			s := store(t, embedded.Options{Listen: "127.0.0.1:0"})
			conn := connect(t, s)
			tells := make(chan said, 16)
			begin := func() *process {
				return startProcess(t, childConfig{Does: doesAttempt, URL: s.URL(), Attempt: test.attempt}, tells)
			}
			e := client(t, conn, rules)
			if test.decided {
				dieUnanswered(t, s, test.window, test.attempt.Action, begin)
			} else {
				dieUndecided(t, s, test.window, begin)
			}
			want := uint64(2)
			if test.attempt.Action == "Accept" {
				Accepted(t, e, Attempt(Seller, "Quote", "1", "price", 5)) // now it would be accepted
				want++
			}
			for range 2 {
				begin()
				tell := hear(t, tells)
				require.Equal(t, test.want, tell.id)
			}
			require.Equal(t, want, written(t, conn), "it is decided once")
		})
	}
}

// dieUnanswered kills a process whose attempt of an action is in the log, before it is answered.
func dieUnanswered(t *testing.T, s *embedded.Server, window time.Duration, action string, begin func() *process) {
	t.Helper()
	inLog, goOn := make(chan struct{}), make(chan struct{})
	release := sync.OnceFunc(func() { close(goOn) })
	reached := sync.OnceFunc(func() {
		close(inLog)
		<-goOn
	})
	rules := Rules(t, Purchase)
	serve(t, s, rules, syncserver.ServerConfig{Window: window, Recorder: func(r enactment.Record) {
		if r.Action == action && r.Enactment == KeyOf("2") || r.Action == "Accept" {
			reached()
		}
	}})
	t.Cleanup(release)
	Accepted(t, client(t, connect(t, s), rules), Attempt(Buyer, "RFQ", "1", "item", "fig"))
	dying := begin()
	<-inLog
	dying.kill()
	release()
}

// dieUndecided kills a process whose attempt no server has. It arrives all the same, late.
func dieUndecided(t *testing.T, s *embedded.Server, window time.Duration, begin func() *process) {
	t.Helper()
	conn := connect(t, s)
	heard, err := conn.SubscribeSync("strabo.purchase.attempt.>")
	require.NoError(t, err)
	require.NoError(t, conn.Flush())
	dying := begin()
	msg, err := heard.NextMsg(time.Minute)
	require.NoError(t, err)
	dying.kill()
	require.NoError(t, heard.Unsubscribe())
	rules := Rules(t, Purchase)
	serve(t, s, rules, syncserver.ServerConfig{Window: window})
	Accepted(t, client(t, connect(t, s), rules), Attempt(Buyer, "RFQ", "1", "item", "fig"))
	require.NoError(t, conn.PublishMsg(msg))
	require.NoError(t, conn.Flush())
}

// TestOneMessageAtTwoServers delivers the very same message of an attempt several times at once, so that two servers
// have it at the same time: all say the same, and it is in the log once.
func TestOneMessageAtTwoServers(t *testing.T) {
	t.Parallel()
	attempts := 20
	windows := map[string]time.Duration{"immediate": 0, "batch": 2 * time.Millisecond}
	if testing.Short() {
		attempts = 10
	}
	for name, window := range windows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rules := Rules(t, Purchase)
			s := store(t, embedded.Options{})
			servers := []*syncserver.Server{
				serve(t, s, rules, syncserver.ServerConfig{Window: window}), serve(t, s, rules, syncserver.ServerConfig{Window: window}),
			}
			conn := connect(t, s)
			for n := range attempts {
				id := fmt.Sprint(n)
				require.Contains(t, deliver(t, conn, rules, Attempt(Buyer, "RFQ", id, "item", "fig")), `"sequence":1,"instance"`)
				require.Contains(t, deliver(t, conn, rules, Attempt(Buyer, "Accept", id, "address", "here")), `"missing"`)
			}
			require.Equal(t, uint64(2*attempts), written(t, conn))
			for _, server := range servers {
				require.NotZero(t, counters(t, server)["strabo_attempt_seconds_count{}"], "all went to the other server")
			}
		})
	}
}

// deliver publishes the message of an attempt eight times and gives the one answer that all get.
func deliver(t *testing.T, conn *nats.Conn, rules *enactment.Rules, a enactment.Attempt) string {
	t.Helper()
	inbox := conn.NewRespInbox()
	answers, err := conn.SubscribeSync(inbox)
	require.NoError(t, err)
	values, err := json.Marshal(a.Values)
	require.NoError(t, err)
	message := fmt.Appendf(nil, `{"hash":%q,"id":%q,"action":%q,"values":%s}`, rules.Hash(), a.ID, a.Action, values)
	const copies = 8
	for range copies {
		require.NoError(t, conn.PublishRequest("strabo.purchase.attempt."+a.Role+".=", inbox, message))
	}
	var first string
	for n := range copies {
		msg, err := answers.NextMsg(time.Minute)
		require.NoError(t, err)
		if n == 0 {
			first = string(msg.Data)
		}
		require.JSONEq(t, first, string(msg.Data))
	}
	require.NoError(t, answers.Unsubscribe())
	return first
}
