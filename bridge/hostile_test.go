package bridge_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/bridge"
	"github.com/strabo-engine/strabo/bridge/approval"
	"github.com/strabo-engine/strabo/bridge/audit"
	"github.com/strabo-engine/strabo/bridge/policy"
)

// TestHostileShop: whatever a shop does to a payment, there is at most one, and what is told of it is true.
func TestHostileShop(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		pay, look []string
		paid      bool
		effects   int
		hangs     bool
	}{
		"commits and hangs":           {pay: []string{"commit-and-hang"}, paid: true, effects: 1, hangs: true},
		"commits after the timeout":   {pay: []string{"hang-and-commit"}, paid: true, effects: 1, hangs: true},
		"resets after the commit":     {pay: []string{"commit-and-reset"}, paid: true, effects: 1},
		"resets before the commit":    {pay: []string{"reset"}, paid: true, effects: 1},
		"garbage with 200":            {pay: []string{"commit-and-garbage"}, paid: true, effects: 1},
		"garbage with 200, always":    {pay: []string{"commit-and-garbage"}, look: []string{"", "says what", "says what", "says what"}, paid: true, effects: 1},
		"503 with Retry-After":        {pay: []string{"busy 503 0"}, paid: true, effects: 1},
		"503 without":                 {pay: []string{"busy 503"}, paid: true, effects: 1},
		"a storm of 429":              {pay: []string{"busy 429 0", "busy 429 0", "busy 429 0", "busy 429 0"}, paid: false, effects: 0},
		"a slow body":                 {pay: []string{"commit-and-slow"}, paid: true, effects: 1, hangs: true},
		"500 after the commit":        {pay: []string{"commit-and-fail"}, paid: true, effects: 1},
		"resets, always":              {pay: []string{"reset", "reset", "reset", "reset"}, paid: false, effects: 0},
		"resets and knows of nothing": {pay: []string{"commit-and-reset", "reset", "reset"}, look: []string{"says {}"}, paid: false, effects: 1},
		"knows of it when it is spent": {
			pay: []string{"reset", "reset", "commit-and-reset"}, look: slices.Concat([]string{""}, slices.Repeat([]string{`says {"number":"n1"}`}, 10)), paid: true, effects: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGoverning(t)
			if test.hangs {
				g.declare("pay", "execution: {idempotent: true, "+brief+"}")
			}
			look := test.look
			var change []func(*bridge.Options)
			if !test.paid {
				look = append([]string{""}, slices.Repeat(look, 2000)...)
				change = append(change, impatient)
			}
			g.shop.behaves(map[string][]string{payLine: test.pay, lookLine: look}, false)
			g.begin(change...)
			g.reserved()
			g.payFor("r1")
			if test.paid {
				g.expect("Paid")
			} else {
				g.unsettled(sent)
				assert.Equal(t, []string{"Ask", "Booked", "Pay"}, g.happened())
			}
			assert.Equal(t, test.effects, g.shop.effects(payLine))
			assert.LessOrEqual(t, g.shop.asked(payLine), hasty.Sends)
			keys := make(map[string]bool)
			for _, r := range g.shop.books().Requests {
				if r.Line == payLine {
					keys[r.Key] = true
				}
			}
			assert.Len(t, keys, 1)
		})
	}
}

// A redirect is an answer, and nothing is sent to where it leads.
func TestHostileShopRedirectsToAPrivateAddress(t *testing.T) {
	var stolen atomic.Int64
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { stolen.Add(1) }))
	defer inside.Close()
	for _, to := range []string{inside.URL + "/latest/meta-data", "http://169.254.169.254/"} {
		g := newGoverning(t)
		g.shop.behaves(map[string][]string{reserveLine: {"redirect " + to}, payLine: {"redirect " + to}}, false)
		g.begin()
		g.reserve("r1")
		assert.JSONEq(t, `{"status":307}`, g.value(g.expect("Full"), "why"))
	}
	assert.Zero(t, stolen.Load())
}

// TestBreakerSparesATarget: a target that fails is left alone; what was to be sent then has certainly not left.
func TestBreakerSparesATarget(t *testing.T) {
	g := newGoverning(t)
	g.policy.Breaker = policy.BreakerOptions{Failures: 2, Rest: time.Hour}
	g.shop.behaves(map[string][]string{withdrawLine: {"status 500", "status 500"}}, false)
	g.begin()
	for _, rid := range []string{"r1", "r2", "r3"} {
		g.reserve(rid)
		g.expect("Booked")
	}
	for _, rid := range []string{"r1", "r2"} {
		g.withdraw(rid)
		assert.False(t, receive(g.stage, g.unknown).Unsent)
	}
	g.withdraw("r3")
	u := receive(g.stage, g.unknown)
	assert.True(t, u.Unsent)
	assert.Contains(t, u.Detail, "left alone")
	assert.Equal(t, 2, g.shop.asked(withdrawLine))
	require.Len(t, g.of(audit.BreakerOpen), 1)
}

