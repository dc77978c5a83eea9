package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBuyAtPublicShops buys at the public sample shops, stock: set STRABO_UCP_NODE and STRABO_UCP_PYTHON to the URLs at
// which they run.
func TestBuyAtPublicShops(t *testing.T) {
	john := []string{"--buyer", "john.doe@example.com"}
	austin := []string{"--street", "9 New Rd", "--city", "Austin", "--region", "TX", "--postal-code", "73301", "--country", "US"}
	for shop, variable := range map[string]string{"node": "STRABO_UCP_NODE", "python": "STRABO_UCP_PYTHON"} {
		for name, test := range map[string]struct {
			arguments []string
			code      int
			says      string
		}{
			"to where the shop knows": {append([]string{"--item", "pot_ceramic"}, john...), exitFine, " placed, 20.00 USD: http"},
			"a new address, express":  {append(append([]string{"--item", "bouquet_roses", "--option", "exp-ship-us"}, john...), austin...), exitFine, " placed, 50.00 USD: http"},
			"a stranger":              {append([]string{"--item", "pot_ceramic"}, austin...), exitFine, " placed, 20.00 USD: http"},
			"declined":                {append([]string{"--item", "pot_ceramic", "--pay", "mock_payment_handler:fail_token"}, john...), exitNo, "The shop declined: Payment Failed: Insufficient Funds (Mock)"},
			"refused":                 {append([]string{"--item", "gardenias"}, john...), exitNo, "The shop refused: Insufficient stock for item gardenias"},
			"too dear":                {append([]string{"--item", "pot_ceramic", "--max", "100"}, john...), exitNo, "Cancelled: the total is 20.00 USD, more than 1.00 USD.\n"},
			"no such option":          {append([]string{"--item", "pot_ceramic", "--option", "drone"}, john...), exitNo, "Cancelled: the shop does not offer the option drone.\n"},
		} {
			t.Run(shop+" "+name, func(t *testing.T) {
				url := os.Getenv(variable)
				if url == "" {
					t.Skipf("skipped: %s is not set to the URL of the public sample shop", variable)
				}
				arguments := append([]string{"buy", "--business", url, "--journal", filepath.Join(t.TempDir(), "journal")}, test.arguments...)
				code, out, err := runStrabo("", arguments...)
				require.Equal(t, test.code, code, out+err)
				require.Contains(t, out, test.says)
				again, same, err := runStrabo("", arguments...)
				require.Equal(t, code, again, err)
				require.Equal(t, out, same, "the same purchase ends in the same way")
			})
		}
	}
}
