package langshaw

import (
	"math/bits"
	"strings"
	"unicode/utf8"
)

const (
	// longestSuggestion is the most code points of a name that is looked for.
	longestSuggestion = 80
	// suggestionWork bounds the steps of all searches for one text, since a text may hold very many unknown names
	// and very many known ones. It is enough for thousands of searches among hundreds of names.
	suggestionWork = 20_000_000
)

// suggester finds the names that were probably meant. Searches stop finding anything once the work is used up.
type suggester struct{ work int }

func newSuggester() *suggester { return &suggester{work: suggestionWork} }

// candidates are names of one kind by their length in code points, each with the set of its letters.
type candidates [longestSuggestion + 1][]candidate

type candidate struct {
	text    string
	letters uint64
}

func newCandidates(names []string) *candidates {
	c := &candidates{}
	for _, text := range names {
		if length := utf8.RuneCountInString(text); length <= longestSuggestion {
			c[length] = append(c[length], candidate{text, lettersOf(text)})
		}
	}
	return c
}

// nearest gives the candidate at the smallest edit distance from the text, the first of several, if that distance is
// at most a third of the longer of the two; otherwise nothing. The text itself is no suggestion.
func (s *suggester) nearest(text string, among *candidates) string {
	length := utf8.RuneCountInString(text)
	if length > longestSuggestion {
		return ""
	}
	search := search{suggester: s, text: text, length: length, letters: lettersOf(text), distance: longestSuggestion}
	search.visit(among, length)
	// The distance is at least the difference in length, so the nearest lengths come first.
	for apart := 1; apart < search.distance && apart <= longestSuggestion/3; apart++ {
		if apart <= length/3 {
			search.visit(among, length-apart)
		}
		if length+apart <= longestSuggestion && apart <= (length+apart)/3 {
			search.visit(among, length+apart)
		}
	}
	return search.best
}

// search is one search for the nearest name, with the best found so far.
type search struct {
	*suggester
	text     string
	length   int
	letters  uint64
	best     string
	distance int
}

// visit looks at the candidates of one length.
func (s *search) visit(among *candidates, length int) {
	for _, c := range among[length] {
		limit := min(max(s.length, length)/3, s.distance-1)
		if limit <= 0 || s.work <= 0 {
			return
		}
		s.work--
		if lettersApart(s.letters, c.letters) > 2*limit || c.text == s.text {
			continue
		}
		s.work -= s.length * length
		if distance := editDistance(s.text, c.text, limit); distance <= limit {
			s.best, s.distance = c.text, distance
		}
	}
}

// lettersOf is a set of the letters of a name. Different letters may share a place, so sets that are equal prove
// nothing, and sets that differ prove that letters differ.
func lettersOf(text string) uint64 {
	set := uint64(0)
	for _, r := range text {
		set |= 1 << (uint(r) % 64)
	}
	return set
}

// lettersApart counts the letters that only one of the names has. One edit changes it by two at most.
func lettersApart(a, b uint64) int { return bits.OnesCount64(a ^ b) }

// editDistance counts the letters to insert, to leave out, to replace or to swap with their neighbour that make one
// name the other. It may give any number above the limit once the distance is known to be above it. Neither name is
// longer than longestSuggestion.
func editDistance(a, b string, limit int) int {
	var letters [2][longestSuggestion]rune
	from, to := runesOf(a, letters[0][:0]), runesOf(b, letters[1][:0])
	var rows [3][longestSuggestion + 1]int
	beforeLast, last, row := rows[0][:len(to)+1], rows[1][:len(to)+1], rows[2][:len(to)+1]
	for j := range last {
		last[j] = j
	}
	lastLeast := 0
	for i, r := range from {
		row[0] = i + 1
		least := row[0]
		for j, s := range to {
			cost := 1
			if r == s {
				cost = 0
			}
			distance := min(last[j]+cost, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && r == to[j-1] && s == from[i-1] {
				distance = min(distance, beforeLast[j-1]+1)
			}
			row[j+1] = distance
			least = min(least, distance)
		}
		// A swap reaches back two rows, so both must be above the limit.
		if least > limit && lastLeast > limit {
			return limit + 1
		}
		beforeLast, last, row, lastLeast = last, row, beforeLast, least
	}
	return last[len(to)]
}

func runesOf(text string, into []rune) []rune {
	for _, r := range text {
		into = append(into, r)
	}
	return into
}

var clauseCandidates = newCandidates(clauseNames[who:])

// nearestKeyword gives the clause keyword that was probably meant, or nothing.
func nearestKeyword(text string) string {
	if len(text) > 2*len("sayso") {
		return ""
	}
	if folded := strings.ToLower(text); folded != text && clauseOf(folded) != noClause {
		return folded
	}
	return newSuggester().nearest(text, clauseCandidates)
}

// Nearest gives the name that was probably meant by another: the one at the smallest edit distance, the first of
// several, if that distance is at most a third of the longer of the two (semantics section 2); otherwise nothing.
func Nearest(name string, among []string) string {
	return newSuggester().nearest(name, newCandidates(among))
}
