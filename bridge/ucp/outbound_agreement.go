package ucp

import (
	"fmt"

	"github.com/strabo-engine/strabo/bridge/ucp/mandate"
	"github.com/strabo-engine/strabo/bridge/ucp/negotiation"
	"github.com/strabo-engine/strabo/bridge/ucp/wire"
)

// agreementWith computes what a platform with [PlatformProfile], and perhaps with [OfferMandates], and a shop can do together
// in a release. The error wraps an [*negotiation.Error] if they have no checkouts in common.
func agreementWith(release wire.Release, shop *negotiation.Profile, mandates bool) (*negotiation.Agreement, error) {
	if release == wire.January11 {
		// No shop of that release looks at the platform's profile; what it says that it has, it does.
		a := &negotiation.Agreement{Release: release, Capabilities: map[string]negotiation.Active{}}
		for name, entries := range shop.Capabilities {
			if name == mandate.Extension && !mandates {
				continue
			}
			for _, c := range entries {
				a.Capabilities[name] = negotiation.Active{Version: c.Version, Extends: c.Extends, Schema: c.Schema}
			}
		}
		return a, nil
	}
	own, err := PlatformProfile(release, "")
	if err != nil {
		return nil, err
	}
	if mandates {
		OfferMandates(own, release)
	}
	if shop.Version != string(release) { // A draft, or 2026-01-23, whose documents say 2026-01-11.
		for _, entries := range own.Capabilities {
			for i := range entries {
				entries[i].Version = shop.Version
			}
		}
	}
	a, err := negotiation.Negotiate(release, own, shop, nil)
	if err != nil {
		return nil, fmt.Errorf("ucp: discover: %w", err)
	}
	return a, nil
}

// Active tells whether a capability is there on both sides, so that it may be used. Of a business that was not
// discovered nothing is known, and all may be tried.
func (b *Business) Active(capability string) bool {
	return b.Agreement == nil || b.Agreement.Has(capability)
}
