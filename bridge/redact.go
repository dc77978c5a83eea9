package bridge

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"iter"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/strabo-engine/strabo/enactment"
)

const (
	// longSecret is the length from which a piece of a secret is taken out of whatever it occurs in; one that is
	// shorter might occur by chance, and is taken out where nothing that could belong to it stands beside it.
	longSecret = 6
	// shortSecret is the length of the shortest piece that is looked for everywhere. One that is shorter still is
	// found where it stands under its own name only.
	shortSecret = 3
	// maxQuoted is how deep JSON quoted in the text of JSON is read, and how many pieces of it in one text.
	maxQuoted = 16
)

// scrubber takes the pieces of secrets out of what a remote party says. A mapping keeps a secret out of what it writes
// itself; but a shop that refuses a token likes to quote it, and the request around it.
type scrubber struct {
	long, short []string
	// quotable are the long pieces that could begin what is read as JSON.
	quotable []string
	// whole are the pieces as they are, named are they with the names of the members that they are the values of.
	whole map[string]bool
	named map[[2]string]bool
	// names are those of the members in the secrets: they belong to the format and are no secrets, though one may
	// be a value as well, such as the type "token" of a token.
	names map[string]bool
	// open are the texts that were said openly before the secret was: such as the id of the payment handler that the remote
	// party has offered itself, and that is in the secret since it was chosen.
	open map[string]bool
}

// newScrubber collects the strings and numbers in the secret values of instances: those of an enactment, since a remote
// party may repeat later what it was told before. What was said openly before a secret was is not one for being in it.
func newScrubber(rules *enactment.Rules, instances iter.Seq[enactment.Instance]) (*scrubber, error) {
	s := &scrubber{
		whole: make(map[string]bool), named: make(map[[2]string]bool), names: make(map[string]bool), open: make(map[string]bool),
	}
	// What was said after the last secret tells nothing, and that may be much: it is not even decoded.
	secrets := lastSecret(rules, instances)
	for instance := range instances {
		if secrets == 0 {
			break
		}
		secrets--
		for name, value := range instance.Values() {
			if !rules.Secret(name) {
				continue
			}
			secret, err := decoded(value)
			if err != nil {
				return nil, err
			}
			s.collect(name, secret)
		}
		for name, value := range instance.Values() {
			if secrets == 0 || rules.Secret(name) {
				continue
			}
			said, err := decoded(value)
			if err != nil {
				return nil, err
			}
			s.said(said)
		}
	}
	s.short = slices.DeleteFunc(s.short, func(piece string) bool { return s.names[piece] })
	// Longer pieces go first, so that no part of one is left because a shorter one was cut out of it.
	byLength := func(a, b string) int { return len(b) - len(a) }
	slices.SortFunc(s.long, byLength)
	slices.SortFunc(s.short, byLength)
	for _, piece := range s.long {
		if strings.ContainsAny(piece, "{[") {
			s.quotable = append(s.quotable, piece)
		}
	}
	return s, nil
}

// lastSecret tells how many instances there are up to the last one that binds a secret; mostly there is none.
func lastSecret(rules *enactment.Rules, instances iter.Seq[enactment.Instance]) int {
	last, n := 0, 0
	for instance := range instances {
		n++
		for name, value := range instance.Values() {
			if rules.Secret(name) && !value.IsZero() && value.String() != "null" {
				last = n
			}
		}
	}
	return last
}

// said notes down the texts in an open value that are too long to be there by chance.
func (s *scrubber) said(value any) {
	switch value := value.(type) {
	case string:
		if len(value) >= longSecret {
			s.open[value] = true
		}
	case []any:
		for _, element := range value {
			s.said(element)
		}
	case map[string]any:
		for _, element := range value {
			s.said(element)
		}
	}
}

func (s *scrubber) collect(name string, value any) {
	switch value := value.(type) {
	case string:
		s.add(name, value)
	case json.Number:
		s.add(name, value.String())
	case []any:
		for _, element := range value {
			s.collect(name, element)
		}
	case map[string]any:
		for name, element := range value {
			s.names[name] = true
			if kind, ok := element.(string); ok && name == "type" {
				// A word such as card says what kind of thing the secret is, and stands in sentences too.
				s.named[[2]string{name, kind}] = true
				continue
			}
			s.collect(name, element)
		}
	}
}

func (s *scrubber) add(name, piece string) {
	if piece == "" || s.open[piece] {
		return
	}
	s.named[[2]string{name, piece}] = true
	if piece = strings.TrimSpace(piece); len(piece) < shortSecret {
		return
	}
	s.whole[piece] = true
	if len(piece) < longSecret {
		s.short = append(s.short, piece)
		return
	}
	// It may be quoted in the way of whatever it went through.
	spellings := []string{piece, url.QueryEscape(piece), url.PathEscape(piece), html.EscapeString(piece)}
	if text, err := json.Marshal(piece); err == nil {
		spellings = append(spellings, string(text[1:len(text)-1]))
	}
	if text, err := encodeJSON(piece); err == nil {
		spellings = append(spellings, string(text[1:len(text)-1]))
	}
	spellings = append(spellings, encodings(piece)...)
	slices.Sort(spellings)
	s.long = append(s.long, slices.Compact(spellings)...)
}

