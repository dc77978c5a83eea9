package wire

import "strings"

// consentPrefix begins the names that the draft after 2026-04-08 has for purposes.
const consentPrefix = "dev.ucp.consent."

// draftPurposes are the purposes that the draft calls otherwise.
var draftPurposes = map[string]string{"sale_of_data": "sale_or_sharing"}

// raiseDraft makes the consents of the draft, {purpose: {granted, source, description, segments}}, those of 2026-04-08,
// {purpose: granted}. Consents of 2026-04-08 stay as they are. What else the draft has (types of destinations, actions,
// policies) is kept: readers pass over it.
func raiseDraft(message Object) {
	consent := object(object(message, "buyer"), "consent")
	for _, name := range sortedNames(consent) {
		purpose := object(consent, name)
		if purpose == nil {
			continue
		}
		delete(consent, name)
		granted, ok := purpose["granted"].(bool)
		if !ok {
			continue
		}
		plain := strings.TrimPrefix(name, consentPrefix)
		for old, drafted := range draftPurposes {
			if plain == drafted {
				plain = old
			}
		}
		if _, there := consent[plain]; !there {
			consent[plain] = granted
		}
	}
}

// lowerDraft is the way back, for requests: what a buyer has decided, and of what kind the destinations are that a
// platform writes.
func lowerDraft(request Object) {
	consent := object(object(request, "buyer"), "consent")
	for _, name := range sortedNames(consent) {
		granted, ok := consent[name].(bool)
		if !ok {
			continue
		}
		drafted := name
		if other, ok := draftPurposes[name]; ok {
			drafted = other
		}
		delete(consent, name)
		if !strings.Contains(drafted, ".") {
			drafted = consentPrefix + drafted
		}
		consent[drafted] = Object{"granted": granted, "source": "platform"}
	}
	for _, method := range objects(object(request, "fulfillment"), "methods") {
		for _, destination := range objects(method, "destinations") {
			if destination["type"] == nil && text(method, "type") != "pickup" {
				destination["type"] = "shipping_address"
			}
		}
	}
}
