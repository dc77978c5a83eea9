package ucp_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/bridge/ucp/negotiation"
	"github.com/strabo-engine/strabo/bridge/ucp/wire"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/protocols"
)

const consents = "dev.ucp.shopping.buyer_consent"

// wished is what belongs to an extension, by the extension.
var wished = map[string]struct {
	guard  string
	values adapter.Values
}{
	delivery:  {"no-fulfillment", adapter.Values{"fulfillment": doc{"methods": []any{doc{"type": "shipping"}}}}},
	discounts: {"no-discounts", adapter.Values{"discounts": doc{"codes": []any{"TEN"}}}},
	consents:  {"no-consent", adapter.Values{"buyer": doc{"email": "ada@example.com", "consent": doc{"marketing": false}}}},
}

// nothingOf are values that ask for nothing of any extension.
var nothingOf = []adapter.Values{
	{"fulfillment": nil, "discounts": nil, "buyer": nil},
	{"fulfillment": doc{"methods": []any{}}, "discounts": doc{"codes": []any{}}, "buyer": doc{"email": "ada@example.com", "consent": doc{}}},
}

// asking gives the values of a Create or an Update.
func asking(values adapter.Values, rev int) adapter.Values {
	all := adapter.Values{
		"cid": cid, "rev": rev, "line_items": twoLamps, "buyer": ada, "fulfillment": nil, "discounts": nil, "instruments": nil, "context": nil,
	}
	if rev == 0 {
		all["profile"] = "https://platform.example/p"
	} else {
		all["cause"] = "more is known"
	}
	for name, value := range values {
		all[name] = value
	}
	return all
}

// only is an agreement on checkouts and some of their extensions.
func only(extensions ...string) *negotiation.Agreement {
	a := &negotiation.Agreement{Release: wire.April2026, Capabilities: map[string]negotiation.Active{"dev.ucp.shopping.checkout": {}}}
	for _, name := range extensions {
		a.Capabilities[name] = negotiation.Active{Extends: []string{"dev.ucp.shopping.checkout"}}
	}
	return a
}

func others(extension string) []string {
	var all []string
	for name := range wished {
		if name != extension {
			all = append(all, name)
		}
	}
	return all
}

// A wish that belongs to an extension which is not active is refused in words, by the rules of the shop: nothing has
// happened then, no revision is spent, and nothing is sent. What is active may be wished for.
func TestInactiveExtensionsAreRefusedByTheRules(t *testing.T) {
	for extension, wish := range wished {
		t.Run(extension, func(t *testing.T) {
			shop := newAprilShop(t)
			m := openIncremental(t, func(m *market, _ *http.Client) {
				m.business = &ucp.Business{Endpoint: shop.server.URL, Release: wire.April2026, Agreement: only(others(extension)...)}
			})
			refused := func(action string, rev int) {
				t.Helper()
				err := m.platform.Attempt(t.Context(), action, asking(wish.values, rev)).Err(t.Context())
				var rejection *adapter.Rejection
				require.ErrorAs(t, err, &rejection)
				require.ErrorIs(t, err, enactment.GuardRefused)
				require.Equal(t, wish.guard, rejection.By)
				require.Contains(t, rejection.Detail, "cannot be asked for at this shop: "+extension+" is not active")
				require.ErrorContains(t, m.business.Check(wish.values), rejection.Detail)
			}
			refused("Create", 0)
			require.Empty(t, m.happened())
			require.Empty(t, shop.requests())

			values := adapter.Values{}
			for _, other := range others(extension) {
				require.True(t, m.business.Active(other))
				require.NoError(t, m.business.Check(wished[other].values))
				for name, value := range wished[other].values {
					values[name] = value
				}
			}
			m.attempt("Create", asking(values, 0))
			m.expect("Offered")
			refused("Update", 1)
			require.Equal(t, []string{"Create 0", "Offered 1"}, m.happened())
			m.attempt("Update", asking(values, 1))
			m.expect("Offered")
			require.Equal(t, []string{"POST ", "PUT /chk_1"}, shop.lines())
		})
	}
}

