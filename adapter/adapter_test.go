package adapter_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/internal/played"
)

func TestNew(t *testing.T) {
	rules := played.Rules(t, played.Purchase, enactment.WithParties("Buyer", "b1"), enactment.WithParties("Seller", "s1", "s2"))
	l := local(t, rules)
	tests := []struct {
		name    string
		rules   *enactment.Rules
		role    string
		on      adapter.Executor
		options []adapter.Option
		party   string
		wrong   string
	}{
		{name: "the party that is configured", rules: rules, role: "Buyer", on: l, party: "b1"},
		{name: "one of several", rules: rules, role: "Seller", on: l, options: []adapter.Option{adapter.WithParty("s2")}, party: "s2"},
		{name: "no party", rules: rules, role: "Auditor", on: l},
		{name: "any party", rules: rules, role: "Auditor", on: l, options: []adapter.Option{adapter.WithParty("a")}, party: "a"},
		{name: "several are configured and none is named", rules: rules, role: "Seller", on: l, wrong: "none of those"},
		{name: "another party", rules: rules, role: "Buyer", on: l, options: []adapter.Option{adapter.WithParty("b2")}, wrong: "none of those"},
		{name: "no such role", rules: rules, role: "Banker", on: l, wrong: `no role "Banker"`},
		{name: "no rules", role: "Buyer", on: l, wrong: "no rules"},
		{name: "no executor", rules: rules, role: "Buyer", wrong: "no executor"},
		{name: "no logger", rules: rules, role: "Buyer", on: l, options: []adapter.Option{adapter.WithLogger(nil)}, wrong: "logger"},
		{name: "no concurrency", rules: rules, role: "Buyer", on: l, options: []adapter.Option{adapter.WithConcurrency(0)}, wrong: "concurrency"},
		{name: "no queue", rules: rules, role: "Buyer", on: l, options: []adapter.Option{adapter.WithQueue(0)}, wrong: "queue"},
		{name: "no backoff", rules: rules, role: "Buyer", on: l, options: []adapter.Option{adapter.WithBackoff(2, 1)}, wrong: "backoff"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a, err := adapter.New(test.rules, test.role, test.on, test.options...)
			if test.wrong != "" {
				require.ErrorContains(t, err, test.wrong)
				return
			}
			require.NoError(t, err)
			require.Equal(t, enactment.Identity{Role: test.role, Party: test.party}, a.Identity())
			require.Same(t, test.rules, a.Rules())
		})
	}
}

func TestNewRefusesAnExecutorOfOtherRules(t *testing.T) {
	rules := played.Rules(t, played.Purchase)
	other := played.Rules(t, strings.Replace(played.Purchase, "Purchase", "Barter", 1))
	_, err := adapter.New(rules, "Buyer", local(t, other))
	require.ErrorContains(t, err, "other rules: Barter")
}

