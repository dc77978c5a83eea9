package shopper

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/strabo-engine/strabo/bridge/ucp"
)

// Discounts are the discounts of a checkout, and what has become of the codes that were asked for (UCP 2026-04-08, discount).
type Discounts struct {
	// Applied are all that count, those by code and those that the shop gives by itself.
	Applied []Discount `json:"applied"`
	// Rejected are the codes that were asked for and do not count.
	Rejected []RejectedCode `json:"rejected"`
}

// Discount is a discount that counts.
type Discount struct {
	// Code is empty where the shop gives it by itself.
	Code  string `json:"code,omitempty"`
	Title string `json:"title"`
	// Amount is what it takes off, in minor units, as a positive number.
	Amount int64 `json:"amount"`
	// Provisional tells that the shop still has to verify it.
	Provisional bool `json:"provisional,omitempty"`
}

// RejectedCode is a code that does not count.
type RejectedCode struct {
	Code string `json:"code"`
	// Reason is the shop's code for why, such as discount_code_expired, and Content its sentence; both are empty where it
	// does not say.
	Reason  string `json:"reason,omitempty"`
	Content string `json:"content,omitempty"`
}

// stated are the discounts of a checkout as a shop states them.
type stated struct {
	Codes   []string   `json:"codes"`
	Applied []Discount `json:"applied"`
}

// discountsOf finds what has become of codes in a statement. Codes are the same whatever their case.
func discountsOf(codes []string, now statement) Discounts {
	d := Discounts{Applied: append([]Discount{}, now.discounts.Applied...), Rejected: []RejectedCode{}}
	for _, code := range codes {
		counts := func(applied Discount) bool { return strings.EqualFold(applied.Code, code) }
		if slices.ContainsFunc(d.Applied, counts) {
			continue
		}
		rejected := RejectedCode{Code: code}
		for _, m := range now.messages {
			if about, ok := now.codeOf(m, codes); ok && strings.EqualFold(about, code) {
				rejected.Reason, rejected.Content = m.Code, m.Content
				break
			}
		}
		d.Rejected = append(d.Rejected, rejected)
	}
	return d
}

// codesPath is where the codes are in a checkout.
const codesPath = "$.discounts.codes"

// codeOf tells which code a message is about: that at its path, in the codes as the shop lists them, or as they were asked
// for if it does not. A message about discounts that does not say which is about none.
func (now statement) codeOf(m ucp.Message, asked []string) (string, bool) {
	inside, ok := strings.CutPrefix(m.Path, codesPath+"[")
	if !ok {
		return "", false
	}
	at, err := strconv.Atoi(strings.TrimSuffix(inside, "]"))
	listed := now.discounts.Codes
	if len(listed) == 0 {
		listed = asked
	}
	if err != nil || at < 0 || at >= len(listed) {
		return "", false
	}
	return listed[at], true
}

// unwanted are the codes that have to go before anything else is possible: those of which the shop says, in an error that
// can be recovered from, that they are wrong; all, if it does not say which.
func (now statement) unwanted(asked []string) (rejected []RejectedCode) {
	for _, m := range now.errors(ucp.SeverityRecoverable) {
		if !strings.HasPrefix(m.Path, "$.discounts") && !strings.HasPrefix(m.Code, "discount_code_") {
			continue
		}
		about, ok := now.codeOf(m, asked)
		for _, code := range asked {
			if !ok || strings.EqualFold(code, about) {
				rejected = append(rejected, RejectedCode{code, cmp.Or(m.Code, "discount_code_invalid"), m.Content})
			}
		}
	}
	return rejected
}
