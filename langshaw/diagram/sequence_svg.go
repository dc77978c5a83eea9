package diagram

import (
	"bufio"
	"fmt"
	"html"
	"io"
	"strings"
)

// The measures of a sequence drawn as SVG, in pixels.
const (
	margin     = 24.0
	titleSize  = 17.0
	roleSize   = 14.0
	actionSize = 12.0
	smallSize  = 10.5
	lineHeight = 15.0
	boxPadding = 9.0
	rowGap     = 16.0
	columnGap  = 36.0
)

// WriteSVG draws the sequence: a lifeline for each role, a box on it for each action, and an arrow to each role that
// learns of it. What happens at the same time stands in one band. The error is the writer's.
func (s Sequence) WriteSVG(w io.Writer) error {
	d := newSequenceDrawing(s)
	out := bufio.NewWriter(w)
	writeHead(out, d.width, d.height, s.Title)
	writeText(out, margin, margin+titleSize, titleSize, "start", `font-weight="bold"`, s.Title)
	for _, b := range d.bands {
		fmt.Fprintf(out, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="6" fill="%s" stroke="%s"/>`+"\n",
			margin, b.y, d.width-2*margin, b.height, laneColour, laneEdgeColour)
		writeText(out, margin+6, b.y+smallSize+3, smallSize, "start", quietFill, "at the same time")
	}
	for i, role := range s.Roles {
		writeText(out, d.columns[i], d.top-10, roleSize, "middle", `font-weight="bold"`, role)
		fmt.Fprintf(out, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s" stroke-width="1.2"/>`+"\n",
			d.columns[i], d.top, d.columns[i], d.bottom, "#b4b8be")
	}
	for _, b := range d.boxes {
		d.writeBox(out, b)
	}
	y := d.bottom + lineHeight
	for _, line := range s.End {
		y += lineHeight
		text := strings.TrimLeft(line, " ")
		writeText(out, margin+6*float64(len(line)-len(text)), y, smallSize+0.5, "start", quietFill, text)
	}
	fmt.Fprintf(out, "</svg>\n")
	return out.Flush()
}

const quietFill = `fill="` + quietColour + `"`

// writeHead begins an SVG document: a white ground, and the ends that lines may have.
func writeHead(out io.Writer, width, height float64, title string) {
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f" role="img" `+
		`font-family="Helvetica, Arial, 'Liberation Sans', sans-serif" fill="%s">`+"\n", width, height, width, height, inkColour)
	fmt.Fprintf(out, "<title>%s</title>\n<defs>\n", escapeXML(title))
	for _, head := range [][2]string{{"head", inkColour}, {"flow", flowColour}} {
		fmt.Fprintf(out, `<marker id="%s" viewBox="0 0 10 10" refX="9.5" refY="5" markerWidth="9" markerHeight="9" markerUnits="userSpaceOnUse" orient="auto-start-reverse">`+
			`<path d="M0,1 L10,5 L0,9 z" fill="%s"/></marker>`+"\n", head[0], head[1])
	}
	fmt.Fprintf(out, `<marker id="bar" viewBox="0 0 4 12" refX="2" refY="6" markerWidth="4" markerHeight="12" markerUnits="userSpaceOnUse" orient="auto">`+
		`<path d="M2,0.5 V11.5" stroke="%s" stroke-width="2.4"/></marker>`+"\n</defs>\n", conflictColour)
	fmt.Fprintf(out, `<rect width="%.0f" height="%.0f" fill="white"/>`+"\n", width, height)
}

// sequenceDrawing is a sequence with a place for everything.
type sequenceDrawing struct {
	width, height float64
	// top and bottom are the ends of the lifelines, columns their distances from the left.
	top, bottom float64
	columns     []float64
	boxes       []box
	bands       []band
}

type box struct {
	event         Event
	column        int
	to            []int
	lines         []string
	y             float64
	width, height float64
}

type band struct{ y, height float64 }

