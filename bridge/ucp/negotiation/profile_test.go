package negotiation_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/ucp/internal/schematest"
	"github.com/strabo-engine/strabo/bridge/ucp/negotiation"
	"github.com/strabo-engine/strabo/bridge/ucp/wire"
)

// shop is a profile with everything.
func shop(release wire.Release) *negotiation.Profile {
	version := string(release)
	entity := func(id, what string) negotiation.Entity {
		return negotiation.Entity{
			ID: id, Version: version, Spec: "https://ucp.dev/specification/" + what, Schema: "https://ucp.dev/schemas/" + what + ".json",
		}
	}
	order := entity("", "order")
	order.Config = json.RawMessage(`{"webhook_url":"https://platform.example/hook"}`)
	mock := entity("mock", "mock")
	mock.Config = json.RawMessage(`{"tokens":["a"]}`)
	p := &negotiation.Profile{
		Version: version, Form: release,
		Services: map[string][]negotiation.Service{"dev.ucp.shopping": {
			{Entity: entity("", "shopping"), Transport: negotiation.REST, Endpoint: "https://shop.example/ucp"},
			{Entity: entity("", "shopping"), Transport: negotiation.MCP, Endpoint: "https://shop.example/mcp"},
		}},
		Capabilities: map[string][]negotiation.Capability{
			checkout: {{Entity: entity("", "checkout")}}, discount: {{Entity: entity("", "discount"), Extends: []string{checkout}}},
			"dev.ucp.shopping.order": {{Entity: order}},
		},
		Handlers:   map[string][]negotiation.Handler{"dev.ucp.mock": {{Entity: mock}}},
		HandlerIDs: []string{"mock"},
		Keys:       []negotiation.Key{{ID: "k1", Type: "EC", Curve: "P-256", X: "a", Y: "b", Use: "sig", Algorithm: "ES256"}},
	}
	if release == wire.April2026 {
		p.SupportedVersions = map[string]string{"2026-01-11": "https://shop.example/old"}
		p.Handlers["dev.ucp.mock"][0].Instruments = []negotiation.Instrument{{Type: "card", Constraints: json.RawMessage(`{"brands":["visa"]}`)}}
		p.Capabilities[discount][0].Extends = []string{checkout, "dev.ucp.shopping.cart"}
	}
	return p
}

func TestProfilesAreValidAndReadAgain(t *testing.T) {
	for _, release := range wire.Releases() {
		t.Run(string(release), func(t *testing.T) {
			want := shop(release)
			text, err := want.Encode()
			require.NoError(t, err)
			got, err := negotiation.Parse(text)
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(want, got, cmpopts.EquateEmpty()))
			validate(t, release, text)
		})
	}
	_, err := (&negotiation.Profile{Version: "2020-01-01"}).Encode()
	var unknown *wire.UnknownReleaseError
	require.ErrorAs(t, err, &unknown)
	for _, release := range wire.Releases() {
		text, err := (&negotiation.Profile{Version: string(release)}).Encode()
		require.NoError(t, err)
		validate(t, release, text)
	}
}

func validate(t *testing.T, release wire.Release, text []byte) {
	t.Helper()
	reference := "discovery/profile_schema.json"
	if release != wire.January11 {
		// The schema wants one of platform and business; whoever says all that is possible is both.
		reference += "#/$defs/business_profile"
	}
	schematest.Load(t, corpus(t), string(release), schematest.Response).Check(t, reference, text)
}

func TestParseIsLenient(t *testing.T) {
	p, err := negotiation.Parse([]byte(`{
	  "ucp": {
	    "version": "2026-04-08", "supported_versions": {"2026-01-11": "https://a.example", "soon": "https://b.example", "2026-01-23": 7},
	    "services": {"dev.ucp.shopping": [{"version": "2026-04-08", "transport": "rest", "endpoint": "https://a.example/"}, null, 7], "BAD": [{}], "dev.ucp.x": "no"},
	    "capabilities": {"dev.ucp.shopping.checkout": [{"version": "2026-04-08", "spec": null, "extends": null}, {"version": 4}], "dev.ucp.a": {"version": "2026-04-08"}},
	    "payment_handlers": {"dev.ucp.pay": [{"version": "1.0", "id": "pay", "available_instruments": [{"type": "card"}, {}]}, {"version": "1.0"}]}
	  },
	  "keys": {"keys": [{"kid": "k", "kty": "EC"}, {"kty": "EC"}]}
	}`))
	require.NoError(t, err)
	require.Equal(t, map[string]string{"2026-01-11": "https://a.example"}, p.SupportedVersions)
	require.Equal(t, "https://a.example", p.Endpoint("dev.ucp.shopping", negotiation.REST))
	require.Empty(t, p.Endpoint("dev.ucp.shopping", negotiation.MCP))
	require.Len(t, p.Capabilities[checkout], 1)
	require.Len(t, p.Capabilities["dev.ucp.a"], 1)
	require.Len(t, p.Handlers["dev.ucp.pay"], 1)
	require.Len(t, p.Handlers["dev.ucp.pay"][0].Instruments, 1)
	_, ok := p.Key("k")
	require.True(t, ok)
	require.Len(t, p.Keys, 1)
}

func TestMalformedProfiles(t *testing.T) {
	many := strings.Builder{}
	for i := range negotiation.MaximumEntries + 1 {
		fmt.Fprintf(&many, `,"a.b%d":[{"version":"2026-04-08"}]`, i)
	}
	for name, text := range map[string]string{
		"nothing": ``, "no object": `[]`, "no version": `{"ucp":{}}`, "no date": `{"ucp":{"version":"2026-02-31"}}`,
		"a word": `{"ucp":{"version":"latest"}}`, "no ucp": `{"version":"2026-04-08"}`,
		"endless": `{"ucp":{"version":"2026-04-08","capabilities":{` + many.String()[1:] + `}}}`,
	} {
		_, err := negotiation.Parse([]byte(text))
		require.ErrorIs(t, err, &negotiation.Error{Code: negotiation.ProfileMalformed}, name)
	}
}

func FuzzParse(f *testing.F) {
	for _, release := range wire.Releases() {
		text, err := shop(release).Encode()
		require.NoError(f, err)
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := negotiation.Parse(text)
		if err != nil {
			return
		}
		p.Version = "2026-04-08"
		again, err := p.Encode()
		require.NoError(t, err)
		q, err := negotiation.Parse(again)
		require.NoError(t, err)
		_, err = negotiation.Negotiate(wire.April2026, p, q, nil)
		if err != nil {
			require.ErrorIs(t, err, &negotiation.Error{Code: negotiation.CapabilitiesIncompatible})
		}
	})
}

func FuzzParseAgent(f *testing.F) {
	f.Add(`profile="https://p.example"; version="2026-01-11"`)
	f.Fuzz(func(t *testing.T, header string) {
		a, err := negotiation.ParseAgent([]string{header})
		if err != nil {
			return
		}
		again, err := negotiation.ParseAgent([]string{a.String()})
		require.NoError(t, err)
		require.Equal(t, a.Profile, again.Profile)
	})
}
