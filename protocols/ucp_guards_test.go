package protocols_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/protocols"
)

// checkout is one enactment of ucp-incremental, led attempt by attempt.
type checkout struct {
	t     testing.TB
	rules *enactment.Rules
	state *enactment.State
	made  int
}

func newCheckout(t testing.TB) *checkout {
	t.Helper()
	rules, err := protocols.Load("ucp-incremental")
	require.NoError(t, err)
	return &checkout{t: t, rules: rules, state: rules.NewState(`{"cid":"c"}`)}
}

// totalsOf are totals that add up.
func totalsOf(amount int) []any {
	return []any{map[string]any{"type": "subtotal", "amount": amount}, map[string]any{"type": "total", "amount": amount}}
}

// attempt makes an attempt of an action at a revision, with something for whatever it has to bind.
func (c *checkout) attempt(action string, revision any, values map[string]any) enactment.Attempt {
	c.made++
	of, ok := c.rules.Protocol().Action(action)
	require.True(c.t, ok, action)
	all := enactment.Values{"cid": enactment.MustValue("c")}
	if of.Carries("rev") {
		all["rev"] = enactment.MustValue(revision)
	}
	if of.Carries("seen") { // Whatever there is, unless the values say otherwise.
		values = maps.Clone(values)
		if values == nil {
			values = map[string]any{}
		}
		if _, said := values["seen"]; !said {
			values["seen"] = nil
		}
	}
	for f := range c.state.Enabled(of.Role()) {
		if f.Action != action {
			continue
		}
		for _, open := range f.Open {
			if open.Attribute != "rev" && open.Attribute != "cid" {
				all[open.Attribute] = enactment.MustValue(fmt.Sprintf("%s %d", open.Attribute, c.made))
			}
		}
		if of.Carries("totals") && action != "Complete" {
			all["totals"] = enactment.MustValue(totalsOf(100))
		}
		if rev, known := f.Known["rev"]; !known || rev.Equal(all["rev"]) {
			break
		}
	}
	for name, value := range values {
		all[name] = enactment.MustValue(value)
	}
	return enactment.Attempt{
		ID: fmt.Sprintf("%d", c.made), Identity: enactment.Identity{Role: of.Role()}, Action: action, Values: all,
	}
}

// judge decides a window, and applies what happens.
func (c *checkout) judge(window ...enactment.Attempt) []error {
	c.t.Helper()
	finalisation, outcomes := enactment.Judge(c.state, window...)
	if len(finalisation.Instances) > 0 {
		c.state.Apply(finalisation)
	}
	var errs []error
	for _, outcome := range outcomes {
		errs = append(errs, outcome.Err())
	}
	return errs
}

// try attempts one action.
func (c *checkout) try(action string, revision any) error {
	c.t.Helper()
	return c.judge(c.attempt(action, revision, nil))[0]
}

// must has actions happen, one after the other, each at the revision that follows it.
func (c *checkout) must(steps ...any) *checkout {
	c.t.Helper()
	for i := 0; i < len(steps); i += 2 {
		require.NoError(c.t, c.try(steps[i].(string), steps[i+1]), "%v at %v", steps[i], steps[i+1])
	}
	return c
}

func offered(t testing.TB) *checkout { return newCheckout(t).must("Create", 0, "Offered", 1) }

