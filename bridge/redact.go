package bridge

import (
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/strabo-engine/strabo/enactment"
)

const (
	// longSecret is the length from which a piece of a secret is taken out of whatever it occurs in; one that is
	// shorter might occur in an id by chance, and is taken out of sentences only, where it is a word.
	longSecret = 6
	// shortSecret is the length of the shortest piece that is looked for at all.
	shortSecret = 3
)

// scrubber takes the pieces of secrets out of what a remote party says. A mapping keeps a secret out of what it writes
// itself; but a shop that refuses a token likes to quote it.
type scrubber struct {
	long, short []string
}

// newScrubber collects the strings and numbers in the secret values of instances: those of an enactment, since a remote
// party may repeat later what it was told before.
func newScrubber(rules *enactment.Rules, instances iter.Seq[enactment.Instance]) (*scrubber, error) {
	s := &scrubber{}
	for instance := range instances {
		for name, value := range instance.Values() {
			if !rules.Secret(name) {
				continue
			}
			secret, err := decoded(value)
			if err != nil {
				return nil, err
			}
			s.collect(secret)
		}
	}
	// Longer pieces go first, so that no part of one is left because a shorter one was cut out of it.
	byLength := func(a, b string) int { return len(b) - len(a) }
	slices.SortFunc(s.long, byLength)
	slices.SortFunc(s.short, byLength)
	return s, nil
}

func (s *scrubber) collect(value any) {
	switch value := value.(type) {
	case string:
		s.add(value)
	case json.Number:
		s.add(value.String())
	case []any:
		for _, element := range value {
			s.collect(element)
		}
	case map[string]any:
		for _, element := range value {
			s.collect(element)
		}
	}
}

func (s *scrubber) add(piece string) {
	if piece = strings.TrimSpace(piece); len(piece) >= longSecret {
		s.long = append(s.long, piece)
	} else if len(piece) >= shortSecret {
		s.short = append(s.short, piece)
	}
}

func (s *scrubber) empty() bool { return len(s.long)+len(s.short) == 0 }

// text gives a string without the pieces of secrets. With strict, the short ones are taken out of everything in which
// they are words, which is right for what is only shown.
func (s *scrubber) text(text string, strict bool) string {
	for _, piece := range s.long {
		text = strings.ReplaceAll(text, piece, secretMark)
	}
	if strict || strings.ContainsFunc(text, unicode.IsSpace) {
		for _, piece := range s.short {
			text = replaceWord(text, piece)
		}
	}
	return text
}

// value does to every string in a value what text does to one, and gives a copy where anything changes.
func (s *scrubber) value(value any, strict bool) any {
	if s.empty() {
		return value
	}
	switch value := value.(type) {
	case string:
		return s.text(value, strict)
	case json.Number:
		if cleaned := s.text(value.String(), strict); cleaned != value.String() {
			return cleaned
		}
		return value
	case []any:
		cleaned := make([]any, len(value))
		for i, element := range value {
			cleaned[i] = s.value(element, strict)
		}
		return cleaned
	case map[string]any:
		cleaned := make(map[string]any, len(value))
		for name, element := range value {
			cleaned[s.text(name, strict)] = s.value(element, strict)
		}
		return cleaned
	default:
		return value
	}
}

func replaceWord(text, word string) string {
	var out strings.Builder
	var previous rune // the last rune before text; 0 at the beginning
	for {
		before, after, found := strings.Cut(text, word)
		out.WriteString(before)
		if !found {
			return out.String()
		}
		if before != "" {
			previous, _ = utf8.DecodeLastRuneInString(before)
		}
		next, _ := utf8.DecodeRuneInString(after)
		if inWord(previous) || after != "" && inWord(next) {
			out.WriteString(word)
		} else {
			out.WriteString(secretMark)
		}
		previous, _ = utf8.DecodeLastRuneInString(word)
		text = after
	}
}

func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }
