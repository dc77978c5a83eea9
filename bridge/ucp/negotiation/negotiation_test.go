package negotiation_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/strabo-engine/strabo/bridge/ucp/internal/schematest"
	"github.com/strabo-engine/strabo/bridge/ucp/negotiation"
	"github.com/strabo-engine/strabo/bridge/ucp/wire"
)

// capability is one of a profile, in short.
func capability(version string, extends ...string) negotiation.Capability {
	return negotiation.Capability{Entity: negotiation.Entity{Version: version}, Extends: extends}
}

type capabilities = map[string][]negotiation.Capability

const (
	checkout    = "dev.ucp.shopping.checkout"
	fulfillment = "dev.ucp.shopping.fulfillment"
	discount    = "dev.ucp.shopping.discount"
	loyalty     = "com.acme.shopping.loyalty"
	tiers       = "com.acme.shopping.tiers"
)

func TestNegotiate(t *testing.T) {
	april, january := "2026-04-08", "2026-01-23"
	governed := capability(april, checkout)
	governed.Schema = "https://acme.com/schemas/loyalty.json"
	foreign := capability(april, checkout)
	foreign.Schema = "https://evil.example/schemas/loyalty.json"
	for _, test := range []struct {
		name               string
		platform, business capabilities
		requires           map[string]negotiation.Requires
		want               map[string]string
		dropped            map[string]string
	}{
		{
			name:     "what both have",
			platform: capabilities{checkout: {capability(april)}, discount: {capability(april, checkout)}},
			business: capabilities{checkout: {capability(april)}, fulfillment: {capability(april, checkout)}},
			want:     map[string]string{checkout: april}, dropped: map[string]string{fulfillment: "the platform has it not"},
		},
		{
			name:     "the highest version that both have",
			platform: capabilities{checkout: {capability("2026-01-11"), capability(january), capability("2026-12-01")}},
			business: capabilities{checkout: {capability(january), capability("2026-01-11"), capability(april)}},
			want:     map[string]string{checkout: january},
		},
		{
			name:     "versions have to be the same, not compatible",
			platform: capabilities{checkout: {capability(april)}, discount: {capability(january, checkout)}},
			business: capabilities{checkout: {capability(april)}, discount: {capability(april, checkout)}},
			want:     map[string]string{checkout: april}, dropped: map[string]string{discount: "no version of it that both have"},
		},
		{
			name:     "an extension without its parent, and what extends that",
			platform: capabilities{checkout: {capability(april)}, loyalty: {capability(april, discount)}, tiers: {capability(april, loyalty)}, discount: {capability(january, checkout)}},
			business: capabilities{checkout: {capability(april)}, loyalty: {capability(april, discount)}, tiers: {capability(april, loyalty)}, discount: {capability(april, checkout)}},
			want:     map[string]string{checkout: april},
			dropped:  map[string]string{discount: "no version", loyalty: "nothing that it extends is active", tiers: "nothing that it extends is active"},
		},
		{
			name:     "what falls last was looked at first",
			platform: capabilities{checkout: {capability(april)}, "a.a.a": {capability(april, "b.b.b")}, "b.b.b": {capability(april, "c.c.c")}, "c.c.c": {capability(april, discount)}},
			business: capabilities{checkout: {capability(april)}, "a.a.a": {capability(april, "b.b.b")}, "b.b.b": {capability(april, "c.c.c")}, "c.c.c": {capability(april, discount)}},
			want:     map[string]string{checkout: april},
			dropped:  map[string]string{"a.a.a": "extends", "b.b.b": "extends", "c.c.c": "extends"},
		},
		{
			name:     "one parent of several is enough",
			platform: capabilities{checkout: {capability(april)}, discount: {capability(april, "dev.ucp.shopping.cart", checkout)}},
			business: capabilities{checkout: {capability(april)}, discount: {capability(april, "dev.ucp.shopping.cart", checkout)}},
			want:     map[string]string{checkout: april, discount: april},
		},
		{
			name:     "two that extend each other keep each other, as the algorithm is written",
			platform: capabilities{loyalty: {capability(april, tiers)}, tiers: {capability(april, loyalty)}},
			business: capabilities{loyalty: {capability(april, tiers)}, tiers: {capability(april, loyalty)}},
			want:     map[string]string{loyalty: april, tiers: april},
		},
		{
			name:     "a schema where the owner of the name has it",
			platform: capabilities{checkout: {capability(april)}, loyalty: {governed}},
			business: capabilities{checkout: {capability(april)}, loyalty: {capability(april, checkout)}},
			want:     map[string]string{checkout: april, loyalty: april},
		},
		{
			name:     "a schema of somebody else",
			platform: capabilities{checkout: {capability(april)}, loyalty: {governed}},
			business: capabilities{checkout: {capability(april)}, loyalty: {foreign}},
			want:     map[string]string{checkout: april}, dropped: map[string]string{loyalty: "not where the owner"},
		},
		{
			name:     "a schema of somebody else, as the platform has it",
			platform: capabilities{checkout: {capability(april)}, loyalty: {foreign}},
			business: capabilities{checkout: {capability(april)}, loyalty: {governed}},
			want:     map[string]string{checkout: april}, dropped: map[string]string{loyalty: "not where the owner"},
		},
		{
			name:     "an extension that requires a later release",
			platform: capabilities{checkout: {capability(april)}, loyalty: {governed}},
			business: capabilities{checkout: {capability(april)}, loyalty: {governed}},
			requires: map[string]negotiation.Requires{loyalty: {Protocol: &negotiation.Range{Min: "2026-06-01"}}},
			want:     map[string]string{checkout: april}, dropped: map[string]string{loyalty: "requires UCP from 2026-06-01"},
		},
		{
			name:     "one that requires another version of its parent",
			platform: capabilities{checkout: {capability(april)}, loyalty: {governed}},
			business: capabilities{checkout: {capability(april)}, loyalty: {governed}},
			requires: map[string]negotiation.Requires{loyalty: {
				Protocol:     &negotiation.Range{Min: january, Max: april},
				Capabilities: map[string]negotiation.Range{checkout: {Min: "2026-01-01", Max: january}},
			}},
			want: map[string]string{checkout: april}, dropped: map[string]string{loyalty: "requires dev.ucp.shopping.checkout 2026-01-01 to 2026-01-23"},
		},
		{
			name:     "what fell for its requirements takes its extensions along",
			platform: capabilities{checkout: {capability(april)}, loyalty: {governed}, tiers: {capability(april, loyalty)}},
			business: capabilities{checkout: {capability(april)}, loyalty: {governed}, tiers: {capability(april, loyalty)}},
			requires: map[string]negotiation.Requires{loyalty: {Protocol: &negotiation.Range{Min: "2027-01-01"}}},
			want:     map[string]string{checkout: april}, dropped: map[string]string{loyalty: "requires", tiers: "extends"},
		},
		{
			name:     "nothing in common",
			platform: capabilities{discount: {capability(april)}},
			business: capabilities{checkout: {capability(april)}},
			want:     map[string]string{}, dropped: map[string]string{checkout: "the platform has it not"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			agreement, err := negotiation.Negotiate(
				wire.April2026, &negotiation.Profile{Capabilities: test.platform}, &negotiation.Profile{Capabilities: test.business},
				func(name, _ string) (*negotiation.Requires, error) {
					if r, ok := test.requires[name]; ok {
						return &r, nil
					}
					return nil, nil
				},
			)
			if len(test.want) == 0 {
				require.ErrorIs(t, err, &negotiation.Error{Code: negotiation.CapabilitiesIncompatible})
			} else {
				require.NoError(t, err)
			}
			got := map[string]string{}
			for name, active := range agreement.Capabilities {
				got[name] = active.Version
			}
			require.Empty(t, cmp.Diff(test.want, got))
			require.Len(t, agreement.Dropped, len(test.dropped))
			for _, dropped := range agreement.Dropped {
				require.Contains(t, dropped.Reason, test.dropped[dropped.Name])
			}
		})
	}
}

func TestASchemaThatCannotBeReadIsNotUsed(t *testing.T) {
	base, extension := capability("2026-04-08"), capability("2026-04-08", checkout)
	base.Schema, extension.Schema = "https://ucp.dev/schemas/checkout.json", "https://ucp.dev/schemas/discount.json"
	p := &negotiation.Profile{Capabilities: capabilities{
		checkout: {base}, discount: {extension}, loyalty: {capability("2026-04-08", discount)},
	}}
	asked := []string{}
	agreement, err := negotiation.Negotiate(wire.April2026, p, p, func(name, _ string) (*negotiation.Requires, error) {
		asked = append(asked, name)
		return nil, errors.New("no such place")
	})
	require.NoError(t, err)
	require.Equal(t, []string{discount}, asked, "what extends nothing requires nothing, and what has no schema has none to ask for")
	require.True(t, agreement.Has(checkout))
	require.Len(t, agreement.Dropped, 2)
	require.Contains(t, agreement.Dropped[1].Reason, "no such place")
	require.True(t, agreement.Dropped[1].Unfit)
	require.False(t, agreement.Dropped[0].Unfit, "it fell with what it extends")
}

// TestWhatASchemaRequires reads schemas of extensions, and none of what only looks like one.
func TestWhatASchemaRequires(t *testing.T) {
	for _, test := range []struct {
		schema string
		want   *negotiation.Requires
		wrong  string
	}{
		{schema: `{}`},
		{schema: `{"name":"com.acme.shopping.loyalty","$defs":{}}`},
		{schema: `{"requires":{}}`, want: &negotiation.Requires{}},
		{schema: `{"requires":{"protocol":{"min":"2026-01-23"},"new":1}}`, want: &negotiation.Requires{Protocol: &negotiation.Range{Min: "2026-01-23"}}},
		{
			schema: `{"$defs":{"dev.ucp.shopping.checkout":{}},"requires":{"capabilities":{"dev.ucp.shopping.checkout":{"min":"2026-01-23","max":"2026-09-01"}}}}`,
			want:   &negotiation.Requires{Capabilities: map[string]negotiation.Range{checkout: {Min: "2026-01-23", Max: "2026-09-01"}}},
		},
		{schema: `[]`, wrong: "no JSON object"},
		{schema: `{"name":"com.acme.shopping.tiers"}`, wrong: "another"},
		{schema: `{"requires":7}`, wrong: "no object"},
		{schema: `{"requires":{"protocol":"2026-01-23"}}`, wrong: "no range"},
		{schema: `{"requires":{"protocol":{"min":"soon"}}}`, wrong: "no range"},
		{schema: `{"requires":{"protocol":{"min":"2026-01-23","max":"2026-02-31"}}}`, wrong: "no range"},
		{schema: `{"requires":{"capabilities":[]}}`, wrong: "no object"},
		{schema: `{"requires":{"capabilities":{"dev.ucp.shopping.checkout":{"min":"2026-01-23"}}}}`, wrong: "does not define"},
	} {
		got, err := negotiation.ParseRequires(loyalty, []byte(test.schema))
		if test.wrong != "" {
			require.ErrorIs(t, err, negotiation.ErrSchema, test.schema)
			require.ErrorContains(t, err, test.wrong)
			continue
		}
		require.NoError(t, err, test.schema)
		require.Equal(t, test.want, got, test.schema)
	}
}

