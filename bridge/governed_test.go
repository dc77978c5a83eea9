package bridge_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/bridge"
	"github.com/strabo-engine/strabo/bridge/acc"
	"github.com/strabo-engine/strabo/bridge/audit"
	"github.com/strabo-engine/strabo/bridge/policy"
	"github.com/strabo-engine/strabo/enactment"
)

// governing is a stage with a hostile shop in another process, and a policy made of contracts.
type governing struct {
	*stage
	shop    *hostileShop
	journal *bridge.MemoryJournal
	// mapping and contracts are the texts, to be edited before start; local is what is wanted locally.
	mapping, contracts string
	policy             policy.Options
	subject            string
}

func newGoverning(t *testing.T) *governing {
	t.Helper()
	g := &governing{
		stage: newStage(t), shop: newHostileShop(t), journal: &bridge.MemoryJournal{}, subject: "ada",
		policy: policy.Options{Breaker: policy.BreakerOptions{Failures: 1 << 20}},
	}
	for name, text := range map[string]*string{"testdata/governed.yaml": &g.mapping, "testdata/governed.contracts.yaml": &g.contracts} {
		read, err := os.ReadFile(name)
		require.NoError(t, err)
		*text = string(read)
	}
	return g
}

// edit replaces a part of a text that must be there.
func (g *governing) edit(text *string, before, after string) {
	g.t.Helper()
	require.Contains(g.t, *text, before)
	*text = strings.ReplaceAll(*text, before, after)
}

// declare replaces the contract of an operation, all but its first fields.
func (g *governing) declare(operation, contract string) {
	g.t.Helper()
	from := strings.Index(g.contracts, "scope: hotel."+operation)
	require.Positive(g.t, from)
	rest := g.contracts[from:]
	end := strings.Index(rest, "\n  /")
	if next := strings.Index(rest, "\n    delete:"); next > 0 && (end < 0 || next < end) {
		end = next
	}
	if end < 0 {
		end = len(rest)
	}
	g.contracts = g.contracts[:from] + "scope: hotel." + operation + "\n        " + contract + "\n" + rest[end:]
}

// withoutStatus takes the status query of the payment away.
func (g *governing) withoutStatus() {
	g.t.Helper()
	from, to := strings.Index(g.mapping, "      status:\n        request"), strings.Index(g.mapping, "  Withdraw:")
	require.Positive(g.t, from)
	g.mapping = g.mapping[:from] + g.mapping[to:]
}

func (g *governing) newPolicy() (*policy.Policy, error) {
	c, err := policy.ReadContracts(policy.File{Name: "governed.contracts.yaml", Text: []byte(g.contracts)})
	if err != nil {
		return nil, err
	}
	return policy.New(c, g.policy)
}

// options are those of a bridge to the shop.
func (g *governing) options() func(*bridge.Options) {
	g.t.Helper()
	p, err := g.newPolicy()
	require.NoError(g.t, err)
	g.stage.mapping, err = bridge.Load("governed.yaml", []byte(g.mapping), g.rules, nil)
	require.NoError(g.t, err)
	return func(o *bridge.Options) {
		o.BaseURL, o.Policy, o.Journal = g.shop.url, p, g.journal
		o.Principal = func(_ context.Context, _ enactment.Key, observed enactment.Instance) (policy.Principal, error) {
			return policy.Principal{Agent: observed.Party, Subject: g.subject}, nil
		}
	}
}

// begin starts the bridge.
func (g *governing) begin(change ...func(*bridge.Options)) (stop func()) {
	g.t.Helper()
	return g.start(append([]func(*bridge.Options){g.options()}, change...)...)
}

func (g *governing) reserve(rid string) {
	g.t.Helper()
	g.attempt("Ask", adapter.Values{"rid": rid, "room": 7, "guest": "Ann"})
}

// reserved goes as far as a booking.
func (g *governing) reserved() {
	g.t.Helper()
	g.reserve("r1")
	g.expect("Booked")
}

func (g *governing) payFor(rid string) {
	g.t.Helper()
	g.attempt("Pay", adapter.Values{"rid": rid, "number": "n1", "card": map[string]any{"token": token}})
}

func (g *governing) withdraw(rid string) {
	g.t.Helper()
	g.attempt("Withdraw", adapter.Values{"rid": rid, "number": "n1"})
}

// kinds lists the kinds of the records of a step, in order.
func (g *governing) kinds(step string) []audit.Kind {
	var kinds []audit.Kind
	for _, r := range g.called() {
		if r.Step == step {
			kinds = append(kinds, r.Kind)
		}
	}
	return kinds
}

// of gives the records of a kind.
func (g *governing) of(kind audit.Kind) []audit.Record {
	var records []audit.Record
	for _, r := range g.called() {
		if r.Kind == kind {
			records = append(records, r)
		}
	}
	return records
}

const (
	reserveLine  = "POST /reservations"
	lookLine     = "GET /reservations/n1"
	payLine      = "POST /reservations/n1/payment"
	withdrawLine = "DELETE /reservations/n1"
)

// wanted is local policy for one operation.
func (g *governing) wanted(operation string, local policy.Local) {
	if g.policy.Local == nil {
		g.policy.Local = make(map[string]policy.Local)
	}
	g.policy.Local[operation] = local
}

func dimension(d acc.Dimension) policy.Local {
	return policy.Local{LocalPolicy: acc.LocalPolicy{Dimension: d}}
}