// Whoever plays by rules that know nothing of the shop is told so too, before anything leaves.
func TestInactiveExtensionsAreRefusedByTheBridge(t *testing.T) {
	for extension, wish := range wished {
		t.Run(extension, func(t *testing.T) {
			shop := newAprilShop(t)
			m := openIncremental(t, func(m *market, _ *http.Client) {
				m.business = &ucp.Business{Endpoint: shop.server.URL, Release: wire.April2026, Agreement: only(others(extension)...)}
				var err error
				m.rules, err = protocols.Load("ucp-incremental")
				require.NoError(t, err)
			})
			m.attempt("Create", asking(adapter.Values{}, 0))
			m.expect("Offered")
			m.attempt("Update", asking(wish.values, 1))
			notice := text(t, m.expect("Rejected"), "notice")
			require.Contains(t, notice, ucp.CodeInactive)
			require.Contains(t, notice, extension)
			m.expect("Offered")
			require.Equal(t, []string{"POST ", "GET /chk_1"}, shop.lines())

			values := asking(wish.values, 0)
			values["cid"] = "another"
			require.NoError(t, m.platform.Attempt(t.Context(), "Create", values).Err(t.Context()))
			reason := text(t, m.expect("Refused"), "reason")
			require.Contains(t, reason, ucp.CodeInactive)
			require.Contains(t, reason, extension)
			require.Len(t, shop.requests(), 2)
		})
	}
}

// What asks for nothing is nothing: it is allowed anywhere, and not sent where the extension is not active.
func TestInactiveExtensionsAreNotAskedFor(t *testing.T) {
	for _, values := range nothingOf {
		shop := newAprilShop(t)
		m := openIncremental(t, func(m *market, _ *http.Client) {
			m.business = &ucp.Business{Endpoint: shop.server.URL, Release: wire.April2026, Agreement: only()}
		})
		m.attempt("Create", asking(values, 0))
		receive(m, m.observed)
		for _, r := range shop.requests() {
			require.NotContains(t, r.body, "fulfillment")
			require.NotContains(t, r.body, "discounts")
			require.NotContains(t, r.body, "consent")
		}
	}
	for _, strange := range []adapter.Values{
		{"discounts": "TEN"}, {"discounts": doc{"codes": "TEN"}}, {"fulfillment": doc{}}, {"fulfillment": 1}, {"buyer": doc{"consent": true}},
	} {
		require.ErrorAs(t, (&ucp.Business{Agreement: only()}).Check(strange), new(*ucp.InactiveError), "%v", strange)
		require.NoError(t, new(ucp.Business).Check(strange), "of a shop that was not discovered nothing is known")
	}
}

// By simple-ucp it is the same.
func TestInactiveExtensionsOfSimpleUCP(t *testing.T) {
	s := newShop(t, true)
	s.bare = true
	m := openMarket(t, s.server.URL)
	consent := doc{"email": "john.doe@example.com", "consent": doc{"marketing": true}}
	for guard, values := range map[string]adapter.Values{
		"no-fulfillment": {"cid": cid, "line_items": items("pot_ceramic"), "buyer": nil, "fulfillment": doc{}},
		"no-consent":     {"cid": cid, "line_items": items("pot_ceramic"), "buyer": consent, "fulfillment": nil},
	} {
		err := m.platform.Attempt(t.Context(), "Create", values).Err(t.Context())
		var rejection *adapter.Rejection
		require.ErrorAs(t, err, &rejection)
		require.Equal(t, guard, rejection.By)
	}
	require.Empty(t, s.requests())

	m = openMarketOf(t, "simple-ucp", func(m *market, client *http.Client) {
		var err error
		m.business, err = ucp.Discover(t.Context(), client, s.server.URL)
		require.NoError(t, err)
		m.rules, err = protocols.Load("simple-ucp")
		require.NoError(t, err)
	}, []string{"Refused"})
	m.attempt("Create", adapter.Values{"line_items": items("pot_ceramic"), "buyer": consent, "fulfillment": nil})
	require.Contains(t, text(t, m.expect("Refused"), "reason"), consents)
	require.Empty(t, s.requests())
}