// FuzzParseRequires: whatever a schema says, what comes of it can be judged.
func FuzzParseRequires(f *testing.F) {
	f.Add(`{"requires":{"protocol":{"min":"2026-01-23","max":"2026-09-01"},"capabilities":{"a.b":{"min":"2026-01-23"}}},"$defs":{"a.b":{}}}`)
	f.Add(`{"name":"com.acme.shopping.loyalty","requires":null}`)
	f.Fuzz(func(t *testing.T, schema string) {
		r, err := negotiation.ParseRequires(loyalty, []byte(schema))
		if err != nil || r == nil {
			return
		}
		ranges := []negotiation.Range{}
		if r.Protocol != nil {
			ranges = append(ranges, *r.Protocol)
		}
		for _, other := range r.Capabilities {
			ranges = append(ranges, other)
		}
		for _, r := range ranges {
			require.True(t, negotiation.ValidVersion(r.Min))
			require.True(t, r.Max == "" || negotiation.ValidVersion(r.Max))
		}
	})
}

func TestAResponseNamesWhatIsRelevant(t *testing.T) {
	p := &negotiation.Profile{Capabilities: capabilities{
		checkout: {capability("2026-04-08")}, discount: {capability("2026-04-08", checkout)},
		loyalty: {capability("2026-04-08", discount)}, "dev.ucp.shopping.order": {capability("2026-04-08")},
		"a.b": {capability("2026-04-08", "c.d")}, "c.d": {capability("2026-04-08", "a.b")},
	}}
	agreement, err := negotiation.Negotiate(wire.April2026, p, p, nil)
	require.NoError(t, err)
	got := agreement.Response(checkout)
	require.Len(t, got, 3)
	require.Contains(t, got, loyalty)
	require.Len(t, agreement.Response("dev.ucp.shopping.order"), 1)
	require.Empty(t, agreement.Response("dev.ucp.shopping.cart"))
}

