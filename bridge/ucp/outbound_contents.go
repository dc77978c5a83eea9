package ucp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/strabo-engine/strabo/bridge/ucp/internal/read"
)

// contained is what is wanted of a checkout, or what one has. It is read tolerantly: what has another shape is not there.
type contained struct {
	lines    map[string]int64 // how many of each item
	currency string
}

// maxDifferences is how many differences a reason names.
const maxDifferences = 5

// contents is the hook contents: it compares what a checkout contains with what was asked for, {"asked": {"line_items",
// "currency"}, "got": ...}. How an amount is spread over lines does not matter. A currency that is null was not asked
// for. A checkout that contains anything else gives a [bridge.NoChoice].
func contents(_ context.Context, input any) (any, error) {
	both, _ := input.(map[string]any)
	if d := compare(both["asked"], both["got"]); d != nil {
		return nil, unfit(d.code, "%s", d.message)
	}
	return "same", nil
}

// committed is the hook committed: it holds a checkout that was completed, "completed", against what was agreed to,
// "agreed", which has line_items, currency and totals of the model of package wire: what it contains, and the sum. What a
// shop says nothing of any more, now that there is an order, is as it was. Anything else gives a [bridge.NoChoice].
func committed(_ context.Context, input any) (any, error) {
	both, _ := input.(map[string]any)
	agreed, _ := both["agreed"].(map[string]any)
	completed, _ := both["completed"].(map[string]any)
	asked := map[string]any{"line_items": completed["line_items"]}
	if completed["currency"] != nil {
		asked["currency"] = agreed["currency"]
	}
	if completed["line_items"] != nil {
		asked["line_items"] = agreed["line_items"]
	}
	if d := compare(asked, completed); d != nil {
		return nil, unfit(d.code, "%s", d.message)
	}
	if want, got := sumOf(agreed["totals"]), sumOf(completed["totals"]); completed["totals"] != nil && want != got {
		return nil, unfit(CodeTotalDiffers, "the total of the shop's checkout is %s instead of %s", amount(got), amount(want))
	}
	return "same", nil
}

// sumOf is the total of totals; uncertain if there is none, or more than one.
func sumOf(totals any) int64 {
	entries, _ := totals.([]any)
	sum, found := uncertain, 0
	for _, entry := range entries {
		if members, _ := entry.(map[string]any); members["type"] == "total" {
			sum = quantityOf(members["amount"])
			found++
		}
	}
	if found != 1 {
		return uncertain
	}
	return sum
}

// difference is how a checkout is not what was asked for.
type difference struct{ code, message string }

// compare holds what a checkout contains against what was asked for; nil if that is the same.
func compare(wanted, found any) *difference {
	asked, got := readContents(wanted), readContents(found)
	if asked.currency != "" && !strings.EqualFold(asked.currency, got.currency) {
		return &difference{
			CodeCurrencyDiffers, fmt.Sprintf("the shop's checkout is in %s, not in %s", shortly(got.currency), asked.currency),
		}
	}
	ids := make([]string, 0, len(asked.lines)+len(got.lines))
	for _, lines := range []map[string]int64{asked.lines, got.lines} {
		for id := range lines {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	var differences []string
	for _, id := range slices.Compact(ids) {
		if wanted, there := asked.lines[id], got.lines[id]; wanted != there || there == uncertain {
			differences = append(differences, fmt.Sprintf("%s of %s instead of %s", amount(there), shortly(id), amount(wanted)))
		}
	}
	if more := len(differences) - maxDifferences; more > 0 {
		differences = append(differences[:maxDifferences], fmt.Sprintf("%d more", more))
	}
	if len(differences) > 0 {
		return &difference{
			CodeContentsDiffer, "the shop's checkout is not what was asked for: " + strings.Join(differences, ", "),
		}
	}
	return nil
}

func readContents(value any) contained {
	members, _ := value.(map[string]any)
	c := contained{lines: make(map[string]int64)}
	c.currency, _ = members["currency"].(string)
	lines, _ := members["line_items"].([]any)
	for _, line := range lines {
		members, _ := line.(map[string]any)
		item, _ := members["item"].(map[string]any)
		id, _ := item["id"].(string)
		if before := c.lines[id]; before >= 0 {
			c.lines[id] = plus(before, quantityOf(members["quantity"]))
		}
	}
	return c
}

// uncertain stands for a quantity that cannot be told; nothing agrees with it.
const uncertain = int64(-1)

func plus(a, b int64) int64 {
	if b < 0 || a+b < a {
		return uncertain
	}
	return a + b
}

func quantityOf(value any) int64 {
	number, ok := value.(json.Number)
	if !ok {
		return uncertain
	}
	if whole, err := read.Whole(number.String()); err == nil && whole >= 0 {
		return whole
	}
	return uncertain
}

func amount(n int64) string {
	if n == uncertain {
		return "an unclear number"
	}
	return strconv.FormatInt(n, 10)
}

// shortly quotes what a shop calls something, as far as it is worth reading.
func shortly(name string) string {
	if runes := []rune(name); len(runes) > 60 {
		name = string(runes[:60]) + "…"
	}
	return strconv.Quote(name)
}
