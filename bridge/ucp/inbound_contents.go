package ucp

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/strabo-engine/strabo/bridge/ucp/internal/read"
	"github.com/strabo-engine/strabo/bridge/ucp/model"
	"github.com/strabo-engine/strabo/enactment"
)

// wish is what a platform asks for, as Create and Update bind it. Values that were not given are null.
type wish struct{ lineItems, buyer, fulfillment, discounts, instruments, context enactment.Value }

var nothing = wish{null, null, null, null, null, null}

// wishOf reads what a Create or an Update has bound.
func wishOf(asked *enactment.Instance) wish {
	value := func(name string) enactment.Value {
		if v, ok := asked.Value(name); ok {
			return v
		}
		return null
	}
	return wish{
		value("line_items"), value("buyer"), value("fulfillment"), value("discounts"), value("instruments"), value("context"),
	}
}

func (c wish) bind(values enactment.Values) enactment.Values {
	values["line_items"], values["buyer"], values["fulfillment"] = c.lineItems, c.buyer, c.fulfillment
	values["discounts"], values["instruments"], values["context"] = c.discounts, c.instruments, c.context
	return values
}

// asked is what the bridge reads of the body of a create or update, by name; what was omitted is not in it.
type asked enactment.Values

// shippingMethod is what a platform says of one way of fulfillment. What the Business says in the same places (titles,
// options, prices) is left out, so that a platform may send back what it was shown without changing anything.
type shippingMethod struct {
	ID           *string             `json:"id,omitempty"`
	Type         *string             `json:"type,omitempty"`
	LineItemIDs  []string            `json:"line_item_ids,omitempty"`
	Destinations []model.Destination `json:"destinations,omitempty"`
	Selected     *string             `json:"selected_destination_id,omitempty"`
	Groups       []shippingGroup     `json:"groups,omitempty"`
}

type shippingGroup struct {
	ID       *string `json:"id,omitempty"`
	Selected *string `json:"selected_option_id,omitempty"`
}

type shipping struct {
	Methods []shippingMethod `json:"methods"`
}

var null = enactment.MustValue(nil)

// How many of a kind a checkout may have. What a person wants is far below, and what the shop has to say to each is to
// fit into one answer.
const (
	mostLines        = 500
	mostDestinations = 100
	mostCodes        = 100
)

// readAsked reads the body of a create or update.
func readAsked(body []byte) (asked, error) {
	if trimmed := bytes.TrimLeft(body, " \t\r\n"); len(trimmed) == 0 || trimmed[0] != '{' {
		if _, err := parse(body); err != nil {
			return nil, err
		}
		return nil, invalid("$", "The body must be a checkout object.")
	}
	values, err := enactment.ParseValues(body)
	if err != nil {
		return nil, unsound()
	}
	return asked(values), nil
}

// id gives the id of the checkout that the body says it is about, if it says so.
func (a asked) id() (string, error) {
	value, ok := a["id"]
	if !ok || value.Equal(null) {
		return "", nil
	}
	var id string
	return id, readAs(value, "$.id", &id)
}

// currency gives the one that the body says prices are in, empty where it says none. The schema of 2026-01-11 demands it;
// since 2026-01-23 it is a hint of the context.
func (a asked) currency() (string, error) {
	value, ok := a["currency"]
	if !ok {
		return "", nil
	}
	var currency string
	return currency, readAs(value, "$.currency", &currency)
}

// otherCurrency warns a platform that has named another currency than the checkout is in: which one it is in is the
// business's to say (UCP 2026-01-23 and later, checkout, currency), but nobody should have to find out by looking closely.
func otherCurrency(wanted string, standing *model.Standing) []Message {
	if wanted == "" || standing.Statement == nil {
		return nil
	}
	var currency string
	if value, ok := standing.Statement.Value("currency"); !ok || read.Into(value, "currency", &currency) != nil || strings.EqualFold(wanted, currency) {
		return nil
	}
	return []Message{{
		Type: "warning", Code: "currency_not_available", Path: "$.currency",
		Content: "The prices are in " + currency + ", which is not the currency that was asked for.",
	}}
}

