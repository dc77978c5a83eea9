package main

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/cmd/strabo/internal/shopper"
	"github.com/strabo-engine/strabo/cmd/strabo/internal/story"
)

// show prints the bill that is about to be decided on: all its entries, in the shop's order and words (UCP 2026-04-08,
// checkout, rendering contract).
func (c *buyCommand) show(s *streams, bill shopper.Bill) {
	fmt.Fprintln(s.err, "strabo: the bill of the shop:")
	for _, entry := range bill.Totals {
		fmt.Fprintf(s.err, "  %s  %s\n", story.Short(label(entry), longestID), bill.Money(entry.Amount))
		for _, line := range entry.Lines {
			fmt.Fprintf(s.err, "    %s  %s\n", story.Short(line.DisplayText, longestID), bill.Money(line.Amount))
		}
	}
	showProvisional(s, bill)
}

// showProvisional prints the discounts that the shop gives on what it was told and still has to verify, before anything is
// paid (UCP 2026-04-08, discount, eligibility claims).
func showProvisional(s *streams, bill shopper.Bill) {
	for _, d := range bill.Discounts.Applied {
		if d.Provisional {
			fmt.Fprintf(s.err, "  of these, %s is still to be verified by the shop: %s\n", bill.Money(-d.Amount), story.Short(d.Title, longestID))
		}
	}
}

// labels are those of the entries that need none of their own (UCP 2026-04-08, checkout, well-known types).
var labels = map[string]string{
	"subtotal": "Subtotal", "discount": "Discount", "items_discount": "Item Discounts", "fulfillment": "Shipping",
	"tax": "Tax", "fee": "Fee", "total": "Total",
}

func label(entry ucp.Total) string { return cmp.Or(entry.DisplayText, labels[entry.Type], entry.Type) }

// showWarning prints a warning next to what it is about, with what belongs to it.
func showWarning(s *streams, m ucp.Message) {
	about := ""
	if m.Path != "" && m.Path != "$" {
		about = " (" + story.Short(m.Path, longestID) + ")"
	}
	fmt.Fprintf(s.err, "strabo: the shop has you know%s: %s\n", about, story.Short(m.Content, longestWords))
	if m.URL != "" {
		fmt.Fprintf(s.err, "  see %s\n", story.Short(m.URL, longestWords))
	}
}

// handOff prints where the buyer has to go on, whether something is missing that only they can say, or nothing but their
// word (UCP 2026-04-08, checkout, error processing), and what the shop says of it.
func handOff(s *streams, url string, why []ucp.Message) {
	what := "the shop needs you"
	review := func(m ucp.Message) bool { return m.Severity == ucp.SeverityBuyerReview }
	if len(why) > 0 && !slices.ContainsFunc(why, func(m ucp.Message) bool { return !review(m) }) {
		what = "you have to look at the order at the shop and agree to it"
	}
	fmt.Fprintf(s.err, "strabo: %s: go on at %s\n", what, story.Short(url, shopper.LongestPage))
	for _, m := range why {
		fmt.Fprintf(s.err, "  %s\n", story.Short(cmp.Or(m.Content, m.Code), longestWords))
	}
}
