package play

import (
	"fmt"
	"slices"
	"strings"

	"github.com/strabo-engine/strabo/cmd/strabo/internal/story"
	"github.com/strabo-engine/strabo/cmd/strabo/internal/table"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/langshaw"
)

const help = `  NUMBER or ACTION            do it; what is to bind is asked for, an empty line takes what is suggested
  ACTION item=fig price=20    do it, binding these
  ACTION {"item": "fig"}      the same in JSON; text that is no JSON is a string
  why ACTION                  why an action is not enabled now; why ACTION QID=q1 for one of several
  an empty line               what you may do
  pass                        do nothing, and let the others act
  history                     what has happened, as far as you see it
  undo                        take back your last action, and what followed it
  help                        this
  quit                        leave; so does the end of the input
`

func (s *session) welcome() {
	s.out.printf("%s. You play %s", s.rules.Protocol().Name(), list(s.Roles))
	if len(s.others) > 0 {
		verb := "act"
		if len(s.others) == 1 {
			verb = "acts"
		}
		s.out.printf("; %s %s at random (seed %d)", list(s.others), verb, s.Seed)
	}
	s.out.printf(". Type help for the commands.\n")
}

// list joins names as a sentence does.
func list(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// show lists what the person may do, numbered, with what is known and what is to bind.
func (s *session) show() {
	s.shown, s.current = s.mine(), true
	s.out.printf("\nYou may:\n")
	for i, choice := range s.shown {
		s.out.printf("%3d  %s%s\n", i+1, nameOf(choice), s.known(choice))
		for _, open := range choice.Open {
			s.out.printf("       bind %s (%s)\n", open.Attribute, s.why(open))
		}
	}
}

// known writes what is known of a choice, but for the root key, which is everywhere the same.
func (s *session) known(choice table.Choice) string {
	root := s.table.State().Key().Values()
	action, _ := s.rules.Protocol().Action(choice.Action)
	text := ""
	for name := range action.Attributes() {
		value, ok := choice.Known[name]
		if _, settled := root[name]; !ok || settled {
			continue
		}
		if s.rules.Secret(name) {
			text += "  " + name + "=(secret)"
		} else {
			text += "  " + name + "=" + story.Value(value)
		}
	}
	return text
}

// why says why an attribute is to bind.
func (s *session) why(open enactment.Open) string {
	attribute, _ := s.rules.Protocol().Attribute(open.Attribute)
	sayso := strings.Join(slices.Collect(attribute.Sayso()), " > ")
	switch {
	case open.Why == enactment.OpenKey:
		return "a key: any new value"
	case attribute.IsKey():
		return "a key: any new value; sayso " + sayso
	default:
		return "sayso " + sayso
	}
}

// explain says why an action is not enabled, or that it is.
func (s *session) explain(action *langshaw.Action, given enactment.Values) {
	for _, obstacle := range s.table.Why(action, given) {
		with := ""
		for name := range action.Keys() {
			if value, ok := obstacle.Keys[name]; ok {
				with += fmt.Sprintf(", with %s=%s", name, story.Value(value))
			}
		}
		if obstacle.Rejection == nil {
			s.out.printf("  %s is enabled%s\n", action.Name(), with)
		} else {
			s.out.printf("  %s is not enabled%s: %s (%s)\n", action.Name(), with, story.Printable(obstacle.Rejection.Detail), obstacle.Rejection.Code)
		}
	}
}

// enables says what else an action of the person has made possible, and what it has ended.
func (s *session) enables(done table.Choice, before []string) {
	after := s.names()
	var begun, ended []string
	for _, name := range after {
		if !slices.Contains(before, name) {
			begun = append(begun, name)
		}
	}
	for _, name := range before {
		if !slices.Contains(after, name) && name != nameOf(done) {
			ended = append(ended, name)
		}
	}
	if len(begun) > 0 {
		s.out.printf("  This enables %s.\n", list(begun))
	}
	if len(ended) > 0 {
		s.out.printf("  It ends %s.\n", list(ended))
	}
}

// names lists all actions that are enabled, whoever's they are.
func (s *session) names() []string {
	var names []string
	for _, choice := range s.table.Choices(slices.Collect(s.rules.Protocol().Roles())...) {
		if name := nameOf(choice); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func nameOf(choice table.Choice) string { return choice.Role + ": " + choice.Action }

// mostExplained is for how many actions it is said at the end why they are not enabled.
const mostExplained = 50

// end says how it ended when there is nothing left to do.
func (s *session) end() error {
	s.out.printf("\n")
	switch {
	case s.table.State().Complete():
		s.out.printf("It is complete, and nobody has anything left to do.\n")
	case len(s.names()) > 0:
		s.out.printf("It is not complete, and you have nothing left to do. The others have made up enough values for keys.\n")
	default:
		s.out.printf("It is not complete, and nobody can do anything more:\n")
		told := 0
		for action := range s.rules.Protocol().Actions() {
			if told++; told > mostExplained {
				s.out.printf("  and so on.\n")
				break
			}
			s.explain(action, nil)
		}
		if s.out.err == nil {
			return ErrStuck
		}
	}
	return s.out.err
}
