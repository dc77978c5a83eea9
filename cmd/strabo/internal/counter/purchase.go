package counter

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/strabo-engine/strabo/bridge"
	"github.com/strabo-engine/strabo/enactment"
)

// Purchase is one purchase in a journal, by an id of the buyer's. If the process dies in the middle of it, the same
// purchase out of the same journal goes on where it was: with the same checkout and the same idempotency keys. One that
// has ended ends the same way again, without a call to the shop. Make one with [Resume].
type Purchase struct {
	// ID is the cid of the checkout.
	ID string
	// Begun tells that an earlier process began it.
	Begun bool
	// Decided is what was asked of the shop about the bill then, Complete or Cancel; empty: nothing yet.
	Decided string

	key      enactment.Key
	journal  bridge.Journal
	before   int    // how many entries there were
	diverged string // how shop and protocol fell out; empty: they did not
}

// ErrOtherPurchase says that the journal has another purchase by the id.
var ErrOtherPurchase = errors.New("the journal has another purchase by this id")

// purchaseInstance is what the entry that says what a purchase is about stands under, beside those of the bridge.
const purchaseInstance = "purchase"

// Resume finds a purchase in a journal or notes it down. About is what it is about, anything that encoding/json encodes:
// the same id stands for the same purchase, or the error is [ErrOtherPurchase]. Only a digest of about is kept.
func Resume(ctx context.Context, journal bridge.Journal, id string, about any) (*Purchase, error) {
	p := &Purchase{ID: id, journal: journal, key: KeyOf(id)}
	text, err := json.Marshal(about)
	if err != nil {
		return nil, fmt.Errorf("counter: %w", err)
	}
	sum := sha256.Sum256(text)
	digest := enactment.MustValue(hex.EncodeToString(sum[:]))
	entries, err := journal.Load(ctx, p.key)
	if err != nil {
		return nil, fmt.Errorf("counter: %w", err)
	}
	p.before, p.Begun = len(entries), len(entries) > 0
	if !p.Begun {
		note := bridge.Entry{
			Kind: bridge.EntryKnown, Enactment: p.key, Instance: purchaseInstance,
			Kept: enactment.Values{purchaseInstance: digest}, At: time.Now().UTC(),
		}
		if err := journal.Append(ctx, note); err != nil {
			return nil, fmt.Errorf("counter: %w", err)
		}
		return p, nil
	}
	if !entries[0].Kept[purchaseInstance].Equal(digest) {
		return nil, ErrOtherPurchase
	}
	for _, e := range entries {
		if e.Kind == bridge.EntryDiverged {
			p.diverged = e.Detail
		}
		if action := actionOf(e.Instance); p.Decided == "" && (action == "Complete" || action == "Cancel") {
			p.Decided = action
		}
	}
	return p, nil
}

// actionOf gives the action of an instance as a journal names it: alone, or before the values of its keys.
func actionOf(instance string) string {
	action, _, _ := strings.Cut(instance, "{")
	return action
}

// KeyOf gives the enactment that a checkout is.
func KeyOf(cid string) enactment.Key {
	text, err := json.Marshal(map[string]string{"cid": cid})
	if err != nil {
		panic(err) // A string always has an encoding.
	}
	return enactment.Key(text)
}

// Load implements [bridge.Journal]. The engine of an earlier process is gone, and its answers with it: what was
// attempted there has to be attempted again, so it is not told that it was accepted.
func (p *Purchase) Load(ctx context.Context, key enactment.Key) ([]bridge.Entry, error) {
	entries, err := p.journal.Load(ctx, key)
	if err != nil || key != p.key {
		return entries, err
	}
	i := 0
	return slices.DeleteFunc(entries, func(e bridge.Entry) bool {
		i++
		return i <= p.before && e.Kind == bridge.EntryAnswered
	}), nil
}

// Append implements [bridge.Journal].
func (p *Purchase) Append(ctx context.Context, entry bridge.Entry) error {
	return p.journal.Append(ctx, entry)
}
