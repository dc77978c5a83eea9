// Package story collects what happened on both sides of a bridge, the records of engines and the calls between them,
// and tells it: for a person as a timeline, for a program as one JSON object a line. It decides nothing.
package story

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/strabo-engine/strabo/bridge/audit"
	"github.com/strabo-engine/strabo/enactment"
)

// Story is what happened so far. The zero value is an empty one. It is safe for concurrent use.
type Story struct {
	// Timeless leaves the times out of the timeline, where they mean nothing. Always names attributes that are told each
	// time, such as keys outside the root key. None of them may be changed after first use.
	Timeless bool
	Always   []string
	// Comment, if set, may say something about a record of a side: a sentence, which the timeline has on a line of its
	// own before the record. It is asked in order.
	Comment func(side string, r enactment.Record) string

	mu     sync.Mutex
	events []event
}

// event is a record or a call.
type event struct {
	at     time.Time
	side   string
	record *enactment.Record
	call   *audit.Record
}

// Recorder gives a function that takes the records of one side's engine into the story.
func (s *Story) Recorder(side string) func(enactment.Record) {
	return func(r enactment.Record) { s.add(event{at: r.At, side: side, record: &r}) }
}

// Record takes in what a bridge writes down: attempts on the wire and decisions about calls. So a Story is an
// [audit.Sink]; it never fails.
func (s *Story) Record(_ context.Context, r audit.Record) error {
	s.add(event{at: r.At, call: &r})
	return nil
}

func (s *Story) add(e event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, e)
}

// sorted gives the events in the order in which they began.
func (s *Story) sorted() []event {
	s.mu.Lock()
	defer s.mu.Unlock()
	events := slices.Clone(s.events)
	slices.SortStableFunc(events, func(a, b event) int { return a.at.Compare(b.at) })
	return events
}

// Records lists the records of one side, in order.
func (s *Story) Records(side string) []enactment.Record {
	var records []enactment.Record
	for _, e := range s.sorted() {
		if e.record != nil && e.side == side {
			records = append(records, *e.record)
		}
	}
	return records
}

// WriteJSON writes the story as JSON, one record a line: those of the engines, and those of the bridge between them.
func (s *Story) WriteJSON(w io.Writer) error {
	w = EscapeJSON(w)
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	for _, e := range s.sorted() {
		if e.call == nil {
			if err := encoder.Encode(e.record); err != nil {
				return fmt.Errorf("cannot print the story: %w", err)
			}
			continue
		}
		line, err := audit.Encode(*e.call)
		if err == nil {
			_, err = fmt.Fprintf(w, "%s\n", line)
		}
		if err != nil {
			return fmt.Errorf("cannot print the story: %w", err)
		}
	}
	return nil
}
