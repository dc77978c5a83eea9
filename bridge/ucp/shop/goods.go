package shop

import (
	"context"
	"math/big"
	"slices"
	"strings"

	"github.com/strabo-engine/strabo/bridge/ucp/model"
)

// Product implements [Catalogue].
func (d *Data) Product(_ context.Context, id string) (model.Item, bool, error) {
	item, ok := d.Products[id]
	return item, ok, nil
}

// standard is the service level that promotions make free.
const standard = "standard"

// Options implements [Shipping]: of each service level the rate of the country or, if it has none, the one of all
// others.
func (d *Data) Options(
	_ context.Context, destination model.Destination, lines []model.LineItem, subtotal int64,
) ([]ShippingOption, error) {
	chosen := make(map[string]Rate)
	var levels []string
	for _, rate := range d.Rates {
		if rate.Country != "default" && !strings.EqualFold(rate.Country, destination.AddressCountry) {
			continue
		}
		had, ok := chosen[rate.Level]
		if !ok {
			levels = append(levels, rate.Level)
		}
		if !ok || had.Country == "default" {
			chosen[rate.Level] = rate
		}
	}
	options := make([]ShippingOption, 0, len(levels))
	for _, level := range levels {
		rate := chosen[level]
		option := ShippingOption{ID: rate.ID, Title: rate.Title, Price: rate.Price}
		if level == standard && option.Price > 0 && d.free(lines, subtotal) {
			option.Price = 0
			option.Title += " (Free)"
		}
		options = append(options, option)
	}
	return options, nil
}

// free tells whether a promotion holds.
func (d *Data) free(lines []model.LineItem, subtotal int64) bool {
	return slices.ContainsFunc(d.Promotions, func(p Promotion) bool {
		return p.From > 0 && subtotal >= p.From || slices.ContainsFunc(lines, func(l model.LineItem) bool {
			return slices.Contains(p.Products, l.Item.ID)
		})
	})
}

// Apply implements [Discounts]. Each code takes from what the ones before it have left, and counts once.
func (d *Data) Apply(_ context.Context, codes []string, amount int64) ([]model.Applied, error) {
	applied := []model.Applied{}
	for i, code := range codes {
		discount, ok := d.Codes[strings.ToUpper(code)] // UCP 2026-01-11, discount.json: case-insensitive
		if !ok || slices.ContainsFunc(codes[:i], func(other string) bool { return strings.EqualFold(other, code) }) {
			continue
		}
		off := min(discount.Amount, amount)
		if discount.Percent > 0 {
			off = percentOf(amount, discount.Percent)
		}
		if off == 0 {
			continue
		}
		amount -= off
		applied = append(applied, model.Applied{Code: code, Title: discount.Title, Amount: off})
	}
	return applied, nil
}

// percentOf rounds in favour of the buyer: what is left is rounded down.
func percentOf(amount, percent int64) int64 {
	left := new(big.Int).Mul(big.NewInt(amount), big.NewInt(100-percent))
	return amount - left.Quo(left, big.NewInt(100)).Int64()
}
