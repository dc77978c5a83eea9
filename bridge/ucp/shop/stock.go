package shop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/strabo-engine/strabo/bridge/keyvalue"
)

// KeptStock is a [Stock] in a store, one entry a product, that any number of processes may share.
//
// An entry has the number that is left and what was taken but is neither sold nor given back. Both change in one
// compare-and-set, so a product is never sold more often than it was there, and giving back twice gives back once.
type KeptStock struct {
	store  keyvalue.Store
	opened map[string]int64 // how many there are where the store does not know yet

	mu      sync.Mutex
	shelves map[string]*shelf
}

var _ HeldStock = (*KeptStock)(nil)

// shelf is what this process knows of a product.
type shelf struct {
	name string

	// changing has a token while this process changes the entry, so that its own customers do not make each other try again.
	changing chan struct{}

	mu       sync.Mutex
	waiting  []*change // for whoever changes the entry next
	entry    stockEntry
	revision uint64
	read     time.Time
	sold     []string // holds that the next change may forget
}

// stockEntry is what is stored of a product.
type stockEntry struct {
	Left  int64           `json:"left"`
	Holds map[string]hold `json:"holds,omitempty"`
}

// change is a change of an entry that somebody waits for.
type change struct {
	// make makes it, and tells whether there is anything to store by that. It may be called several times, and what it did
	// last counts. With an error it makes nothing.
	make func(*stockEntry) (bool, error)
	// done tells that it was made, or could not be, as err says. Both are for whoever changes the entry.
	done bool
	err  error
}

// hold is what was taken under one name.
type hold struct {
	Pieces int64  `json:"pieces"`
	Token  string `json:"token"`
	// At is when, in seconds since 1970.
	At int64 `json:"at,omitempty"`
}

// stockPrefix begins the name in the store of each product.
const stockPrefix = "stock."

// behind is how old what Left says may be, where other processes sell the same goods.
const behind = time.Second

// NewStock makes a stock. It begins with the numbers of pieces given, by product; the store knows better where it knows
// anything.
func NewStock(store keyvalue.Store, pieces map[string]int64) *KeptStock {
	return &KeptStock{store: store, opened: pieces, shelves: make(map[string]*shelf)}
}

func (k *KeptStock) shelf(product string) *shelf {
	k.mu.Lock()
	defer k.mu.Unlock()
	s, ok := k.shelves[product]
	if !ok {
		s = &shelf{name: stockPrefix + nameOf(product), changing: make(chan struct{}, 1)}
		k.shelves[product] = s
	}
	return s
}

// Left implements [Stock].
func (k *KeptStock) Left(ctx context.Context, product string) (int64, error) {
	if _, ok := k.opened[product]; !ok {
		return 0, nil
	}
	s := k.shelf(product)
	s.mu.Lock()
	left, fresh := s.entry.Left, time.Since(s.read) < behind
	s.mu.Unlock()
	if fresh {
		return left, nil
	}
	entry, _, err := k.look(ctx, product, s)
	return entry.Left, err
}

// look reads what is stored of a product, and its revision.
func (k *KeptStock) look(ctx context.Context, product string, s *shelf) (stockEntry, uint64, error) {
	stored, err := k.store.Get(ctx, s.name)
	entry := stockEntry{Left: k.opened[product]}
	switch {
	case errors.Is(err, keyvalue.ErrNone):
	case err != nil:
		return stockEntry{}, 0, fmt.Errorf("shop: stock of %s: %w", product, err)
	default:
		if err := json.Unmarshal(stored.Value, &entry); err != nil {
			return stockEntry{}, 0, fmt.Errorf("shop: stock of %s: %w", product, err)
		}
	}
	s.learn(entry, stored.Revision)
	return entry, stored.Revision, nil
}

func (s *shelf) learn(entry stockEntry, revision uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if revision >= s.revision {
		s.entry, s.revision, s.read = entry, revision, time.Now()
	}
}

// change changes what is stored of a product. The change is made on a copy, and may be made several times; it tells
// whether there is anything to store. Where many customers want the same product their changes are stored together: each
// waits for one that is being stored, and whoever comes next after that stores those of all who wait.
func (k *KeptStock) change(ctx context.Context, product string, by func(*stockEntry) (bool, error)) error {
	s := k.shelf(product)
	mine := &change{make: by}
	s.mu.Lock()
	s.waiting = append(s.waiting, mine)
	s.mu.Unlock()
	s.changing <- struct{}{}
	defer func() { <-s.changing }()
	if mine.done {
		return mine.err
	}
	s.mu.Lock()
	all := s.waiting
	s.waiting = nil
	s.mu.Unlock()
	// The others wait for it too, whatever becomes of this one.
	storing, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	err := k.together(storing, product, s, all)
	for _, c := range all {
		c.done = true
		if err != nil {
			c.err = err
		}
	}
	return mine.err
}

