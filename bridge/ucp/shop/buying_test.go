package shop_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/bridge"
	"github.com/strabo-engine/strabo/bridge/policy"
	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/bridge/ucp/model"
	"github.com/strabo-engine/strabo/bridge/ucp/negotiation"
	"github.com/strabo-engine/strabo/bridge/ucp/signature"
	"github.com/strabo-engine/strabo/bridge/ucp/wire"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/syncserver"
)

// The outbound side buys at our own shop in each release, over REST and over MCP, signed and not: the same protocol, the
// same mapping, the same shop.
func TestBuyingInEveryRelease(t *testing.T) {
	b, agents := newTown(t).open(t), newAgency(t)
	server := allReleases(t, b, nil)
	newest, err := ucp.Discover(t.Context(), server.Client(), server.URL)
	require.NoError(t, err)
	require.Equal(t, wire.April2026, newest.Release, "the newest of all that the shop points to")
	for _, release := range wire.Releases() {
		for _, transport := range []negotiation.Transport{negotiation.REST, negotiation.MCP} {
			for _, signer := range []*signature.Signer{nil, agents.signer} {
				t.Run(fmt.Sprintf("%s %s signed %t", release, transport, signer != nil), func(t *testing.T) {
					order, declined := purchase(t, b, server, agents, release, transport, signer, "success_token")
					require.NotEmpty(t, order)
					require.Empty(t, declined)
				})
			}
			t.Run(fmt.Sprintf("%s %s declined", release, transport), func(t *testing.T) {
				order, declined := purchase(t, b, server, agents, release, transport, nil, "fail_token")
				require.NotEmpty(t, order, "another payment may pay it")
				require.Contains(t, declined, "payment_failed")
			})
		}
	}
}

// purchase buys a lamp by ucp-incremental, with a discount, a code that is none, delivery and consent, and gives the order,
// and why the first payment was declined if it was.
func purchase(
	t *testing.T, b *branch, server *httptest.Server, agents *agency,
	release wire.Release, transport negotiation.Transport, signer *signature.Signer, token string,
) (order, declined string) {
	t.Helper()
	business, err := ucp.DiscoverOver(t.Context(), server.Client(), server.URL, transport, release)
	require.NoError(t, err)
	require.Equal(t, release, business.Release)
	require.Equal(t, transport, business.Transport)
	rules, err := business.Rules("ucp-incremental")
	require.NoError(t, err)
	exec := syncserver.NewLocal(rules)
	defer exec.Close()
	outbound, err := ucp.NewOutbound(rules, exec, business, ucp.OutboundOptions{
		Client: server.Client(), Signer: signer, Currency: "EUR",
		Profile: agents.URL + "/{release}",
		Principal: func(_ context.Context, _ enactment.Key, observed enactment.Instance) (policy.Principal, error) {
			return policy.Principal{Agent: observed.Party, Subject: "ada"}, nil
		},
		Approvals:  policy.StandingGrant{By: "ada"},
		OnUnknown:  func(u bridge.Unsettled) { t.Errorf("unknown: %+v", u) },
		OnDiverged: func(d bridge.Divergence) { t.Errorf("diverged: %+v", d) },
		Patience:   bridge.Patience{First: time.Millisecond, Longest: 10 * time.Millisecond},
	})
	require.NoError(t, err)
	platform, err := adapter.New(rules, "Platform", exec)
	require.NoError(t, err)
	seen := make(chan adapter.Observation, 10)
	for _, action := range []string{"Offered", "NeedsInput", "Refused", "Rejected", "Completed", "Declined"} {
		platform.OnObservation(action, func(_ context.Context, o adapter.Observation) error { seen <- o; return nil })
	}
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	ended := make(chan error, 2)
	go func() { ended <- outbound.Run(ctx) }()
	go func() { ended <- platform.Run(ctx) }()
	defer func() { cancel(); <-ended; <-ended }()
	next := func(action string) adapter.Observation {
		select {
		case o := <-seen:
			if o.Action != action {
				words, _ := o.Value("messages")
				require.FailNow(t, "not "+action, "%v %s", o, words)
			}
			return o
		case <-ctx.Done():
			require.FailNow(t, "nothing was observed", b.log.String())
			return adapter.Observation{}
		}
	}
	cid := fmt.Sprintf("%s-%s-%t-%s", release, transport, signer != nil, token)
	attempt := func(action string, rev int, values adapter.Values) {
		t.Helper()
		values["cid"], values["rev"] = cid, rev
		require.NoError(t, platform.Attempt(ctx, action, values).Err(ctx))
	}
	wish := func(codes ...any) adapter.Values {
		return adapter.Values{
			"line_items": []any{map[string]any{"item": map[string]any{"id": "oil-lamp"}, "quantity": 1}},
			"buyer": map[string]any{
				"email": "ada@example.com", "consent": map[string]any{"marketing": false, "analytics": true},
			},
			"fulfillment": map[string]any{"methods": []any{map[string]any{
				"type": "shipping", "destinations": []any{map[string]any{"id": "home", "address_country": "GR"}},
				"selected_destination_id": "home", "groups": []any{map[string]any{"selected_option_id": "post"}},
			}}},
			"discounts": map[string]any{"codes": append([]any{}, codes...)}, "instruments": nil, "context": nil,
		}
	}
	create := wish("KEEPER10", "NONE")
	create["profile"] = agents.URL
	attempt("Create", 0, create)
	offered := next("Offered")
	require.Equal(t, []string{"discount", "fulfillment", "subtotal", "total"}, kindsOf(t, offered))
	said := func(o adapter.Observation, name string) string {
		value, ok := o.Value(name)
		require.True(t, ok, name)
		return value.String()
	}
	require.Contains(t, said(offered, "messages"), `"code":"discount_code_invalid"`)
	require.Contains(t, said(offered, "messages"), `$.discounts.codes[1]`)
	require.Contains(t, said(offered, "checkout"), `"marketing":false`)

	update := wish()
	update["cause"] = "no discounts after all"
	attempt("Update", 1, update)
	require.Equal(t, []string{"fulfillment", "subtotal", "total"}, kindsOf(t, next("Offered")), "an update replaces everything")

	rev := 2
	pay := func(token string) {
		attempt("Complete", rev, adapter.Values{"cause": "paid with " + token, "credential": map[string]any{"payment": map[string]any{
			"instruments": []any{map[string]any{
				"handler_id": "mock_payment_handler", "type": "card", "brand": "Visa", "last_digits": "1234", "token": token,
			}},
		}}})
	}
	if pay(token); token != "success_token" {
		declined = said(next("Declined"), "notice")
		next("Offered")
		rev++
		pay("success_token")
	}
	order = said(next("Completed"), "order")
	require.NoError(t, platform.Attempt(ctx, "Receipt", adapter.Values{"cid": cid}).Err(ctx))
	return order, declined
}

// kindsOf lists the types of the totals of an offer, sorted.
func kindsOf(t *testing.T, offered adapter.Observation) []string {
	t.Helper()
	value, ok := offered.Value("totals")
	require.True(t, ok)
	var totals []model.Total
	require.NoError(t, value.Decode(&totals))
	var kinds []string
	for _, entry := range totals {
		kinds = append(kinds, entry.Type)
		require.Equal(t, entry.Type == "discount", entry.Amount < 0)
	}
	slices.Sort(kinds)
	return kinds
}
