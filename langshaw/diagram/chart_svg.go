package diagram

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

const (
	attributeGap = 7.0
	hubSize      = 8.0
	// arcHeight keeps a line over a layer above the arrowheads there.
	arcHeight = 15.0
	// mostLaidOut is how large a chart may be for WriteSVG; nobody can read a larger one.
	mostLaidOut = 1000
)

// WriteSVG lays the chart out and draws it as SVG. The error is the writer's, or [ErrTooLarge] for a chart of more than a
// thousand actions and relations.
func (c *Chart) WriteSVG(w io.Writer) error {
	if c.Size() > mostLaidOut {
		return fmt.Errorf("%w: %d actions and relations, and a picture can have %d", ErrTooLarge, c.Size(), mostLaidOut)
	}
	l := newChartLayout(c)
	legend := c.legend()
	width := max(l.width, textWidth(c.heading(), titleSize)*1.08+2*margin)
	for _, caption := range c.captions() {
		width = max(width, textWidth(caption, smallSize)*1.05+2*margin)
	}
	for _, sign := range legend {
		width = max(width, textWidth(sign.text, smallSize)*1.05+2*margin+signWidth)
	}
	height := l.bottom + 14 + lineHeight*float64(len(legend)) + margin
	out := bufio.NewWriter(w)
	writeHead(out, width, height, c.heading())
	writeText(out, margin, margin+titleSize, titleSize, "start", `font-weight="bold"`, c.heading())
	for i, caption := range c.captions() {
		writeText(out, margin, margin+titleSize+6+lineHeight*float64(i+1), smallSize, "start", quietFill, caption)
	}
	for i, lane := range c.lanes {
		fmt.Fprintf(out, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s" stroke="%s"/>`+"\n",
			l.left[i], l.top, l.left[i+1]-l.left[i], l.bottom-l.top, laneColour, laneEdgeColour)
		writeText(out, (l.left[i]+l.left[i+1])/2, l.top+20, roleSize, "middle", `font-weight="bold"`, lane.role)
	}
	for _, line := range l.lines {
		l.writeLine(out, line)
	}
	for _, layer := range l.layers {
		for _, b := range layer {
			b.write(out)
		}
	}
	for _, line := range l.lines {
		l.writeLabel(out, line)
	}
	y := l.bottom + 14
	for _, sign := range legend {
		y += lineHeight
		x := margin
		if sign.style != "" {
			fmt.Fprintf(out, `<path d="M%.1f,%.1f h%.1f" %s/>`+"\n", margin+2, y-smallSize/3, signWidth-12, sign.style)
			x += signWidth
		}
		writeText(out, x, y, smallSize, "start", quietFill, sign.text)
	}
	fmt.Fprintf(out, "</svg>\n")
	return out.Flush()
}

// heading is the title, and whose view it is.
func (c *Chart) heading() string {
	if c.role != "" {
		return c.title + ", as " + c.role + " sees it"
	}
	return c.title
}

// captions say what makes an enactment complete, and who decides where several may.
func (c *Chart) captions() []string {
	lines := []string{"complete with " + c.what}
	for _, r := range c.ranks {
		lines = append(lines, r.sentence())
	}
	return lines
}

// signWidth is the room for the sample of a line in the legend.
const signWidth = 44.0

type sign struct{ style, text string }

// legend explains the signs that occur.
func (c *Chart) legend() []sign {
	signs := []sign{{"", "black: the role may decide it; grey: it must be known"}, {"", "underlined: a key; green: completes an enactment"}}
	var occurs [tie + 1]bool
	for _, e := range c.edges {
		occurs[e.kind] = true
	}
	occurs[tie] = len(c.hubs) > 0
	for kind, text := range [...]string{
		reference: "refers to", flow: "may get the attribute from there", exclusion: "exclude each other (nono)",
		blocking: "once it has happened, the other no longer may (nogo)", mutual: "whichever happens, the other no longer may (nogo both ways)",
		tie: "all that a point is tied to exclude each other (nono)",
	} {
		if occurs[kind] {
			signs = append(signs, sign{edgeKind(kind).style(false), text})
		}
	}
	return signs
}

// style gives the attributes of a line; backwards tells that it is drawn from its second end to its first.
func (k edgeKind) style(backwards bool) string {
	end := "end"
	if backwards {
		end = "start"
	}
	switch k {
	case flow:
		return fmt.Sprintf(`fill="none" stroke="%s" stroke-width="1.2" stroke-dasharray="5 3" marker-%s="url(#flow)"`, flowColour, end)
	case exclusion:
		return fmt.Sprintf(`fill="none" stroke="%s" stroke-width="1.4" marker-start="url(#bar)" marker-end="url(#bar)"`, conflictColour)
	case blocking:
		return fmt.Sprintf(`fill="none" stroke="%s" stroke-width="1.5" stroke-dasharray="1.5 3" marker-%s="url(#bar)"`, conflictColour, end)
	case mutual:
		return fmt.Sprintf(`fill="none" stroke="%s" stroke-width="1.5" stroke-dasharray="1.5 3" marker-start="url(#bar)" marker-end="url(#bar)"`, conflictColour)
	case tie:
		return fmt.Sprintf(`fill="none" stroke="%s" stroke-width="1.2" marker-%s="url(#bar)"`, conflictColour, end)
	default:
		return fmt.Sprintf(`fill="none" stroke="%s" stroke-width="1.2" marker-%s="url(#head)"`, inkColour, end)
	}
}

