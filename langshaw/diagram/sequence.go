package diagram

import (
	"slices"
	"strings"

	"github.com/strabo-engine/strabo/langshaw"
)

// Sequence is one way that an enactment goes, for [Sequence.WriteMermaid] and [Sequence.WriteSVG]: who does what in which
// order, and who learns of it.
type Sequence struct {
	// Title stands above it.
	Title string
	// Roles are the lifelines, in order.
	Roles []string
	Steps []Step
	// End is said below the last step, a line each.
	End []string
}

// Step is what happens at one time: one event or, side by side, several.
type Step []Event

// Event is one action.
type Event struct {
	Role, Action string
	// Attributes stand in parentheses behind the action, each by its name or as name=value.
	Attributes []string
	// To are the roles that learn of it, the actor aside.
	To []Receiver
	// Refused says why an attempt did not happen; empty for what happened.
	Refused string
}

// Receiver is a role that learns of an event, but not of the attributes in Hidden.
type Receiver struct {
	Role   string
	Hidden []string
}

// label names the event and its attributes, without those that are hidden.
func (e Event) label(hidden []string) string {
	shown := e.without(hidden)
	if len(shown) == 0 {
		return e.Action
	}
	return e.Action + "(" + strings.Join(shown, ", ") + ")"
}

// without gives the attributes but those that are hidden.
func (e Event) without(hidden []string) []string {
	return slices.DeleteFunc(slices.Clone(e.Attributes), func(shown string) bool {
		name, _, _ := strings.Cut(shown, "=")
		return slices.Contains(hidden, name)
	})
}

// As gives the sequence as one role sees it: what it does, and of what it learns what is not hidden from it.
func (s Sequence) As(role string) Sequence {
	seen := Sequence{Title: s.Title + ", as " + role + " sees it", Roles: s.Roles, End: s.End}
	for _, step := range s.Steps {
		var kept Step
		for _, e := range step {
			at := slices.IndexFunc(e.To, func(r Receiver) bool { return r.Role == role })
			switch {
			case e.Role == role:
				e.To = nil
			case at < 0:
				continue
			default:
				e.Attributes = e.without(e.To[at].Hidden)
				e.To = e.To[at : at+1]
			}
			kept = append(kept, e)
		}
		if len(kept) > 0 {
			seen.Steps = append(seen.Steps, kept)
		}
	}
	return seen
}

// EventOf makes the event of an action: the attributes that it carries, references aside, and as those who learn of it
// the roles that see it, which sees tells together with what stays hidden from them.
func EventOf(p *langshaw.Protocol, a *langshaw.Action, sees func(role string) (seen bool, hidden []string)) Event {
	e := Event{Role: a.Role(), Action: a.Name()}
	for name := range a.Attributes() {
		if carried, ok := p.Attribute(name); ok && !carried.IsAction() {
			e.Attributes = append(e.Attributes, name)
		}
	}
	for role := range p.Roles() {
		if role == a.Role() {
			continue
		}
		if seen, hidden := sees(role); seen {
			e.To = append(e.To, Receiver{role, hidden})
		}
	}
	return e
}
