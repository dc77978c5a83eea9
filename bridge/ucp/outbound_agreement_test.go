package ucp_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/bridge/ucp/negotiation"
	"github.com/strabo-engine/strabo/bridge/ucp/wire"
)

const (
	discounts = "dev.ucp.shopping.discount"
	delivery  = "dev.ucp.shopping.fulfillment"
)

// What a shop and the platform can do together is computed when the shop is discovered.
func TestDiscoverNegotiates(t *testing.T) {
	for _, test := range []struct {
		name, version, capabilities string
		delivery, discounts         bool
		code                        negotiation.Code
	}{
		{"both", "2026-04-08", `"dev.ucp.shopping.checkout":[{"version":"2026-04-08"}],
		  "dev.ucp.shopping.fulfillment":[{"version":"2026-04-08","extends":"dev.ucp.shopping.checkout"}],
		  "dev.ucp.shopping.discount":[{"version":"2026-04-08","extends":["dev.ucp.shopping.cart","dev.ucp.shopping.checkout"]}]`, true, true, ""},
		{"another version", "2026-04-08", `"dev.ucp.shopping.checkout":[{"version":"2026-04-08"}],
		  "dev.ucp.shopping.fulfillment":[{"version":"2026-01-23","extends":"dev.ucp.shopping.checkout"}]`, false, false, ""},
		{"an orphan", "2026-04-08", `"dev.ucp.shopping.checkout":[{"version":"2026-04-08"}],
		  "dev.ucp.shopping.discount":[{"version":"2026-04-08","extends":"dev.ucp.shopping.cart"}]`, false, false, ""},
		{"defined by others", "2026-04-08", `"dev.ucp.shopping.checkout":[{"version":"2026-04-08"}],
		  "dev.ucp.shopping.discount":[{"version":"2026-04-08","extends":"dev.ucp.shopping.checkout","schema":"https://evil.example/discount.json"}]`, false, false, ""},
		{"a draft", "2026-09-01", `"dev.ucp.shopping.checkout":[{"version":"2026-09-01"}],
		  "dev.ucp.shopping.discount":[{"version":"2026-09-01","extends":"dev.ucp.shopping.checkout"}]`, false, true, ""},
		{"nothing", "2026-04-08", `"dev.ucp.shopping.checkout":[{"version":"2026-01-23"}]`, false, false, negotiation.CapabilitiesIncompatible},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				fmt.Fprintf(w, `{"ucp":{"version":%q,"services":{"dev.ucp.shopping":[{"version":%q,"transport":"rest","endpoint":"/x"}]},
				  "capabilities":{%s},"payment_handlers":{}}}`, test.version, test.version, test.capabilities)
			}))
			defer server.Close()
			business, err := ucp.Discover(t.Context(), server.Client(), server.URL)
			if test.code != "" {
				require.ErrorIs(t, err, &negotiation.Error{Code: test.code})
				return
			}
			require.NoError(t, err)
			require.Equal(t, wire.April2026, business.Release)
			require.Equal(t, test.delivery, business.Active(delivery))
			require.Equal(t, test.discounts, business.Active(discounts))
		})
	}
	require.True(t, new(ucp.Business).Active(delivery), "of a shop that was not discovered nothing is known")
}
