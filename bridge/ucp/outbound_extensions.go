package ucp

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/strabo-engine/strabo/bridge/ucp/wire"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/protocols"
)

// extension is an extension of checkouts of which a platform can ask something.
type extension struct {
	capability string
	// member has what is asked of it, in a request and, by the same name, in an action.
	member string
	// guard names the predicate that nothing is asked of it; what says of what it is, for a person.
	guard, what string
	// asks tells whether the member, which is not null, asks for anything.
	asks func(member any) bool
}

// extensions are those of UCP that a platform's wishes may belong to. A mandate (ap2) is none: it is a proof that comes with
// a payment, and a shop that does not want it passes it over.
var extensions = []extension{
	{fulfillmentCapability, "fulfillment", "no-fulfillment", "delivery", func(member any) bool {
		asked, ok := member.(map[string]any)
		methods, listed := asked["methods"].([]any)
		return !ok || !listed || len(methods) > 0 // An empty object is the wish to have it delivered somehow.
	}},
	{discountCapability, "discounts", "no-discounts", "discount codes", func(member any) bool {
		asked, ok := member.(map[string]any)
		codes, listed := asked["codes"].([]any)
		return !ok || len(codes) > 0 || !listed && asked["codes"] != nil
	}},
	{consentCapability, "buyer", "no-consent", "the buyer's consent", func(member any) bool {
		buyer, _ := member.(map[string]any)
		consent, ok := buyer["consent"].(map[string]any)
		return len(consent) > 0 || !ok && buyer["consent"] != nil
	}},
}

// wants tells whether a request, or the values of an action, ask for something of the extension.
func (e extension) wants(asked wire.Object) bool {
	member := asked[e.member]
	return member != nil && e.asks(member)
}

// InactiveError says that something was asked for that belongs to an extension which is not active with a shop. Nothing
// was sent: the shop would have passed it over.
type InactiveError struct {
	// Capability is the extension, such as dev.ucp.shopping.discount, and What is what was asked for, for a person.
	Capability, What string
}

// Error says it.
func (e *InactiveError) Error() string {
	return fmt.Sprintf("%s cannot be asked for at this shop: %s is not active", e.What, e.Capability)
}

// Check tells whether what is asked for belongs to what is active with the shop: the members fulfillment, discounts and
// buyer of a request, or of the values of an action, each as encoding/json decodes it or not there. The error is an
// [*InactiveError]. Of a business that was not discovered nothing is known, and all may be asked.
func (b *Business) Check(asked map[string]any) error {
	for _, e := range extensions {
		if !b.Active(e.capability) && e.wants(asked) {
			return &InactiveError{e.capability, e.what}
		}
	}
	return nil
}

// Rules loads a protocol of UCP, such as ucp-incremental, as it holds with this shop: with a guard for each extension that
// is not active (UCP 2026-04-08, overview, negotiation), by which an action that asks for something of it is refused. So an
// agent of the platform is told with [enactment.GuardRefused], and the name and detail of the guard, before anything has
// happened, and no revision is spent on it. The guards are named no-fulfillment, no-discounts and no-consent, and say the
// same as [Business.Check]; like all guards they are part of the hash. An agent that looks first asks [Business.Active].
func (b *Business) Rules(protocol string, options ...enactment.Option) (*enactment.Rules, error) {
	plain, err := protocols.Load(protocol)
	if err != nil {
		return nil, fmt.Errorf("ucp: %w", err)
	}
	var guards []enactment.Guard
	for _, e := range extensions {
		if b.Active(e.capability) {
			continue
		}
		for action := range plain.Protocol().Actions() {
			if action.Role() == platformRole && action.Carries(e.member) {
				guards = append(guards, e.guardOf(action.Name()))
			}
		}
	}
	rules, err := protocols.Load(protocol, append(options, enactment.WithGuards(guards...))...)
	if err != nil {
		return nil, fmt.Errorf("ucp: %w", err)
	}
	return rules, nil
}

// platformRole is the role of those who shop, in every protocol of UCP.
const platformRole = "Platform"

// guardOf makes the guard that an action asks for nothing of the extension.
func (e extension) guardOf(action string) enactment.Guard {
	return enactment.Guard{
		Name: e.guard, Action: action, Detail: (&InactiveError{e.capability, e.what}).Error(),
		Allow: func(_ enactment.View, candidate enactment.Instance) bool {
			value, _ := candidate.Value(e.member)
			var member any
			return value.Decode(&member) == nil && !e.wants(wire.Object{e.member: member})
		},
	}
}

// asksActive is the hook extensions: it tells whether what is asked for, {"asked": {"fulfillment", "discounts", "buyer"}, "active"},
// belongs to what is active by the setting of that name. What does not gives a [bridge.NoChoice].
func asksActive(_ context.Context, input any) (any, error) {
	text, err := json.Marshal(input)
	if err != nil {
		return nil, err
	}
	var given struct {
		Asked  map[string]any  `json:"asked"`
		Active map[string]bool `json:"active"`
	}
	if err := json.Unmarshal(text, &given); err != nil {
		return nil, unfit(CodeInactive, "what is asked for cannot be read: %v", err)
	}
	for _, e := range extensions {
		if !given.Active[activeNames[e.capability]] && e.wants(given.Asked) {
			return nil, unfit(CodeInactive, "%s", &InactiveError{e.capability, e.what})
		}
	}
	return "all", nil
}

// CodeInactive is the code of the reason or notice by which a wish is refused that belongs to an extension which is not
// active with the shop. Nothing has been asked of the shop then.
const CodeInactive = "extension_not_active"

// activeNames are the names that capabilities have in the setting active of mappings.
var activeNames = map[string]string{
	discountCapability: "discount", fulfillmentCapability: "fulfillment", consentCapability: "consent", orderCapability: "order",
}

// active gives the setting that mappings of UCP may ask for: which extensions of checkouts may be used, and whether orders
// may be asked for.
func (b *Business) active() map[string]any {
	active := make(map[string]any, len(activeNames))
	for capability, name := range maps.All(activeNames) {
		active[name] = b.Active(capability)
	}
	return active
}
