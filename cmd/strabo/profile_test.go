package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/ucp/wire"
)

// TestBuyWithAProfile: a shop that takes only signed requests, a platform that publishes its key, and a buyer who has it.
func TestBuyWithAProfile(t *testing.T) {
	key := filepath.Join(t.TempDir(), "platform.pem")
	profile := publish(t, "--signing-key", key)
	s := startShop(t, "--local-webhooks", "--signed", "--durability", "none")
	type purchase struct {
		name, below string
		flags       []string
		code        int
		want        string
	}
	tests := []purchase{
		{"without a profile, in the oldest release", "", nil, exitNo, "signature_missing"},
		{"signed", "", []string{"--profile", profile, "--signing-key", key}, exitFine, "placed"},
		{"not signed", "", []string{"--profile", profile}, exitNo, "signature_missing"},
		{"with a key of another id", "", []string{"--profile", profile, "--signing-key", key, "--signing-key-id", "x"}, exitNo, "key_not_found"},
		{"in 2026-01-23", "/ucp/2026-01-23", []string{"--profile", profile, "--signing-key", key}, exitFine, "placed"},
		{"with the profile of another release", "", []string{"--profile", profile[:len(profile)-len("{release}")] + "2026-01-11", "--signing-key", key}, exitNo, "version_unsupported"},
	}
	for _, release := range wire.Releases() {
		for _, transport := range []string{"rest", "mcp"} {
			tests = append(tests, purchase{"in " + string(release) + " over " + transport, "", []string{
				"--profile", profile, "--signing-key", key, "--release", string(release), "--transport", transport,
				"--discount", "keeper10", "--no-consent-marketing",
			}, exitFine, "\nDiscount keeper10, 10% for keepers: -"})
		}
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			code, out, err := runStrabo("", append([]string{"buy", "--business", s.URL + test.below, "--item", "oil-lamp", "--country", "GR"}, test.flags...)...)
			require.Equal(t, test.code, code, out+err)
			require.Contains(t, out, test.want)
		})
	}
}
