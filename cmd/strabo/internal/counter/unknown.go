package counter

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/strabo-engine/strabo/bridge"
	"github.com/strabo-engine/strabo/bridge/audit"
	"github.com/strabo-engine/strabo/enactment"
)

// UnknownError says that nobody can tell what the shop did, or that it did what the protocol does not allow. Its JSON is
// a record for programs. What the shop said is in the shop's words.
type UnknownError struct {
	// Kind is unknown, or diverged if what the shop did and the protocol do not fit.
	Kind      string        `json:"kind"`
	Enactment enactment.Key `json:"enactment"`
	// Action is what was asked of the shop last, Step the call that it came to.
	Action string `json:"action,omitempty"`
	Step   string `json:"step,omitempty"`
	// Order is none if certainly no payment has left, placed if the shop has placed one and it is not what was agreed to, else
	// unknown.
	Order string `json:"order"`
	// Checkout is the shop's id for the checkout, URL where to ask about it, Key the idempotency key of the call whose
	// fate is unknown; empty where there is none.
	Checkout string `json:"checkout,omitempty"`
	URL      string `json:"url,omitempty"`
	Key      string `json:"key,omitempty"`
	// Asked is the last call, as METHOD URL, but for those that only ask about it; Status and Said are what the shop
	// answered to it, or why it did not.
	Asked  string `json:"asked,omitempty"`
	Status int    `json:"status,omitempty"`
	Said   string `json:"said,omitempty"`
	// Found is what the shop said when it was asked about that call last: the status of the checkout, if it gave one.
	Found string `json:"found,omitempty"`
	// Detail says what is not known.
	Detail string `json:"detail"`
}

// Error says what is not known.
func (e *UnknownError) Error() string { return e.Detail }

// The values of [UnknownError.Order].
const (
	OrderNone    = "none"
	OrderPlaced  = "placed"
	OrderUnknown = "unknown"
)

// Account says all that is known of a purchase that has not come to its end, once the counter is closed: by the error
// that Buy gave, what the journal has, and what the shop said last. It gives any other error back.
func (c *Counter) Account(cid string, err error) error {
	var unknown *UnknownError
	switch {
	case errors.As(err, &unknown):
		told := *unknown
		unknown = &told
	case errors.Is(err, context.DeadlineExceeded):
		unknown = &UnknownError{Kind: kindUnknown, Detail: "the time was over"}
	case errors.Is(err, context.Canceled):
		unknown = &UnknownError{Kind: kindUnknown, Detail: "it was broken off"}
	default:
		return err
	}
	unknown.Enactment = KeyOf(cid)
	entries, failed := c.journal.Load(context.Background(), unknown.Enactment)
	if failed != nil {
		return errors.Join(unknown, failed)
	}
	told := unknown.Action != ""
	unknown.read(entries)
	if !told && unknown.Action != "" && unknown.Kind == kindUnknown {
		unknown.Detail += fmt.Sprintf(" before it was known what became of %s (step %s)", unknown.Action, unknown.Step)
	}
	if unknown.Kind == kindDiverged {
		unknown.Order = OrderUnknown // Who knows what such a shop does.
		if slices.ContainsFunc(entries, func(e bridge.Entry) bool { return e.Attempt != nil && e.Attempt.Action == "Completed" }) {
			unknown.Order = OrderPlaced
		}
	}
	if unknown.Checkout != "" {
		unknown.URL = c.endpoint + "/checkout-sessions/" + url.PathEscape(unknown.Checkout)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	last := c.last[unknown.Enactment]
	if call := last.call; call != nil {
		unknown.Asked = call.Method + " " + call.URL
		unknown.Status, unknown.Said = call.Status, cmp.Or(call.Response, call.Detail)
	}
	if query := last.query; query != nil {
		var checkout struct {
			Status string `json:"status"`
		}
		if json.Unmarshal([]byte(query.Response), &checkout) != nil || checkout.Status == "" {
			unknown.Found = cmp.Or(query.Response, query.Detail)
		} else {
			unknown.Found = checkout.Status
		}
	}
	return unknown
}

// lastCalls are the last call for a checkout, and the last that asked about it since; nil for none.
type lastCalls struct{ call, query *audit.Record }

// heard notes a call.
func (c *Counter) heard(call audit.Record) {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := c.last[call.Enactment]
	switch call.Kind {
	case audit.StatusQuery:
		last.query = &call
	case audit.FirstCall, audit.Retry:
		last = lastCalls{call: &call}
	default:
		return
	}
	c.last[call.Enactment] = last
}

// told takes what the shop said from where it is not kept out of what is written down.
func (c *Counter) told(u bridge.Unsettled) {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := c.last[u.Enactment]
	if u.Said != nil && last.call != nil && last.call.Status != 0 {
		last.call = u.Said
	}
	if u.Last != nil && u.Last.Kind == audit.StatusQuery {
		last.query = u.Last
	}
	c.last[u.Enactment] = last
}

// read takes what the journal has: where the purchase stands, and whether a payment may have left.
func (e *UnknownError) read(entries []bridge.Entry) {
	open := make(map[string]bridge.Entry) // by instance: the call that has left and is not settled
	e.Order = OrderNone
	for _, entry := range entries {
		if checkout, ok := entry.Kept["checkout"]; ok && checkout.Decode(&e.Checkout) != nil {
			e.Checkout = checkout.String()
		}
		switch entry.Kind {
		case bridge.EntryOpen:
			open[entry.Instance] = entry
			e.Action, e.Step, e.Key = actionOf(entry.Instance), entry.Step, entry.Key
		case bridge.EntryUnsent:
			delete(open, entry.Instance)
			e.Key = ""
		case bridge.EntryKnown:
			delete(open, entry.Instance)
			if e.Key == entry.Key {
				e.Key = ""
			}
			if entry.Attempt != nil && (entry.Attempt.Action == "Completed" || entry.Attempt.Action == "BuyerCompleted") {
				e.Order = OrderUnknown
			}
		case bridge.EntryDiverged, bridge.EntryUnknown, bridge.EntryAnswered, bridge.EntryWaiting, bridge.EntryYielded:
		}
	}
	for _, instance := range slices.Sorted(maps.Keys(open)) {
		entry := open[instance]
		switch action := actionOf(instance); {
		case action == "Complete" && entry.Key != "":
			e.Order, e.Action, e.Step, e.Key = OrderUnknown, action, entry.Step, entry.Key
			return
		case action == "HandOff": // The buyer may have bought at the shop by now.
			e.Order = OrderUnknown
		}
	}
}

const (
	kindUnknown  = "unknown"
	kindDiverged = "diverged"
)

func unsettled(u bridge.Unsettled) *UnknownError {
	return &UnknownError{
		Kind: kindUnknown, Enactment: u.Enactment, Action: u.Action, Step: u.Step, Key: u.Key,
		Detail: fmt.Sprintf("it is not known what became of %s (step %s): %s", u.Action, u.Step, strings.TrimSpace(u.Detail)),
	}
}

func divergence(d bridge.Divergence) *UnknownError {
	return &UnknownError{
		Kind: kindDiverged, Enactment: d.Enactment, Action: d.Action, Step: d.Step,
		Detail: fmt.Sprintf("the shop did what was not to be expected of %s (step %s): %s", d.Action, d.Step, strings.TrimSpace(d.Detail)),
	}
}