// merge puts what was asked for over what there is. Omitted members are kept, null clears, and everything else
// replaces, but within a fulfillment method.
func (a asked) merge(before wish) (wish, error) {
	after := before
	var err error
	if value, ok := a["line_items"]; ok {
		if after.lineItems, err = mergeLines(value, before.lineItems); err != nil {
			return wish{}, err
		}
	}
	if value, ok := a["buyer"]; ok {
		if after.buyer, err = readBuyer(value); err != nil {
			return wish{}, err
		}
	}
	if value, ok := a["context"]; ok {
		if after.context, err = readContext(value); err != nil {
			return wish{}, err
		}
	}
	if value, ok := a["fulfillment"]; ok {
		if after.fulfillment, err = mergeFulfillment(value, before.fulfillment); err != nil {
			return wish{}, err
		}
	}
	if value, ok := a["discounts"]; ok {
		if after.discounts, err = readCodes(value); err != nil {
			return wish{}, err
		}
	}
	return after, nil
}

// mergeLines reads line items and gives each an id: its own, else that of a line with the same item before, else a new
// one.
func mergeLines(asked, before enactment.Value) (enactment.Value, error) {
	var lines, known []model.WishedLine
	if err := readAs(asked, "$.line_items", &lines); err != nil {
		return enactment.Value{}, err
	}
	switch {
	case len(lines) == 0:
		return enactment.Value{}, invalid("$.line_items", "line_items must not be empty.")
	case len(lines) > mostLines:
		return enactment.Value{}, invalid("$.line_items", "There are more than %d line_items.", mostLines)
	}
	if err := read.Into(before, "line_items", &known); err != nil {
		return enactment.Value{}, fmt.Errorf("ucp: inbound: line_items of the enactment: %w", err)
	}
	taken := make(map[string]bool)
	for i, l := range lines {
		path := func(member string) string { return fmt.Sprintf("$.line_items[%d]%s", i, member) }
		switch {
		case l.Item.ID == "":
			return enactment.Value{}, invalid(path(".item.id"), "Each line needs an item with an id.")
		case l.Quantity < 1:
			return enactment.Value{}, invalid(path(".quantity"), "The quantity must be a whole number of at least 1.")
		case l.ID != "" && taken[l.ID]:
			return enactment.Value{}, invalid(path(".id"), "Two lines have the id %s.", l.ID)
		}
		taken[l.ID] = true
	}
	if err := checkParents(lines, taken); err != nil {
		return enactment.Value{}, err
	}
	next := 1
	for i := range lines {
		l := &lines[i]
		for _, k := range known {
			if l.ID == "" && k.Item.ID == l.Item.ID && !taken[k.ID] {
				l.ID = k.ID
			}
		}
		for ; l.ID == ""; next++ {
			if id := fmt.Sprintf("li_%d", next); !taken[id] && !usedBefore(known, id) {
				l.ID = id
			}
		}
		taken[l.ID] = true
	}
	return enactment.MustValue(lines), nil
}

// checkParents refuses a line that is below a line that is not there, or in the end below itself: nobody could lay such
// lines out. Given are the lines and the ids that they have.
func checkParents(lines []model.WishedLine, taken map[string]bool) error {
	if !slices.ContainsFunc(lines, func(l model.WishedLine) bool { return l.ParentID != "" }) {
		return nil
	}
	parents := make(map[string]string, len(lines))
	for i, l := range lines {
		if l.ParentID != "" && (l.ParentID == l.ID || !taken[l.ParentID]) {
			return invalid(fmt.Sprintf("$.line_items[%d].parent_id", i), "There is no other line %s.", l.ParentID)
		}
		if l.ID != "" {
			parents[l.ID] = l.ParentID
		}
	}
	for i, l := range lines {
		above := l.ParentID
		for steps := 0; above != "" && steps < len(lines); steps++ {
			above = parents[above]
		}
		if above != "" {
			return invalid(fmt.Sprintf("$.line_items[%d].parent_id", i), "The line %s is below itself, or below lines that are.", cmp.Or(l.ID, l.Item.ID))
		}
	}
	return nil
}

