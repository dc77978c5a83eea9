package main

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/strabo-engine/strabo/bridge/guard"
	"github.com/strabo-engine/strabo/bridge/ucp/wire"
)

var (
	orderIDForm  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
	currencyForm = regexp.MustCompile(`^[A-Za-z]{3}$`)
)

// check says what is wrong with the flags.
func (c *buyCommand) check() error {
	switch {
	case c.Quantity < 1:
		return fmt.Errorf("--quantity is %d: at least 1 is needed", c.Quantity)
	case slices.Contains(c.Item, ""):
		return errors.New("--item is empty: the id of what to buy is needed")
	case strings.HasPrefix(strings.ToLower(c.Business), "http://") && !guard.IsLoopback(c.Business) && !c.PlainHTTP:
		return fmt.Errorf("--business %s is not on https: anybody on the way could read the payment; --plain-http is needed", c.Business)
	case c.Release != "" && !wire.Release(c.Release).Known():
		return fmt.Errorf("--release is %q: one of %v is needed", c.Release, wire.Releases())
	case !slices.Contains([]string{"", "rest", "mcp"}, c.Transport):
		return fmt.Errorf("--transport is %q: rest or mcp is needed", c.Transport)
	case c.RequireDiscounts && len(c.Discount) == 0:
		return errors.New("--require-discounts needs a --discount")
	case c.Option == "":
		return errors.New("--option is empty: the id of a delivery option is needed, or cheapest")
	case slices.Contains(c.Discount, ""):
		return errors.New("--discount is empty: a code is needed")
	case c.Timeout <= 0:
		return fmt.Errorf("--timeout is %s: more than 0 is needed", c.Timeout)
	case c.Max != nil && *c.Max < 0:
		return fmt.Errorf("--max is %d: at least 0 is needed", *c.Max)
	case !currencyForm.MatchString(c.Currency):
		return fmt.Errorf("--currency is %q: an ISO 4217 code of three letters is needed", c.Currency)
	case !c.Follow && (c.Webhooks != "" || c.PublicURL != ""):
		return errors.New("--webhooks and --public-url are for --follow")
	case c.PublicURL != "" && c.Webhooks == "":
		return errors.New("--public-url says where --webhooks is reached, so that is needed")
	case c.Look < 0 || c.FollowFor <= 0:
		return errors.New("--look and --follow-for must not be negative, and --follow-for not 0")
	case c.MandateKey != "" && c.Profile == "" && c.Webhooks == "":
		return errors.New("--mandate-key is in the platform's profile, so --profile is needed")
	case c.RequireSigned && c.Profile == "" && c.Webhooks == "":
		return errors.New("--require-signed is for shops of UCP 2026-04-08, which ask for the platform's profile, so --profile is needed")
	case c.RequireSigned && c.Release != "" && wire.Release(c.Release) != wire.April2026:
		return fmt.Errorf("--require-signed needs a release whose answers are signed: %s, not %s", wire.April2026, c.Release)
	case c.SigningKeyID == "":
		return errors.New("--signing-key-id is empty: the id of the key in the profile is needed")
	case c.MandateKeyID == "":
		return errors.New("--mandate-key-id is empty: the id of the key in the profile is needed")
	case c.OrderID != "" && c.Journal == "":
		return errors.New("--order-id names a purchase in a journal, so --journal is needed")
	case c.OrderID != "" && !orderIDForm.MatchString(c.OrderID):
		return fmt.Errorf("--order-id is %q: up to 64 letters, digits, dots, dashes and underscores are needed", c.OrderID)
	}
	for i, code := range c.Discount {
		if slices.ContainsFunc(c.Discount[:i], func(other string) bool { return strings.EqualFold(code, other) }) {
			return fmt.Errorf("--discount %s is given twice: a code counts once, whatever its case", code)
		}
	}
	c.Currency = strings.ToUpper(c.Currency)
	for _, check := range []func() error{c.checkURLs, c.checkPay} {
		if err := check(); err != nil {
			return err
		}
	}
	_, err := c.lines()
	return err
}

// checkURLs says what is wrong with the flags that are URLs.
func (c *buyCommand) checkURLs() error {
	for _, given := range []struct{ flag, text string }{
		// A profile is named in a header, between quotation marks.
		{"--profile", strings.ReplaceAll(c.Profile, "{release}", string(wire.Newest))}, {"--public-url", c.PublicURL},
	} {
		if given.text == "" {
			continue
		}
		u, err := url.Parse(given.text)
		if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || strings.ContainsAny(given.text, "\"\\{} #") {
			shown := given.text
			if u != nil {
				shown = u.Redacted()
			}
			return fmt.Errorf("%s %s: a URL of https is needed, without a password or a fragment", given.flag, shown)
		}
	}
	return nil
}

// checkPay says what is wrong with what is to be paid with.
func (c *buyCommand) checkPay() error {
	if handler, token, ok := strings.Cut(c.Pay, ":"); c.Pay != "" && (!ok || handler == "" || token == "") {
		return errors.New("--pay must be HANDLER:TOKEN") // What was given may have what pays in it.
	}
	return nil
}