// TestRevisionsAreCounted checks the guards of numbers: where the first revision begins, and what follows what.
func TestRevisionsAreCounted(t *testing.T) {
	for name, c := range map[string]struct {
		before   []any
		action   string
		revision any
		refused  enactment.Code // empty if it may happen
	}{
		"created at nothing":               {nil, "Create", 0, ""},
		"created at one":                   {nil, "Create", 1, enactment.GuardRefused},
		"created below":                    {nil, "Create", -1, enactment.GuardRefused},
		"created at a word":                {nil, "Create", "0", enactment.GuardRefused},
		"first":                            {[]any{"Create", 0}, "Offered", 1, ""},
		"nothing first":                    {[]any{"Create", 0}, "Offered", 0, enactment.GuardRefused},
		"second first":                     {[]any{"Create", 0}, "NeedsInput", 2, enactment.GuardRefused},
		"half":                             {[]any{"Create", 0}, "NeedsInput", 0.5, enactment.GuardRefused},
		"one, written oddly":               {[]any{"Create", 0}, "NeedsInput", enactment.MustValue(jsonNumber("1.0")), enactment.GuardRefused},
		"beyond all numbers":               {[]any{"Create", 0}, "NeedsInput", enactment.MustValue(jsonNumber("1e400000000")), enactment.GuardRefused},
		"second, unasked":                  {[]any{"Create", 0, "Offered", 1}, "Offered", 2, enactment.GuardRefused},
		"second, after an update":          {[]any{"Create", 0, "Offered", 1, "Update", 1}, "Offered", 2, ""},
		"third, after an update":           {[]any{"Create", 0, "Offered", 1, "Update", 1}, "Offered", 3, enactment.GuardRefused},
		"second, withdrawn":                {[]any{"Create", 0, "Offered", 1, "Withdrawn", 1}, "NeedsInput", 2, ""},
		"second, while it is being paid":   {[]any{"Create", 0, "Offered", 1, "Complete", 1}, "Offered", 2, enactment.GuardRefused},
		"second, declined":                 {[]any{"Create", 0, "Offered", 1, "Complete", 1, "Declined", 1}, "Offered", 2, ""},
		"second, paid":                     {[]any{"Create", 0, "Offered", 1, "Complete", 1, "Completed", 1}, "Offered", 2, enactment.GuardRefused},
		"third, of an update of the first": {[]any{"Create", 0, "Offered", 1, "Update", 1, "Offered", 2}, "Offered", 3, enactment.GuardRefused},
		"rejected":                         {[]any{"Create", 0, "Offered", 1, "Update", 1}, "Rejected", 1, ""},
		"rejected after its answer":        {[]any{"Create", 0, "Offered", 1, "Update", 1, "Offered", 2}, "Rejected", 1, enactment.GuardRefused},
		"rejected, and stated anew":        {[]any{"Create", 0, "Offered", 1, "Update", 1, "Rejected", 1}, "Offered", 2, ""},
		"withdrawn before it is stated":    {[]any{"Create", 0}, "Withdrawn", 1, enactment.GuardRefused},
		"nothing withdrawn":                {[]any{"Create", 0}, "Withdrawn", 0, enactment.GuardRefused},
		"withdrawn, updated":               {[]any{"Create", 0, "Offered", 1, "Update", 1}, "Withdrawn", 1, enactment.BoundDifferently},
		"the order changes before it is":   {[]any{"Create", 0, "Offered", 1}, "OrderChanged", 2, enactment.GuardRefused},
		"the order changes":                {[]any{"Create", 0, "Offered", 1, "Complete", 1, "Completed", 1}, "OrderChanged", 2, ""},
		"the order changes out of turn":    {[]any{"Create", 0, "Offered", 1, "Complete", 1, "Completed", 1}, "OrderChanged", 3, enactment.GuardRefused},
		"the order changes again":          {[]any{"Create", 0, "Offered", 1, "Complete", 1, "Completed", 1, "OrderChanged", 2}, "OrderChanged", 3, ""},
		"the buyer's order changes":        {[]any{"Create", 0, "NeedsInput", 1, "BuyerCompleted", nil}, "OrderChanged", 2, ""},
		"an order that changes withdrawn":  {[]any{"Create", 0, "Offered", 1, "Complete", 1, "Completed", 1, "OrderChanged", 2}, "Withdrawn", 2, enactment.GuardRefused},
	} {
		t.Run(name, func(t *testing.T) {
			err := newCheckout(t).must(c.before...).try(c.action, c.revision)
			if c.refused == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, c.refused)
		})
	}
}