// clearance keeps the bar at the end of a conflict off the box.
func (k edgeKind) clearance() float64 {
	if k >= exclusion {
		return 2
	}
	return 0.5
}

func (l *chartLayout) writeLine(out io.Writer, line *chartLine) {
	upper, lower := line.ends()
	gap := line.kind.clearance()
	var d strings.Builder
	switch line.shape {
	case across:
		y := upper.y + upper.height/2 + lower.y + lower.height/2
		y = y/2 + trackGap*float64(line.track)
		fmt.Fprintf(&d, "M%.1f,%.1f L%.1f,%.1f", upper.x+upper.width/2+gap, y, lower.x-lower.width/2-gap, y)
	case over:
		y := l.tops[upper.layer] - arcHeight - trackGap*float64(line.track)
		fmt.Fprintf(&d, "M%.1f,%.1f V%.1f Q%.1f,%.1f %.1f,%.1f H%.1f Q%.1f,%.1f %.1f,%.1f V%.1f",
			line.upperX, upper.y-gap, y+6, line.upperX, y, line.upperX+6, y,
			line.lowerX-6, line.lowerX, y, line.lowerX, y+6, lower.y-gap)
	default:
		x, y := line.upperX, upper.bottom()+gap
		fmt.Fprintf(&d, "M%.1f,%.1f", x, y)
		for i, via := range line.via {
			layer := upper.layer + 1 + i
			curve(&d, x, y, via, l.tops[layer])
			fmt.Fprintf(&d, " V%.1f", l.bottoms[layer])
			x, y = via, l.bottoms[layer]
		}
		curve(&d, x, y, line.lowerX, lower.y-gap)
	}
	fmt.Fprintf(out, `<path d="%s" %s/>`+"\n", d.String(), line.kind.style(line.to == upper))
}

// curve goes down to a place, leaving and reaching it upright.
func curve(d *strings.Builder, x, y, toX, toY float64) {
	middle := (y + toY) / 2
	fmt.Fprintf(d, " C%.1f,%.1f %.1f,%.1f %.1f,%.1f", x, middle, toX, middle, toX, toY)
}

// writeLabel writes the attributes that flow along a line beside its last stretch.
func (l *chartLayout) writeLabel(out io.Writer, line *chartLine) {
	if line.kind != flow || len(line.labels) == 0 {
		return
	}
	upper, lower := line.ends()
	x, y, toX, toY := line.upperX, upper.bottom(), line.lowerX, lower.y
	if line.shape != down {
		x, toX, y, toY = line.upperX, line.lowerX, l.tops[upper.layer]-24, l.tops[upper.layer]
	} else if n := len(line.via); n > 0 {
		x, y = line.via[n-1], l.bottoms[upper.layer+n]
	}
	label := strings.Join(line.labels, ", ")
	at := labelPlace{x: (x+toX)/2 + 5, y: (y+toY)/2 + 3, width: textWidth(label, smallSize)}
	for range 4 {
		if !slices.ContainsFunc(l.labels, at.meets) {
			break
		}
		at.y += smallSize + 1
	}
	l.labels = append(l.labels, at)
	fmt.Fprintf(out, `<text x="%.1f" y="%.1f" font-size="%.1f" font-style="italic" fill="%s" stroke="%s" stroke-width="4" paint-order="stroke">%s</text>`+"\n",
		at.x, at.y, smallSize, flowColour, laneColour, escapeXML(label))
}

// labelPlace is where a label stands: the left end of its ground line, and its width.
type labelPlace struct{ x, y, width float64 }

func (a labelPlace) meets(b labelPlace) bool {
	return a.x < b.x+b.width+4 && b.x < a.x+a.width+4 && math.Abs(a.y-b.y) < smallSize
}

func (b *chartBox) write(out io.Writer) {
	if b.node == nil {
		fmt.Fprintf(out, `<circle cx="%.1f" cy="%.1f" r="%.1f" fill="%s"/>`+"\n", b.x, b.y+hubSize/2, hubSize/2, conflictColour)
		return
	}
	fill, stroke := "white", 1.2
	if b.node.aim {
		fill, stroke = aimColour, 2.4
	}
	fmt.Fprintf(out, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="7" fill="%s" stroke="%s" stroke-width="%.1f"/>`+"\n",
		b.x-b.width/2, b.y, b.width, b.height, fill, inkColour, stroke)
	y := b.y + boxPadding/2 + actionSize
	writeText(out, b.x, y, actionSize, "middle", `font-weight="bold"`, b.node.name)
	for _, line := range b.lines {
		y += lineHeight
		fmt.Fprintf(out, `<text x="%.1f" y="%.1f" font-size="%.1f" text-anchor="middle">`, b.x, y, smallSize)
		for i, a := range line {
			style := ""
			if i > 0 {
				style += fmt.Sprintf(` dx="%.1f"`, attributeGap)
			}
			if a.key {
				style += ` text-decoration="underline"`
			}
			if !a.bound {
				style += ` font-style="italic" ` + quietFill
			}
			fmt.Fprintf(out, `<tspan%s>%s</tspan>`, style, escapeXML(a.name))
		}
		fmt.Fprintf(out, "</text>\n")
	}
}
