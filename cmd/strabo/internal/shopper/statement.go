package shopper

import (
	"cmp"
	"encoding/json"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/enactment"
)

// statement is what a Business states of a checkout.
type statement struct {
	cid, rev   enactment.Value
	id         string
	messages   []ucp.Message
	bill       Bill
	unreadable bool
	discounts  stated
	checkout   struct {
		ContinueURL string `json:"continue_url"`
		AP2         struct {
			Checkout string `json:"checkout"`
		} `json:"ap2"`
		Fulfillment any             `json:"fulfillment"`
		Discounts   json.RawMessage `json:"discounts"`
		LineItems   []struct {
			ID   string `json:"id"`
			Item struct {
				ID string `json:"id"`
			} `json:"item"`
		} `json:"line_items"`
	}
}

// readStatement reads a statement. What has another shape than UCP's is not there, and what cannot be read is not gone on with.
func readStatement(o adapter.Observation) statement {
	var now statement
	now.cid, _ = o.Value("cid")
	now.rev, _ = o.Value("rev")
	for name, into := range map[string]any{
		"id": &now.id, "messages": &now.messages, "checkout": &now.checkout, "currency": &now.bill.Currency,
	} {
		if value, ok := o.Value(name); !ok || value.Decode(into) != nil {
			now.unreadable = true
		}
	}
	if value, ok := o.Value("totals"); !ok || value.Decode(&now.bill.Totals) != nil {
		now.bill.Totals = nil // The messages say so, where it matters.
	}
	if json.Unmarshal(now.checkout.Discounts, &now.discounts) != nil {
		now.discounts = stated{} // They are for show: what is paid is said by the totals.
	}
	return now
}

// warnings are what has to be shown.
func (now statement) warnings() (found []ucp.Message) {
	for _, m := range now.messages {
		if m.Type == "warning" {
			found = append(found, m)
		}
	}
	return found
}

// errors are the errors of a severity, or all if it is empty.
func (now statement) errors(severity string) []ucp.Message {
	return now.those(func(m ucp.Message) bool { return severity == "" || m.Severity == severity })
}

func (now statement) withCode(code string) []ucp.Message {
	return now.those(func(m ucp.Message) bool { return m.Code == code })
}

func (now statement) those(are func(ucp.Message) bool) []ucp.Message {
	var found []ucp.Message
	for _, m := range now.messages {
		if m.Type == "error" && are(m) {
			found = append(found, m)
		}
	}
	return found
}

// sentenceOf is what the first of some errors says.
func sentenceOf(errs []ucp.Message) string {
	if len(errs) == 0 {
		return "the shop does not say what is missing"
	}
	return cmp.Or(errs[0].Content, errs[0].Code)
}

// named gives the lines the ids that the shop has for them, where there is no doubt which is which.
func (now statement) named(lines any) any {
	listed, ok := lines.([]any)
	if !ok {
		return lines
	}
	named := make([]any, len(listed))
	for i, element := range listed {
		named[i] = element
		line, ok := element.(map[string]any)
		item, _ := line["item"].(map[string]any)
		var ids []string
		for _, l := range now.checkout.LineItems {
			if id, _ := item["id"].(string); ok && l.Item.ID == id && l.ID != "" {
				ids = append(ids, l.ID)
			}
		}
		if len(ids) == 1 {
			named[i] = map[string]any{"id": ids[0], "item": item, "quantity": line["quantity"]}
		}
	}
	return named
}

// wordsOf finds the sentence in a reason or notice.
func wordsOf(reason enactment.Value) string {
	var said struct {
		Message any    `json:"message"`
		Code    any    `json:"code"`
		State   string `json:"state"`
	}
	if reason.Decode(&said) != nil {
		return reason.String()
	}
	for _, words := range []any{said.Message, said.Code} {
		if text, ok := words.(string); ok && text != "" {
			return text
		}
	}
	return cmp.Or(said.State, reason.String())
}
