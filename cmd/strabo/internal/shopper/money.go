package shopper

import (
	"fmt"
	"strings"
)

// decimals has the currencies whose minor unit is not a hundredth, by ISO 4217, list one. (The currency data of
// golang.org/x/text are those of CLDR, which says how many decimals people write, and that is not the same.)
var decimals = func() map[string]int {
	byCode := make(map[string]int)
	for count, codes := range map[int]string{
		0: "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF",
		3: "BHD IQD JOD KWD LYD OMR TND",
		4: "CLF UYW",
	} {
		for _, code := range strings.Fields(codes) {
			byCode[code] = count
		}
	}
	return byCode
}()

// Money writes an amount in minor units of a currency, an ISO 4217 code, for a person, such as 12.50 EUR or 1.250 KWD.
func Money(amount int64, currency string) string {
	places, ok := decimals[strings.ToUpper(currency)]
	if !ok {
		places = 2
	}
	sign := ""
	units := uint64(amount)
	if amount < 0 {
		sign, units = "-", -units
	}
	digits := fmt.Sprintf("%0*d", places+1, units)
	if places > 0 {
		digits = digits[:len(digits)-places] + "." + digits[len(digits)-places:]
	}
	return sign + digits + " " + currency
}
