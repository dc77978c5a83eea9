package syncserver_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/internal/played"
)

// What follows checks histories without the engine's help: what an agent may do in a purchase, and who wins in a
// window, is written down here once more, by hand, as a model for a linearizability checker.

// move is one of the attempts that the agents make.
type move struct {
	as     enactment.Identity
	action string
	price  string // that it binds or repeats
	values []any
}

var moves = []move{
	{played.Buyer, "RFQ", "", []any{"item", "fig"}},
	{played.Seller, "Quote", "5", []any{"price", 5}},
	{played.Buyer, "Accept", "1", []any{"price", 1, "address", "here"}},
	{played.Buyer, "Accept", "", []any{"address", "here"}},
	{played.Buyer, "Reject", "", nil},
	{played.Seller, "Stop", "", nil},
	{played.Buyer, "Urge", "", nil},
}

// actions is a set of actions; values of it can be compared.
type actions string

func (a actions) has(action string) bool { return strings.Contains(string(a), action+" ") }

func (a actions) with(action string) actions {
	all := strings.Fields(string(a) + action)
	slices.Sort(all)
	return actions(strings.Join(all, " ") + " ")
}

// purchased is a purchase as the model knows it, in the middle of a window: what was done before it, and what of it is
// kept so far. Every window holds one attempt in immediate finalisation.
type purchased struct {
	done     actions
	price    string // empty while it is not bound
	sequence uint64 // of the last finalisation

	begun bool // the window
	kept  actions
	binds string // the price that the kept ones bind
	// owed is what was refused and is right only if it happens in this window after all: the quote that has more
	// authority over the price, or anything at all.
	owedQuote, owedAny bool
	noQuote            bool // something was answered as it cannot be with a quote in the window
	barren             bool // something was answered as it is in a window in which nothing happens
}

// against tells why a move may not happen in the state before the window, with the code that stands for it; empty if it
// may.
func (p purchased) against(m move) enactment.Code {
	switch {
	case p.done.has(m.action):
		return enactment.AlreadyHappened
	case m.price != "" && p.price != "" && m.price != p.price:
		return enactment.BoundDifferently
	}
	ordered := p.done.has("RFQ")
	switch m.action {
	case "Quote", "Reject", "Stop", "Urge":
		if !ordered {
			return enactment.NotEnabled
		}
	}
	switch {
	case m.action == "Accept" && p.done.has("Reject"), m.action == "Reject" && p.done.has("Accept"):
		return enactment.Excluded
	case m.action == "Urge" && p.done.has("Stop"):
		return enactment.Blocked
	case m.action == "Accept" && (!ordered || m.price == "" && p.price == ""):
		return enactment.Missing
	}
	return ""
}

// beside tells why a move that may happen may not happen beside those that are kept in its window.
func (p purchased) beside(m move) enactment.Code {
	switch {
	case p.contested(m) && p.kept.has("Quote"):
		return enactment.Dominated
	case p.kept.has(m.action):
		return enactment.AlreadyHappened
	case m.action == "Accept" && p.kept.has("Reject"), m.action == "Reject" && p.kept.has("Accept"):
		return enactment.Excluded
	}
	return ""
}

// contested tells whether a quote in the same window dominates the move, wherever it stands.
func (p purchased) contested(m move) bool {
	return m.action == "Accept" && m.price != "" && p.price == ""
}

// closed ends the window; false if it cannot have been one.
func (p purchased) closed() (purchased, bool) {
	if !p.begun {
		return p, true
	}
	happened := p.kept != ""
	if p.owedQuote && !p.kept.has("Quote") || p.owedAny && !happened || p.barren && happened {
		return p, false
	}
	next := purchased{done: p.done, price: p.price, sequence: p.sequence}
	if happened {
		next.sequence++
		next.price = cmp.Or(p.price, p.binds)
		for _, action := range strings.Fields(string(p.kept)) {
			next.done = next.done.with(action)
		}
	}
	return next, true
}

