package verify

import (
	"fmt"
	"strings"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"

	"github.com/strabo-engine/strabo/langshaw"
)

// Query is a question about the order of actions, beyond live and safe. The forms, with actions of the protocol for
// A, B and C, and what each says of every way that an enactment may go:
//
//	never A                    A does not happen
//	never A and B              not both happen
//	never A after B            A does not happen once B has
//	never A before B           A does not happen unless B has
//	never A between B and C    A does not happen once B has and while C has not
//	always A before B          B does not happen unless A has
//	possible ...               the opposite of never: there is a way in which it does
//
// Two actions that happen in one step happen neither before nor after each other. All are actions of one enactment.
// Where several values of a key are told apart, A and B may have different ones, but A counts as before B unless a B
// that agrees with it has happened, and C ends what a B that agrees with it began.
type Query struct {
	text string
	form queryForm
}

type queryForm struct {
	Never    *condition `parser:"  'never' @@"`
	Possible *condition `parser:"| 'possible' @@"`
	Always   *sequence  `parser:"| 'always' @@"`
}

type condition struct {
	Action  string   `parser:"@Word"`
	And     string   `parser:"( 'and' @Word"`
	After   string   `parser:"| 'after' @Word"`
	Before  string   `parser:"| 'before' @Word"`
	Between []string `parser:"| 'between' @Word 'and' @Word )?"`
}

type sequence struct {
	First string `parser:"@Word"`
	Then  string `parser:"'before' @Word"`
}

// ParseQuery reads a question. The error says where it went wrong; that its actions exist is checked by [Verify].
func ParseQuery(text string) (Query, error) {
	form, err := queryParser().ParseString("", text)
	if err != nil {
		return Query{}, fmt.Errorf("query %q: %w; write one of: never A, never A and B, never A after B, never A before B, "+
			"never A between B and C, always A before B, and possible in place of never", text, err)
	}
	return Query{text: strings.Join(strings.Fields(text), " "), form: *form}, nil
}

// String gives the question.
func (q Query) String() string { return q.text }

// condition gives what is looked for, and whether finding it is good.
func (q Query) condition() (c condition, wanted bool) {
	switch {
	case q.form.Never != nil:
		return *q.form.Never, false
	case q.form.Possible != nil:
		return *q.form.Possible, true
	default:
		return condition{Action: q.form.Always.Then, Before: q.form.Always.First}, false
	}
}

// actions lists the actions that the question names.
func (q Query) actions() []string {
	c, _ := q.condition()
	names := []string{c.Action}
	for _, name := range append([]string{c.And, c.After, c.Before}, c.Between...) {
		if name != "" {
			names = append(names, name)
		}
	}
	return names
}

// Answer is the answer to a query.
type Answer struct {
	Query Query
	// Holds is Unknown when the limit was met, and when the query names what is no action: then Err says so.
	Holds Verdict
	// Witness is a way in which what was looked for happens, the action itself last; where there is none, nil.
	Witness [][]string
	Err     error
}

// ask answers one query.
func (x *explorer) ask(query Query) Answer {
	answer := Answer{Query: query}
	for _, name := range query.actions() {
		if len(x.byAction[name]) == 0 {
			answer.Err = fmt.Errorf("query %q: %s has no action %q", query, x.protocol.Name(), name)
			if meant := langshaw.Nearest(name, actionNames(x.protocol)); meant != "" {
				answer.Err = fmt.Errorf("%w; did you mean %s?", answer.Err, meant)
			}
			return answer
		}
	}
	c, wanted := query.condition()
	found, missed := Yes, No
	if !wanted {
		found, missed = No, Yes
	}
	answer.Holds = missed
	for _, goal := range x.occurrences(c) {
		steps, ok, err := x.reach(goal.target)
		if err != nil {
			answer.Holds = Unknown
			continue
		}
		if !ok {
			continue
		}
		answer.Holds = found
		steps = x.shortest(steps, func(v *view) bool { return x.meets(v, goal.target) })
		if goal.last >= 0 {
			steps = append(steps, []int{goal.last})
		}
		answer.Witness = x.names(steps)
		return answer
	}
	return answer
}

func actionNames(p *langshaw.Protocol) []string {
	var names []string
	for a := range p.Actions() {
		names = append(names, a.Name())
	}
	return names
}

// occurrence is a target together with the event that then happens, or -1 where reaching the target is all.
type occurrence struct {
	target
	last int
}

// occurrences turns a condition into targets, one for each choice of events.
func (x *explorer) occurrences(c condition) []occurrence {
	var all []occurrence
	for _, a := range x.byAction[c.Action] {
		happens := x.enabling(a)
		switch {
		case c.And != "":
			for _, b := range x.others(a, c.And) {
				both := target{needs: []int{x.one(a), x.one(b)}, without: newSet(len(x.events))}
				all = append(all, occurrence{both, -1})
			}
		case c.After != "":
			for _, b := range x.others(a, c.After) {
				all = append(all, occurrence{happens.after(x.one(b)), a})
			}
		case c.Before != "":
			t := happens
			t.without = t.without.clone()
			for _, b := range x.others(a, c.Before) {
				if x.agree(a, b) {
					t.without.add(b)
				}
			}
			all = append(all, occurrence{t, a})
		case len(c.Between) == 2:
			for _, b := range x.others(a, c.Between[0]) {
				t := happens.after(x.one(b))
				t.without = t.without.clone()
				for _, end := range x.others(b, c.Between[1]) {
					if x.agree(b, end) {
						t.without.add(end)
					}
				}
				all = append(all, occurrence{t, a})
			}
		default:
			all = append(all, occurrence{happens, a})
		}
	}
	return all
}

// after adds to a target that a clause is satisfied.
func (t target) after(clause int) target {
	t.needs = append(append([]int(nil), t.needs...), clause)
	return t
}

// one gives the clause that a single event is done.
func (x *explorer) one(event int) int {
	events := newSet(len(x.events))
	events.add(event)
	return x.clause(events)
}

// others lists the events of an action other than the given one.
func (x *explorer) others(event int, action string) []int {
	var others []int
	for _, other := range x.byAction[action] {
		if other != event {
			others = append(others, other)
		}
	}
	return others
}

func queryParser() *participle.Parser[queryForm] {
	return participle.MustBuild[queryForm](participle.Lexer(queryLexer), participle.Elide("Space"))
}

var queryLexer = lexer.MustSimple([]lexer.SimpleRule{
	{Name: "Space", Pattern: `\s+`},
	{Name: "Word", Pattern: `[\pL\p{Nd}][\pL\p{Nd}_@-]*`},
})
