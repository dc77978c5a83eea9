package enactment_test

import (
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/strabo-engine/strabo/enactment"
)

var (
	roleNames      = []string{"A", "B", "C"}
	keyNames       = []string{"k", "m", "n"}
	attributeNames = []string{"v", "w", "x", "y"}
	partyNames     = []string{"p", "q"}
)

// protocolText draws a protocol: one to three roles, one to three keys, two to seven actions. Most are ones in which
// much can happen; some have actions without a key, no root key, attributes that nobody may bind and references in a
// circle.
func protocolText(t *rapid.T) string {
	roles := roleNames[:rapid.SampledFrom([]int{2, 3, 1}).Draw(t, "roles")]
	keys := keyNames[:rapid.SampledFrom([]int{2, 1, 3}).Draw(t, "keys")]
	attributes := attributeNames[:rapid.SampledFrom([]int{2, 3, 4, 1}).Draw(t, "attributes")]
	rooted := !rarely(t, "rootless")
	count := rapid.SampledFrom([]int{4, 5, 6, 7, 3, 2}).Draw(t, "actions")
	var names []string
	for i := range count {
		names = append(names, fmt.Sprintf("Do%d", i+1))
	}
	text := &strings.Builder{}
	fmt.Fprintf(text, "Drawn\nwho %s\nwhat %s key", strings.Join(roles, ", "), strings.Join(keys, " key, "))
	for range rapid.IntRange(0, 2).Draw(t, "conjuncts") {
		fmt.Fprintf(text, ", %s", strings.Join(some(t, "alternatives", append(slices.Clone(names), attributes...), 1, 2), " or "))
	}
	text.WriteString("\ndo\n")
	carried := make(map[string][]string) // the roles that carry each attribute
	for i, name := range names {
		role := rapid.SampledFrom(roles).Draw(t, "actor")
		var carries []string
		for j, key := range keys {
			if j == 0 && rooted || rapid.Bool().Draw(t, "carries "+key) {
				carries = append(carries, key)
			}
		}
		if rarely(t, "keyless") {
			carries = nil
		}
		carries = append(carries, some(t, "carried", attributes, 0, min(2, len(attributes)))...)
		for j, other := range names {
			if j < i && rapid.IntRange(0, 5).Draw(t, "refers to "+other) == 5 || j > i && rapid.IntRange(0, 40).Draw(t, "refers ahead") == 7 {
				carries = append(carries, other)
			}
		}
		for _, attribute := range carries {
			if !slices.Contains(carried[attribute], role) {
				carried[attribute] = append(carried[attribute], role)
			}
		}
		fmt.Fprintf(text, "  %s: %s(%s)\n", role, name, strings.Join(rapid.Permutation(carries).Draw(t, "order"), ", "))
	}
	text.WriteString("sayso\n")
	for _, name := range append(slices.Clone(attributes), keys...) {
		switch {
		case slices.Contains(keys, name) && rapid.IntRange(0, 4).Draw(t, "sayso over "+name) > 0, rarely(t, "unbindable"):
		case len(carried[name]) > 0 && !rarely(t, "any sayso"):
			fmt.Fprintf(text, "  %s: %s\n", strings.Join(some(t, "ranks", carried[name], 1, len(carried[name])), " > "), name)
		default:
			fmt.Fprintf(text, "  %s: %s\n", strings.Join(some(t, "ranks", roles, 1, len(roles)), " > "), name)
		}
	}
	text.WriteString("nono\n")
	for range rapid.IntRange(0, 2).Draw(t, "nonos") {
		fmt.Fprintf(text, "  %s\n", strings.Join(some(t, "nono", names, 2, min(3, count)), " "))
	}
	text.WriteString("nogo\n")
	for range rapid.IntRange(0, 2).Draw(t, "nogos") {
		fmt.Fprintf(text, "  %s\n", strings.Join(some(t, "nogo", names, 2, 2), " -/> "))
	}
	return text.String()
}

func rarely(t *rapid.T, what string) bool { return rapid.IntRange(0, 12).Draw(t, what) == 7 }

// some draws between least and most different elements, in any order.
func some(t *rapid.T, what string, from []string, least, most int) []string {
	n := rapid.IntRange(least, most).Draw(t, "how many "+what)
	return rapid.Permutation(from).Draw(t, what)[:n]
}

// spellings are values, each in several spellings that are equal.
var spellings = [][]string{
	{`1`, `1.0`, `10e-1`, `0.1E+1`},
	{`"a"`, `"\u0061"`},
	{`true`},
	{`2`, `0.02e2`},
	{`null`},
	{`{"p":1,"q":["a",null]}`, `{"q":["\u0061",null],"p":10e-1}`},
	{`{"p":1}`},
	{`[1,2]`, `[1.0,2e0]`},
}

const scalarSpellings = 4 // how many of them may be keys

func value(t *rapid.T, spellings [][]string) enactment.Value {
	return enactment.MustValue(rawJSON(rapid.SampledFrom(rapid.SampledFrom(spellings).Draw(t, "value")).Draw(t, "spelling")))
}

func anyValue(t *rapid.T) enactment.Value { return value(t, spellings) }

func keyValue(t *rapid.T) enactment.Value { return value(t, spellings[:scalarSpellings]) }

// rootSpellings are the one value that the keys of the root key have in a drawn enactment.
var rootSpellings = [][]string{{`7`, `7.0`, `70e-1`}}