// jsonNumber is a number as it is written.
type jsonNumber string

func (n jsonNumber) MarshalJSON() ([]byte, error) { return []byte(n), nil }

// TestTotalsAddUp checks what may be offered for payment: totals of UCP 2026-04-08.
func TestTotalsAddUp(t *testing.T) {
	entry := func(kind string, amount any, more ...any) map[string]any {
		e := map[string]any{"type": kind, "amount": amount}
		for i := 0; i < len(more); i += 2 {
			e[more[i].(string)] = more[i+1]
		}
		return e
	}
	line := func(amount any) map[string]any { return map[string]any{"display_text": "x", "amount": amount} }
	subtotal, sum := entry("subtotal", 1000), entry("total", 1000)
	for name, c := range map[string]struct {
		totals any
		fine   bool
	}{
		"least":               {[]any{subtotal, sum}, true},
		"nothing to pay":      {[]any{entry("subtotal", 0), entry("total", 0)}, true},
		"in any order":        {[]any{sum, subtotal}, true},
		"all kinds":           {[]any{subtotal, entry("items_discount", -100), entry("discount", -50), entry("fulfillment", 500), entry("tax", 70), entry("tax", 7), entry("fee", 3), entry("total", 1430)}, true},
		"of its own":          {[]any{subtotal, entry("gift_wrap", 250, "display_text", "Wrapping"), entry("total", 1250)}, true},
		"credit of its own":   {[]any{subtotal, entry("store_credit", -250, "display_text", "Credit"), entry("total", 750)}, true},
		"lines":               {[]any{subtotal, entry("fee", 30, "lines", []any{line(10), line(20)}), entry("total", 1030)}, true},
		"more said":           {[]any{entry("subtotal", 1000, "display_text", "Items", "x", nil), sum}, true},
		"not whole":           {[]any{subtotal, entry("total", 1000.5)}, false},
		"no sum":              {[]any{subtotal, entry("total", 999)}, false},
		"discount above zero": {[]any{subtotal, entry("discount", 100), entry("total", 900)}, false},
		"discount of nothing": {[]any{subtotal, entry("discount", 0), sum}, false},
		"fee below zero":      {[]any{subtotal, entry("fee", -1), entry("total", 999)}, false},
		"subtotal below zero": {[]any{entry("subtotal", -1), entry("total", -1)}, false},
		"own without a name":  {[]any{subtotal, entry("gift_wrap", 250), entry("total", 1250)}, false},
		"without a type":      {[]any{subtotal, map[string]any{"amount": 0, "display_text": "x"}, sum}, false},
		"without an amount":   {[]any{subtotal, map[string]any{"type": "tax"}, sum}, false},
		"two subtotals":       {[]any{entry("subtotal", 500), entry("subtotal", 500), sum}, false},
		"no subtotal":         {[]any{entry("fee", 1000), sum}, false},
		"two totals":          {[]any{subtotal, sum, sum}, false},
		"no total":            {[]any{entry("subtotal", 0)}, false},
		"lines that do not":   {[]any{subtotal, entry("fee", 30, "lines", []any{line(10)}), entry("total", 1030)}, false},
		"no lines at all":     {[]any{subtotal, entry("fee", 30, "lines", []any{}), entry("total", 1030)}, false},
		"lines of nothing":    {[]any{subtotal, entry("fee", 0, "lines", []any{line(nil)}), sum}, false},
		"largest":             {[]any{entry("subtotal", 1<<53-1), entry("total", 1<<53-1)}, true},
		"too large":           {[]any{entry("subtotal", 1<<53), entry("total", 1<<53)}, false},
		"too large together":  {[]any{entry("subtotal", 1<<53-1), entry("fee", 1), entry("total", 1<<53)}, false},
		"wrapped around":      {[]any{entry("subtotal", jsonNumber("9223372036854775807")), entry("fee", jsonNumber("9223372036854775807")), entry("total", -2)}, false},
		"misspelt":            {[]any{subtotal, map[string]any{"Type": "total", "Amount": 1000}}, false},
		"said twice":          {[]any{subtotal, map[string]any{"type": "total", "amount": 1000, "Amount": 1}}, true},
		"text":                {"1000", false},
		"null":                {nil, false},
		"an object":           {map[string]any{"total": 1000}, false},
		"nulls":               {[]any{nil, nil}, false},
		"empty":               {[]any{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			c1 := newCheckout(t).must("Create", 0)
			err := c1.judge(c1.attempt("Offered", 1, map[string]any{"totals": c.totals}))[0]
			if c.fine {
				require.NoError(t, err)
				return
			}
			var rejection *enactment.Rejection
			require.ErrorAs(t, err, &rejection)
			require.Equal(t, enactment.GuardRefused, rejection.Code)
			require.Equal(t, "totals-add-up", rejection.By)
			// What may not be paid may be told: a shop's faulty totals are no reason to keep its messages.
			require.NoError(t, c1.judge(c1.attempt("NeedsInput", 1, map[string]any{"totals": c.totals}))[0])
		})
	}
}