// encodings are what a piece looks like within something that was encoded as hexadecimal or base64 as a whole: in the
// latter it may begin at each of three places, and what it shares a character with there is left out.
func encodings(piece string) []string {
	lower := hex.EncodeToString([]byte(piece))
	found := []string{lower, strings.ToUpper(lower)}
	for shift := range 3 {
		whole := base64.RawStdEncoding.EncodeToString(append(make([]byte, shift), piece...))
		from, to := (shift*8+5)/6, (shift+len(piece))*8/6
		if inside := whole[from:to]; len(inside) >= longSecret {
			found = append(found, inside, strings.NewReplacer("+", "-", "/", "_").Replace(inside))
		}
	}
	return found
}

func (s *scrubber) empty() bool { return len(s.named) == 0 }

// text gives a string without the pieces of secrets. JSON that is quoted in it is read, so that its members are told from
// their values. With strict, the short pieces are taken out of identifiers too, which is right for what is only shown.
func (s *scrubber) text(text string, strict bool) string {
	if s.empty() {
		return text
	}
	return s.quoting(text, strict, 0)
}

// quoting scrubs a text with JSON in it.
func (s *scrubber) quoting(text string, strict bool, depth int) string {
	for _, piece := range s.quotable {
		text = strings.ReplaceAll(text, piece, SecretMark)
	}
	var out strings.Builder
	done := 0 // of the text
	for at, read := 0, 0; depth < maxQuoted && read < maxQuoted; read++ {
		next := strings.IndexAny(text[at:], "{[")
		if next < 0 {
			break
		}
		at += next
		decoder := json.NewDecoder(strings.NewReader(text[at:]))
		decoder.UseNumber()
		var value any
		if decoder.Decode(&value) != nil {
			at++
			continue
		}
		cleaned, err := encodeJSON(s.inside("", value, true, depth+1))
		if err != nil {
			cleaned = []byte(SecretMark)
		}
		out.WriteString(s.words(text[done:at], strict))
		out.Write(cleaned)
		at += int(decoder.InputOffset())
		done = at
	}
	out.WriteString(s.words(text[done:], strict))
	return out.String()
}

// words scrubs a text without JSON.
func (s *scrubber) words(text string, strict bool) string {
	for _, piece := range s.long {
		text = strings.ReplaceAll(text, piece, SecretMark)
	}
	if !strict && s.identifies(text) {
		return text
	}
	for _, piece := range s.short {
		text = replaceWord(text, piece)
	}
	return text
}

// identifies tells whether a text is one that names something, an id or the URL of a page, in which a short piece stands
// by chance. A text that is nothing but the piece quotes it.
func (s *scrubber) identifies(text string) bool {
	if s.whole[strings.TrimSpace(text)] {
		return false
	}
	if rest, isURL := strings.CutPrefix(text, "https://"); isURL {
		text = rest
	} else if rest, isURL := strings.CutPrefix(text, "http://"); isURL {
		text = rest
	} else if strings.ContainsAny(text, "/:") {
		return false
	}
	return !strings.ContainsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_.~/:", r)
	})
}

// value does to every string in a value what text does to one, and gives a copy.
func (s *scrubber) value(value any, strict bool) any {
	if s.empty() {
		return value
	}
	return s.inside("", value, strict, 0)
}

// inside scrubs the value of a member.
func (s *scrubber) inside(name string, value any, strict bool, depth int) any {
	switch value := value.(type) {
	case string:
		if s.named[[2]string{name, value}] {
			return SecretMark
		}
		return s.quoting(value, strict, depth)
	case json.Number:
		text := value.String()
		if s.named[[2]string{name, text}] || s.whole[text] && (strict || len(text) >= longSecret) {
			return SecretMark
		}
		return value
	case []any:
		cleaned := make([]any, len(value))
		for i, element := range value {
			cleaned[i] = s.inside(name, element, strict, depth)
		}
		return cleaned
	case map[string]any:
		cleaned := make(map[string]any, len(value))
		for name, element := range value {
			cleaned[s.name(name)] = s.inside(name, element, strict, depth)
		}
		return cleaned
	default:
		return value
	}
}

// name scrubs the name of a member. Names belong to the format, and so are changed only where they quote a whole secret.
func (s *scrubber) name(name string) string {
	if s.names[name] {
		return name
	}
	for _, piece := range s.long {
		name = strings.ReplaceAll(name, piece, SecretMark)
	}
	if s.whole[name] {
		return SecretMark
	}
	return name
}

// replaceWord replaces a piece where neither a letter nor a digit stands beside it.
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
			out.WriteString(SecretMark)
		}
		previous, _ = utf8.DecodeLastRuneInString(word)
		text = after
	}
}

func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
