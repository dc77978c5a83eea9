package ucp

import (
	"encoding/json"
	"fmt"
	"maps"

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

// asked is the part of a create or update that the bridge reads. A member that is nil was omitted.
type asked struct {
	ID          *string         `json:"id"`
	Currency    *string         `json:"currency"`
	LineItems   json.RawMessage `json:"line_items"`
	Buyer       json.RawMessage `json:"buyer"`
	Fulfillment json.RawMessage `json:"fulfillment"`
	Discounts   json.RawMessage `json:"discounts"`
	Context     json.RawMessage `json:"context"`
}

// fulfillment is what the platform says of fulfillment. What the Business says in the same places (titles, options,
// prices) is left out, so that a platform may send back what it was shown without changing anything.
type fulfillment struct {
	Methods []map[string]json.RawMessage `json:"methods"`
}

// methodMembers are the members of a fulfillment method that are the platform's.
var methodMembers = []string{"id", "type", "line_item_ids", "destinations", "selected_destination_id", "groups"}

var null = enactment.MustValue(nil)

// readAsked reads the body of a create or update.
func readAsked(body enactment.Value) (asked, error) {
	var a asked
	if body.Equal(null) {
		return asked{}, invalid("$", "The body must be a checkout object.")
	}
	if err := readAs([]byte(body.String()), "$", &a); err != nil {
		return asked{}, err
	}
	return a, nil
}

// merge puts what was asked for over what there is. Omitted members are kept, null clears, and everything else
// replaces, but within a fulfillment method.
func (a asked) merge(before wish) (wish, error) {
	after := before
	if a.LineItems != nil {
		lines, err := mergeLines(a.LineItems, before.lineItems)
		if err != nil {
			return wish{}, err
		}
		after.lineItems = lines
	}
	if a.Buyer != nil {
		var buyer map[string]json.RawMessage
		if err := readAs(a.Buyer, "$.buyer", &buyer); err != nil {
			return wish{}, err
		}
		after.buyer = enactment.MustValue(a.Buyer)
	}
	if a.Fulfillment != nil {
		merged, err := mergeFulfillment(a.Fulfillment, before.fulfillment)
		if err != nil {
			return wish{}, err
		}
		after.fulfillment = merged
	}
	if a.Discounts != nil {
		codes, err := readCodes(a.Discounts)
		if err != nil {
			return wish{}, err
		}
		after.discounts = codes
	}
	if a.Context != nil {
		var context map[string]json.RawMessage
		if err := readAs(a.Context, "$.context", &context); err != nil {
			return wish{}, err
		}
		after.context = enactment.MustValue(a.Context)
	}
	return after, nil
}

// mergeLines reads line items and gives each an id: its own, else that of a line with the same item before, else a new
// one.
func mergeLines(raw json.RawMessage, before enactment.Value) (enactment.Value, error) {
	var lines, known []model.WishedLine
	if err := readAs(raw, "$.line_items", &lines); err != nil {
		return enactment.Value{}, err
	}
	if len(lines) == 0 {
		return enactment.Value{}, invalid("$.line_items", "line_items must not be empty.")
	}
	if err := before.Decode(&known); err != nil {
		return enactment.Value{}, fmt.Errorf("ucp: inbound: line_items of the enactment: %w", err)
	}
	taken := make(map[string]bool)
	for i, l := range lines {
		path := fmt.Sprintf("$.line_items[%d]", i)
		switch {
		case l.Item.ID == "":
			return enactment.Value{}, invalid(path+".item.id", "Each line needs an item with an id.")
		case l.Quantity < 1:
			return enactment.Value{}, invalid(path+".quantity", "The quantity must be a whole number of at least 1.")
		case l.ID != "" && taken[l.ID]:
			return enactment.Value{}, invalid(path+".id", "Two lines have the id %s.", l.ID)
		}
		taken[l.ID] = true
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
func mergeFulfillment(raw json.RawMessage, before enactment.Value) (enactment.Value, error) {
	if string(raw) == "null" {
		return null, nil
	}
	var wanted, known fulfillment
	if err := readAs(raw, "$.fulfillment", &wanted); err != nil {
		return enactment.Value{}, err
	}
	if err := before.Decode(&known); err != nil {
		return enactment.Value{}, fmt.Errorf("ucp: inbound: fulfillment of the enactment: %w", err)
	}
	for i, method := range wanted.Methods {
		merged := make(map[string]json.RawMessage)
		for _, old := range known.Methods {
			if sameMethod(method, old) {
				maps.Copy(merged, old)
				break
			}
		}
		for _, member := range methodMembers {
			if value, ok := method[member]; ok {
				merged[member] = value
			}
		}
		if groups, ok := merged["groups"]; ok {
			selected, err := readGroups(groups, fmt.Sprintf("$.fulfillment.methods[%d].groups", i))
			if err != nil {
				return enactment.Value{}, err
			}
			merged["groups"] = selected
		}
		if destinations, ok := merged["destinations"]; ok {
			var objects []map[string]json.RawMessage
			if err := readAs(destinations, fmt.Sprintf("$.fulfillment.methods[%d].destinations", i), &objects); err != nil {
				return enactment.Value{}, err
			}
		}
		wanted.Methods[i] = merged
	}
	value, err := enactment.ValueOf(wanted)
	if err != nil {
		return enactment.Value{}, invalid("$.fulfillment", "fulfillment is not sound JSON.")
	}
	return value, nil
}

func sameMethod(a, b map[string]json.RawMessage) bool {
	if id, ok := a["id"]; ok && b["id"] != nil {
		return string(id) == string(b["id"])
	}
	return a["type"] == nil || b["type"] == nil || string(a["type"]) == string(b["type"])
}

// readGroups keeps of fulfillment groups what the platform says: which option is selected in which group.
func readGroups(raw json.RawMessage, path string) (json.RawMessage, error) {
	var groups []struct {
		ID       json.RawMessage `json:"id,omitempty"`
		Selected json.RawMessage `json:"selected_option_id,omitempty"`
	}
	if err := readAs(raw, path, &groups); err != nil {
		return nil, err
	}
	return json.Marshal(groups)
}

// readCodes keeps of discounts the codes, which are the platform's; what was applied is the Business's.
func readCodes(raw json.RawMessage) (enactment.Value, error) {
	if string(raw) == "null" {
		return null, nil
	}
	var discounts struct {
		Codes []string `json:"codes"`
	}
	if err := readAs(raw, "$.discounts", &discounts); err != nil {
		return enactment.Value{}, err
	}
	return enactment.ValueOf(discounts)
}
