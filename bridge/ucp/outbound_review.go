package ucp

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/strabo-engine/strabo/bridge/ucp/wire"
)

// The severities of an error (UCP 2026-04-08, types/message_error.json): who can do something about it, and how.
const (
	SeverityRecoverable = "recoverable"           // the platform, by an update
	SeverityBuyerInput  = "requires_buyer_input"  // the buyer at the shop: something is missing
	SeverityBuyerReview = "requires_buyer_review" // the buyer at the shop: nothing is missing, but they have to agree
	SeverityFinal       = "unrecoverable"         // nobody, in this checkout
)

// Codes of the errors that are added to what a shop says.
const (
	CodeTotalsMismatch     = "totals_mismatch"      // the totals do not add up
	CodeContentsDiffer     = "contents_differ"      // it contains what nobody has asked for
	CodeCurrencyDiffers    = "currency_differs"     // it is in another currency than was asked for
	CodeDisclosureNotShown = "disclosure_not_shown" // the platform cannot show what has to be shown
	CodeEscalation         = "escalation_required"  // the shop asks for the buyer and does not say why
	CodeTotalDiffers       = "total_differs"        // it was completed for another sum than was agreed to
	CodeRevisionsExceeded  = "revisions_exceeded"   // the checkout has been stated anew too often to go on with it
	CodeStatusUnknown      = "status_unknown"       // the status is none of a checkout that could be paid
)

// review is the hook review: it reads what a shop says of a checkout, {"checkout", "asked": {"line_items", "currency"},
// "discloses", "images", "after", "answers"}, all of the model of package wire, and gives {"messages", "checkout", "declined"}: the messages
// with an error for whatever forbids an autonomous completion (UCP 2026-04-08, checkout, totals and warnings), and what is
// left of the checkout beside messages, id, currency and totals. Declined tells that the shop has refused a payment and
// would take another. Answers is the revision that the statement follows.
func review(_ context.Context, input any) (any, error) {
	given, _ := input.(map[string]any)
	checkout, _ := given["checkout"].(map[string]any)
	messages, _ := checkout["messages"].([]any)
	messages = slices.Clone(messages)
	if messages == nil {
		messages = []any{}
	}
	fault := func(code, path, format string, arguments ...any) {
		messages = append(messages, map[string]any{
			"type": "error", "code": code, "path": path, "severity": SeverityBuyerReview, "content": fmt.Sprintf(format, arguments...),
		})
	}
	totals, _ := checkout["totals"].([]any)
	if err := wire.CheckTotals(totals); err != nil {
		fault(CodeTotalsMismatch, "$.totals", "%s.", strings.TrimPrefix(err.Error(), "ucp: "))
	}
	if err := compare(given["asked"], checkout); err != nil {
		fault(err.code, "$.line_items", "%s", err.message)
	}
	shows, _ := given["discloses"].(bool)
	images, _ := given["images"].(bool)
	if slices.ContainsFunc(messages, func(message any) bool { return !canShow(message, shows, images) }) {
		fault(CodeDisclosureNotShown, "$.messages", "Something has to be shown to the buyer before the checkout may be completed.")
	}
	status, _ := checkout["status"].(string)
	switch status {
	case "incomplete", "ready_for_complete":
	case "requires_escalation":
		if !slices.ContainsFunc(messages, isEscalation) && !slices.ContainsFunc(messages, isFinal) {
			fault(CodeEscalation, "$.status", "The shop asks for the buyer.")
		}
	default:
		fault(CodeStatusUnknown, "$.status", "The status of the checkout is %s.", shortly(status))
	}
	if quantityOf(given["answers"]) >= mostRevisions {
		messages = append(messages, map[string]any{
			"type": "error", "code": CodeRevisionsExceeded, "severity": SeverityFinal,
			"content": "The checkout has changed too often.",
		})
	}
	rest := maps.Clone(checkout)
	for _, stated := range []string{"id", "currency", "totals", "messages"} {
		delete(rest, stated)
	}
	declined := given["after"] == "declined" && status == "ready_for_complete"
	return map[string]any{"messages": messages, "checkout": rest, "declined": declined}, nil
}

// mostRevisions is how many revisions a checkout may have and still be gone on with. A shop that says something else whenever
// it is looked at would have a platform hand off for ever, and all of it is kept.
const mostRevisions = 100

// canShow tells whether a message can be shown as it has to be, by a platform that shows disclosures, or their pictures too
// (UCP 2026-04-08, checkout, disclosure: a picture has to be rendered, and who cannot do so escalates).
func canShow(message any, shows, images bool) bool {
	members, _ := message.(map[string]any)
	if members["type"] != "warning" || members["presentation"] != "disclosure" {
		return true
	}
	picture, _ := members["image_url"].(string)
	return shows && (images || picture == "")
}

// isEscalation tells that a message asks for the buyer.
func isEscalation(message any) bool {
	members, _ := message.(map[string]any)
	return members["type"] == "error" && (members["severity"] == SeverityBuyerInput || members["severity"] == SeverityBuyerReview)
}

// isFinal tells that a message says that nothing can be done.
func isFinal(message any) bool {
	members, _ := message.(map[string]any)
	return members["type"] == "error" && members["severity"] == SeverityFinal
}
