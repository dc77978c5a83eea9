package shop_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/bridge"
	"github.com/strabo-engine/strabo/bridge/policy"
	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/bridge/ucp/mandate"
	"github.com/strabo-engine/strabo/bridge/ucp/negotiation"
	"github.com/strabo-engine/strabo/bridge/ucp/wire"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/syncserver"
)

// discovered finds the shop in a release, over a transport.
func (c *counter) discovered() *ucp.Business {
	c.t.Helper()
	business, err := ucp.Discover(c.t.Context(), c.shop.Client(), c.base(), c.release)
	require.NoError(c.t, err)
	require.Equal(c.t, c.release, business.Release)
	require.False(c.t, business.Active(mandate.Extension), "who does not make mandates has not agreed on them")
	require.True(c.t, business.TakesMandates())
	if c.transport == negotiation.MCP {
		business.Transport, business.Endpoint = c.transport, business.Profile.Endpoint("dev.ucp.shopping", c.transport)
	}
	return business
}

// buys has an agent buy a lamp at a shop, with the mandate that sign gives; no mandate if it is nil. It pays with the tokens,
// one after the other where the one before is declined. It gives what ended it: the action, and what was said with it.
func (c *counter) buys(business *ucp.Business, sign func(checkout []byte) string, tokens ...string) (action, said string) {
	c.t.Helper()
	rules, err := business.Rules("ucp-incremental")
	require.NoError(c.t, err)
	exec := syncserver.NewLocal(rules)
	defer exec.Close()
	outbound, err := ucp.NewOutbound(rules, exec, business, ucp.OutboundOptions{
		Client: c.shop.Client(), Currency: "EUR", Mandates: true, Profile: c.profile, Key: c.key,
		Principal: func(_ context.Context, _ enactment.Key, observed enactment.Instance) (policy.Principal, error) {
			return policy.Principal{Agent: observed.Party, Subject: "ada"}, nil
		},
		Approvals:  policy.StandingGrant{By: "ada"},
		OnUnknown:  func(u bridge.Unsettled) { c.t.Errorf("unknown: %+v", u) },
		OnDiverged: func(d bridge.Divergence) { c.t.Errorf("diverged: %+v", d) },
		Patience:   bridge.Patience{First: time.Millisecond, Longest: 10 * time.Millisecond},
	})
	require.NoError(c.t, err)
	agent, err := adapter.New(rules, "Platform", exec)
	require.NoError(c.t, err)
	type ending struct{ action, said string }
	ended := make(chan ending, 10)
	agent.OnObservation("Offered", func(ctx context.Context, o adapter.Observation) error {
		var rev int
		value, _ := o.Value("rev")
		if err := value.Decode(&rev); err != nil || rev > len(tokens) {
			return err
		}
		var stated struct {
			AP2 struct {
				Checkout string `json:"checkout"`
			} `json:"ap2"`
		}
		value, _ = o.Value("checkout")
		if err := value.Decode(&stated); err != nil {
			return err
		}
		pay := map[string]any{"payment": map[string]any{"instruments": []any{map[string]any{
			"handler_id": "mock_payment_handler", "brand": "Visa", "last_digits": "1234", "token": tokens[rev-1],
		}}}}
		if sign != nil {
			pay["ap2"] = map[string]any{"checkout_mandate": sign([]byte(stated.AP2.Checkout))}
		}
		return agent.Attempt(ctx, "Complete", adapter.Values{"cid": "c", "rev": rev, "cause": "it is right", "credential": pay}).Err(ctx)
	})
	for action, name := range map[string]string{"NeedsInput": "messages", "Refused": "reason", "Completed": "order", "Declined": "notice"} {
		agent.OnObservation(action, func(_ context.Context, o adapter.Observation) error {
			value, _ := o.Value(name)
			ended <- ending{action, value.String()}
			return nil
		})
	}
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	running := make(chan error, 2)
	go func() { running <- outbound.Run(ctx) }()
	go func() { running <- agent.Run(ctx) }()
	defer func() { cancel(); <-running; <-running }()
	var wish struct{ LineItems, Fulfillment json.RawMessage }
	require.NoError(c.t, json.Unmarshal([]byte(fmt.Sprintf(lamp, 1, "GR")), &struct {
		LineItems   *json.RawMessage `json:"line_items"`
		Fulfillment *json.RawMessage `json:"fulfillment"`
	}{&wish.LineItems, &wish.Fulfillment}))
	require.NoError(c.t, agent.Attempt(ctx, "Create", adapter.Values{
		"cid": "c", "rev": 0, "profile": c.profile, "line_items": wish.LineItems, "buyer": nil, "fulfillment": wish.Fulfillment,
		"discounts": nil, "instruments": nil, "context": nil,
	}).Err(ctx))
	for left := len(tokens); ; {
		select {
		case e := <-ended:
			if left--; e.action == "Declined" && left > 0 {
				continue
			}
			return e.action, e.said
		case <-ctx.Done():
			require.FailNow(c.t, "nothing was observed", c.log.String())
			return "", ""
		}
	}
}

// The outbound side buys with a mandate at our own shop, in each release over each transport; without one, or with that of
// another, nothing is paid.
func TestBuyingWithMandates(t *testing.T) {
	everywhere(t, func(t *testing.T, c *counter) {
		business := c.discovered()
		sign := func(checkout []byte) string {
			token, err := (&mandate.KeySigner{Key: c.user, Issuer: c.profile, Audience: business.Endpoint}).Sign(t.Context(), checkout)
			require.NoError(t, err)
			return token
		}
		action, said := c.buys(business, sign, "success_token")
		require.Equal(t, "Completed", action, said)
		require.Contains(t, (<-c.paid).Instrument.String(), "checkout_mandate")

		// Another payment comes with another mandate, for the checkout as it was stated anew.
		action, said = c.buys(business, sign, "fail_token", "success_token")
		require.Equal(t, "Completed", action, said)
		<-c.paid
		<-c.paid

		action, said = c.buys(business, nil, "success_token")
		require.Equal(t, "Declined", action, said)
		require.Contains(t, said, "mandate_required")

		_, other := c.open(1)
		action, said = c.buys(business, func([]byte) string { return sign(other) }, "success_token")
		require.Equal(t, "Declined", action, said)
		require.Contains(t, said, "mandate_scope_mismatch")

		// A shop that signs with a key which it had not published by then has it looked for; with one that it has not
		// published at all it is not believed.
		business.Profile.Keys = nil
		action, said = c.buys(business, sign, "success_token")
		require.Equal(t, "Completed", action, said)
		<-c.paid
		c.key = func(context.Context, string, string) (negotiation.Key, error) {
			return negotiation.Key{}, &negotiation.Error{Code: negotiation.KeyNotFound}
		}
		action, said = c.buys(business, sign, "success_token")
		require.Equal(t, "NeedsInput", action, said)
		require.Contains(t, said, "merchant_authorization_invalid")
		require.Contains(t, said, "unrecoverable")
		require.Empty(t, c.paid)
	})
}

// There is no place for mandates in a protocol whose agent does not see the checkout.
func TestMandatesNeedAProtocolThatShowsTheCheckout(t *testing.T) {
	c := newMall(t).at(t, wire.April2026, negotiation.REST)
	business := c.discovered()
	rules, err := business.Rules("simple-ucp")
	require.NoError(t, err)
	exec := syncserver.NewLocal(rules)
	defer exec.Close()
	_, err = ucp.NewOutbound(rules, exec, business, ucp.OutboundOptions{Mandates: true})
	require.ErrorContains(t, err, "no place for mandates")
}
