package play

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/strabo-engine/strabo/cmd/strabo/internal/story"
	"github.com/strabo-engine/strabo/cmd/strabo/internal/table"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/langshaw"
)

// obey does what a line says; false to quit.
func (s *session) obey(line string) bool {
	word, rest, _ := strings.Cut(line, " ")
	switch word {
	case "":
		s.current = false
	case "quit", "exit":
		return false
	case "help", "?":
		s.out.printf("%s", help)
	case "history":
		for _, line := range s.history() {
			s.out.printf("  %s\n", line)
		}
	case "pass":
		if len(s.others) == 0 {
			s.out.printf("  You play all roles.\n")
			break
		}
		told := s.told
		if s.pass(); s.told == told {
			s.out.printf("  Nothing happens that you see.\n")
		}
	case "undo":
		s.undo()
	case "why":
		name, bindings, _ := strings.Cut(strings.TrimSpace(rest), " ")
		if action, values, ok := s.parse(name, bindings); ok {
			s.explain(action, values)
		}
	default:
		return s.choose(word, rest)
	}
	return true
}

// parse finds an action by name, and reads values for it. It says so if it cannot.
func (s *session) parse(name, bindings string) (*langshaw.Action, enactment.Values, bool) {
	action, ok := s.rules.Protocol().Action(name)
	if !ok {
		var names []string
		for a := range s.rules.Protocol().Actions() {
			names = append(names, a.Name())
		}
		s.out.printf("  There is no action %q", story.Printable(name))
		if near := langshaw.Nearest(name, names); near != "" {
			s.out.printf(", did you mean %s?", near)
		}
		s.out.printf(" (type help for the commands)\n")
		return nil, nil, false
	}
	values, err := parseBindings(bindings)
	if err != nil {
		s.out.printf("  %s\n", story.Printable(err.Error()))
		return nil, nil, false
	}
	return action, values, true
}

// parseBindings reads name=value, any number of times, or one JSON object.
func parseBindings(text string) (enactment.Values, error) {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "{") {
		values, err := enactment.ParseValues([]byte(text))
		if err != nil {
			return nil, fmt.Errorf("these values are no JSON object: %w", err)
		}
		return values, nil
	}
	values := make(enactment.Values)
	for text != "" {
		name, rest, ok := strings.Cut(text, "=")
		if !ok || name == "" || strings.ContainsAny(name, " \t") {
			return nil, fmt.Errorf("%q is not of the form attribute=value", story.Printable(text))
		}
		if _, twice := values[name]; twice {
			return nil, fmt.Errorf("%s is bound twice", name)
		}
		value, length, err := valueWord(rest)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		values[name] = value
		text = strings.TrimSpace(rest[length:])
	}
	return values, nil
}

// valueWord reads the value that a text begins with: JSON that begins with a quote, a brace or a bracket, or else a
// word.
func valueWord(text string) (value enactment.Value, length int, err error) {
	if text != "" && strings.ContainsRune(`"{[`, rune(text[0])) {
		decoder := json.NewDecoder(strings.NewReader(text))
		var raw json.RawMessage
		if decoder.Decode(&raw) != nil {
			return value, 0, errors.New("the value is no JSON")
		}
		value, err = enactment.ParseValue(raw)
		return value, int(decoder.InputOffset()), err
	}
	word, _, _ := strings.Cut(text, " ")
	value, err = plainValue(word)
	return value, len(word), err
}

// plainValue reads JSON or, if it is none, text.
func plainValue(text string) (enactment.Value, error) {
	if value, err := enactment.ParseValue([]byte(text)); err == nil {
		return value, nil
	}
	return enactment.ValueOf(text)
}

// choose does one of the actions shown, by number or by name; false at the end of the input.
func (s *session) choose(word, rest string) bool {
	if number, err := strconv.Atoi(word); err == nil {
		if number < 1 || number > len(s.shown) {
			s.out.printf("  There is no number %d.\n", number)
			return true
		}
		values, err := parseBindings(rest)
		if err != nil {
			s.out.printf("  %s\n", story.Printable(err.Error()))
			return true
		}
		return s.take(s.shown[number-1], values)
	}
	action, values, ok := s.parse(word, rest)
	if !ok {
		return true
	}
	var fitting []table.Choice
	numbers := ""
	for i, choice := range s.shown {
		if choice.Action == word && s.fits(choice, values) {
			fitting = append(fitting, choice)
			numbers += fmt.Sprintf(" %d", i+1)
		}
	}
	switch len(fitting) {
	case 1:
		return s.take(fitting[0], values)
	case 0:
		s.refuse(action, values)
	default:
		s.out.printf("  Which? Choose by number:%s\n", numbers)
	}
	return true
}

// fits tells whether the keys given are not others than those of the choice.
func (s *session) fits(choice table.Choice, given enactment.Values) bool {
	for name, value := range given {
		known, ok := choice.Known[name]
		if ok && s.rules.Protocol().IsKey(name) && !known.Equal(value) {
			return false
		}
	}
	return true
}

// refuse says why an action that was asked for is none of those shown.
func (s *session) refuse(action *langshaw.Action, values enactment.Values) {
	for _, role := range s.others {
		if action.Role() == role {
			s.out.printf("  %s is an action of %s, whom you do not play.\n", action.Name(), role)
			return
		}
	}
	s.explain(action, values)
}

// take asks for what is left to bind and does the action; false at the end of the input.
func (s *session) take(choice table.Choice, bound enactment.Values) bool {
	for _, open := range choice.Open {
		if _, given := bound[open.Attribute]; given {
			continue
		}
		suggested := s.values.Next(open.Attribute)
		question := fmt.Sprintf("  %s (%s) [%s]: ", open.Attribute, s.why(open), suggested)
		line, ok := s.read(question)
		if !ok {
			return false
		}
		if line == "" {
			bound[open.Attribute] = s.values.Take(open.Attribute)
			continue
		}
		value, err := plainValue(line)
		if err != nil {
			s.out.printf("  %s\n", story.Printable(err.Error()))
			return true
		}
		bound[open.Attribute] = value
	}
	before, names := mark{len(s.table.Log()), len(s.records)}, s.names()
	outcome := s.do(choice, bound)
	s.tell()
	if outcome.Rejection != nil {
		return true
	}
	s.before = append(s.before, before)
	s.enables(choice, names)
	s.pass()
	return true
}

// undo goes back to before the last action of the person.
func (s *session) undo() {
	if len(s.before) == 0 {
		s.out.printf("  There is nothing to undo.\n")
		return
	}
	last := s.before[len(s.before)-1]
	s.before = s.before[:len(s.before)-1]
	s.table.Undo(last.log)
	s.records = s.records[:last.records]
	s.told, s.current = last.records, false
	s.out.printf("  Undone.\n")
}