func usedBefore(known []model.WishedLine, id string) bool {
	for _, k := range known {
		if k.ID == id {
			return true
		}
	}
	return false
}

// mergeFulfillment reads fulfillment and keeps, in each method, the members that the platform omits. A method is the
// one before it with the same id or, where it has no id, the one of the same type.
func mergeFulfillment(asked, before enactment.Value) (enactment.Value, error) {
	if asked.Equal(null) {
		return null, nil
	}
	var wanted, known shipping
	if err := readAs(asked, "$.fulfillment", &wanted); err != nil {
		return enactment.Value{}, err
	}
	if err := read.Into(before, "fulfillment", &known); err != nil {
		return enactment.Value{}, fmt.Errorf("ucp: inbound: fulfillment of the enactment: %w", err)
	}
	if wanted.Methods == nil {
		wanted.Methods = []shippingMethod{}
	}
	for i := range wanted.Methods {
		if err := checkDestinations(wanted.Methods[i].Destinations, i); err != nil {
			return enactment.Value{}, err
		}
		for _, old := range known.Methods {
			if wanted.Methods[i].like(old) {
				wanted.Methods[i].keep(old)
				break
			}
		}
	}
	return enactment.ValueOf(wanted)
}

// checkDestinations refuses two destinations of one id, for nobody could say which of them is selected.
func checkDestinations(destinations []model.Destination, method int) error {
	path := func(member string) string {
		return fmt.Sprintf("$.fulfillment.methods[%d].destinations%s", method, member)
	}
	if len(destinations) > mostDestinations {
		return invalid(path(""), "There are more than %d destinations.", mostDestinations)
	}
	for i, d := range destinations {
		if d.ID != "" && slices.ContainsFunc(destinations[:i], func(other model.Destination) bool { return other.ID == d.ID }) {
			return invalid(path(fmt.Sprintf("[%d].id", i)), "Two destinations have the id %s.", d.ID)
		}
	}
	return nil
}

// like tells whether two methods are the same one.
func (m *shippingMethod) like(old shippingMethod) bool {
	if m.ID != nil && old.ID != nil {
		return *m.ID == *old.ID
	}
	return m.Type == nil || old.Type == nil || *m.Type == *old.Type
}

// keep keeps what was said before and is not said now.
func (m *shippingMethod) keep(old shippingMethod) {
	m.ID, m.Type = cmp.Or(m.ID, old.ID), cmp.Or(m.Type, old.Type)
	m.Selected = cmp.Or(m.Selected, old.Selected)
	if m.LineItemIDs == nil {
		m.LineItemIDs = old.LineItemIDs
	}
	if m.Destinations == nil {
		m.Destinations = old.Destinations
	}
	if m.Groups == nil {
		m.Groups = old.Groups
	}
}

// readCodes keeps of discounts the codes, which are the platform's; what was applied is the Business's.
func readCodes(asked enactment.Value) (enactment.Value, error) {
	if asked.Equal(null) {
		return null, nil
	}
	var discounts struct {
		Codes []string `json:"codes"`
	}
	if err := readAs(asked, "$.discounts", &discounts); err != nil {
		return enactment.Value{}, err
	}
	if len(discounts.Codes) > mostCodes {
		return enactment.Value{}, invalid("$.discounts.codes", "There are more than %d codes.", mostCodes)
	}
	if discounts.Codes == nil {
		discounts.Codes = []string{}
	}
	return enactment.ValueOf(discounts)
}
