package protocols_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/langshaw"
	"github.com/strabo-engine/strabo/langshaw/verify"
	"github.com/strabo-engine/strabo/protocols"
	"github.com/strabo-engine/strabo/syncserver"
)

// TestQueries has what ucp-incremental promises in its text alone, without the guards, proved: live and safe, and the
// answers to questions. Those of the first list hold of one revision, those of the second of several, whose numbers the
// verifier does not know: it lets the business state revisions in any order and number. What the guards add to that is
// held by TestPlay and TestManyRevisions.
func TestQueries(t *testing.T) {
	text, err := protocols.Source("ucp-incremental")
	require.NoError(t, err)
	protocol, diagnostics := langshaw.Parse(text)
	require.Empty(t, diagnostics)
	one := []string{
		"never Complete between Update and Offered",
		"never Complete after Update",
		"never Update after Complete",
		"never Complete after Withdrawn",
		"never Update after Withdrawn",
		"never Withdrawn after Complete",
		"never Offered and NeedsInput",
		"never Completed and Declined",
		"always Create before Offered",
	}
	several := []string{
		"always Offered before Complete",
		"always Complete before Completed",
		"always Offered before Completed",
		"never Update after Cancel",
		"never Complete after Cancel",
		"never Complete after Expired",
		"never Complete after BuyerCompleted",
		"never Offered after Expired",
		"never Offered after Cancelled",
		"never Offered after Refused",
		"never Completed and Cancelled",
		"never Completed and Expired",
		"never Completed and BuyerCompleted",
		"never Cancelled and BuyerCompleted",
		"never Cancelled and Expired",
		"always Completed before Receipt",
		"possible Completed after Cancel",
		"possible Cancelled after Complete",
		"possible OrderChanged after BuyerCompleted",
	}
	for _, immediate := range []bool{false, true} {
		for keys, questions := range map[int][]string{
			1: append(slices.Clone(one), several...),
			2: append(slices.Clone(several), "possible Completed after Declined", "possible Completed after Withdrawn"),
			3: several,
		} {
			options := verify.Options{Immediate: immediate, Keys: keys}
			for _, question := range questions {
				query, err := verify.ParseQuery(question)
				require.NoError(t, err)
				options.Queries = append(options.Queries, query)
			}
			report := verify.Verify(t.Context(), protocol, options)
			require.Equal(t, verify.Yes, report.Live)
			require.Equal(t, verify.Yes, report.Safe)
			require.Empty(t, report.Dead)
			for _, answer := range report.Answers {
				require.Equal(t, verify.Yes, answer.Holds, "%s with %d revisions", answer.Query, keys)
			}
		}
	}
}

// TestTwoRevisionsCannotBothComplete checks what Receipt is for, on the text alone: even a business that states two
// revisions at once, which the guards do not let it, has one of them completed.
func TestTwoRevisionsCannotBothComplete(t *testing.T) {
	text, err := protocols.Source("ucp-incremental")
	require.NoError(t, err)
	protocol, _ := langshaw.Parse(text)
	rules, err := enactment.Compile(protocol)
	require.NoError(t, err)
	for _, window := range []bool{false, true} {
		c := &checkout{t: t, rules: rules, state: rules.NewState(`{"cid":"c"}`)}
		c.must("Create", 0, "Offered", 1, "Offered", 2, "Complete", 1, "Complete", 2)
		first := c.attempt("Completed", 1, map[string]any{"order": "o"})
		second := c.attempt("Completed", 2, map[string]any{"order": "o"})
		var errs []error
		if window {
			errs = c.judge(first, second)
		} else {
			errs = append(c.judge(first), c.judge(second)...)
		}
		require.NoError(t, errs[0])
		require.ErrorIs(t, errs[1], enactment.AlreadyHappened)
	}
}

// likely weighs the actions that are drawn: ends are rare, lest no checkout grow old.
var likely = func() []string {
	var all []string
	for action, weight := range map[string]int{
		"Create": 20, "Refused": 1, "Offered": 60, "NeedsInput": 20, "Update": 60, "Rejected": 10, "Withdrawn": 15, "Complete": 60,
		"Completed": 4, "Declined": 60, "HandOff": 8, "BuyerCompleted": 1, "Cancel": 2, "Cancelled": 3, "Expired": 1, "Receipt": 5,
		"OrderChanged": 8, "Noted": 8,
	} {
		all = append(all, slices.Repeat([]string{action}, weight)...)
	}
	slices.Sort(all)
	return all
}()

// totalsDrawn are totals that a business may state; the last do not add up.
var totalsDrawn = []any{
	totalsOf(100), totalsOf(250),
	[]any{map[string]any{"type": "subtotal", "amount": 100}, map[string]any{"type": "discount", "amount": -10}, map[string]any{"type": "total", "amount": 90}},
	[]any{map[string]any{"type": "subtotal", "amount": 100}, map[string]any{"type": "discount", "amount": 10}, map[string]any{"type": "total", "amount": 90}},
}

// drive has platforms and businesses that attempt whatever comes to their minds meet at an executor, several at a time.
type drive struct {
	t       *rapid.T
	random  *rand.Rand // what is drawn of rapid itself tends to be small
	local   *syncserver.Local
	on      *checkout // what has happened, as the records tell it
	history history
}

