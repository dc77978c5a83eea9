package shop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/bridge/ucp/model"
	"github.com/strabo-engine/strabo/enactment"
)

// Held is what was taken of a stock under one name and is, as far as the stock knows, neither sold nor given back.
type Held struct {
	Hold, Token string
	Products    []string
}

// HeldStock is a [Stock] that can tell what is on hold in it; see [Shop.Tidy].
type HeldStock interface {
	Stock
	// Held lists what was taken before a time and is still on hold.
	Held(ctx context.Context, before time.Time) ([]Held, error)
	// Forget is Sold, also for what another process has taken, and at once.
	Forget(ctx context.Context, hold, token string, products []string) error
}

const (
	// tidyInterval is how often the shop looks for what dead processes have left on hold.
	tidyInterval = time.Minute
	// leftBehind is how old a hold must be for that: older than anybody serves a customer, by any clock.
	leftBehind = patience + 2*time.Minute
)

// Run does what nobody asks for, until ctx ends: it ends checkouts of which the time is over ([Shop.Expire]), and settles
// what processes that have died have left on hold ([Shop.Tidy]). It blocks, and returns nil: what fails is tried again. A
// stock that is no [HeldStock] looks after itself.
func (s *Shop) Run(ctx context.Context, agent *adapter.Adapter, executor adapter.Attendant) error {
	var running sync.WaitGroup
	running.Go(func() {
		s.every(ctx, tidyInterval, "shop: what is on hold cannot be looked through", func() error {
			return s.Tidy(ctx, agent.Rules(), executor, time.Now().Add(-leftBehind))
		})
	})
	s.every(ctx, expiryInterval, "shop: checkouts of which the time is over cannot be looked through", func() error {
		return s.Expire(ctx, agent, executor, time.Now())
	})
	running.Wait()
	return nil
}

// every does something, at once and then again and again until ctx ends.
func (s *Shop) every(ctx context.Context, interval time.Duration, failed string, do func() error) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		if err := do(); err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, failed, "error", err)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// Tidy settles holds from before a time. The log of the checkout says what has become of each: what was sold is forgotten,
// what was taken for nothing is given back. That happens where a process dies after the goods were taken and before it is
// known what for.
func (s *Shop) Tidy(ctx context.Context, rules *enactment.Rules, executor adapter.Attendant, before time.Time) error {
	stock, ok := s.Stock.(HeldStock)
	if !ok {
		return nil
	}
	all, err := stock.Held(ctx, before)
	if err != nil {
		return err
	}
	party, _ := rules.Party("Business")
	business := enactment.Identity{Role: "Business", Party: party}
	var failures []error
	for _, held := range all {
		var what fate
		if what, err = becameOf(ctx, executor, business, held); err == nil {
			switch what {
			case sold:
				err = stock.Forget(ctx, held.Hold, held.Token, held.Products)
			case unsold:
				s.log.InfoContext(ctx, "shop: goods that were on hold for nobody are given back", slog.String("hold", held.Hold))
				err = stock.GiveBack(ctx, held.Hold, held.Token, held.Products)
			}
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		failures = append(failures, err)
	}
	return errors.Join(failures...)
}

// fate is what has become of a hold.
type fate int

const (
	undecided fate = iota
	sold
	unsold
)

// soldBy is the id of the attempt by which goods are sold. Whoever else serves the same customer with the same goods in
// hand makes the same attempt.
func soldBy(token string) string { return "sold:" + token }

// Sold tells whether a checkout in which that happened has sold what is on hold.
func (h Held) Sold(happened iter.Seq[enactment.Instance]) bool {
	for i := range happened {
		if i.Action == "Completed" && i.Attempt == soldBy(h.Token) {
			return true
		}
	}
	return false
}

// holdOf names what is taken for a revision of a checkout.
func holdOf(checkout string, revision int64) string {
	return checkout + "." + strconv.FormatInt(revision, 10)
}

// becameOf asks the log. Looking is enough to have a payment settled that nobody has settled yet.
func becameOf(ctx context.Context, executor adapter.Attendant, business enactment.Identity, held Held) (fate, error) {
	checkout, text, ok := strings.Cut(held.Hold, ".")
	revision, err := strconv.ParseInt(text, 10, 64)
	if !ok || err != nil {
		return undecided, nil // It is nothing that a checkout has taken.
	}
	key, err := json.Marshal(map[string]string{"cid": checkout})
	if err != nil {
		return undecided, err
	}
	visit, err := executor.Visit(ctx, business, enactment.Key(key), adapter.Latest)
	if err != nil {
		return undecided, fmt.Errorf("shop: hold %s: %w", held.Hold, err)
	}
	defer visit.Close(false)
	standing := model.StandingOf(slices.Values(visit.Instances()))
	// A log that is no more there was removed when all in it was sold, if anything was on hold: see [OnHold].
	if standing.Create == nil || held.Sold(slices.Values(visit.Instances())) {
		return sold, nil
	}
	if standing.Ended() || standing.Revision > revision || standing.Declined != nil && standing.Revision == revision {
		return unsold, nil
	}
	return undecided, nil
}
