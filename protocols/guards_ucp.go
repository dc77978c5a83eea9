package protocols

import (
	"math"
	"strconv"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/internal/compact"
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

// revisionSeen: who cancels a checkout as they have seen it cancels no other. Nothing has come since the revision that was
// seen that ends it, or asks for that. A platform to which it is all the same says null.
func revisionSeen(view enactment.View, candidate enactment.Instance) bool {
	seen, ok := candidate.Value("seen")
	if !ok || seen.String() == "null" {
		return ok
	}
	for i := range view.Newest() {
		switch i.Action {
		case "Update", "Complete", "Withdrawn":
			return false
		case "Offered", "NeedsInput":
			latest, stated := i.Value("rev")
			return stated && latest.Equal(seen)
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

// totalsAddUp: there is one subtotal and one total, the total is the sum of all other entries, an entry with lines is
// the sum of its lines, discounts are below zero and charges are not (UCP 2026-04-08, types/totals.json). Members count
// by their exact names.
func totalsAddUp(_ enactment.View, candidate enactment.Instance) bool {
	totals, _ := candidate.Value("totals")
	subtotals, sums, sum, expected := 0, 0, int64(0), int64(0)
	for entry := range compact.Elements(totals.String()) {
		kind, amount, ok := totalOf(entry)
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

// totalOf reads an entry of totals; false if it is wrong by itself.
func totalOf(entry string) (kind string, amount int64, ok bool) {
	var display, lines string
	itemized := false
	for name, text := range compact.Members(entry) {
		switch name {
		case "type":
			kind, _ = compact.String(text)
		case "amount":
			amount, ok = amountOf(text)
		case "display_text":
			display = text
		case "lines":
			lines, itemized = text, true
		}
	}
	switch kind {
	case "discount", "items_discount":
		ok = ok && amount < 0
	case "subtotal", "fulfillment", "tax", "fee":
		ok = ok && amount >= 0
	case "total":
	default:
		_, named := compact.String(display)
		ok = ok && kind != "" && named
	}
	if itemized {
		sum, whole := sumOf(lines)
		ok = ok && whole && sum == amount
	}
	return kind, amount, ok
}

// sumOf adds up lines; null are none. It is false if one of them has no amount, or if they add up to more than an amount
// may be.
func sumOf(lines string) (sum int64, ok bool) {
	if lines != "null" && !compact.IsArray(lines) {
		return 0, false
	}
	for line := range compact.Elements(lines) {
		text, _ := compact.Member(line, "amount")
		amount, ok := amountOf(text)
		if sum += amount; !ok || !within(sum) {
			return 0, false
		}
	}
	return sum, true
}

// amountOf reads an amount in minor units with its sign.
func amountOf(text string) (int64, bool) {
	amount, err := strconv.ParseInt(text, 10, 64)
	return amount, err == nil && within(amount)
}

func within(amount int64) bool { return amount >= -mostAmount && amount <= mostAmount }
