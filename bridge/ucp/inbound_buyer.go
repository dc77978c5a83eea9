package ucp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/strabo-engine/strabo/bridge/ucp/mandate"
	"github.com/strabo-engine/strabo/enactment"
)

// buyerTexts are the members of a buyer that are texts (UCP 2026-04-08, types/buyer).
var buyerTexts = []string{"first_name", "last_name", "full_name", "email", "phone_number"}

// readBuyer reads who buys. It is shown again in every answer, so it has to have the form of the schema, and one that can be
// signed; members that are null are nothing, and those that are not known are kept.
func readBuyer(asked enactment.Value) (enactment.Value, error) {
	const path = "$.buyer"
	members, err := readMembers(asked, path)
	if members == nil || err != nil {
		return null, err
	}
	for name, text := range members {
		at := path + "." + name
		switch {
		case slices.Contains(buyerTexts, name) && text[0] != '"':
			return enactment.Value{}, invalid(at, "%s must be a string.", at)
		case name == "consent":
			if members[name], err = readConsent(text, at); err != nil {
				return enactment.Value{}, err
			}
		case !slices.Contains(buyerTexts, name):
			if _, err := mandate.Canonical([]byte(`{"extra":` + string(text) + `}`)); err != nil {
				return enactment.Value{}, invalid(at, "%s has a number that is too large.", at) // Nothing else is left (RFC 8785).
			}
		}
	}
	if !strings.Contains(asked.String(), "null") {
		return asked, nil
	}
	return enactment.ValueOf(members)
}

// readConsent reads what the buyer has consented to, purpose by purpose (UCP 2026-04-08, buyer consent).
func readConsent(asked json.RawMessage, path string) (json.RawMessage, error) {
	value, err := enactment.ParseValue(asked)
	if err != nil {
		return nil, fmt.Errorf("ucp: inbound: %w", err)
	}
	purposes, err := readMembers(value, path)
	if err != nil {
		return nil, err
	}
	for name, granted := range purposes {
		if said := string(granted); said != "true" && said != "false" {
			return nil, invalid(path+"."+name, "%s must be true or false.", path+"."+name)
		}
	}
	return json.Marshal(purposes)
}

// readContext reads hints of the buyer's surroundings. Which they are is the platform's to say, and claims that nobody knows
// are no mistake, but they are texts (UCP 2026-04-08, types/context).
func readContext(asked enactment.Value) (enactment.Value, error) {
	members, err := readMembers(asked, "$.context")
	if members == nil || err != nil {
		return null, err
	}
	var hints struct {
		Country     string   `json:"address_country"`
		Region      string   `json:"address_region"`
		PostalCode  string   `json:"postal_code"`
		Intent      string   `json:"intent"`
		Language    string   `json:"language"`
		Currency    string   `json:"currency"`
		Eligibility []string `json:"eligibility"`
	}
	if err := readAs(asked, "$.context", &hints); err != nil {
		return enactment.Value{}, err
	}
	if len(hints.Eligibility) > mostCodes {
		return enactment.Value{}, invalid("$.context.eligibility", "There are more than %d claims.", mostCodes)
	}
	return asked, nil
}

// readMembers gives the members of an object that are not null, each without white space around it; nil where there is no
// object.
func readMembers(asked enactment.Value, path string) (map[string]json.RawMessage, error) {
	var members map[string]json.RawMessage
	if err := readAs(asked, path, &members); err != nil {
		return nil, err
	}
	for name, text := range members {
		if members[name] = bytes.TrimSpace(text); len(members[name]) == 0 {
			delete(members, name)
		}
	}
	return members, nil
}
