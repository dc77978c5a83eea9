package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/strabo-engine/strabo/bridge/policy"
	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/cmd/strabo/internal/counter"
	"github.com/strabo-engine/strabo/cmd/strabo/internal/shopper"
	"github.com/strabo-engine/strabo/cmd/strabo/internal/story"
	"github.com/strabo-engine/strabo/enactment"
)

// answer says how it ended. If it cannot be printed it is said all the same, on the other stream.
func (c *buyCommand) answer(
	s *streams, told *story.Story, following *following, cid string, ending shopper.Ending, unknown *counter.UnknownError,
) error {
	var err error
	said := ""
	if unknown == nil {
		said = describeEnding(ending) + describeDiscounts(ending)
	}
	switch {
	case c.JSON:
		encoder := json.NewEncoder(story.EscapeJSON(s.out))
		encoder.SetEscapeHTML(false)
		if err = following.tell(told); err == nil && unknown != nil {
			err = encoder.Encode(unknown)
		} else if d := ending.Bill.Discounts; err == nil && len(d.Applied)+len(d.Rejected) > 0 {
			err = encoder.Encode(discountsRecord{"discounts", counter.KeyOf(cid), ending.Bill.Currency, d})
		}
	case unknown == nil:
		_, err = fmt.Fprintln(s.out, said)
	}
	if err != nil {
		fmt.Fprintf(s.err, "strabo: cannot print the answer: %v\n", err)
		if unknown == nil {
			fmt.Fprintln(s.err, said)
		}
	}
	if unknown != nil {
		fmt.Fprint(s.err, c.describeUnknown(unknown))
	}
	if unknown != nil || !ordered(ending) {
		return errNo
	}
	return nil
}

// ordered tells whether there is an order.
func ordered(ending shopper.Ending) bool {
	return ending.Action == "Completed" || ending.Action == "BuyerCompleted"
}

// discountsRecord is the line of --json about discounts.
type discountsRecord struct {
	Kind      string        `json:"kind"`
	Enactment enactment.Key `json:"enactment"`
	Currency  string        `json:"currency"`
	shopper.Discounts
}

// describeDiscounts says for a person which discounts count and which codes do not, each on a line of its own.
func describeDiscounts(ending shopper.Ending) string {
	bill, text := ending.Bill, ""
	for _, d := range bill.Discounts.Applied {
		if !ordered(ending) {
			break // Nothing was taken off anything.
		}
		name := story.Short(d.Title, longestID)
		if d.Code != "" {
			name = story.Short(d.Code, longestID) + ", " + name
		}
		text += fmt.Sprintf("\nDiscount %s: %s", name, bill.Money(-d.Amount))
		if d.Provisional {
			text += " (the shop still has to verify it)"
		}
	}
	for _, r := range bill.Discounts.Rejected {
		text += fmt.Sprintf("\nDiscount code %s was not taken: %s", story.Short(r.Code, longestID), describeRejected(r))
	}
	return text
}

// describeRejected says why a code does not count.
func describeRejected(r shopper.RejectedCode) string {
	switch {
	case r.Content == "" && r.Reason == "":
		return "the shop does not say why"
	case r.Content == "":
		return story.Short(r.Reason, longestID)
	case r.Reason == "":
		return story.Short(r.Content, longestWords)
	default:
		return fmt.Sprintf("%s (%s)", story.Short(r.Content, longestWords), story.Short(r.Reason, longestID))
	}
}

// describeUnknown says for a person all that may help to find out what became of a purchase.
func (c *buyCommand) describeUnknown(u *counter.UnknownError) string {
	text := "strabo: nobody can tell whether there is an order: "
	switch u.Order {
	case counter.OrderNone:
		text = "strabo: no order: nothing was paid, but "
	case counter.OrderPlaced:
		text = "strabo: there is an order, but not as it was agreed to: "
	}
	text += story.Short(u.Detail, longestWords) + "\n"
	if u.Checkout != "" {
		text += fmt.Sprintf("  checkout %s: %s\n", story.Short(u.Checkout, longestID), story.Short(u.URL, longestWords))
	} else {
		text += "  the shop has given no id for the checkout\n"
	}
	if u.Key != "" {
		text += fmt.Sprintf("  idempotency key of %s: %s\n", strings.ToLower(u.Action), u.Key)
	}
	switch {
	case u.Asked == "":
	case u.Status != 0:
		text += fmt.Sprintf("  the shop answered: %d %s (to %s)\n", u.Status, story.Short(u.Said, longestWords), story.Short(u.Asked, longestWords))
	default:
		text += fmt.Sprintf("  the shop did not answer: %s (to %s)\n", story.Short(u.Said, longestWords), story.Short(u.Asked, longestWords))
	}
	if u.Found != "" {
		text += fmt.Sprintf("  asked about it, the shop said last: %s\n", story.Short(u.Found, longestWords))
	}
	switch {
	case u.Kind == "diverged":
		text += "  the shop has to be asked what it did; going on with this purchase does not help\n"
	case c.Journal != "":
		text += "  run the same command again to go on with it\n"
	case u.Order == counter.OrderUnknown:
		text += "  ask the shop before buying again; with --journal the same command could go on\n"
	}
	return text
}

