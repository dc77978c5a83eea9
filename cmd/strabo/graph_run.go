package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/langshaw/diagram"
)

// longestRecord is how long a line of records may be.
const longestRecord = 16 << 20

// drawnRecord is what is drawn of a record.
type drawnRecord struct {
	Kind      enactment.Kind             `json:"kind"`
	Protocol  string                     `json:"protocol"`
	Enactment json.RawMessage            `json:"enactment"`
	Sequence  uint64                     `json:"sequence"`
	Action    string                     `json:"action"`
	Role      string                     `json:"role"`
	Values    map[string]json.RawMessage `json:"values"`
	Reason    struct {
		Code string `json:"code"`
	} `json:"reason"`
}

// runSequence reads records and draws the first enactment among them.
func (c *graphCommand) runSequence(s *streams, rules *enactment.Rules) (diagram.Sequence, error) {
	p := rules.Protocol()
	sequence := diagram.Sequence{Title: p.Name(), Roles: slices.Collect(p.Roles())}
	in := s.in
	if c.Records != standardInput {
		file, err := os.Open(c.Records)
		if err != nil {
			return sequence, fmt.Errorf("cannot read the records: %w", err)
		}
		defer file.Close()
		in = file
	}
	var first json.RawMessage
	var last uint64
	others := 0
	err := eachRecord(in, func(r drawnRecord) error {
		if r.Protocol != p.Name() {
			return fmt.Errorf("a record of %q, not of %s", r.Protocol, p.Name())
		}
		if first == nil {
			first = r.Enactment
		}
		switch {
		case !bytes.Equal(first, r.Enactment):
			others++
			return nil
		case r.Kind == enactment.Completed:
			sequence.End = []string{"The enactment is complete."}
			return nil
		}
		event, err := eventOf(r, rules)
		if err != nil {
			return err
		}
		if n := len(sequence.Steps); n > 0 && r.Kind == enactment.Happened && r.Sequence == last {
			sequence.Steps[n-1] = append(sequence.Steps[n-1], event)
		} else {
			sequence.Steps = append(sequence.Steps, diagram.Step{event})
		}
		last = 0
		if r.Kind == enactment.Happened {
			last = r.Sequence
		}
		return nil
	})
	if err == nil && len(sequence.Steps) == 0 {
		err = fmt.Errorf("there are no records to draw")
	}
	if others > 0 {
		fmt.Fprintf(s.err, "strabo: records of other enactments, not drawn: %d\n", others)
	}
	return sequence, err
}

// eachRecord calls do with each record, one JSON object a line.
func eachRecord(in io.Reader, do func(drawnRecord) error) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, longestRecord)
	number := 0
	for lines.Scan() {
		number++
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var r drawnRecord
		err := json.Unmarshal(lines.Bytes(), &r)
		if err == nil {
			err = do(r)
		}
		if err != nil {
			return fmt.Errorf("records, line %d: %w", number, err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("cannot read the records: %w", err)
	}
	return nil
}

// eventOf draws a record: what the role decided with its value, the rest by name.
func eventOf(r drawnRecord, rules *enactment.Rules) (diagram.Event, error) {
	p := rules.Protocol()
	a, ok := p.Action(r.Action)
	if !ok && r.Kind == enactment.Refused && p.HasRole(r.Role) {
		return diagram.Event{Role: r.Role, Action: r.Action, Refused: r.Reason.Code}, nil
	}
	if !ok || !p.HasRole(r.Role) {
		return diagram.Event{}, fmt.Errorf("%s has no action %q of a role %q", p.Name(), r.Action, r.Role)
	}
	event := diagram.EventOf(p, a, seer(rules, r.Action))
	event.Role, event.Refused = r.Role, r.Reason.Code
	for i, name := range event.Attributes {
		attribute, _ := p.Attribute(name)
		if value, ok := r.Values[name]; ok && attribute.MayBind(r.Role) {
			event.Attributes[i] = name + "=" + short(string(value))
		}
	}
	if event.Refused != "" {
		event.To = nil
	}
	return event, nil
}

// short cuts a value to what can be shown in a picture.
func short(value string) string {
	const most = 16
	if runes := []rune(value); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return value
}
