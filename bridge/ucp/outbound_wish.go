package ucp

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/strabo-engine/strabo/bridge/ucp/model"
)

// Wish is the value of the attribute fulfillment that an outbound bridge understands, as a JSON object; null means that
// nothing is to be delivered, as with digital goods. For example
//
//	{"destination": {"street_address": "9 New Rd", "address_locality": "Austin", "address_region": "TX",
//	                 "postal_code": "73301", "address_country": "US"},
//	 "option": {"title": "Express Shipping (US)"}}
//
// A fulfillment object of the wire, {"methods": [...]}, is understood too, as far as it says the same; ids in it that
// the shop has not given are not passed on.
type Wish struct {
	// Type is the way of delivery, "shipping" if it is empty.
	Type string `json:"type"`
	// Destination is where to deliver; it needs no id. A shop that has the address already is asked to use what it has.
	Destination *model.Destination `json:"destination"`
	// DestinationID is one of the destinations that the shop keeps for the buyer. Without it and without Destination,
	// [Choices] says which.
	DestinationID string `json:"destination_id"`
	// Option is which option to take: "cheapest", which is also what null means, {"id": ...} or {"title": ...}.
	Option OptionWish `json:"option"`
}

// OptionWish names a shipping option; the zero value is the cheapest.
type OptionWish struct{ ID, Title string }

// MarshalJSON writes what [OptionWish.UnmarshalJSON] reads.
func (o OptionWish) MarshalJSON() ([]byte, error) {
	switch {
	case o.ID != "":
		return json.Marshal(map[string]string{"id": o.ID})
	case o.Title != "":
		return json.Marshal(map[string]string{"title": o.Title})
	default:
		return []byte(`"cheapest"`), nil
	}
}

// UnmarshalJSON reads "cheapest", null, {"id": ...} or {"title": ...}.
func (o *OptionWish) UnmarshalJSON(text []byte) error {
	var named struct{ ID, Title string }
	var word string
	switch {
	case json.Unmarshal(text, &word) == nil:
		if word != "" && word != "cheapest" {
			return fmt.Errorf("the option %q is not known: cheapest, {\"id\"} or {\"title\"}", word)
		}
		*o = OptionWish{}
		return nil
	case json.Unmarshal(text, &named) == nil && (named.ID == "") != (named.Title == ""):
		*o = OptionWish(named)
		return nil
	default:
		return fmt.Errorf("an option is cheapest, {\"id\": ...} or {\"title\": ...}")
	}
}

// UnmarshalJSON reads both forms of a wish.
func (w *Wish) UnmarshalJSON(text []byte) error {
	type plain Wish
	both := struct {
		*plain
		Destination *wishedDestination `json:"destination"`
		Methods     []struct {
			model.Method
			Destinations []wishedDestination `json:"destinations"`
		} `json:"methods"`
	}{plain: (*plain)(w)}
	if err := json.Unmarshal(text, &both); err != nil {
		return err
	}
	w.Destination = both.Destination.address()
	if len(both.Methods) == 0 {
		return nil
	}
	method := both.Methods[0]
	w.Type = method.Type
	for _, d := range method.Destinations {
		if len(method.Destinations) == 1 || d.ID == method.SelectedDestination {
			w.Destination = d.address()
		}
	}
	if w.Destination == nil {
		w.DestinationID = method.SelectedDestination
	}
	for _, g := range method.Groups {
		w.Option.ID = cmp.Or(w.Option.ID, g.SelectedOption)
	}
	return nil
}

// wishedDestination is an address with the names of the specification or with city and region.
type wishedDestination struct {
	model.Destination
	City   string `json:"city"`
	Region string `json:"region"`
}

// address is the address without an id, which is the shop's to give; nil for none.
func (d *wishedDestination) address() *model.Destination {
	if d == nil {
		return nil
	}
	address := d.Destination
	address.ID = ""
	address.AddressLocality = cmp.Or(address.AddressLocality, d.City)
	address.AddressRegion = cmp.Or(address.AddressRegion, d.Region)
	return &address
}
