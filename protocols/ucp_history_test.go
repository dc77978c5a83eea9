package protocols_test

import (
	"encoding/json"
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/enactment"
)

// event is an action that has happened in a checkout.
type event struct {
	sequence uint64
	action   string
	values   enactment.Values
}

// revision is what the event is about; none for those that are about the checkout as a whole.
func (e event) revision() int {
	revision := -1
	if value, ok := e.values["rev"]; ok {
		if err := value.Decode(&revision); err != nil {
			panic(err)
		}
	}
	return revision
}

// history is all that has happened in a checkout, in order.
type history []event

func historyOf(log []enactment.Finalisation) history {
	var h history
	for _, f := range log {
		for _, i := range f.Instances {
			e := event{sequence: f.Sequence, action: i.Action, values: enactment.Values{}}
			for name, value := range i.Values() {
				e.values[name] = value
			}
			h = append(h, e)
		}
	}
	return h
}

// of lists the events of some actions.
func (h history) of(actions ...string) history {
	var found history
	for _, e := range h {
		if slices.Contains(actions, e.action) {
			found = append(found, e)
		}
	}
	return found
}

// at lists the events that are about a revision.
func (h history) at(revision int) history {
	return slices.DeleteFunc(slices.Clone(h), func(e event) bool { return e.revision() != revision })
}

// since lists the events from a place in the log on, and before those that are there already.
func (h history) since(sequence uint64) history {
	return slices.DeleteFunc(slices.Clone(h), func(e event) bool { return e.sequence < sequence })
}

func (h history) before(sequence uint64) history {
	return slices.DeleteFunc(slices.Clone(h), func(e event) bool { return e.sequence >= sequence })
}

// requireSound holds a checkout to what ucp-incremental is for. It says so in its own words, and asks neither the rules
// nor their guards.
func (h history) requireSound(t require.TestingT) {
	statements := h.of("Offered", "NeedsInput", "OrderChanged")
	for i, s := range statements {
		require.Equal(t, i+1, s.revision(), "revisions are numbered from one, without a gap")
		if i > 0 {
			require.Greater(t, s.sequence, statements[i-1].sequence, "there is one revision at a time")
		}
	}
	for _, s := range h.of("Offered") {
		requireAddsUp(t, s.values["totals"])
	}
	for _, s := range statements {
		ends := append(h.of("Update", "Complete").at(s.revision()), h.of("Withdrawn").at(s.revision())...)
		require.LessOrEqual(t, len(ends), 1, "revision %d ends in one way", s.revision())
		if s.action != "OrderChanged" && s.revision() < len(statements) && statements[s.revision()].action != "OrderChanged" {
			require.Len(t, ends, 1, "revision %d has ended before the next", s.revision())
			require.Less(t, ends[0].sequence, statements[s.revision()].sequence)
		}
	}
	for _, cancel := range h.of("Cancel") {
		if seen := cancel.values["seen"]; !seen.Equal(enactment.MustValue(nil)) {
			latest := len(statements.before(cancel.sequence))
			require.True(t, seen.Equal(enactment.MustValue(latest)), "what is cancelled is what was seen, %s, not %d", seen, latest)
			require.Empty(t, h.of("Update", "Complete", "Withdrawn").at(latest).before(cancel.sequence), "nothing was asked of it")
		}
	}
	h.requireAnswers(t, statements)
	h.requireOneEnd(t)
}

// requireAnswers checks what stands between a request and its answer.
func (h history) requireAnswers(t require.TestingT, statements history) {
	latest := func(before uint64) int { return len(statements.before(before)) }
	for _, update := range h.of("Update") {
		require.Equal(t, latest(update.sequence), update.revision(), "what is updated is the latest revision")
		for _, rejected := range h.of("Rejected").at(update.revision()) {
			require.LessOrEqual(t, latest(rejected.sequence), update.revision(), "an update that was answered is not rejected")
		}
	}
	for _, complete := range h.of("Complete") {
		require.Equal(t, latest(complete.sequence), complete.revision(), "what is paid is the latest revision: no update waits for its answer")
		offer := h.of("Offered").at(complete.revision())
		require.Len(t, offer, 1, "what is paid was offered")
		require.True(t, offer[0].values["totals"].Equal(complete.values["totals"]), "for what it was offered")
		require.True(t, offer[0].values["currency"].Equal(complete.values["currency"]))
		for _, e := range h.since(complete.sequence + 1) {
			answers := h.of("Completed", "Declined").at(complete.revision())
			if len(answers) > 0 && e.sequence > answers[0].sequence {
				break
			}
			require.NotContains(t, []string{"Update", "Complete", "Offered", "NeedsInput", "Withdrawn"}, e.action, "a checkout that is being paid stays as it is")
		}
		require.LessOrEqual(t, len(h.of("Completed", "Declined").at(complete.revision())), 1)
	}
}

// requireOneEnd checks that a checkout has one end, and that nothing begins it again.
func (h history) requireOneEnd(t require.TestingT) {
	ends := h.of("Completed", "BuyerCompleted", "Cancelled", "Expired", "Refused")
	require.LessOrEqual(t, len(ends), 1)
	for _, end := range ends {
		later := h.since(end.sequence + 1)
		require.Empty(t, later.of("Create", "Offered", "NeedsInput", "Update", "Complete", "Cancel", "Withdrawn"), "after %s", end.action)
		if order, ok := end.values["order"]; ok {
			for _, e := range h.of("Receipt", "OrderChanged") {
				require.True(t, order.Equal(e.values["order"]), "there is one order")
			}
		}
	}
}

// requireAddsUp adds up totals.
func requireAddsUp(t require.TestingT, totals enactment.Value) {
	var entries []struct {
		Type   string
		Amount int
	}
	require.NoError(t, json.Unmarshal([]byte(totals.String()), &entries))
	sum := 0
	for _, entry := range entries {
		if entry.Type == "total" {
			sum -= entry.Amount
		} else {
			sum += entry.Amount
		}
	}
	require.Zero(t, sum, totals.String())
}