// join puts an attempt into the window, answered as it was; false if it is not answered so there.
func (p purchased) join(m move, o enactment.Outcome) (purchased, bool) {
	p.begun = true
	code := p.against(m)
	may := code == ""
	if may {
		code = p.beside(m)
	}
	if o.Rejection == nil {
		if !may || code != "" || o.Sequence != p.sequence+1 || m.action == "Quote" && p.noQuote {
			return p, false
		}
		p.noQuote = p.noQuote || p.contested(m)
		p.kept = p.kept.with(m.action)
		p.binds = cmp.Or(p.binds, m.price)
		return p, true
	}
	switch o.Sequence {
	case p.sequence:
		p.barren = true
	case p.sequence + 1:
		p.owedAny = true
	default:
		return p, false
	}
	if may && p.contested(m) {
		if o.Rejection.Code == enactment.Dominated {
			p.owedQuote = true // it may come later in the window
			return p, true
		}
		p.noQuote = true
	}
	return p, code == o.Rejection.Code
}

// closes is the input of the operation that comes after all others.
type closes struct{}

// purchaseModel is how a purchase is finalised: the order that the checker looks for is that of arrival.
func purchaseModel(batch bool) porcupine.Model {
	var model porcupine.NondeterministicModel
	model.Init = func() []any { return []any{purchased{}} }
	model.Step = func(state, input, output any) []any {
		p := state.(purchased)
		var next []any
		closed, ok := p.closed()
		m, moves := input.(move)
		if !moves {
			if ok {
				next = append(next, closed)
			}
			return next
		}
		if ok {
			if after, ok := closed.join(m, output.(enactment.Outcome)); ok {
				next = append(next, after)
			}
		}
		if batch && p.begun {
			if after, ok := p.join(m, output.(enactment.Outcome)); ok {
				next = append(next, after)
			}
		}
		return next
	}
	model.DescribeOperation = func(input, output any) string {
		m, moves := input.(move)
		if !moves {
			return "end"
		}
		o := output.(enactment.Outcome)
		if o.Rejection != nil {
			return fmt.Sprintf("%s %s: %s at %d", m.action, m.price, o.Rejection.Code, o.Sequence)
		}
		return fmt.Sprintf("%s %s: %d", m.action, m.price, o.Sequence)
	}
	return model.ToModel()
}

// call is one attempt as those who made it saw it.
type call struct {
	enactment string
	move      move
	id        string
	began     time.Time
	ended     time.Time
	outcome   enactment.Outcome
}

// logged is one finalisation as an observer that sees everything saw it.
type logged struct {
	sequence uint64
	actions  []string
	ids      []string
}

// check checks the calls and the log of one enactment. The calls must have an order, which agrees with their times, in
// which the model answers as they were answered. What was accepted must be in the log, once, where the answer says, and
// nothing else.
func check(t *testing.T, batch bool, calls []call, log []logged) {
	t.Helper()
	history := make([]porcupine.Operation, 0, len(calls)+1)
	last := calls[0].began
	for _, c := range calls {
		history = append(history, porcupine.Operation{
			Input: c.move, Call: c.began.UnixNano(), Output: c.outcome, Return: c.ended.UnixNano(),
		})
		if c.ended.After(last) {
			last = c.ended
		}
	}
	history = append(history, porcupine.Operation{
		Input: closes{}, Call: last.UnixNano() + 1, Return: last.UnixNano() + 2,
	})
	model := purchaseModel(batch)
	if !porcupine.CheckOperations(model, history) {
		t.Fatalf("no order explains what was answered in %s:\n%s", calls[0].enactment, spelt(model, history))
	}

	place := make(map[string]uint64)
	for n, f := range log {
		require.Equal(t, uint64(n+1), f.sequence)
		require.True(t, batch || len(f.ids) == 1)
		for i, id := range f.ids {
			require.NotContains(t, place, id, "%s is there twice", f.actions[i])
			place[id] = f.sequence
		}
	}
	for _, c := range calls {
		at, there := place[c.id]
		delete(place, c.id)
		if c.outcome.Rejection != nil {
			require.False(t, there, "%s was refused and is there", c.id)
			continue
		}
		require.True(t, there, "%s was acknowledged and is not there", c.id)
		require.Equal(t, at, c.outcome.Sequence)
	}
	require.Empty(t, place, "nothing happened that nobody was told of")
}

// spelt is a history in words.
func spelt(model porcupine.Model, history []porcupine.Operation) string {
	var text strings.Builder
	for _, o := range history {
		fmt.Fprintf(&text, "%d to %d: %s\n", o.Call-history[0].Call, o.Return-history[0].Call, model.DescribeOperation(o.Input, o.Output))
	}
	return text.String()
}
