package acc

import (
	"sort"
	"unicode/utf8"

	"github.com/strabo-engine/strabo/langshaw"
)

// blockSize is how many bytes of a text are counted at most to find a column.
const blockSize = 4096

// places turns byte offsets into positions, and what the YAML parser says into byte offsets, each at a cost that does
// not grow with the text or with the length of a line.
type places struct {
	text string
	// runes counts the code points before each block of the text.
	runes []int
	// lines are the starts of lines as langshaw counts them, yamlLines as YAML does.
	lines, yamlLines []int
}

func newPlaces(text string) *places {
	p := &places{text: text, lines: []int{0}, yamlLines: []int{0}}
	count := 0
	for i := 0; i < len(text); i++ {
		if i%blockSize == 0 {
			p.runes = append(p.runes, count)
		}
		if utf8.RuneStart(text[i]) {
			count++
		}
		end := i + 1
		switch {
		case text[i] == '\n', text[i] == '\r' && (end == len(text) || text[end] != '\n'):
			p.lines = append(p.lines, end)
			p.yamlLines = append(p.yamlLines, end)
		case i >= 1 && text[i-1:end] == "\u0085", i >= 2 && (text[i-2:end] == "\u2028" || text[i-2:end] == "\u2029"):
			p.yamlLines = append(p.yamlLines, end)
		}
	}
	return p
}

// runesBefore counts the code points before an offset.
func (p *places) runesBefore(offset int) int {
	if len(p.runes) == 0 {
		return 0
	}
	block := min(offset/blockSize, len(p.runes)-1)
	count := p.runes[block]
	for i := block * blockSize; i < offset; i++ {
		if utf8.RuneStart(p.text[i]) {
			count++
		}
	}
	return count
}

// at gives the position of an offset.
func (p *places) at(offset int) langshaw.Position {
	offset = max(0, min(offset, len(p.text)))
	line := sort.SearchInts(p.lines, offset+1) - 1
	return langshaw.Position{
		Line: line + 1, Column: p.runesBefore(offset) - p.runesBefore(p.lines[line]) + 1, Offset: offset,
	}
}

// span gives the positions of a stretch.
func (p *places) span(start, end int) langshaw.Span {
	return langshaw.Span{Start: p.at(start), End: p.at(max(start, end))}
}

// ofYAML gives the offset of a line and a column as YAML counts them, both from 1.
func (p *places) ofYAML(line, column int) int {
	line = max(1, min(line, len(p.yamlLines)))
	offset, left := p.yamlLines[line-1], max(column, 1)-1
	if left > blockSize {
		wanted := p.runesBefore(offset) + left
		offset = max(sort.SearchInts(p.runes, wanted+1)-1, 0) * blockSize
		left = wanted - p.runesBefore(offset)
		for offset < len(p.text) && !utf8.RuneStart(p.text[offset]) {
			offset++
		}
	}
	for ; left > 0 && offset < len(p.text); left-- {
		_, size := utf8.DecodeRuneInString(p.text[offset:])
		offset += size
	}
	return offset
}