func newSequenceDrawing(s Sequence) *sequenceDrawing {
	d := &sequenceDrawing{top: margin + titleSize + 52}
	numbers := make(map[string]int)
	for i, role := range s.Roles {
		numbers[role] = i
	}
	halves := make([]float64, len(s.Roles)) // of the widest box or name
	for i, role := range s.Roles {
		halves[i] = textWidth(role, roleSize)/2*1.08 + 4
	}
	y := d.top + rowGap
	for _, step := range s.Steps {
		from := y
		if len(step) > 1 {
			y += smallSize + 10
		}
		for _, e := range step {
			b := newBox(e, numbers)
			b.y = y
			halves[b.column] = max(halves[b.column], b.width/2)
			y += b.height + rowGap
			d.boxes = append(d.boxes, b)
		}
		if len(step) > 1 {
			d.bands = append(d.bands, band{from, y - from - rowGap/2})
			y += rowGap / 2
		}
	}
	d.bottom = y
	x := margin
	for i, half := range halves {
		x += half
		if i == 0 && len(d.bands) > 0 {
			x += 8
		}
		d.columns = append(d.columns, x)
		x += half + columnGap
	}
	d.width = max(x-columnGap, 2*margin) + margin
	d.width = max(d.width, textWidth(s.Title, titleSize)*1.08+2*margin)
	for _, line := range s.End {
		d.width = max(d.width, textWidth(line, smallSize+0.5)+float64(3*(len(line)-len(strings.TrimLeft(line, " "))))+2*margin)
	}
	d.height = d.bottom + lineHeight*float64(len(s.End)+1) + margin
	return d
}

func newBox(e Event, numbers map[string]int) box {
	b := box{event: e, column: numbers[e.Role], lines: wrap(e.Attributes)}
	if e.Refused != "" {
		b.lines = append(b.lines, "refused: "+e.Refused)
	}
	for _, to := range e.To {
		b.to = append(b.to, numbers[to.Role])
	}
	b.width = textWidth(e.Action, actionSize) * 1.08
	for _, line := range b.lines {
		b.width = max(b.width, textWidth(line, smallSize))
	}
	b.width += 2 * boxPadding
	b.height = lineHeight*float64(1+len(b.lines)) + boxPadding
	return b
}

// wrap puts names in lines of a width that suits a box.
func wrap(names []string) []string {
	const most = 30
	var lines []string
	for i, name := range names {
		if i < len(names)-1 {
			name += ","
		}
		if last := len(lines) - 1; last >= 0 && len(lines[last])+len(name) < most {
			lines[last] += " " + name
		} else {
			lines = append(lines, name)
		}
	}
	return lines
}

func (d *sequenceDrawing) writeBox(out io.Writer, b box) {
	x, middle := d.columns[b.column], b.y+b.height/2
	// One line a side serves all roles on it; each has its head on it.
	for _, to := range b.to {
		from := x + b.width/2
		if to < b.column {
			from = x - b.width/2
		}
		fmt.Fprintf(out, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s" stroke-width="1.2" marker-end="url(#head)"/>`+"\n",
			from, middle, d.columns[to], middle, inkColour)
	}
	stroke, more := inkColour, ""
	if b.event.Refused != "" {
		stroke, more = conflictColour, ` stroke-dasharray="4 3"`
	}
	fmt.Fprintf(out, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="7" fill="white" stroke="%s" stroke-width="1.2"%s/>`+"\n",
		x-b.width/2, b.y, b.width, b.height, stroke, more)
	y := b.y + boxPadding/2 + actionSize
	writeText(out, x, y, actionSize, "middle", `font-weight="bold"`, b.event.Action)
	for _, line := range b.lines {
		y += lineHeight
		writeText(out, x, y, smallSize, "middle", "", line)
	}
}

func writeText(out io.Writer, x, y, size float64, anchor, more, text string) {
	if more != "" {
		more = " " + more
	}
	fmt.Fprintf(out, `<text x="%.1f" y="%.1f" font-size="%.1f" text-anchor="%s"%s>%s</text>`+"\n", x, y, size, anchor, more, escapeXML(text))
}

func escapeXML(text string) string { return html.EscapeString(printable(text)) }

// textWidth estimates how wide a text is in a common sans-serif font.
func textWidth(text string, size float64) float64 {
	width := 0.0
	for _, r := range text {
		switch {
		case strings.ContainsRune("ijl|'.,:;!()[]{}ft/ I-", r):
			width += 0.3
		case strings.ContainsRune("mwMW@%", r):
			width += 0.88
		case 'A' <= r && r <= 'Z':
			width += 0.7
		case r < 0x300:
			width += 0.556
		default:
			width++
		}
	}
	return width * size
}
