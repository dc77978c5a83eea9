package story

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/mattn/go-runewidth"

	"github.com/strabo-engine/strabo/enactment"
)

// widest is how many characters of a value are shown.
const widest = 56

// identifier matches a UUID, of which a timeline shows the beginning.
var identifier = regexp.MustCompile(`([0-9a-f]{8})-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}`)

// WriteText writes the story as a timeline, one event a line: milliseconds since it began, which side's engine decided
// (where sides have names), who did what in which enactment, and what was bound by it that was not said before. Calls
// stand between the sides.
func (s *Story) WriteText(w io.Writer) error {
	events := s.sorted()
	columns := columnsOf(events)
	known := &known{said: make(map[string]bool), last: make(map[string]enactment.Value)}
	for _, e := range events {
		if s.Comment != nil && e.record != nil {
			if comment := s.Comment(e.side, *e.record); comment != "" {
				if _, err := fmt.Fprintf(w, "# %s\n", comment); err != nil {
					return fmt.Errorf("cannot print the story: %w", err)
				}
			}
		}
		line := ""
		switch {
		case e.call != nil:
			line = callText(e)
		case e.record.Kind == enactment.Completed:
			line = columns.begin(e) + "complete"
		default:
			line = s.recordText(e, columns, known)
		}
		line = identifier.ReplaceAllString(line, "$1~")
		if !s.Timeless {
			line = fmt.Sprintf("%5d ms  %s", e.at.Sub(events[0].at)/time.Millisecond, line)
		}
		if _, err := fmt.Fprintln(w, line); err != nil {
			return fmt.Errorf("cannot print the story: %w", err)
		}
	}
	return nil
}

// columns are how wide the names of sides and of who acts are in a timeline.
type columns struct{ side, who int }

func columnsOf(events []event) columns {
	var c columns
	for _, e := range events {
		c.side = max(c.side, runewidth.StringWidth(e.side))
		c.who = max(c.who, runewidth.StringWidth(who(e)))
	}
	return c
}

// begin writes a line up to what happened. There is no column for sides where none has a name.
func (c columns) begin(e event) string {
	text := ""
	if c.side > 0 {
		text = runewidth.FillRight(e.side, c.side) + "  "
	}
	return text + runewidth.FillRight(who(e), c.who) + "  " + keyText(e.record.Enactment) + "  "
}

// who says who acts: the party, or the role where no party is known.
func who(e event) string {
	switch {
	case e.record == nil:
		return ""
	case e.record.Party != "":
		return Printable(e.record.Party)
	default:
		return Printable(e.record.Role)
	}
}

func callText(e event) string {
	if e.call.Method == "" {
		return fmt.Sprintf("  policy  %s %s", strings.ReplaceAll(string(e.call.Kind), "_", " "), Printable(strings.TrimSpace(e.call.Outcome+e.call.Detail)))
	}
	path := e.call.URL
	if u, err := url.Parse(path); err == nil {
		path = u.RequestURI()
	}
	came := fmt.Sprint(e.call.Status)
	if e.call.Status == 0 {
		came = "no answer: " + Printable(e.call.Detail)
	}
	return fmt.Sprintf("   HTTP   %s %s  %s", e.call.Method, path, came)
}

// known is what has been told: which values, and the last value of each attribute of a side.
type known struct {
	said map[string]bool
	last map[string]enactment.Value
}

// text writes a value: one that was told before in another form by what changed, if that is less.
func (k *known) text(attribute string, value enactment.Value) string {
	before, ok := k.last[attribute]
	k.last[attribute] = value
	whole := Value(value)
	if !ok || !strings.HasSuffix(whole, "...") {
		return whole
	}
	if changes := changes(before, value); changes != "" {
		return "(changed: " + Short(changes, 2*widest) + ")"
	}
	return whole
}

func (s *Story) recordText(e event, columns columns, known *known) string {
	r := e.record
	text := columns.begin(e) + Printable(r.Action)
	if r.Kind == enactment.Refused {
		return text + " refused, " + Printable(r.Reason.Error())
	}
	keys := r.Enactment.Values()
	for _, name := range sortedNames(r) {
		value, shown := r.Values[name]
		said := e.side + " " + name + " " + value.String()
		if !shown {
			said = e.side + " " + name + " of " + string(r.Enactment)
		}
		if _, isKey := keys[name]; isKey || known.said[said] && !slices.Contains(s.Always, name) || shown && value.String() == "null" {
			continue
		}
		known.said[said] = true
		if shown {
			text += "  " + name + "=" + known.text(e.side+" "+name, value)
		} else {
			text += "  " + name + "=(secret)"
		}
	}
	return text
}

// keyText writes which enactment it is: the values of its key.
func keyText(key enactment.Key) string {
	var values []string
	for _, value := range key.Values() {
		values = append(values, Value(value))
	}
	slices.Sort(values)
	return strings.ReplaceAll("["+strings.Join(values, " ")+"]", `"`, "")
}

// Value writes a value for a person: goods and bills in words, everything else as JSON, shortened.
func Value(value enactment.Value) string {
	var goods []struct {
		Item     struct{ ID string }
		Quantity int64
	}
	if value.Decode(&goods) == nil && len(goods) > 0 && goods[0].Item.ID != "" {
		var words []string
		for _, g := range goods {
			words = append(words, fmt.Sprintf("%d x %s", g.Quantity, Printable(g.Item.ID)))
		}
		return strings.Join(words, ", ")
	}
	var bill []struct {
		Type   string
		Amount json.Number
	}
	if value.Decode(&bill) == nil && len(bill) > 0 && bill[0].Type != "" && bill[0].Amount != "" {
		var words []string
		for _, b := range bill {
			words = append(words, Printable(b.Type)+" "+string(b.Amount))
		}
		return "(" + strings.Join(words, ", ") + ")"
	}
	return Short(value.String(), widest)
}

// sortedNames lists the values of a record, shown and hidden, in the order of the alphabet.
func sortedNames(r *enactment.Record) []string {
	return slices.Sorted(func(yield func(string) bool) {
		for name := range r.Values {
			if !yield(name) {
				return
			}
		}
		for _, name := range r.Hidden {
			if !yield(name) {
				return
			}
		}
	})
}
