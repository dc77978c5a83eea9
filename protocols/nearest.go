package protocols

// nearest gives the candidate with the smallest edit distance to the word, as long as that is at most a third of the
// longer of the two; else the empty string. It is the rule by which the language suggests names (semantics section 2).
func nearest(word string, candidates []string) string {
	best, found := 0, ""
	for _, candidate := range candidates {
		a, b := []rune(word), []rune(candidate)
		distance := editDistance(a, b)
		if 3*distance <= max(len(a), len(b)) && (found == "" || distance < best) {
			best, found = distance, candidate
		}
	}
	return found
}

// editDistance counts the insertions, deletions and replacements that turn a into b.
func editDistance(a, b []rune) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		diagonal := row[0]
		row[0] = i + 1
		for j := range b {
			above := row[j+1]
			if a[i] != b[j] {
				diagonal = 1 + min(diagonal, above, row[j])
			}
			row[j+1], diagonal = diagonal, above
		}
	}
	return row[len(b)]
}
