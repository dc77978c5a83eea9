package ucp

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/strabo-engine/strabo/bridge/ucp/negotiation"
	"github.com/strabo-engine/strabo/bridge/ucp/wire"
)

// PlatformProfile is the profile of a platform that does what the outbound side can do, in a release. Webhooks are
// received at the URL, none if it is empty; keys are those that requests are signed with. A platform that speaks several
// releases has a profile for each, at a URL of its own: see [OutboundOptions.Profile].
func PlatformProfile(release wire.Release, webhookURL string, keys ...negotiation.Key) (*negotiation.Profile, error) {
	if !release.Known() {
		return nil, &wire.UnknownReleaseError{Release: string(release)}
	}
	site := "https://ucp.dev/" + string(release) + "/"
	if release == wire.January11 {
		site = "https://ucp.dev/" // The documents of the first release were not below its date.
	}
	entity := func(specification, schema string) negotiation.Entity {
		return negotiation.Entity{
			Version: string(release), Spec: site + "specification/" + specification, Schema: site + schema,
		}
	}
	p := &negotiation.Profile{
		Version: string(release), Keys: keys,
		Services: map[string][]negotiation.Service{shoppingService: {
			{Entity: entity("overview", "services/shopping/rest.openapi.json"), Transport: negotiation.REST},
			{Entity: entity("overview", "services/shopping/mcp.openrpc.json"), Transport: negotiation.MCP},
		}},
		Capabilities: map[string][]negotiation.Capability{
			checkoutCapability:    {{Entity: entity("checkout", "schemas/shopping/checkout.json")}},
			orderCapability:       {{Entity: entity("order", "schemas/shopping/order.json")}},
			fulfillmentCapability: {{Entity: entity("fulfillment", "schemas/shopping/fulfillment.json"), Extends: []string{checkoutCapability}}},
			discountCapability:    {{Entity: entity("discount", "schemas/shopping/discount.json"), Extends: []string{checkoutCapability}}},
			consentCapability:     {{Entity: entity("buyer-consent", "schemas/shopping/buyer_consent.json"), Extends: []string{checkoutCapability}}},
		},
	}
	if webhookURL != "" {
		config, err := json.Marshal(map[string]string{"webhook_url": webhookURL})
		if err != nil {
			return nil, fmt.Errorf("ucp: platform profile: %w", err)
		}
		p.Capabilities[orderCapability][0].Config = config
	}
	return p, nil
}

// ProfileHandler serves a profile as UCP demands it: as JSON that may be kept for an hour, by everybody (UCP 2026-04-08,
// overview, hosting). The error is that of [negotiation.Profile.Encode].
func ProfileHandler(p *negotiation.Profile) (http.Handler, error) {
	text, err := p.Encode()
	if err != nil {
		return nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, http.StatusText(http.StatusMethodNotAllowed), http.StatusMethodNotAllowed)
			return
		}
		w.Header()["Content-Type"] = jsonContent
		w.Header().Set("Cache-Control", "public, max-age=3600")
		_, _ = w.Write(text) // Nobody is there to be told.
	}), nil
}