// TestTotalsThatArePaidAreThoseOffered: a Complete with other totals is none of the offer.
func TestTotalsThatArePaidAreThoseOffered(t *testing.T) {
	c := offered(t)
	for attribute, value := range map[string]any{"totals": totalsOf(99), "currency": "EUR"} {
		err := c.judge(c.attempt("Complete", 1, map[string]any{attribute: value}))[0]
		var rejection *enactment.Rejection
		require.ErrorAs(t, err, &rejection)
		require.Equal(t, enactment.BoundDifferently, rejection.Code)
		require.Equal(t, attribute, rejection.Attribute)
	}
	require.NoError(t, c.try("Complete", 1))
	c.must("Declined", 1, "Offered", 2)
	require.ErrorIs(t, c.try("Complete", 1), enactment.AlreadyHappened)
	require.NoError(t, c.judge(c.attempt("Complete", 2, map[string]any{"totals": totalsOf(100)}))[0])
}

// TestRaces has attempts meet, in one window in each order and one after the other in each order, and says which codes
// the two may be answered with; nil is yes.
func TestRaces(t *testing.T) {
	type answers [2]error
	yes := error(nil)
	updated := []any{"Create", 0, "Offered", 1, "Update", 1}
	for name, c := range map[string]struct {
		before []any
		a, b   string
		at     [2]any
		// window is what is answered in a window, whichever came first; first and second are those of the two orders in
		// a window where it matters. one and other are the answers one after the other, a first and b first.
		first, second, one, other answers
	}{
		"two updates": {
			[]any{"Create", 0, "Offered", 1},
			"Update", "Update",
			[2]any{1, 1},
			answers{yes, enactment.AlreadyHappened},
			answers{enactment.AlreadyHappened, yes},
			answers{yes, enactment.AlreadyHappened},
			answers{enactment.AlreadyHappened, yes},
		},
		"two payments": {
			[]any{"Create", 0, "Offered", 1},
			"Complete", "Complete",
			[2]any{1, 1},
			answers{yes, enactment.AlreadyHappened},
			answers{enactment.AlreadyHappened, yes},
			answers{yes, enactment.AlreadyHappened},
			answers{enactment.AlreadyHappened, yes},
		},
		"an update and a payment": {
			[]any{"Create", 0, "Offered", 1},
			"Update", "Complete",
			[2]any{1, 1},
			answers{yes, enactment.BoundDifferently},
			answers{enactment.BoundDifferently, yes},
			answers{yes, enactment.BoundDifferently},
			answers{enactment.BoundDifferently, yes},
		},
		"a cancellation and a payment": {
			[]any{"Create", 0, "Offered", 1},
			"Cancel", "Complete",
			[2]any{nil, 1},
			answers{yes, enactment.Blocked},
			answers{enactment.Blocked, yes},
			answers{yes, enactment.Blocked},
			answers{yes, yes},
		},
		"a cancellation and an update": {
			[]any{"Create", 0, "Offered", 1},
			"Cancel", "Update",
			[2]any{nil, 1},
			answers{yes, enactment.Blocked},
			answers{enactment.Blocked, yes},
			answers{yes, enactment.Blocked},
			answers{yes, yes},
		},
		"an update and a withdrawal": {
			[]any{"Create", 0, "Offered", 1},
			"Update", "Withdrawn",
			[2]any{1, 1},
			answers{yes, enactment.Dominated},
			answers{yes, enactment.Dominated},
			answers{yes, enactment.BoundDifferently},
			answers{enactment.BoundDifferently, yes},
		},
		"a payment and a withdrawal": {
			[]any{"Create", 0, "Offered", 1},
			"Complete", "Withdrawn",
			[2]any{1, 1},
			answers{yes, enactment.Dominated},
			answers{yes, enactment.Dominated},
			answers{yes, enactment.BoundDifferently},
			answers{enactment.BoundDifferently, yes},
		},
		"two answers": {
			updated, "Offered", "NeedsInput",
			[2]any{2, 2},
			answers{yes, enactment.BoundDifferently},
			answers{enactment.BoundDifferently, yes},
			answers{yes, enactment.BoundDifferently},
			answers{enactment.BoundDifferently, yes},
		},
		"two offers": {
			updated, "Offered", "Offered",
			[2]any{2, 2},
			answers{yes, enactment.AlreadyHappened},
			answers{enactment.AlreadyHappened, yes},
			answers{yes, enactment.AlreadyHappened},
			answers{enactment.AlreadyHappened, yes},
		},
		"an order and a cancellation": {
			[]any{"Create", 0, "Offered", 1, "Complete", 1, "Cancel", nil},
			"Completed", "Cancelled",
			[2]any{1, nil},
			answers{yes, enactment.Excluded},
			answers{enactment.Excluded, yes},
			answers{yes, enactment.Excluded},
			answers{enactment.Excluded, yes},
		},
		"two orders": {
			[]any{"Create", 0, "Offered", 1, "Complete", 1},
			"Completed", "BuyerCompleted",
			[2]any{1, nil},
			answers{yes, enactment.BoundDifferently},
			answers{enactment.BoundDifferently, yes},
			answers{yes, enactment.BoundDifferently},
			answers{enactment.BoundDifferently, yes},
		},
		"an order and a no": {
			[]any{"Create", 0, "Offered", 1, "Complete", 1},
			"Completed", "Declined",
			[2]any{1, 1},
			answers{yes, enactment.Excluded},
			answers{enactment.Excluded, yes},
			answers{yes, enactment.Excluded},
			answers{enactment.Excluded, yes},
		},
	} {
		t.Run(name, func(t *testing.T) {
			check := func(expected answers, swap, window bool) {
				t.Helper()
				checkout := newCheckout(t).must(c.before...)
				a, b := checkout.attempt(c.a, c.at[0], nil), checkout.attempt(c.b, c.at[1], nil)
				pair := []enactment.Attempt{a, b}
				if swap {
					pair = []enactment.Attempt{b, a}
				}
				var errs []error
				if window {
					errs = checkout.judge(pair...)
				} else {
					errs = append(checkout.judge(pair[0]), checkout.judge(pair[1])...)
				}
				if swap {
					errs[0], errs[1] = errs[1], errs[0]
				}
				for i := range errs {
					if expected[i] == nil {
						require.NoError(t, errs[i])
					} else {
						require.ErrorIs(t, errs[i], expected[i])
					}
				}
			}
			check(c.first, false, true)
			check(c.second, true, true)
			check(c.one, false, false)
			check(c.other, true, false)
		})
	}
}

