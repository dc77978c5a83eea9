package ucp

import (
	"context"
	"errors"
	"slices"

	"github.com/strabo-engine/strabo/bridge"
	"github.com/strabo-engine/strabo/bridge/ucp/mandate"
	"github.com/strabo-engine/strabo/bridge/ucp/wire"
	"github.com/strabo-engine/strabo/enactment"
)

// TakesMandates tells whether a shop and a platform that makes mandates have dev.ucp.shopping.ap2_mandate in common, so
// that every purchase has to be made under it: see [OutboundOptions.Mandates]. Of a business that was not discovered
// nothing is known.
func (b *Business) TakesMandates() bool {
	if b.Profile == nil {
		return false
	}
	a, err := agreementWith(b.Release, b.Profile, true)
	return err == nil && a.Has(mandate.Extension)
}

// mandatesFit tells whether an agent can make mandates in a protocol: it has to see what was signed before it pays.
func mandatesFit(rules *enactment.Rules) bool {
	for name, attribute := range map[string]string{"Offered": "checkout", "Complete": "credential"} {
		if action, ok := rules.Protocol().Action(name); !ok || !action.Carries(attribute) {
			return false
		}
	}
	return true
}

// mandated is the hook payment where mandates are active: nothing is paid without one.
func mandated(payment bridge.Hook) bridge.Hook {
	return func(ctx context.Context, input any) (any, error) {
		body, err := payment(ctx, input)
		if err != nil {
			return nil, err
		}
		members, _ := body.(map[string]any)
		ap2, _ := members["ap2"].(map[string]any)
		if token, _ := ap2["checkout_mandate"].(string); token == "" {
			return nil, unfit(string(mandate.Required), "the shop and the platform have agreed on mandates, and the payment has none")
		}
		return body, nil
	}
}

// believed finds out whether an answer about a checkout, which came as the text and is read as the model, is signed by the
// shop. One that is has the whole of it, as it came, as ap2.checkout, for whoever makes a mandate of it. One that is not
// is neither paid nor a place to send anybody to: an error says so, which nobody can recover from. What has become of it
// is told all the same, for whoever has signed what, an order is one.
func (c *releaseCaller) believed(ctx context.Context, text []byte, model wire.Object) error {
	got, err := mandate.VerifyAuthorization(ctx, text, c.keys)
	var wrong *mandate.Error
	switch {
	case err == nil:
		model["ap2"] = wire.Object{"merchant_authorization": got.Authorization, "checkout": string(text)}
		return nil
	case !errors.As(err, &wrong):
		return err
	}
	delete(model, "ap2")
	delete(model, "continue_url")
	messages, _ := model["messages"].([]any)
	model["messages"] = slices.Insert(slices.Clone(messages), 0, any(wire.Object{
		"type": "error", "code": string(wrong.Code), "path": "$.ap2.merchant_authorization", "severity": SeverityFinal,
		"content": wrong.Content,
	}))
	if status, _ := model["status"].(string); status == "incomplete" || status == "ready_for_complete" {
		model["status"] = "requires_escalation"
	}
	return nil
}