// How much of an id and of other words of the shop is printed, in characters.
const (
	longestID    = 120
	longestWords = 400
)

// notAsked stands in the place of the action of an ending where nothing was asked of the shop, since its rules do not allow
// what is wished for.
const notAsked = "not asked"

// describeEnding says for a person how a checkout ended.
func describeEnding(ending shopper.Ending) string {
	switch ending.Action {
	case "Completed", "BuyerCompleted":
		var order struct {
			ID           string `json:"id"`
			PermalinkURL string `json:"permalink_url"`
		}
		if err := ending.Said.Decode(&order); err != nil {
			return "Order placed, but the shop's words for it are not understood: " + story.Short(ending.Said.String(), longestWords)
		}
		text := "Order " + story.Short(order.ID, longestID) + " placed"
		if order.ID == "" {
			text = "Order placed, to which the shop has given no id"
		}
		if ending.Action == "BuyerCompleted" {
			text += " at the shop"
		}
		if total, ok := ending.Bill.Total(); ok {
			text += ", " + story.Short(ending.Bill.Money(total), longestID)
		}
		if isWeb(order.PermalinkURL) {
			text += ": " + story.Short(order.PermalinkURL, longestWords)
		}
		return text
	case notAsked:
		return "Not asked of the shop: " + ending.Why + "."
	case "Expired":
		return "The checkout is over: the shop has given it up, or does not keep it any more."
	case "Cancelled":
		if ending.Why != "" {
			return "Cancelled: " + ending.Why + "."
		}
		return "Cancelled."
	default:
		if words, unasked := neverAsked(ending.Said); unasked {
			return "Not asked of the shop: " + story.Short(words, longestWords)
		}
		return "The shop " + strings.ToLower(ending.Action) + ": " + story.Short(wordsOf(ending.Said), longestWords) + byHand(ending.Said)
	}
}

// byHand tells where the buyer can go on by hand, if the shop says so with its reason (UCP 2026-04-08, checkout, error
// handling).
func byHand(reason enactment.Value) string {
	var said struct {
		ContinueURL string `json:"continue_url"`
	}
	if reason.Decode(&said) != nil || !isWeb(said.ContinueURL) {
		return ""
	}
	return "\nBy hand it goes on at " + story.Short(said.ContinueURL, shopper.LongestPage)
}

// isWeb tells that a text of the shop is the URL of a page, and nothing that a terminal would make something else of.
func isWeb(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && u.User == nil
}

// neverAsked tells whether a reason is the bridge's own, by which nothing was sent, and gives its words.
func neverAsked(reason enactment.Value) (string, bool) {
	var said struct{ Code, Message string }
	if reason.Decode(&said) != nil {
		return "", false
	}
	return said.Message, slices.Contains(unasked, said.Code)
}

// unasked are the codes of reasons that are the bridge's own.
var unasked = []string{
	"request_invalid", "payment_invalid", ucp.CodeInactive, ucp.CodeNotTaken,
	policy.CodeDisabled, policy.CodeNoSubject, policy.CodeInvalidArguments, policy.CodeNotApproved,
}

// wordsOf finds the sentence in a reason, whatever shape it has; the reason itself if there is none.
func wordsOf(reason enactment.Value) string {
	var sentence string
	if reason.Decode(&sentence) == nil {
		return sentence
	}
	var said struct {
		Message any    `json:"message"`
		Content string `json:"content"`
		Detail  any    `json:"detail"`
		Code    any    `json:"code"`
		State   string `json:"state"`
		Status  int    `json:"status"`
	}
	if reason.Decode(&said) != nil {
		return reason.String()
	}
	message, _ := said.Message.(string)
	detail, _ := said.Detail.(string)
	text := cmp.Or(message, said.Content, detail)
	if text == "" && said.State != "" {
		return "its checkout is " + said.State
	}
	if text == "" && said.Code == nil && said.Status != 0 {
		return fmt.Sprintf("it answered with status %d and no reason", said.Status)
	}
	if text == "" {
		return reason.String()
	}
	if code, ok := said.Code.(string); ok && code != "" {
		text += " (" + code + ")"
	}
	return text
}