// TestFourPaymentsPlaceOneOrder: at one time four requests to complete, each with a key of its own.
func TestFourPaymentsPlaceOneOrder(t *testing.T) {
	c := offered(t)
	var window []enactment.Attempt
	for range 4 {
		window = append(window, c.attempt("Complete", 1, nil))
	}
	accepted := 0
	for _, err := range c.judge(window...) {
		if err == nil {
			accepted++
		} else {
			require.ErrorIs(t, err, enactment.AlreadyHappened)
		}
	}
	require.Equal(t, 1, accepted)
	c.must("Completed", 1)
	for _, attempt := range window {
		again := attempt
		again.ID += " again"
		again.Values = maps.Clone(attempt.Values)
		require.Error(t, c.judge(again)[0])
	}
}

// TestWhatIsCancelledWasSeen: a cancellation that says which revision was seen happens while that is the latest and nothing
// has been asked of it. Of it and a change of that revision one happens, in a window too.
func TestWhatIsCancelledWasSeen(t *testing.T) {
	for name, c := range map[string]struct {
		before []any
		seen   any
		want   error
	}{
		"the latest":              {[]any{"Create", 0, "Offered", 1}, 1, nil},
		"what is not ready":       {[]any{"Create", 0, "NeedsInput", 1}, 1, nil},
		"a later one":             {[]any{"Create", 0, "Offered", 1, "Update", 1, "Offered", 2}, 2, nil},
		"written otherwise":       {[]any{"Create", 0, "Offered", 1}, json.Number("1.0"), nil},
		"a hand-off changes none": {[]any{"Create", 0, "NeedsInput", 1, "HandOff", 1}, 1, nil},
		"one before":              {[]any{"Create", 0, "Offered", 1, "Update", 1, "Offered", 2}, 1, enactment.GuardRefused},
		"one to come":             {[]any{"Create", 0, "Offered", 1}, 2, enactment.GuardRefused},
		"a word":                  {[]any{"Create", 0, "Offered", 1}, "1", enactment.GuardRefused},
		"updated":                 {[]any{"Create", 0, "Offered", 1, "Update", 1}, 1, enactment.GuardRefused},
		"updated in vain":         {[]any{"Create", 0, "Offered", 1, "Update", 1, "Rejected", 1}, 1, enactment.GuardRefused},
		"paid":                    {[]any{"Create", 0, "Offered", 1, "Complete", 1}, 1, enactment.GuardRefused},
		"declined":                {[]any{"Create", 0, "Offered", 1, "Complete", 1, "Declined", 1}, 1, enactment.GuardRefused},
		"withdrawn":               {[]any{"Create", 0, "Offered", 1, "Withdrawn", 1}, 1, enactment.GuardRefused},
		"whatever there is":       {[]any{"Create", 0, "Offered", 1, "Update", 1}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			checkout := newCheckout(t).must(c.before...)
			err := checkout.judge(checkout.attempt("Cancel", nil, map[string]any{"seen": c.seen}))[0]
			if c.want == nil {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, c.want)
			}
		})
	}
	for _, change := range []string{"Update", "Complete"} {
		for first := range 2 {
			for _, window := range []bool{true, false} {
				checkout := offered(t)
				both := []enactment.Attempt{checkout.attempt(change, 1, nil), checkout.attempt("Cancel", nil, map[string]any{"seen": 1})}
				if first == 1 {
					slices.Reverse(both)
				}
				var errs []error
				if window {
					errs = checkout.judge(both...)
				} else {
					errs = append(checkout.judge(both[0]), checkout.judge(both[1])...)
				}
				require.NoError(t, errs[0])
				require.Error(t, errs[1], "%s, window %v", change, window)
			}
		}
	}
}