const approvedPay = "scope: hotel.pay\n        approval: {required: true, prompt: \"May it be paid?\"}\n        risk: {level: high}"

// A call that somebody has to agree to waits, also across a restart, and the agreement is to its very bytes.
func TestApprovalPausesTheAction(t *testing.T) {
	decide := func(t *testing.T, granted bool) *governing {
		g := newGoverning(t)
		g.edit(&g.contracts, "scope: hotel.pay\n        risk: {level: high}", approvedPay)
		store, err := approval.OpenFileStore(t.TempDir(), approval.FileOptions{})
		require.NoError(t, err)
		hasher := audit.NewHasher(make([]byte, audit.HashKeySize))
		configure := func(o *bridge.Options) { o.Approvals, o.Hasher = store, hasher }
		stop := g.begin(configure)
		g.reserved()
		g.payFor("r1")
		asked := func() []approval.Entry {
			entries, err := store.List(t.Context())
			require.NoError(t, err)
			return entries
		}
		require.Eventually(t, func() bool { return len(asked()) == 1 }, time.Minute, time.Millisecond)
		stop()
		g.begin(configure)
		require.Eventually(t, func() bool { return len(g.of(audit.ApprovalRequested)) == 2 }, time.Minute, time.Millisecond)
		entries := asked()
		require.Len(t, entries, 1, "the same question")
		q := entries[0].Request
		assert.Equal(t, "pay", q.Operation)
		assert.Equal(t, "May it be paid?", q.Prompt)
		assert.Contains(t, string(q.Arguments), `"body":{"card":"[secret]"}`)
		assert.JSONEq(t, `{"rid":"r1","number":"n1"}`, string(q.Values), "what the action says, without the card")
		assert.NotContains(t, quoted(entries), token)
		assert.Zero(t, g.shop.asked(payLine))
		require.NoError(t, store.Decide(t.Context(), q.ID, approval.Verdict{Granted: granted, Digest: q.Digest, By: "ben", Reason: "as agreed"}))
		return g
	}
	t.Run("granted", func(t *testing.T) {
		g := decide(t, true)
		g.expect("Paid")
		decided := g.of(audit.ApprovalDecided)
		require.Len(t, decided, 1)
		assert.Equal(t, "granted", decided[0].Outcome)
		assert.Contains(t, decided[0].Detail, "by ben: as agreed")
		assert.Equal(t, 1, g.shop.effects(payLine))
	})
	t.Run("denied", func(t *testing.T) {
		g := decide(t, false)
		assert.Contains(t, g.value(g.expect("Failed"), "reason"), "not approved: denied by ben: as agreed")
		assert.Zero(t, g.shop.asked(payLine))
		assert.Len(t, g.of(audit.Denied), 1)
	})
	t.Run("nobody answers", func(t *testing.T) {
		g := newGoverning(t)
		g.edit(&g.contracts, "scope: hotel.pay\n        risk: {level: high}", approvedPay)
		g.wanted("pay", policy.Local{ApprovalLifetime: 50 * time.Millisecond})
		store, err := approval.OpenFileStore(t.TempDir(), approval.FileOptions{})
		require.NoError(t, err)
		g.begin(func(o *bridge.Options) { o.Approvals = store })
		g.reserved()
		g.payFor("r1")
		assert.Contains(t, g.value(g.expect("Failed"), "reason"), "not approved: expired")
		assert.Zero(t, g.shop.asked(payLine))
	})
	t.Run("and nobody else's", func(t *testing.T) {
		g := newGoverning(t)
		g.edit(&g.contracts, "scope: hotel.pay\n        risk: {level: high}", approvedPay)
		store, err := approval.OpenFileStore(t.TempDir(), approval.FileOptions{})
		require.NoError(t, err)
		g.begin(func(o *bridge.Options) {
			o.Approvals = store
			o.Adapter = []adapter.Option{adapter.WithConcurrency(1)}
		})
		for _, rid := range []string{"r1", "r2", "r3"} {
			g.reserve(rid)
			g.expect("Booked")
			g.payFor(rid)
		}
		var asked []approval.Entry
		require.Eventually(t, func() bool {
			asked, err = store.List(t.Context())
			return err == nil && len(asked) == 3
		}, time.Minute, time.Millisecond)
		for _, entry := range asked {
			require.NoError(t, store.Decide(t.Context(), entry.Request.ID, approval.Verdict{Granted: true, Digest: entry.Request.Digest, By: "ben"}))
		}
		for range asked {
			g.expect("Paid")
		}
		assert.Len(t, g.of(audit.ApprovalRequested), 3)
		assert.Empty(t, g.unknown)
	})
	t.Run("not before the bridge has to say", func(t *testing.T) {
		g := newGoverning(t)
		g.edit(&g.contracts, "scope: hotel.pay\n        risk: {level: high}", approvedPay)
		store, err := approval.OpenFileStore(t.TempDir(), approval.FileOptions{})
		require.NoError(t, err)
		approvals := func(o *bridge.Options) { o.Approvals = store }
		stop := g.begin(approvals)
		g.reserved()
		stop()
		g.payFor("r1")
		for patience := 250 * time.Millisecond; ; patience *= 2 {
			stop := g.begin(approvals, func(o *bridge.Options) { o.Patience.Until = time.Now().Add(patience) })
			u := receive(g.stage, g.unknown)
			stop()
			if u.Step == "pay" { // Else the machine is too slow to come to the question.
				assert.True(t, u.Unsent)
				assert.Contains(t, u.Detail, "nobody has decided yet")
				return
			}
		}
	})
}

