package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/strabo-engine/strabo/bridge"
	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/bridge/ucp/mandate"
	"github.com/strabo-engine/strabo/bridge/ucp/signature"
	"github.com/strabo-engine/strabo/cmd/strabo/internal/counter"
)

// keyIn reads the private key that a flag names.
func keyIn(flag, name, id string) (*signature.Signer, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	signer, err := signature.ParseSigner(id, text)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", flag, name, err)
	}
	return signer, nil
}

// mandates gives what signs mandates with a key; nil for nothing. Whoever gives the command its key has agreed to what it
// buys, within its flags.
func (c *buyCommand) mandates(key *signature.Signer, business *ucp.Business, s *streams) mandate.Signer {
	if key == nil {
		return nil
	}
	if !business.TakesMandates() {
		fmt.Fprintln(s.err, "strabo: the shop takes no mandates, so it is paid without")
	}
	profile := strings.ReplaceAll(c.Profile, "{release}", string(business.Release))
	return &mandate.KeySigner{Key: key, Issuer: profile, Audience: business.Endpoint}
}

// held is what the flags name and the command has open: keys, policy and journal.
type held struct {
	signer, mandates *signature.Signer // nil for none
	following        *following
	under            buyPolicy
	journal          *bridge.FileJournal // nil for none
}

// hold opens all that the flags name, before anything is sent: what cannot be had there is wrong use, and no purchase that
// has failed. Call done when it is over.
func (c *buyCommand) hold(s *streams) (h *held, done func(), err error) {
	h = new(held)
	var open []func()
	finish := func() {
		for _, end := range slices.Backward(open) {
			end()
		}
	}
	defer func() {
		if err != nil {
			finish()
		}
	}()
	if c.SigningKey != "" {
		if h.signer, err = keyIn("--signing-key", c.SigningKey, c.SigningKeyID); err != nil {
			return nil, nil, err
		}
	}
	under, end, err := c.policy(s)
	if err != nil {
		return nil, nil, err
	}
	h.under, open = under, append(open, end)
	if c.Journal != "" {
		if h.journal, err = bridge.OpenFileJournal(c.Journal); err != nil {
			return nil, nil, fmt.Errorf("--journal: %w", err)
		}
		open = append(open, func() {
			if err := h.journal.Close(); err != nil {
				fmt.Fprintf(s.err, "strabo: %v\n", err)
			}
		})
	}
	if h.following, err = c.follow(s); err != nil {
		return nil, nil, err
	}
	open = append(open, h.following.close)
	// A profile of the command's own has made the key, where there was none.
	if c.MandateKey != "" {
		h.mandates, err = keyIn("--mandate-key", c.MandateKey, c.MandateKeyID)
	}
	return h, finish, err
}

// purchase finds the purchase in the journal, if there is to be one; nil without.
func (c *buyCommand) purchase(ctx context.Context, journal *bridge.FileJournal, business *ucp.Business, s *streams) (*counter.Purchase, error) {
	if journal == nil {
		return nil, nil
	}
	id := cmp.Or(c.OrderID, defaultOrderID)
	about, err := c.about(business)
	if err != nil {
		return nil, err
	}
	p, err := counter.Resume(ctx, journal, id, about)
	switch {
	case errors.Is(err, counter.ErrOtherPurchase):
		return nil, fmt.Errorf("%s has a purchase %s that is about something else: give another --order-id", c.Journal, id)
	case err != nil:
		return nil, err
	}
	if p.Begun {
		fmt.Fprintf(s.err, "strabo: going on with the purchase %s in %s\n", id, c.Journal)
	}
	return p, nil
}