// TestACheckoutIsOver: after each of the ends a platform can do nothing that would begin it again, and whatever is left
// to do leads nowhere else.
func TestACheckoutIsOver(t *testing.T) {
	for end, before := range map[string][]any{
		"Completed":      {"Create", 0, "Offered", 1, "Complete", 1, "Completed", 1},
		"BuyerCompleted": {"Create", 0, "Offered", 1, "BuyerCompleted", nil},
		"Cancelled":      {"Create", 0, "Offered", 1, "Cancel", nil, "Cancelled", nil},
		"Expired":        {"Create", 0, "Offered", 1, "Expired", nil},
		"Refused":        {"Create", 0, "Refused", nil},
	} {
		c := newCheckout(t).must(before...)
		require.True(t, c.state.Complete(), end)
		for _, step := range [][2]any{
			{"Create", 0},
			{"Update", 1},
			{"Complete", 1},
			{"Cancel", nil},
			{"Offered", 1},
			{"NeedsInput", 1},
			{"Offered", 2},
			{"NeedsInput", 2},
			{"Withdrawn", 1},
			{"Completed", 1},
			{"Cancelled", nil},
			{"Expired", nil},
			{"BuyerCompleted", nil},
			{"Refused", nil},
		} {
			require.Error(t, c.try(step[0].(string), step[1]), "%v after %s", step, end)
		}
	}
}