// TestApprovalByCondition asks only where the arguments ask for it.
func TestApprovalByCondition(t *testing.T) {
	g := newGoverning(t)
	g.declare("reserve", `approval: {when: [{param: room, op: ">", value: 6, label: A good room}]}`+"\n        execution: {idempotent: true}")
	g.begin(func(o *bridge.Options) { o.Approvals = policy.StandingGrant{By: "ben"} })
	g.reserved()
	require.Len(t, g.of(audit.ApprovalDecided), 1)
	g.attempt("Ask", map[string]any{"rid": "r2", "room": 6, "guest": "Ann"})
	g.expect("Booked")
	assert.Len(t, g.of(audit.ApprovalDecided), 1)
	g.attempt("Ask", map[string]any{"rid": "r3", "room": "7", "guest": "Ann"})
	assert.Contains(t, g.value(g.expect("Full"), "why"), "invalid arguments")
	assert.Equal(t, 2, g.shop.asked(reserveLine))
}

// No audit, no call: what cannot be written down does not leave.
func TestRequiredAudit(t *testing.T) {
	g := newGoverning(t)
	broken := errors.New("the disk is full")
	var full atomic.Bool
	full.Store(true)
	g.begin(func(o *bridge.Options) {
		o.AuditRequired = true
		o.Audit = audit.SinkFunc(func(ctx context.Context, r audit.Record) error {
			if full.Load() {
				return broken
			}
			return g.Record(ctx, r)
		})
	})
	g.reserve("r1")
	u := receive(g.stage, g.unknown)
	require.ErrorIs(t, u.Err, broken)
	assert.True(t, u.Unsent)
	assert.Empty(t, g.shop.books().Requests)
	full.Store(false)
	require.NoError(t, g.stage.bridge.Settle(t.Context(), key))
	g.expect("Booked")
	assert.Equal(t, []audit.Kind{audit.Intent, audit.FirstCall}, g.kinds("reserve"))
}

// roundTrip is a transport that fails, and tells what a real one tells of a connection.
type roundTrip func(request *http.Request, trace *httptrace.ClientTrace) error

func (r roundTrip) RoundTrip(request *http.Request) (*http.Response, error) {
	return nil, r(request, httptrace.ContextClientTrace(request.Context()))
}