// Whatever two profiles say, what is active is in both, in a version of both, has a parent that is active, and nothing
// that could be active is missing.
func TestNegotiationIsTheLargestSetThatHolds(t *testing.T) {
	names := []string{"a.a", "a.b", "a.c", "a.d", "a.e"}
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) *negotiation.Profile {
			p := &negotiation.Profile{Capabilities: capabilities{}}
			for _, name := range names {
				for range rapid.IntRange(0, 2).Draw(t, label+name) {
					p.Capabilities[name] = append(p.Capabilities[name], capability(
						rapid.SampledFrom([]string{"2026-01-11", "2026-01-23", "2026-04-08"}).Draw(t, "version"),
						parents[name]...,
					))
				}
			}
			return p
		}
		platform, business := draw("platform"), draw("business")
		agreement, _ := negotiation.Negotiate(wire.April2026, platform, business, nil)
		versions := func(p *negotiation.Profile, name string) map[string]bool {
			out := map[string]bool{}
			for _, c := range p.Capabilities[name] {
				out[c.Version] = true
			}
			return out
		}
		for _, name := range names {
			best := ""
			for v := range versions(platform, name) {
				if versions(business, name)[v] && v > best {
					best = v
				}
			}
			parent := len(parents[name]) == 0
			for _, p := range parents[name] {
				parent = parent || agreement.Has(p)
			}
			require.Equal(t, best != "" && parent, agreement.Has(name), name)
			if agreement.Has(name) {
				require.Equal(t, best, agreement.Capabilities[name].Version)
			}
		}
	})
}

// parents has no circle, so that the largest set is the only one. What extends comes before and after what it extends by
// its name, so that one look at each is not enough to find what falls.
var parents = map[string][]string{"a.a": {"a.c"}, "a.c": {"a.b", "a.e"}, "a.b": {"a.d"}}

