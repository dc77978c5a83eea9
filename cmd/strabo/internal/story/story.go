// Package story collects what happened on both sides of a bridge, the records of engines and the calls between them,
// and tells it: for a person as a timeline, for a program as one JSON object a line. It decides nothing.
package story

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/strabo-engine/strabo/bridge"
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
	call   *bridge.Call
}

// Recorder gives a function that takes the records of one side's engine into the story.
func (s *Story) Recorder(side string) func(enactment.Record) {
	return func(r enactment.Record) { s.add(event{at: r.At, side: side, record: &r}) }
}

// Call takes a call into the story.
func (s *Story) Call(c bridge.Call) { s.add(event{at: c.At, call: &c}) }

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

// callRecord is how a call is told to a program: kind "call", the enactment of the engine that made it, what it was
// made for, and what came of it. Secrets are masked in the bodies, which are given as text.
type callRecord struct {
	Kind      string         `json:"kind"`
	Enactment enactment.Key  `json:"enactment"`
	Action    string         `json:"action"`
	Step      string         `json:"step"`
	Query     bool           `json:"query,omitempty"`
	Send      int            `json:"send,omitempty"`
	Method    string         `json:"method"`
	URL       string         `json:"url"`
	Key       string         `json:"key,omitempty"`
	Status    int            `json:"status,omitempty"`
	Outcome   bridge.Outcome `json:"outcome"`
	Error     string         `json:"error,omitempty"`
	Request   string         `json:"request,omitempty"`
	Response  string         `json:"response,omitempty"`
	// Milliseconds is how long the call took.
	Milliseconds int64  `json:"ms"`
	At           string `json:"at"`
}

// WriteJSON writes the story as JSON, one record or call a line.
func (s *Story) WriteJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	for _, e := range s.sorted() {
		var line any = e.record
		if c := e.call; c != nil {
			line = callRecord{
				Kind: "call", Enactment: c.Enactment, Action: c.Action, Step: c.Step, Query: c.Query, Send: c.Send, Method: c.Method, URL: c.URL,
				Key: c.Key, Status: c.Status, Outcome: c.Outcome, Error: c.Error, Request: c.Request, Response: c.Response,
				Milliseconds: c.Duration.Milliseconds(), At: c.At.UTC().Format("2006-01-02T15:04:05.000Z"),
			}
		}
		if err := encoder.Encode(line); err != nil {
			return fmt.Errorf("cannot print the story: %w", err)
		}
	}
	return nil
}