// TestWhatHasLeft: a request has certainly not left if nobody was reached, or if a kept connection was closed before the
// first header was written to it; otherwise it may have.
func TestWhatHasLeft(t *testing.T) {
	closed := errors.New("http: server closed idle connection")
	for name, test := range map[string]struct {
		trip roundTrip
		sent bool
	}{
		"refused":          {func(*http.Request, *httptrace.ClientTrace) error { return &net.OpError{Op: "dial", Err: closed} }, false},
		"no such host":     {func(*http.Request, *httptrace.ClientTrace) error { return &net.DNSError{Err: "no"} }, false},
		"without a reason": {func(*http.Request, *httptrace.ClientTrace) error { return closed }, true},
		"closed before": {func(_ *http.Request, t *httptrace.ClientTrace) error {
			t.GotConn(httptrace.GotConnInfo{})
			return closed
		}, false},
		"closed while writing": {func(_ *http.Request, t *httptrace.ClientTrace) error {
			t.GotConn(httptrace.GotConnInfo{})
			t.WroteHeaderField("Host", []string{"x"})
			return closed
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			caller := bridge.NewHTTPCaller(&http.Client{Transport: test.trip}, 0, 0)
			_, err := caller.Call(t.Context(), bridge.Request{Method: "POST", URL: "http://x.example/", Header: http.Header{}})
			require.Error(t, err)
			assert.Equal(t, test.sent, !errors.As(err, new(*bridge.NotSentError)))
		})
	}
	over := bridge.NewHTTPCaller(&http.Client{Transport: roundTrip(func(request *http.Request, t *httptrace.ClientTrace) error {
		t.GotConn(httptrace.GotConnInfo{})
		<-request.Context().Done()
		return context.DeadlineExceeded
	})}, time.Millisecond, 0)
	_, err := over.Call(t.Context(), bridge.Request{Method: "POST", URL: "http://x.example/", Header: http.Header{}})
	require.Error(t, err)
	require.False(t, errors.As(err, new(*bridge.NotSentError)), "somebody may still be writing")
}

// What a transport says when it fails may quote what was sent.
func TestWhatATransportSaysIsScrubbed(t *testing.T) {
	s := newStage(t)
	s.start(func(o *bridge.Options) {
		honest := o.Caller
		breaks := bridge.NewHTTPCaller(&http.Client{Transport: roundTrip(func(request *http.Request, t *httptrace.ClientTrace) error {
			t.GotConn(httptrace.GotConnInfo{})
			t.WroteHeaderField("Host", []string{"x"})
			body, err := io.ReadAll(request.Body)
			return errors.Join(fmt.Errorf("broken after %s", body), err)
		})}, 0, 0)
		o.Caller = callerFunc(func(ctx context.Context, r bridge.Request) (bridge.Response, error) {
			if strings.HasSuffix(r.URL, "/payment") {
				return breaks.Call(ctx, r)
			}
			return honest.Call(ctx, r)
		})
	})
	s.booked()
	s.hotel.on(state, reply(200, `{"receipt":"q1"}`))
	s.pay()
	s.expect("Paid")
	for _, r := range s.called() {
		if r.Kind == audit.FirstCall && r.Step == "pay" {
			assert.Equal(t, string(bridge.Unknown), r.Outcome)
			assert.Contains(t, r.Detail, "broken after")
			requireNone(t, "detail", []byte(r.Detail), token)
			return
		}
	}
	t.Fatal("no record of the call")
}

// callerFunc is a caller that is one function.
type callerFunc func(context.Context, bridge.Request) (bridge.Response, error)

func (c callerFunc) Call(ctx context.Context, r bridge.Request) (bridge.Response, error) {
	return c(ctx, r)
}

// A request on which nothing depends ends the action also if nobody can tell what became of it; that is written down.
func TestALostRequestIsWrittenDown(t *testing.T) {
	s := newStage(t)
	s.start()
	s.hotel.on(reserve, reply(201, `{"number":"n1","price":1,"beds":["broken"]}`))
	s.hotel.on("DELETE /reservations/n1", drop)
	s.ask()
	assert.JSONEq(t, `{"objection":"no bed is whole","left":"n1"}`, s.value(s.expect("Full"), "why"))
	records := s.called()
	last := records[len(records)-1]
	assert.Equal(t, audit.UnknownOutcome, last.Kind)
	assert.Equal(t, "release", last.Step)
	assert.Equal(t, string(bridge.Unknown), last.Outcome)
	assert.Contains(t, last.Detail, "sent 1 times")
	assert.NotEmpty(t, last.KeyHash)
	assert.Empty(t, s.unknown, "nobody has to see to it")
}

// What must not be sent again is asked about as long as there is time, not only a few times.
func TestWhatMustNotBeSentAgainIsAskedAbout(t *testing.T) {
	s := newStage(t)
	s.start()
	s.hotel.on(reserve, reply(201, `{"number":"n1","price":1,"beds":["left"]}`))
	s.hotel.on("PUT /reservations/n1", drop)
	s.hotel.on(state, slices.Concat(slices.Repeat([]http.HandlerFunc{reply(500, "")}, 3*hasty.Asks), []http.HandlerFunc{reply(200, `{"bed":"left"}`)})...)
	s.ask()
	s.expect("Booked")
	puts := 0
	for _, line := range s.hotel.lines() {
		if line == "PUT /reservations/n1" {
			puts++
		}
	}
	assert.Equal(t, 1, puts)
	assert.Empty(t, s.unknown)
}
