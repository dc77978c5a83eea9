package explain

import (
	"fmt"
	"strings"

	"github.com/mattn/go-runewidth"
)

// and joins names as a sentence does.
func and(names []string) string { return join(names, " and ") }

// or joins names of which one is meant.
func or(names []string) string { return join(names, " or ") }

func join(names []string, last string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + last + names[len(names)-1]
}

// together joins keys of which each combination of values counts.
func together(keys []string) string {
	if len(keys) == 1 {
		return keys[0]
	}
	return "combination of " + and(keys)
}

// is joins names with the verb.
func is(names []string) string {
	if len(names) == 1 {
		return names[0] + " is"
	}
	return and(names) + " are"
}

// see joins roles with the verb.
func see(roles []string) string {
	if len(roles) == 1 {
		return roles[0] + " sees"
	}
	return and(roles) + " see"
}

func itOrThem(names []string) string {
	if len(names) == 1 {
		return "it"
	}
	return "them"
}

// page is text of a width that reads well.
type page struct{ text strings.Builder }

// width is how wide a line is at most, unless a word is wider.
const width = 88

const indentation = 2

func (p *page) blank() { p.text.WriteByte('\n') }

func (p *page) section(title string) {
	p.blank()
	p.line(0, "%s", title)
}

// line writes a paragraph, indented; what does not fit its first line is indented further.
func (p *page) line(depth int, format string, arguments ...any) {
	column := depth * indentation
	p.text.WriteString(strings.Repeat(" ", column))
	for i, word := range strings.Fields(fmt.Sprintf(format, arguments...)) {
		length := runewidth.StringWidth(word)
		switch {
		case i == 0:
		case column+1+length > width:
			column = (depth + 1) * indentation
			p.text.WriteString("\n" + strings.Repeat(" ", column))
		default:
			p.text.WriteByte(' ')
			column++
		}
		p.text.WriteString(word)
		column += length
	}
	p.text.WriteByte('\n')
}
