package ucp

import (
	"fmt"
	"slices"

	"github.com/strabo-engine/strabo/langshaw"
)

// inboundActions are the actions of SimpleUCP that the bridge attempts and observes, with what it reads from them.
var inboundActions = []struct {
	role, action string
	carries      []string
}{
	{"Platform", "Create", []string{"cid", "line_items", "buyer", "fulfillment"}},
	{"Business", "Created", []string{"cid", "Create", "id", "currency", "totals"}},
	{"Business", "Refused", []string{"cid", "Create", "reason"}},
	{"Platform", "Complete", []string{"cid", "Created", "totals", "payment"}},
	{"Platform", "Cancel", []string{"cid", "Created"}},
	{"Business", "Completed", []string{"cid", "Complete", "order"}},
	{"Business", "Declined", []string{"cid", "Complete", "decline"}},
	{"Business", "Cancelled", []string{"cid", "Cancel"}},
}

// checkInboundProtocol says what a protocol lacks to be played by the inbound bridge. It may have more.
func checkInboundProtocol(protocol *langshaw.Protocol) error {
	if !slices.Equal(slices.Collect(protocol.RootKey()), []string{"cid"}) {
		return fmt.Errorf("ucp: inbound: protocol %s is not keyed by cid", protocol.Name())
	}
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
