package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/strabo-engine/strabo/cmd/strabo/internal/counter"
	"github.com/strabo-engine/strabo/cmd/strabo/internal/shopper"
	"github.com/strabo-engine/strabo/cmd/strabo/internal/story"
	"github.com/strabo-engine/strabo/enactment"
)

// answer says how it ended. If it cannot be printed it is said all the same, on the other stream.
func (c *buyCommand) answer(
	s *streams, told *story.Story, following *following, ending shopper.Ending, unknown *counter.UnknownError,
) error {
	var err error
	said := ""
	if unknown == nil {
		said = describeEnding(ending)
	}
	switch {
	case c.JSON:
		if err = following.tell(told); err == nil && unknown != nil {
			encoder := json.NewEncoder(s.out)
			encoder.SetEscapeHTML(false)
			err = encoder.Encode(unknown)
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
	if unknown != nil || !placed(ending) {
		return errNo
	}
	return nil
}

// placed tells whether there is an order.
func placed(ending shopper.Ending) bool {
	return ending.Action == "Completed" || ending.Action == "BuyerCompleted"
}

// describeUnknown says for a person all that may help to find out what became of a purchase.
func (c *buyCommand) describeUnknown(u *counter.UnknownError) string {
	text := "strabo: nobody can tell whether there is an order: "
	if u.Order == counter.OrderNone {
		text = "strabo: no order: nothing was paid, but "
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
		if ending.Action == "BuyerCompleted" {
			text += " at the shop"
		}
		if total, ok := ending.Bill.Total(); ok {
			text += ", " + story.Short(ending.Bill.Money(total), longestID)
		}
		if order.PermalinkURL != "" {
			text += ": " + story.Short(order.PermalinkURL, longestWords)
		}
		return text
	case "Expired":
		return "The checkout has expired: the shop does not keep it any more."
	case "Cancelled":
		if ending.Why != "" {
			return "Cancelled: " + ending.Why + "."
		}
		return "Cancelled."
	default:
		if words, unasked := neverAsked(ending.Said); unasked {
			return "Not asked of the shop: " + story.Short(words, longestWords)
		}
		return "The shop " + strings.ToLower(ending.Action) + ": " + story.Short(wordsOf(ending.Said), longestWords)
	}
}

// neverAsked tells whether a reason is the bridge's own, by which nothing was sent, and gives its words.
func neverAsked(reason enactment.Value) (string, bool) {
	var said struct{ Code, Message string }
	if reason.Decode(&said) != nil {
		return "", false
	}
	return said.Message, said.Code == "request_invalid"
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
	if text == "" {
		return reason.String()
	}
	if code, ok := said.Code.(string); ok && code != "" {
		text += " (" + code + ")"
	}
	return text
}