// TestAPaymentThatCrossesTheEndIsAnswered: a payment and an end that the business declares may happen in one window.
// Then no order is placed on the payment, and it can be told so.
func TestAPaymentThatCrossesTheEndIsAnswered(t *testing.T) {
	for _, end := range []string{"Expired", "BuyerCompleted"} {
		c := offered(t)
		for _, err := range c.judge(c.attempt("Complete", 1, nil), c.attempt(end, nil, nil)) {
			require.NoError(t, err)
		}
		require.ErrorIs(t, c.try("Completed", 1), enactment.Excluded)
		require.NoError(t, c.try("Declined", 1))
	}
}

// FuzzTotals: whatever stands in totals, the guard neither panics nor lets through what does not add up.
func FuzzTotals(f *testing.F) {
	for _, text := range []string{
		`[{"type":"subtotal","amount":100},{"type":"discount","amount":-10},{"type":"total","amount":90}]`,
		`[{"type":"subtotal","amount":1e2},{"type":"total","amount":100.0}]`,
		`[{"type":"subtotal","amount":9007199254740992},{"type":"x","amount":-9007199254740992,"display_text":"x"},{"type":"total","amount":0}]`,
		`[{"type":"subtotal","amount":3,"lines":[{"amount":1},{"amount":2}]},{"type":"total","amount":3,"lines":null}]`,
		`{"type":"total"}`, `[[]]`, `null`, `[null,{"amount":null}]`, `[{"type":{},"amount":"1"}]`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		totals, err := enactment.ParseValue(text)
		if err != nil {
			t.Skip("an executor does not let it through")
		}
		c := newCheckout(t).must("Create", 0)
		if c.judge(c.attempt("Offered", 1, map[string]any{"totals": totals}))[0] != nil {
			return
		}
		var entries []map[string]any
		require.NoError(t, totals.Decode(&entries))
		of, count, rest := make(map[any]int64), make(map[any]int), int64(0)
		for _, entry := range entries {
			number, ok := entry["amount"].(json.Number)
			require.True(t, ok, "%s", text)
			amount, err := number.Int64()
			require.NoError(t, err, "%s", text)
			of[entry["type"]] += amount
			count[entry["type"]]++
			if entry["type"] != "total" {
				rest += amount
			}
		}
		require.Equal(t, 1, count["subtotal"], "%s", text)
		require.Equal(t, 1, count["total"], "%s", text)
		require.LessOrEqual(t, of["discount"]+of["items_discount"], int64(0), "%s", text)
		require.Equal(t, of["total"], rest, "%s", text)
	})
}
