package wire

import (
	"fmt"
	"maps"
	"slices"
)

func sortedNames(named Object) []string { return slices.Sorted(maps.Keys(named)) }

// reduces tells whether amounts of a type lower the total.
func reduces(kind string) bool { return kind == "discount" || kind == "items_discount" }

// legacyTotals are the types that the schemas before 2026-04-08 know.
var legacyTotals = []string{"items_discount", "subtotal", "discount", "fulfillment", "tax", "fee", "total"}

// raiseTotals gives the amounts of discounts the sign of the model. Before 2026-04-08 an amount is never negative; a
// server that sends a negative discount nevertheless is understood.
func raiseTotals(in Object, name string) {
	for _, total := range objects(in, name) {
		if n, ok := number(total, "amount"); ok && n > 0 && reduces(text(total, "type")) {
			total["amount"] = amount(-n)
		}
	}
}

// lowerTotals is the way back. What an older release has no type for becomes a discount or a fee, which keeps the sum.
func lowerTotals(in Object, name string) {
	for _, total := range objects(in, name) {
		n, ok := number(total, "amount")
		if !ok {
			continue
		}
		// The sign is said by the type alone: what goes against that of its type is of the other kind.
		switch kind := text(total, "type"); {
		case kind == "subtotal" || kind == "total":
		case n < 0 && !reduces(kind):
			total["type"] = "discount"
		case n > 0 && reduces(kind), !slices.Contains(legacyTotals, kind):
			total["type"] = "fee"
		}
		if n < 0 {
			total["amount"] = amount(-n)
		}
		delete(total, "lines")
	}
}

// TotalsError says what is wrong with the totals of a checkout or an order.
type TotalsError struct{ Detail string }

// Error tells it.
func (e *TotalsError) Error() string { return "ucp: the totals do not add up: " + e.Detail }

// CheckTotals tells whether totals in the model add up (UCP 2026-04-08, checkout, totals): exactly one subtotal and one
// total, the sum of all but the total is the total, the lines below an entry sum up to it, discounts are negative, what
// is charged is not, what is of the shop's own kind has a display_text, and no amount is larger than 2^53-1. The guard
// totals-add-up of the protocol ucp-incremental says the same. The error is a [*TotalsError]. A platform must not complete a
// checkout on its own whose totals do not add up.
func CheckTotals(totals []any) error {
	var sum, total int64
	count := map[string]int{}
	for i, element := range totals {
		entry, ok := element.(Object)
		n, whole := number(entry, "amount")
		kind := text(entry, "type")
		switch {
		case !ok || kind == "":
			return &TotalsError{fmt.Sprintf("entry %d has no type", i)}
		case !whole || n > maxAmount || n < -maxAmount:
			return &TotalsError{fmt.Sprintf("the amount of %s is no whole number of at most 2^53-1", kind)}
		case reduces(kind) && n >= 0:
			return &TotalsError{fmt.Sprintf("%s is %d, but lowers the total", kind, n)}
		case slices.Contains([]string{"subtotal", "fulfillment", "tax", "fee"}, kind) && n < 0:
			return &TotalsError{fmt.Sprintf("%s is %d, but is a charge", kind, n)}
		}
		if _, named := entry["display_text"].(string); !named && !slices.Contains(legacyTotals, kind) {
			return &TotalsError{fmt.Sprintf("%s has no display_text", kind)}
		}
		if err := checkLines(entry, kind, n); err != nil {
			return err
		}
		count[kind]++
		if kind == "total" {
			total = n
		} else {
			sum += n
		}
		if sum > maxAmount || sum < -maxAmount {
			return &TotalsError{"the sum is larger than 2^53-1"}
		}
	}
	for _, kind := range []string{"subtotal", "total"} {
		if count[kind] != 1 {
			return &TotalsError{fmt.Sprintf("there are %d entries of type %s, not one", count[kind], kind)}
		}
	}
	if sum != total {
		return &TotalsError{fmt.Sprintf("the entries sum up to %d, the total is %d", sum, total)}
	}
	return nil
}

const maxAmount = 1<<53 - 1

func checkLines(entry Object, kind string, want int64) error {
	value, there := entry["lines"]
	if !there {
		return nil
	}
	lines, ok := value.([]any)
	if !ok && value != nil {
		return &TotalsError{fmt.Sprintf("the lines of %s are no list", kind)}
	}
	var sum int64
	for _, element := range lines {
		line, _ := element.(Object)
		n, ok := number(line, "amount")
		if !ok || n > maxAmount || n < -maxAmount || sum > maxAmount || sum < -maxAmount {
			return &TotalsError{fmt.Sprintf("a line of %s has no amount", kind)}
		}
		sum += n
	}
	if sum != want {
		return &TotalsError{fmt.Sprintf("the lines of %s sum up to %d, it is %d", kind, sum, want)}
	}
	return nil
}