func TestGoverns(t *testing.T) {
	for _, test := range []struct {
		url, name string
		want      bool
	}{
		{"https://ucp.dev/schemas/x.json", "dev.ucp.shopping.checkout", true},
		{"https://UCP.dev./x", "dev.ucp.shopping.checkout", true},
		{"https://shopping.ucp.dev/x", "dev.ucp.shopping.checkout", true},
		{"https://ucp.dev:8443/x", "dev.ucp.shopping.checkout", true},
		{"https://dev/x", "dev.ucp.shopping.checkout", false},
		{"http://ucp.dev/x", "dev.ucp.shopping.checkout", false},
		{"https://ucp.dev.evil.example/x", "dev.ucp.shopping.checkout", false},
		{"https://cp.dev/x", "dev.ucp.shopping.checkout", false},
		{"https://evilucp.dev/x", "dev.ucp.shopping.checkout", false},
		{"https://checkout.shopping.ucp.dev/x", "dev.ucp.shopping.checkout", true},
		{"https://more.checkout.shopping.ucp.dev/x", "dev.ucp.shopping.checkout", false},
		{"https://ucp.dev@evil.example/x", "dev.ucp.shopping.checkout", false},
		{"ucp.dev/x", "dev.ucp.shopping.checkout", false},
		{"https://%zz", "dev.ucp.shopping.checkout", false},
		{"", "dev.ucp.shopping.checkout", false},
	} {
		require.Equal(t, test.want, negotiation.Governs(test.url, test.name), "%s %s", test.url, test.name)
	}
}

func TestVersions(t *testing.T) {
	profile := func(version string, supported ...string) *negotiation.Profile {
		p := &negotiation.Profile{Version: version, SupportedVersions: map[string]string{}}
		for _, s := range supported {
			p.SupportedVersions[s] = "https://shop.example/" + s
		}
		return p
	}
	for _, test := range []struct {
		name     string
		business *negotiation.Profile
		spoken   []wire.Release
		want     wire.Release
		at       string
	}{
		{"its own", profile("2026-01-11"), wire.Releases(), wire.January11, ""},
		{"the newest of several", profile("2026-01-11", "2026-04-08", "2026-01-23"), wire.Releases(), wire.April2026, "https://shop.example/2026-04-08"},
		{"the preferred one of several", profile("2026-01-11", "2026-04-08"), []wire.Release{wire.January11, wire.April2026}, wire.January11, ""},
		{"its own before the others", profile("2026-04-08", "2026-01-11"), wire.Releases(), wire.April2026, ""},
		{"an older one of a newer business", profile("2027-01-01", "2026-01-23"), wire.Releases(), wire.January23, "https://shop.example/2026-01-23"},
		{"a draft", profile("2026-08-22"), wire.Releases(), wire.April2026, ""},
		{"a draft for who does not speak the newest", profile("2026-08-22"), []wire.Release{wire.January11}, "", ""},
		{"too old", profile("2025-01-01"), wire.Releases(), "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			release, at, err := negotiation.Choose(test.business, test.spoken)
			if test.want == "" {
				require.ErrorIs(t, err, &negotiation.Error{Code: negotiation.VersionUnsupported})
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.want, release)
			require.Equal(t, test.at, at)
		})
	}
	misnamed, err := negotiation.Parse([]byte(`{"ucp":{"version":"2026-01-11","capabilities":{"dev.ucp.shopping.checkout":[{"version":"2026-01-11"}]}}}`))
	require.NoError(t, err)
	release, _, err := negotiation.Choose(misnamed, wire.Releases())
	require.NoError(t, err)
	require.Equal(t, wire.January23, release, "it has the form of that release, whatever it says")
	require.NoError(t, negotiation.CheckLeaf(profile("2026-01-23"), wire.January23))
	for _, leaf := range []*negotiation.Profile{profile("2026-01-11"), profile("2026-01-23", "2026-01-11")} {
		require.ErrorIs(t, negotiation.CheckLeaf(leaf, wire.January23), &negotiation.Error{Code: negotiation.ProfileMalformed})
	}
	release, err = negotiation.Accept(wire.Releases(), "2026-01-23")
	require.NoError(t, err)
	require.Equal(t, wire.January23, release)
	_, err = negotiation.Accept(wire.Releases(), "2099-01-01")
	require.ErrorContains(t, err, "Protocol version 2099-01-01 is not supported. This business supports 2026-01-11, 2026-01-23, 2026-04-08.")
}

