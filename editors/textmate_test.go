package editors_test

import (
	"strings"
	"testing"

	"github.com/dlclark/regexp2"
	"github.com/stretchr/testify/require"
)

// rule is a rule of a TextMate grammar, as far as ours uses them.
type rule struct {
	Include       string
	Name          string
	Match         string
	Begin, End    string
	BeginCaptures map[string]struct{ Name string }
	EndCaptures   map[string]struct{ Name string }
	Patterns      []rule

	match, begin, end *regexp2.Regexp
}

type grammar struct {
	ScopeName  string
	FileTypes  []string
	Patterns   []rule
	Repository map[string]*rule
}

// compile compiles all regular expressions.
func (g *grammar) compile(t *testing.T) {
	var walk func(r *rule)
	expression := func(text string) *regexp2.Regexp {
		if text == "" {
			return nil
		}
		compiled, err := regexp2.Compile(text, regexp2.None)
		require.NoError(t, err)
		return compiled
	}
	walk = func(r *rule) {
		r.match, r.begin, r.end = expression(r.Match), expression(r.Begin), expression(r.End)
		require.True(t, r.Include != "" || r.match != nil || r.begin != nil && r.end != nil)
		for i := range r.Patterns {
			walk(&r.Patterns[i])
		}
	}
	for i := range g.Patterns {
		walk(&g.Patterns[i])
	}
	for _, r := range g.Repository {
		walk(r)
	}
}

// scopes gives the innermost scope at each byte of a text, going line by line as editors do.
func (g *grammar) scopes(t *testing.T, text string) []string {
	var all []string
	stack := []*rule{{Patterns: g.Patterns}}
	for line := range strings.Lines(text) {
		runes := []rune(line)
		scopes := make([]string, len(runes))
		mark := func(from, to int, scope string) {
			for i := from; i < to; i++ {
				scopes[i] = scope
			}
		}
		for at, steps := 0, 0; at < len(runes); steps++ {
			require.Less(t, steps, 10*len(runes)+100, "no way forward in %q", line)
			top := stack[len(stack)-1]
			found, which := g.next(t, top, runes, at)
			if which == nil {
				break
			}
			from, to := found.Index, found.Index+found.Length
			switch {
			case which == top:
				mark(from, to, top.EndCaptures["0"].Name)
				stack = stack[:len(stack)-1]
			case which.begin != nil:
				mark(from, to, which.BeginCaptures["0"].Name)
				for number, group := range found.Groups() {
					if group.Length > 0 && number > 0 {
						mark(group.Index, group.Index+group.Length, which.BeginCaptures[group.Name].Name)
					}
				}
				stack = append(stack, which)
			default:
				mark(from, to, which.Name)
			}
			at = to
		}
		for i, r := range runes {
			for range len(string(r)) {
				all = append(all, scopes[i])
			}
		}
	}
	return all
}

// next finds the first match of a rule's end or of its patterns; the earlier in the list wins at one place.
func (g *grammar) next(t *testing.T, top *rule, runes []rune, at int) (found *regexp2.Match, which *rule) {
	try := func(expression *regexp2.Regexp, r *rule) {
		m, err := expression.FindRunesMatchStartingAt(runes, at)
		require.NoError(t, err)
		if m != nil && (found == nil || m.Index < found.Index) {
			found, which = m, r
		}
	}
	if top.end != nil {
		try(top.end, top)
	}
	for i := range top.Patterns {
		r := &top.Patterns[i]
		if name, ok := strings.CutPrefix(r.Include, "#"); ok {
			r = g.Repository[name]
			require.NotNil(t, r, name)
		}
		if r.match != nil {
			try(r.match, r)
		} else {
			try(r.begin, r)
		}
	}
	return found, which
}
