package protocols

import (
	"math"

	"github.com/strabo-engine/strabo/enactment"
)

// The guards of ucp-incremental: what its text cannot say, since Langshaw knows neither numbers nor what comes next.
//
// That they see the state before a window of attempts and not each other's candidates opens no gap. Of two revisions in
// one window the number is the same, so that the language refuses one of them; all else that excludes each other is
// said in the text.

// firstRevision: what Create asks for is asked of revision 0.
func firstRevision(_ enactment.View, candidate enactment.Instance) bool {
	revision, ok := revisionOf(candidate)
	return ok && revision == 0
}

// nextRevision: revisions are numbered without a gap, and there is one that counts at a time. The next comes when the
// last has ended: by an update, by a payment that was declined, or because it was withdrawn. A payment that has not been
// answered freezes the checkout. Changes of the order follow the order, each as a revision of its own.
func nextRevision(view enactment.View, candidate enactment.Instance) bool {
	next, ok := revisionOf(candidate)
	if !ok {
		return false
	}
	changes, ended := candidate.Action == "OrderChanged", false
	for i := range view.Newest() {
		switch i.Action {
		case "Update", "Declined", "Withdrawn":
			ended = ended || !changes && precedes(i, next)
		case "Completed", "BuyerCompleted":
			ended = ended || changes
		case "Offered", "NeedsInput":
			return ended && precedes(i, next)
		case "OrderChanged":
			return changes && precedes(i, next)
		case "Create":
			return ended == changes && precedes(i, next)
		}
	}
	return false
}

// latestRevision: an update is rejected, and a revision withdrawn, before there is a later one.
func latestRevision(view enactment.View, candidate enactment.Instance) bool {
	revision, ok := candidate.Value("rev")
	for i := range view.Newest() {
		switch i.Action {
		case "Offered", "NeedsInput":
			latest, stated := i.Value("rev")
			return ok && stated && latest.Equal(revision)
		case "OrderChanged":
			return false
		}
	}
	return false
}

// revisionOf gives the revision that an instance is about. It must be written as a plain integer, so that it can always
// be counted from.
func revisionOf(i enactment.Instance) (int64, bool) {
	value, ok := i.Value("rev")
	var revision int64
	if !ok || value.Decode(&revision) != nil || revision < 0 || revision >= math.MaxInt64 {
		return 0, false
	}
	return revision, true
}

// precedes tells whether an instance is about the revision before next.
func precedes(i enactment.Instance, next int64) bool {
	revision, ok := revisionOf(i)
	return ok && revision+1 == next
}

// total is an entry of totals as UCP 2026-04-08 has it (types/totals.json): amounts in minor units with their sign.
type total struct {
	Type        string  `json:"type"`
	DisplayText *string `json:"display_text"`
	Amount      *int64  `json:"amount"`
	Lines       []struct {
		Amount *int64 `json:"amount"`
	} `json:"lines"`
}

// mostAmount is what an amount may be at most, so that it survives a peer whose numbers are floating point: 2^53 - 1.
const mostAmount = 1<<53 - 1

// totalsAddUp: there is one subtotal and one total, the total is the sum of all other entries, an entry with lines is
// the sum of its lines, discounts are below zero and charges are not.
func totalsAddUp(_ enactment.View, candidate enactment.Instance) bool {
	value, _ := candidate.Value("totals")
	var totals []total
	if value.IsZero() || value.Decode(&totals) != nil {
		return false
	}
	subtotals, sums, sum, expected := 0, 0, int64(0), int64(0)
	for _, entry := range totals {
		if !entry.sound() {
			return false
		}
		switch entry.Type {
		case "total":
			sums++
			expected = *entry.Amount
			continue
		case "subtotal":
			subtotals++
		}
		if sum += *entry.Amount; !within(&sum) {
			return false
		}
	}
	return subtotals == 1 && sums == 1 && sum == expected
}

// sound tells whether an entry is right by itself.
func (t *total) sound() bool {
	if !within(t.Amount) {
		return false
	}
	switch t.Type {
	case "discount", "items_discount":
		if *t.Amount >= 0 {
			return false
		}
	case "subtotal", "fulfillment", "tax", "fee":
		if *t.Amount < 0 {
			return false
		}
	case "total":
	default:
		if t.Type == "" || t.DisplayText == nil {
			return false
		}
	}
	if t.Lines == nil {
		return true
	}
	sum := int64(0)
	for _, line := range t.Lines {
		if !within(line.Amount) {
			return false
		}
		if sum += *line.Amount; !within(&sum) {
			return false
		}
	}
	return sum == *t.Amount
}

func within(amount *int64) bool {
	return amount != nil && *amount >= -mostAmount && *amount <= mostAmount
}