func TestErrorsHaveTheStatusesOfTheSpecification(t *testing.T) {
	for code, want := range map[negotiation.Code][2]int{
		negotiation.InvalidProfileURL: {400, -32001}, negotiation.ProfileUnreachable: {424, -32001},
		negotiation.ProfileMalformed: {422, -32001}, negotiation.VersionUnsupported: {422, -32001},
		negotiation.CapabilitiesIncompatible: {200, 0}, negotiation.SignatureMissing: {401, -32000},
		negotiation.SignatureInvalid: {401, -32000}, negotiation.KeyNotFound: {401, -32000},
		negotiation.DigestMismatch: {400, -32600}, negotiation.AlgorithmUnsupported: {400, -32600},
		negotiation.ProfileNotTrusted: {403, -32000}, "another": {500, -32603},
	} {
		err := &negotiation.Error{Code: code, Content: "x", Err: os.ErrNotExist}
		require.Equal(t, want, [2]int{code.Status(), code.RPC()}, code)
		require.ErrorIs(t, err, os.ErrNotExist)
	}
}

func TestParseAgent(t *testing.T) {
	for _, test := range []struct {
		name   string
		header []string
		want   negotiation.Agent
		wrong  bool
	}{
		{name: "a profile", header: []string{`profile="https://p.example/profile"`}, want: negotiation.Agent{Profile: "https://p.example/profile"}},
		{name: "a version behind it", header: []string{`profile="http://localhost:8285/p"; version="2026-01-11"`}, want: negotiation.Agent{Profile: "http://localhost:8285/p", Version: "2026-01-11"}},
		{name: "a version beside it", header: []string{`version="2026-01-11", profile="https://p.example"`}, want: negotiation.Agent{Profile: "https://p.example", Version: "2026-01-11"}},
		{name: "on two lines", header: []string{`profile="https://p.example"`, `version="2026-01-11"`}, want: negotiation.Agent{Profile: "https://p.example", Version: "2026-01-11"}},
		{name: "none", wrong: true},
		{name: "without quotes", header: []string{`profile=https://p.example`}, wrong: true},
		{name: "no profile", header: []string{`agent="x"`}, wrong: true},
		{name: "no URL", header: []string{`profile="hello"`}, wrong: true},
		{name: "another scheme", header: []string{`profile="file:///etc/passwd"`}, wrong: true},
		{name: "credentials", header: []string{`profile="https://a:b@p.example"`}, wrong: true},
		{name: "a list", header: []string{`profile=("https://p.example")`}, wrong: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := negotiation.ParseAgent(test.header)
			if test.wrong {
				require.ErrorIs(t, err, &negotiation.Error{Code: negotiation.InvalidProfileURL})
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.want, got)
			again, err := negotiation.ParseAgent([]string{got.String()})
			require.NoError(t, err)
			require.Equal(t, got, again)
		})
	}
}

func corpus(t testing.TB) string { t.Helper(); return schematest.Corpus(t, 3) }

func TestRecordedProfiles(t *testing.T) {
	for _, name := range []string{"python.json", "node.json"} {
		text, err := os.ReadFile(filepath.Join(corpus(t), "traces", name))
		require.NoError(t, err)
		var recorded struct {
			Exchanges []struct {
				Response struct{ Body json.RawMessage }
			}
		}
		require.NoError(t, json.Unmarshal(text, &recorded))
		p, err := negotiation.Parse(recorded.Exchanges[0].Response.Body)
		require.NoError(t, err)
		require.Equal(t, "2026-01-11", p.Version)
		require.NotEmpty(t, p.Endpoint("dev.ucp.shopping", negotiation.REST))
		require.False(t, strings.HasSuffix(p.Endpoint("dev.ucp.shopping", negotiation.REST), "/"))
		require.Contains(t, p.Capabilities, checkout)
		_, handler, ok := p.HandlerByID("google_pay")
		require.True(t, ok, name)
		require.NotEmpty(t, handler.Version)
	}
	text, err := os.ReadFile(filepath.Join(corpus(t), "shopping-agent-test.json"))
	require.NoError(t, err)
	p, err := negotiation.Parse(text)
	require.NoError(t, err)
	require.NotEmpty(t, p.Capabilities)
}