func TestRegistrationMistakesPanic(t *testing.T) {
	rules := played.Rules(t, played.Purchase)
	offer := func(context.Context, *adapter.FeasibleAction) error { return nil }
	observe := func(context.Context, adapter.Observation) error { return nil }
	complete := func(context.Context, adapter.Enactment) error { return nil }
	tests := []struct {
		name    string
		mistake func(a *adapter.Adapter)
		says    string
	}{
		{"OnEnabled of what is no action", func(a *adapter.Adapter) { a.OnEnabled("Pay", offer) }, `no action "Pay"`},
		{"OnEnabled of another's action", func(a *adapter.Adapter) { a.OnEnabled("Quote", offer) }, "performed by Seller"},
		{"OnEnabled of nothing", func(a *adapter.Adapter) { a.OnEnabled("File", nil) }, "no handler"},
		{"OnObservation of what is no action", func(a *adapter.Adapter) { a.OnObservation("Pay", observe) }, `no action "Pay"`},
		{"OnObservation of what is never seen", func(a *adapter.Adapter) { a.OnObservation("Stop", observe) }, "never sees Stop"},
		{"OnObservation of nothing", func(a *adapter.Adapter) { a.OnObservation("Accept", nil) }, "no handler"},
		{"OnCompletion of nothing", func(a *adapter.Adapter) { a.OnCompletion(nil) }, "no handler"},
		{"OnError of nothing", func(a *adapter.Adapter) { a.OnError(nil) }, "no handler"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a := agent(t, rules, "Auditor", local(t, rules))
			defer func() { require.Contains(t, recover(), test.says) }()
			test.mistake(a)
		})
	}

	t.Run("after Run", func(t *testing.T) {
		a := agent(t, rules, "Auditor", local(t, rules))
		run(t, a)()
		for _, register := range []func(){
			func() { a.OnEnabled("File", offer) },
			func() { a.OnObservation("Accept", observe) },
			func() { a.OnCompletion(complete) },
			func() { a.OnError(func(context.Context, adapter.HandlerError) {}) },
		} {
			func() {
				defer func() { require.Contains(t, recover(), "after Run") }()
				register()
			}()
		}
	})
}

func TestEnabled(t *testing.T) {
	rules := played.Rules(t, played.Purchase)
	l := local(t, rules)
	buyer, seller := agent(t, rules, "Buyer", l), agent(t, rules, "Seller", l)
	for range buyer.Enabled(t.Context()) {
		t.Error("something is enabled before Run")
	}
	var d diary
	seen := make(chan struct{}, 10)
	seller.OnObservation("RFQ", func(context.Context, adapter.Observation) error {
		seen <- struct{}{}
		return nil
	})
	stop := run(t, seller)
	accepted(t, buyer, "RFQ", adapter.Values{"ID": "2", "item": "fig"})
	accepted(t, buyer, "RFQ", adapter.Values{"ID": "1", "item": "date"})
	<-seen
	<-seen
	for f := range seller.Enabled(t.Context()) {
		d.note("%s", describe(f))
	}
	require.Equal(t, []string{
		`Quote(ID="1" item="date"; price)`, `Stop(ID="1"; )`,
		`Quote(ID="2" item="fig"; price)`, `Stop(ID="2"; )`,
	}, d.read())

	// The body may attempt and wait, and stop.
	for f := range seller.Enabled(t.Context()) {
		require.Equal(t, "Quote", f.Action)
		require.NoError(t, f.Bind("price", 5))
		require.NoError(t, f.Attempt(t.Context()).Err(t.Context()))
		break
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	count := 0
	for range seller.Enabled(ctx) {
		count++
		cancel()
	}
	require.Equal(t, 1, count, "it ends with the context")
	stop()
	for range seller.Enabled(t.Context()) {
		t.Error("something is enabled after Run")
	}
}

func TestNothingPrintsValues(t *testing.T) {
	rules := played.Rules(t, played.Purchase)
	l := local(t, rules)
	buyer := agent(t, rules, "Buyer", l)
	var book logBook
	log := slog.New(slog.NewJSONHandler(&book, nil))
	done := make(chan struct{})
	buyer.OnObservation("RFQ", func(_ context.Context, o adapter.Observation) error {
		log.Info("observed", "observation", o, "enactment", o.Enactment)
		return nil
	})
	buyer.OnEnabled("Accept", func(_ context.Context, f *adapter.FeasibleAction) error {
		log.Info("offered", "offer", f, "text", f.String())
		close(done)
		return nil
	})
	run(t, buyer)
	accepted(t, buyer, "RFQ", adapter.Values{"ID": "1", "item": "a secret item"})
	<-done
	require.Contains(t, book.String(), `RFQ by Buyer in {\"ID\":\"1\"} at 1`)
	require.Contains(t, book.String(), `Accept in {\"ID\":\"1\"}`)
	require.NotContains(t, book.String(), "secret")
}