// together makes changes and stores what comes of them. The error is about all of them, and those of each about it.
func (k *KeptStock) together(ctx context.Context, product string, s *shelf, changes []*change) error {
	s.mu.Lock()
	entry, revision, known := s.entry, s.revision, !s.read.IsZero()
	s.mu.Unlock()
	for {
		if !known {
			var err error
			if entry, revision, err = k.look(ctx, product, s); err != nil {
				return err
			}
		}
		changed := stockEntry{Left: entry.Left, Holds: maps.Clone(entry.Holds)}
		if changed.Holds == nil {
			changed.Holds = make(map[string]hold)
		}
		s.mu.Lock()
		forgotten := slices.Clone(s.sold)
		s.mu.Unlock()
		for _, name := range forgotten {
			delete(changed.Holds, name)
		}
		store, all := len(forgotten) >= mostSold, true
		for _, c := range changes {
			var stores bool
			stores, c.err = c.make(&changed)
			store, all = store || stores, all && stores
		}
		if !all && known { // What is known here may be behind.
			known = false
			continue
		}
		if !store {
			return nil
		}
		value, err := json.Marshal(changed)
		if err != nil {
			return fmt.Errorf("shop: stock of %s: %w", product, err)
		}
		written, err := k.store.Put(ctx, s.name, value, revision)
		if errors.Is(err, keyvalue.ErrConflict) && ctx.Err() == nil {
			known = false
			continue
		}
		if err != nil {
			return fmt.Errorf("shop: stock of %s: %w", product, err)
		}
		s.learn(changed, written)
		s.mu.Lock()
		s.sold = s.sold[len(forgotten):]
		s.mu.Unlock()
		return nil
	}
}

// mostSold is how many holds that were sold may lie in an entry before they are taken out without another reason.
const mostSold = 64

// Take implements [Stock].
func (k *KeptStock) Take(ctx context.Context, name string, pieces map[string]int64) (string, error) {
	token := ""
	var taken []string
	// Always in the same order, so that the first product says which token holds.
	for _, product := range sortedKeys(pieces) {
		if _, ok := k.opened[product]; !ok {
			return "", errors.Join(&Shortage{Product: product}, k.GiveBack(ctx, name, token, taken))
		}
		fresh := token
		if fresh == "" {
			fresh = uuid.NewString()
		}
		got := "" // It is asked again where what was known was behind.
		err := k.change(ctx, product, func(e *stockEntry) (bool, error) {
			if had, ok := e.Holds[name]; ok {
				got = had.Token
				return false, nil
			}
			if e.Left < pieces[product] {
				return false, &Shortage{Product: product, Left: e.Left}
			}
			got = fresh
			e.Left -= pieces[product]
			e.Holds[name] = hold{pieces[product], fresh, time.Now().Unix()}
			return true, nil
		})
		if err != nil {
			return "", errors.Join(err, k.GiveBack(ctx, name, token, taken))
		}
		token = got
		taken = append(taken, product)
	}
	return token, nil
}

// GiveBack implements [Stock].
func (k *KeptStock) GiveBack(ctx context.Context, name, token string, products []string) error {
	return k.letGo(ctx, name, token, products, true)
}

// letGo takes a hold out of the entries of products, and puts back on the shelves what it held, if that is said.
func (k *KeptStock) letGo(ctx context.Context, name, token string, products []string, back bool) error {
	var failures []error
	for _, product := range products {
		failures = append(failures, k.change(ctx, product, func(e *stockEntry) (bool, error) {
			had, ok := e.Holds[name]
			if !ok || had.Token != token {
				return false, nil
			}
			if back {
				e.Left += had.Pieces
			}
			delete(e.Holds, name)
			return true, nil
		}))
	}
	return errors.Join(failures...)
}

// Sold implements [Stock]. What was sold is taken out of the entry with its next change.
func (k *KeptStock) Sold(_ context.Context, name, token string, products []string) error {
	for _, product := range products {
		s := k.shelf(product)
		s.mu.Lock()
		if had, ok := s.entry.Holds[name]; ok && had.Token == token {
			s.sold = append(s.sold, name)
		}
		s.mu.Unlock()
	}
	return nil
}

// Held implements [HeldStock].
func (k *KeptStock) Held(ctx context.Context, before time.Time) ([]Held, error) {
	all := make(map[string]*Held) // by hold and token
	for _, product := range sortedKeys(k.opened) {
		entry, _, err := k.look(ctx, product, k.shelf(product))
		if err != nil {
			return nil, err
		}
		for _, name := range sortedKeys(entry.Holds) {
			had := entry.Holds[name]
			if had.At >= before.Unix() {
				continue
			}
			held, ok := all[name+" "+had.Token]
			if !ok {
				held = &Held{Hold: name, Token: had.Token}
				all[name+" "+had.Token] = held
			}
			held.Products = append(held.Products, product)
		}
	}
	list := make([]Held, 0, len(all))
	for _, name := range sortedKeys(all) {
		list = append(list, *all[name])
	}
	return list, nil
}

// OnHold lists what is on hold in a store of a [KeptStock], as far as that knows, by the checkouts that it is on hold for. As
// long as a checkout has not sold it ([Held.Sold]), its log is needed: [Shop.Tidy] reads there what has become of it.
func OnHold(ctx context.Context, store keyvalue.Store) (map[string][]Held, error) {
	found := make(map[string][]Held)
	for stored, err := range store.List(ctx, stockPrefix) {
		var entry stockEntry
		if err == nil {
			err = json.Unmarshal(stored.Value, &entry)
		}
		if err != nil {
			return nil, fmt.Errorf("shop: what is on hold: %w", err)
		}
		for name, h := range entry.Holds {
			checkout, _, _ := strings.Cut(name, ".")
			found[checkout] = append(found[checkout], Held{Hold: name, Token: h.Token})
		}
	}
	return found, nil
}

// Forget implements [HeldStock].
func (k *KeptStock) Forget(ctx context.Context, name, token string, products []string) error {
	return k.letGo(ctx, name, token, products, false)
}
