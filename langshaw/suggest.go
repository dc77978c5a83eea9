package langshaw

import (
	"math/bits"
	"slices"
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

// candidates are names of one kind by length, each with the set of its letters.
type candidates struct {
	byLength map[int][]candidate
}

type candidate struct {
	text    string
	letters uint64
}

func newCandidates(names []string) *candidates {
	c := &candidates{byLength: make(map[int][]candidate)}
	for _, text := range names {
		if length := utf8.RuneCountInString(text); length <= longestSuggestion {
			c.byLength[length] = append(c.byLength[length], candidate{text, lettersOf(text)})
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
	letters := lettersOf(text)
	best, bestDistance := "", longestSuggestion
	for _, other := range lengthsBeside(length) {
		limit := max(length, other) / 3
		for _, c := range among.byLength[other] {
			limit := min(limit, bestDistance-1)
			if limit <= 0 || s.work <= 0 {
				break
			}
			s.work--
			if lettersApart(letters, c.letters) > 2*limit || c.text == text {
				continue
			}
			s.work -= length * other
			if distance := editDistance(text, c.text, limit); distance <= limit {
				best, bestDistance = c.text, distance
			}
		}
	}
	return best
}

// lengthsBeside lists the lengths of names that may be near a name of the given length, nearest first.
func lengthsBeside(length int) []int {
	lengths := []int{length}
	for apart := 1; apart <= longestSuggestion; apart++ {
		if apart <= length/3 {
			lengths = append(lengths, length-apart)
		}
		if apart <= (length+apart)/3 {
			lengths = append(lengths, length+apart)
		}
	}
	return lengths
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
// name the other. It may give any number above the limit once the distance is known to be above it.
func editDistance(a, b string, limit int) int {
	from, to := []rune(a), []rune(b)
	beforeLast, last, row := make([]int, len(to)+1), make([]int, len(to)+1), make([]int, len(to)+1)
	for j := range last {
		last[j] = j
	}
	for i, r := range from {
		row[0] = i + 1
		for j, s := range to {
			cost := 1
			if r == s {
				cost = 0
			}
			row[j+1] = min(last[j]+cost, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && r == to[j-1] && s == from[i-1] {
				row[j+1] = min(row[j+1], beforeLast[j-1]+1)
			}
		}
		if slices.Min(row) > limit && slices.Min(last) > limit {
			return limit + 1
		}
		beforeLast, last, row = last, row, beforeLast
	}
	return last[len(to)]
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
func Nearest(name string, among []string) string { return newSuggester().nearest(name, newCandidates(among)) }
