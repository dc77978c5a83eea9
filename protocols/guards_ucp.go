package protocols

import (
	"encoding/json"
	"math"
	"strconv"

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
	value, _ := i.Value("rev")
	revision, err := strconv.ParseInt(value.String(), 10, 64)
	return revision, err == nil && revision >= 0 && revision < math.MaxInt64
}

// precedes tells whether an instance is about the revision before next.
func precedes(i enactment.Instance, next int64) bool {
	revision, ok := revisionOf(i)
	return ok && revision+1 == next
}

// mostAmount is what an amount may be at most, so that it survives a peer whose numbers are floating point: 2^53 - 1.
const mostAmount = 1<<53 - 1

// members are those of a JSON object, by their exact names: encoding/json would take Amount for amount, other readers
// would not.
type members map[string]json.RawMessage

// totalsAddUp: there is one subtotal and one total, the total is the sum of all other entries, an entry with lines is
// the sum of its lines, discounts are below zero and charges are not (UCP 2026-04-08, types/totals.json).
func totalsAddUp(_ enactment.View, candidate enactment.Instance) bool {
	value, _ := candidate.Value("totals")
	var totals []members
	if json.Unmarshal([]byte(value.String()), &totals) != nil {
		return false
	}
	subtotals, sums, sum, expected := 0, 0, int64(0), int64(0)
	for _, entry := range totals {
		kind, amount, ok := entry.total()
		switch {
		case !ok:
			return false
		case kind == "total":
			sums++
			expected = amount
			continue
		case kind == "subtotal":
			subtotals++
		}
		if sum += amount; !within(sum) {
			return false
		}
	}
	return subtotals == 1 && sums == 1 && sum == expected
}

// total reads an entry of totals; false if it is wrong by itself.
func (m members) total() (kind string, amount int64, ok bool) {
	if json.Unmarshal(m["type"], &kind) != nil {
		return "", 0, false
	}
	if amount, ok = m.amount(); !ok {
		return "", 0, false
	}
	switch kind {
	case "discount", "items_discount":
		ok = amount < 0
	case "subtotal", "fulfillment", "tax", "fee":
		ok = amount >= 0
	case "total":
	default:
		var text *string
		ok = kind != "" && json.Unmarshal(m["display_text"], &text) == nil && text != nil
	}
	if lines, has := m["lines"]; ok && has {
		var parts []members
		ok = json.Unmarshal(lines, &parts) == nil && sumOf(parts) == amount
	}
	return kind, amount, ok
}

// sumOf adds up lines; it is beyond all amounts if one of them has none, or if they add up to more than an amount may be.
func sumOf(lines []members) int64 {
	sum := int64(0)
	for _, line := range lines {
		amount, ok := line.amount()
		if sum += amount; !ok || !within(sum) {
			return mostAmount + 1
		}
	}
	return sum
}

// amount reads an amount in minor units with its sign.
func (m members) amount() (int64, bool) {
	var amount *int64
	if json.Unmarshal(m["amount"], &amount) != nil || amount == nil {
		return 0, false
	}
	return *amount, within(*amount)
}

func within(amount int64) bool { return amount >= -mostAmount && amount <= mostAmount }
