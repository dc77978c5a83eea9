package ucp

import (
	"fmt"

	"github.com/strabo-engine/strabo/langshaw"
)

// inboundActions are the actions of ucp-incremental that the bridge attempts and reads, with what it needs of them.
var inboundActions = []struct {
	role, action string
	carries      []string
}{
	{"Platform", "Create", []string{"cid", "rev", "profile", "line_items", "buyer", "fulfillment", "discounts", "instruments", "context"}},
	{"Business", "Refused", []string{"cid", "reason"}},
	{"Business", "Offered", []string{"cid", "rev", "id", "checkout", "messages", "currency", "totals"}},
	{"Business", "NeedsInput", []string{"cid", "rev", "id", "checkout", "messages", "currency", "totals"}},
	{"Platform", "Update", []string{"cid", "rev", "cause", "line_items", "buyer", "fulfillment", "discounts", "instruments", "context"}},
	{"Business", "Rejected", []string{"cid", "rev", "notice"}},
	{"Platform", "Complete", []string{"cid", "rev", "currency", "totals", "cause", "credential"}},
	{"Business", "Completed", []string{"cid", "rev", "order"}},
	{"Business", "Declined", []string{"cid", "rev", "notice"}},
	{"Platform", "Cancel", []string{"cid", "id", "seen"}},
	{"Business", "Cancelled", []string{"cid"}},
}

// checkInboundProtocol says what a protocol lacks to be played by the inbound bridge. It may have more.
func checkInboundProtocol(protocol *langshaw.Protocol) error {
	for _, needed := range inboundActions {
		action, ok := protocol.Action(needed.action)
		if !ok || action.Role() != needed.role {
			return fmt.Errorf("ucp: inbound: protocol %s has no action %s of %s", protocol.Name(), needed.action, needed.role)
		}
		for _, attribute := range needed.carries {
			if !action.Carries(attribute) {
				return fmt.Errorf("ucp: inbound: action %s of %s does not carry %s", needed.action, protocol.Name(), attribute)
			}
		}
	}
	return nil
}
