package shop

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/strabo-engine/strabo/bridge/keyvalue"
	"github.com/strabo-engine/strabo/bridge/ucp/model"
)

// KeptCustomers are [Customers] of which the addresses that they give are kept in a store, one entry a customer.
type KeptCustomers struct {
	store keyvalue.Store
	known map[string][]model.Destination
}

var _ Customers = (*KeptCustomers)(nil)

// NewCustomers makes customers of whom the given addresses are known, by email, and more as they give them.
func NewCustomers(store keyvalue.Store, known map[string][]model.Destination) *KeptCustomers {
	folded := make(map[string][]model.Destination, len(known))
	for email, addresses := range known {
		folded[fold(email)] = addresses
	}
	return &KeptCustomers{store, folded}
}

// fold makes the spellings of an email one.
func fold(email string) string { return strings.ToLower(strings.TrimSpace(email)) }

// mostAddresses is how many addresses are kept of a customer beside those that are known from the beginning. The oldest
// are forgotten.
const mostAddresses = 32

func (k *KeptCustomers) entry(email string) string { return "customer." + nameOf(fold(email)) }

// Addresses implements [Customers].
func (k *KeptCustomers) Addresses(ctx context.Context, email string) ([]model.Destination, error) {
	all := k.known[fold(email)]
	stored, err := k.store.Get(ctx, k.entry(email))
	if errors.Is(err, keyvalue.ErrNone) {
		return all, nil
	}
	if err != nil {
		return nil, fmt.Errorf("shop: addresses of a customer: %w", err)
	}
	given, err := readAddresses(stored.Value)
	return append(all[:len(all):len(all)], given...), err
}

func readAddresses(value []byte) (addresses []model.Destination, err error) {
	if value == nil {
		return nil, nil
	}
	if err := json.Unmarshal(value, &addresses); err != nil {
		return nil, fmt.Errorf("shop: addresses of a customer: %w", err)
	}
	return addresses, nil
}

// Remember implements [Customers]. An address without a street is not kept: nothing could be sent there again.
func (k *KeptCustomers) Remember(ctx context.Context, email string, address model.Destination) (model.Destination, error) {
	if known, ok := same(k.known[fold(email)], address); ok && email != "" {
		return known, nil
	}
	if address.ID == "" {
		address.ID = addressID(address)
	}
	if email == "" || address.StreetAddress == "" {
		return address, nil
	}
	kept := address
	err := keyvalue.Change(ctx, k.store, k.entry(email), func(value []byte) ([]byte, error) {
		all, err := readAddresses(value)
		if err != nil {
			return nil, err
		}
		if known, ok := same(all, address); ok {
			kept = known
			return nil, nil
		}
		kept = address
		for _, other := range append(all, k.known[fold(email)]...) {
			if other.ID == kept.ID { // Another address has the name.
				kept.ID = addressID(kept)
			}
		}
		all = append(all, kept)
		return json.Marshal(all[max(0, len(all)-mostAddresses):])
	})
	return kept, err
}

// same finds the same place among addresses, whatever it is called.
func same(addresses []model.Destination, wanted model.Destination) (model.Destination, bool) {
	for _, a := range addresses {
		if place(a) == place(wanted) {
			return a, true
		}
	}
	return model.Destination{}, false
}

// place is an address without whose it is.
func place(d model.Destination) model.Destination {
	d.ID, d.FullName, d.FirstName, d.LastName, d.PhoneNumber = "", "", "", "", ""
	return d
}

// addressID names an address by what it says.
func addressID(address model.Destination) string {
	address.ID = ""
	text, err := json.Marshal(address)
	if err != nil {
		panic(err) // Strings always have an encoding.
	}
	sum := sha256.Sum256(text)
	return "addr_" + hex.EncodeToString(sum[:8])
}