func (d *drive) record(r enactment.Record) {
	if r.Kind == enactment.Happened {
		d.history = append(d.history, event{r.Sequence, r.Action, r.Values})
	}
}

// draw makes up an attempt: of those drawn the first that might happen now, as a role that is up to date would choose,
// or any at all.
func (d *drive) draw() enactment.Attempt {
	revision := len(d.history.of("Offered", "NeedsInput", "OrderChanged"))
	knowing := d.random.IntN(5) > 0
	for tries := 0; ; tries++ {
		action := likely[d.random.IntN(len(likely))]
		at := revision
		switch {
		case action == "Create":
			at = 0
		case slices.Contains([]string{"Offered", "NeedsInput", "OrderChanged"}, action):
			at++
		}
		if !knowing {
			at = max(0, at+d.random.IntN(3)-1)
		}
		values := map[string]any{}
		if action == "Offered" || action == "NeedsInput" {
			values["totals"] = totalsDrawn[d.random.IntN(len(totalsDrawn))]
		}
		if action == "Cancel" {
			values["seen"] = []any{nil, at, at, at - 1}[d.random.IntN(4)]
		}
		attempt := d.on.attempt(action, at, values)
		if _, outcomes := enactment.Judge(d.on.state, attempt); !knowing || tries == 8 || outcomes[0].Err() == nil {
			return attempt
		}
	}
}

// burst submits attempts that do not know of each other, and waits for all.
func (d *drive) burst() (accepted int) {
	answers := make(chan enactment.Outcome, 4)
	count := 1 + d.random.IntN(4)
	for range count {
		attempt := d.draw()
		go func() {
			outcome, err := d.local.Attempt(context.Background(), attempt)
			if err != nil {
				panic(err)
			}
			answers <- outcome
		}()
		synctest.Wait()
	}
	time.Sleep(time.Second)
	happened := make(map[uint64][]enactment.Instance)
	for range count {
		if outcome := <-answers; outcome.Rejection == nil {
			accepted++
			happened[outcome.Sequence] = append(happened[outcome.Sequence], outcome.Instance)
		} else {
			require.NotContains(d.t, []enactment.Code{enactment.Malformed, enactment.UnknownAction, enactment.WrongRole, enactment.WrongParty, enactment.Expired}, outcome.Rejection.Code)
		}
	}
	for sequence := d.on.state.Sequence() + 1; len(happened[sequence]) > 0; sequence++ {
		d.on.state.Apply(enactment.Finalisation{Sequence: sequence, Instances: happened[sequence]})
	}
	return accepted
}

// finish has a sensible platform and business end the checkout, if it has not ended: nobody may be stuck.
func (d *drive) finish() {
	if d.on.state.Empty() {
		return
	}
	for _, action := range []string{"Declined", "Cancel", "Cancelled", "Refused"} {
		if len(d.history.of("Completed", "BuyerCompleted", "Cancelled", "Expired", "Refused")) > 0 {
			return
		}
		attempt := d.on.attempt(action, len(d.history.of("Offered", "NeedsInput", "OrderChanged")), nil)
		outcome, err := d.local.Attempt(context.Background(), attempt)
		require.NoError(d.t, err)
		if outcome.Rejection == nil {
			d.on.state.Apply(enactment.Finalisation{Sequence: outcome.Sequence, Instances: []enactment.Instance{outcome.Instance}})
		}
	}
	require.Len(d.t, d.history.of("Completed", "BuyerCompleted", "Cancelled", "Expired", "Refused"), 1, "nobody may be stuck")
}

// TestManyRevisions: whatever platforms and businesses attempt, several at a time and in ignorance of each other, over
// many revisions and under both kinds of finalisation, a checkout is sound, and can be brought to an end.
func TestManyRevisions(t *testing.T) {
	rules, err := protocols.Load("ucp-incremental")
	require.NoError(t, err)
	runs, revisions, most := 0, 0, 0
	counts := make(map[string]int)
	synctest.Test(t, func(t *testing.T) {
		// Embedded, since rapid asks a *testing.T for its deadline, which a bubble does not have.
		rapid.Check(struct{ testing.TB }{t}, func(r *rapid.T) {
			seed := rapid.Uint64().Draw(r, "seed")
			d := &drive{t: r, random: rand.New(rand.NewPCG(seed, 0)), on: &checkout{t: t, rules: rules, state: rules.NewState(`{"cid":"c"}`)}}
			options := []syncserver.Option{syncserver.WithRecorder(d.record)}
			if seed%2 == 0 {
				options = append(options, syncserver.WithBatch(time.Millisecond, 0))
			}
			d.local = syncserver.NewLocal(rules, options...)
			defer d.local.Close()
			for range d.random.IntN(40) {
				d.burst()
				if over := d.history.of("Cancelled", "Expired", "Refused"); len(over) > 0 {
					break
				}
			}
			d.finish()
			d.history.requireSound(r)
			runs++
			stated := len(d.history.of("Offered", "NeedsInput", "OrderChanged"))
			revisions, most = revisions+stated, max(most, stated)
			for _, e := range d.history {
				counts[e.action]++
			}
		})
	})
	t.Logf("%d checkouts, %d revisions, at most %d in one; %v", runs, revisions, most, counts)
	for action := range rules.Protocol().Actions() {
		require.True(t, runs < 1000 || counts[action.Name()] > 0, "%s has never happened", action.Name())
	}
}
