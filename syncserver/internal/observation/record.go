package observation

import (
	"container/list"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/internal/stream"
	"github.com/strabo-engine/strabo/syncserver/internal/wire"
)

// record says which feed of an identity has an enactment and how far it is handled.
type record struct {
	revision uint64 // 0 while there is none
	form     recordForm
}

type recordForm struct {
	Key enactment.Key `json:"key"`
	// Feed is empty once the enactment is no more for the identity to see.
	Feed string `json:"feed"`
	// Batch is the number of the batch in which the feed gets, or got, the history of the enactment, and Session names
	// the session that made the batch.
	Batch   uint64 `json:"batch,omitempty"`
	Session string `json:"session,omitempty"`
	Stored  uint64 `json:"stored,omitempty"`
}

// append encodes the form as encoding/json does.
func (f *recordForm) append(to []byte) []byte {
	to = append(append(to, `{"key":`...), f.Key...)
	to = wire.AppendString(append(to, `,"feed":`...), f.Feed)
	if f.Batch > 0 {
		to = strconv.AppendUint(append(to, `,"batch":`...), f.Batch, 10)
	}
	if f.Session != "" {
		to = wire.AppendString(append(to, `,"session":`...), f.Session)
	}
	if f.Stored > 0 {
		to = strconv.AppendUint(append(to, `,"stored":`...), f.Stored, 10)
	}
	return append(to, '}')
}

// records are those that are remembered, the ones used last.
type records struct {
	most int

	mu    sync.Mutex
	byKey map[enactment.Key]*list.Element // of record
	order *list.List                      // the one used last in front
}

func newRecords(most int) *records {
	return &records{most: max(most, 1), byKey: make(map[enactment.Key]*list.Element), order: list.New()}
}

// get gives a record, if it is remembered. That there is none is remembered too.
func (r *records) get(key enactment.Key) (record, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	place, ok := r.byKey[key]
	if !ok {
		return record{}, false
	}
	r.order.MoveToFront(place)
	return place.Value.(record), true
}

// learn remembers a record, unless a later one is remembered.
func (r *records) learn(fresh record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if place, ok := r.byKey[fresh.form.Key]; ok {
		if place.Value.(record).revision < fresh.revision {
			place.Value = fresh
		}
		r.order.MoveToFront(place)
		return
	}
	r.byKey[fresh.form.Key] = r.order.PushFront(fresh)
	if r.order.Len() > r.most {
		oldest := r.order.Remove(r.order.Back()).(record)
		delete(r.byKey, oldest.form.Key)
	}
}

func (r *records) len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.order.Len()
}

// read reads who has an enactment.
func (g *group) read(ctx context.Context, key enactment.Key) (record, error) {
	m, err := g.host.positions.Last(ctx, g.host.Subjects.Position(g.identity, key))
	if err != nil {
		return record{}, err
	}
	r := record{form: recordForm{Key: key}}
	if m.Sequence > 0 {
		if r, err = recordOf(m); err != nil {
			return record{}, err
		}
		if r.form.Key != key {
			return record{}, fmt.Errorf("the position at %s is of %s, not of %s", m.Subject, r.form.Key, key)
		}
	}
	g.records.learn(r)
	return r, nil
}

// readAll reads who has each of some enactments. That one is nobody's may be wrong, and turns out when it is taken.
func (g *group) readAll(ctx context.Context, keys []enactment.Key) (map[enactment.Key]record, error) {
	found := make(map[enactment.Key]record, len(keys))
	for some := range slices.Chunk(keys, stream.MostSubjects) {
		subjects := make([]string, 0, len(some))
		for _, key := range some {
			found[key] = record{form: recordForm{Key: key}}
			subjects = append(subjects, g.host.Subjects.Position(g.identity, key))
		}
		err := g.host.positions.ReadLast(ctx, subjects, func(m stream.Message) error {
			r, err := recordOf(m)
			if err == nil {
				found[r.form.Key] = r
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	for _, r := range found {
		g.records.learn(r)
	}
	return found, nil
}

func recordOf(m stream.Message) (record, error) {
	r := record{revision: m.Sequence}
	if err := json.Unmarshal(m.Data, &r.form); err != nil {
		return record{}, fmt.Errorf("position %d: %w", m.Sequence, err)
	}
	return r, nil
}

// begin begins to change a record from what it was.
func (g *group) begin(was record, form *recordForm) stream.Writing {
	subject := g.host.Subjects.Position(g.identity, form.Key)
	return stream.Begin(g.host.Conn, subject, was.revision, "", form.append)
}

// write changes a record from what it was. The error is [stream.ErrConflict] if it was something else by then.
func (g *group) write(ctx context.Context, was record, form recordForm) (record, error) {
	revision, err := g.begin(was, &form).Wait(ctx, g.host.Timeout)
	if err != nil {
		return record{}, err
	}
	r := record{revision, form}
	g.records.learn(r)
	return r, nil
}

// errForeign says that an enactment is another feed's.
var errForeign = errors.New("the enactment is another feed's")

// change changes a record that is the feed's or, if take is set, that may become it. The error is errForeign if it is
// another's that is not known to be gone, or nobody's and not to be taken.
func (g *group) change(ctx context.Context, key enactment.Key, feed string, take bool, change func(*recordForm)) (record, error) {
	r, ok := g.records.get(key)
	if !ok {
		var err error
		if r, err = g.read(ctx, key); err != nil {
			return record{}, err
		}
	}
	for backoff := stream.FirstBackoff; ; {
		if r.form.Feed != feed && (!take || r.revision > 0 && !g.dead(r.form.Feed)) {
			return r, errForeign
		}
		form := r.form
		form.Key = key
		if form.Feed != feed {
			form.Feed, form.Batch, form.Session = feed, 0, ""
		}
		change(&form)
		if r.revision > 0 && form == r.form {
			return r, nil
		}
		written, err := g.write(ctx, r, form)
		if !errors.Is(err, stream.ErrConflict) {
			return written, err
		}
		was := r.revision
		if r, err = g.read(ctx, key); err != nil {
			return record{}, err
		}
		if r.revision == was { // no conflict at all: see package stream
			if backoff, err = stream.Pause(ctx, backoff); err != nil {
				return record{}, err
			}
		}
	}
}
