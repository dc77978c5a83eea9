package syncserver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/internal/stream"
	"github.com/strabo-engine/strabo/syncserver/internal/sequencer"
	"github.com/strabo-engine/strabo/syncserver/internal/wire"
)

// PendingAttempt is one that has arrived and is not decided.
type PendingAttempt struct {
	Role    string    `json:"role"`
	Party   string    `json:"party,omitempty"`
	Action  string    `json:"action"`
	Attempt string    `json:"attempt"`
	Arrived time.Time `json:"arrived"`
}

// Pending lists the attempts in an enactment that wait for their window in batch finalisation, in order of arrival; in
// immediate finalisation there are none. One that was answered before may be listed for a moment. It blocks until what has
// arrived is read. The error says why it cannot be.
func (a *Archive) Pending(ctx context.Context, key enactment.Key) ([]PendingAttempt, error) {
	js, err := jetstream.New(a.conn)
	if err != nil {
		return nil, err
	}
	arrivals := stream.Reader{Conn: a.conn, Stream: a.subjects.ArrivalStream()}
	switch _, err := js.Stream(ctx, arrivals.Stream); {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("syncserver: %w", err)
	}
	type name struct {
		enactment.Identity
		attempt string
	}
	var waiting []PendingAttempt
	var orders []uint64
	err = arrivals.Read(ctx, a.subjects.Arrivals(), 1, func(m stream.Message) (bool, error) {
		all, err := a.codec.DecodeArrivals(m.Data, nil)
		if err != nil {
			return false, fmt.Errorf("message %d of the arrivals: %w", m.Sequence, err)
		}
		for place := range all.Attempts {
			attempt := &all.Attempts[place].Attempt
			if in, unplaced := a.rules.KeyOf(*attempt); unplaced != nil || in != key {
				continue
			}
			waiting = append(waiting, PendingAttempt{attempt.Role, attempt.Party, attempt.Action, attempt.ID, m.Time})
			orders = append(orders, sequencer.Order(m.Sequence, place))
		}
		return true, nil
	})
	if err != nil || len(waiting) == 0 {
		return nil, err
	}
	// The log is read afterwards: what is decided meanwhile is in it.
	var decided uint64
	answered := make(map[name]bool)
	err = a.entries(ctx, a.subjects.Log(key), 1, func(_ uint64, e *wire.Entry) bool {
		decided = max(decided, e.Decided)
		for _, i := range e.Finalisation.Instances {
			answered[name{enactment.Identity{Role: i.Role, Party: i.Party}, i.Attempt}] = true
		}
		for _, r := range e.Refused {
			answered[name{r.Identity, r.Attempt}] = true
		}
		return true
	})
	var pending []PendingAttempt
	for i, p := range waiting {
		if orders[i] > decided && !answered[name{enactment.Identity{Role: p.Role, Party: p.Party}, p.Attempt}] {
			pending = append(pending, p)
		}
	}
	return pending, err
}
