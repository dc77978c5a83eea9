package diagram

import (
	"bufio"
	"fmt"
	"html"
	"io"
	"strings"
)

// The colours of pictures. They stay apart in print without colour: relations differ in line and end as well.
const (
	inkColour      = "#1a1a1a"
	quietColour    = "#6b6b6b"
	flowColour     = "#3b6ea5"
	conflictColour = "#b3261e"
	laneColour     = "#f3f4f6"
	laneEdgeColour = "#d5d8dd"
	aimColour      = "#e3efe3"
	// The layout is made to the measures of this font.
	font = "Helvetica"
)

// WriteDot writes the chart as text for Graphviz. The error is the writer's.
func (c *Chart) WriteDot(w io.Writer) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "digraph {\n")
	fmt.Fprintf(out, "  graph [rankdir=TB, newrank=true, nodesep=0.4, ranksep=0.42, fontname=%q, fontsize=11, fontcolor=%q, pad=0.15, bgcolor=white, "+
		"labelloc=t, labeljust=l, label=<%s>];\n", font, inkColour, c.dotCaption())
	fmt.Fprintf(out, "  node [shape=plain, fontname=%q, fontsize=11, fontcolor=%q];\n", font, inkColour)
	fmt.Fprintf(out, "  edge [fontname=%q, fontsize=9, color=%q, fontcolor=%q, arrowsize=0.7, penwidth=1.1];\n", font, inkColour, quietColour)
	// A cluster around all holds the legend below them.
	fmt.Fprintf(out, "  subgraph cluster_all {\n    graph [peripheries=0, margin=0, labelloc=b, labeljust=l, label=<%s>];\n", c.dotLegend())
	for i, l := range c.lanes {
		fmt.Fprintf(out, "    subgraph cluster_%d {\n", i)
		fmt.Fprintf(out, "      graph [peripheries=1, style=filled, fillcolor=%q, color=%q, margin=14, labelloc=t, labeljust=c, label=<<font point-size=\"13\"><b>%s</b></font>>];\n",
			laneColour, laneEdgeColour, escapeDot(l.role))
		fmt.Fprintf(out, "      \"top %d\", \"bottom %d\" [style=invis, shape=point, width=0, height=0];\n", i, i)
		for _, n := range l.nodes {
			fmt.Fprintf(out, "      %q [label=<%s>];\n", n.name, n.dotLabel())
		}
		for j, hub := range c.hubs {
			if hub[0].role == l.role {
				fmt.Fprintf(out, "      \"nono %d\" [shape=point, width=0.12, color=%q];\n", j, conflictColour)
			}
		}
		fmt.Fprintf(out, "    }\n")
	}
	fmt.Fprintf(out, "  }\n")
	c.writeFrame(out)
	for _, e := range c.edges {
		fmt.Fprintf(out, "  %q -> %q [%s];\n", e.from.name, e.to.name, e.dotStyle())
	}
	for i, hub := range c.hubs {
		for _, n := range hub {
			fmt.Fprintf(out, "  \"nono %d\" -> %q [arrowhead=tee, color=%q, penwidth=1.2, weight=0];\n", i, n.name, conflictColour)
		}
	}
	fmt.Fprintf(out, "}\n")
	return out.Flush()
}

// writeFrame writes what is not seen: it makes the lanes equally long and puts them in the order of who, draws actions
// up, and puts side by side what excludes each other.
func (c *Chart) writeFrame(out io.Writer) {
	for _, row := range []string{"top", "bottom"} {
		fmt.Fprintf(out, "  { rank=same; edge [style=invis]; ")
		for i := range c.lanes {
			if i > 0 {
				fmt.Fprintf(out, " -> ")
			}
			fmt.Fprintf(out, "\"%s %d\"", row, i)
		}
		fmt.Fprintf(out, "; }\n")
	}
	fmt.Fprintf(out, "  { edge [style=invis];\n")
	for i, l := range c.lanes {
		for _, n := range l.nodes {
			fmt.Fprintf(out, "    \"top %d\" -> %q; %q -> \"bottom %d\" [weight=0];\n", i, n.name, n.name, i)
		}
	}
	fmt.Fprintf(out, "  }\n")
	for _, row := range c.rows {
		fmt.Fprintf(out, "  { rank=same;")
		for _, n := range row {
			fmt.Fprintf(out, " %q;", n.name)
		}
		fmt.Fprintf(out, " }\n")
	}
}

// dotCaption says what the picture shows.
func (c *Chart) dotCaption() string {
	lines := []string{`<font point-size="16"><b>` + escapeDot(c.heading()) + `</b></font>`}
	for _, caption := range c.captions() {
		lines = append(lines, quiet(caption))
	}
	return stack(append(lines, " "))
}

// dotLegend explains the signs that occur.
func (c *Chart) dotLegend() string {
	var kinds [mutual + 1]bool
	for _, e := range c.edges {
		kinds[e.kind] = true
	}
	lines := []string{" "}
	for _, sign := range []struct {
		occurs bool
		text   string
	}{
		{true, "black: the role may decide it; grey: it must be known"},
		{true, "underlined: key; green: completes the enactment"},
		{kinds[reference], "arrow: refers to"},
		{kinds[flow], "dashed arrow: may get the attribute from"},
		{kinds[exclusion], "red bars at both ends: exclude each other"},
		{len(c.hubs) > 0, "red, from a point: all exclude each other"},
		{kinds[blocking] || kinds[mutual], "dotted, to a bar: no longer once the other has happened"},
	} {
		if sign.occurs {
			lines = append(lines, quiet(sign.text))
		}
	}
	return stack(lines)
}

func quiet(text string) string {
	return `<font color="` + quietColour + `" point-size="10">` + escapeDot(text) + `</font>`
}

// stack puts lines of marked text below each other.
func stack(lines []string) string {
	return `<table border="0" cellborder="0" cellspacing="0" cellpadding="1"><tr><td align="left">` +
		strings.Join(lines, `</td></tr><tr><td align="left">`) + `</td></tr></table>`
}

// sentence says who decides an attribute.
func (r rank) sentence() string {
	return r.attribute + " is decided by " + strings.Join(r.roles, ", else ")
}

// dotLabel shows an action: its name above its attributes. Keys are underlined; what the role may bind is black, what
// must be known grey.
func (n *node) dotLabel() string {
	var b strings.Builder
	colour, width := "white", 1
	if n.aim {
		colour, width = aimColour, 2
	}
	fmt.Fprintf(&b, `<table border="%d" cellborder="0" cellspacing="0" cellpadding="3" style="rounded" bgcolor="%s" color="%s">`, width, colour, inkColour)
	fmt.Fprintf(&b, `<tr><td align="center"><b>%s</b></td></tr>`, escapeDot(n.name))
	for _, line := range n.wrapped() {
		b.WriteString(`<tr><td cellpadding="0"><table border="0" cellborder="0" cellspacing="0" cellpadding="3"><tr>`)
		for _, a := range line {
			text := escapeDot(a.name)
			if a.key {
				text = "<u>" + text + "</u>"
			}
			if !a.bound {
				text = `<font color="` + quietColour + `"><i>` + text + `</i></font>`
			}
			b.WriteString(`<td><font point-size="10">` + text + `</font></td>`)
		}
		b.WriteString(`</tr></table></td></tr>`)
	}
	b.WriteString(`</table>`)
	return b.String()
}

// wrapped puts the attributes of an action in lines of a width that suits a picture.
func (n *node) wrapped() [][]attribute {
	const most = 24
	var lines [][]attribute
	width := 0
	for _, a := range n.attributes {
		if width == 0 || width+len(a.name) > most {
			lines = append(lines, nil)
			width = 0
		}
		last := len(lines) - 1
		lines[last] = append(lines[last], a)
		width += len(a.name) + 2
	}
	return lines
}

func (e edge) dotStyle() string {
	label := ""
	if len(e.labels) > 0 {
		label = fmt.Sprintf(`, label=<<i>%s</i>>`, escapeDot(strings.Join(e.labels, ", ")))
	}
	switch e.kind {
	case flow:
		return fmt.Sprintf("style=dashed, color=%q, fontcolor=%q", flowColour, flowColour) + label
	case exclusion:
		return fmt.Sprintf("dir=both, arrowhead=tee, arrowtail=tee, color=%q, penwidth=1.4, constraint=false", conflictColour)
	case blocking:
		return fmt.Sprintf("arrowhead=tee, style=dotted, color=%q, penwidth=1.6, constraint=false", conflictColour)
	case mutual:
		return fmt.Sprintf("dir=both, arrowhead=tee, arrowtail=tee, style=dotted, color=%q, penwidth=1.6, constraint=false", conflictColour)
	default:
		// What the attributes come from is plain, since the action refers to it.
		return "style=solid"
	}
}

// escapeDot makes text safe inside an HTML-like label, which XML must allow too.
func escapeDot(text string) string { return html.EscapeString(printable(text)) }

// printable replaces what XML has no character for.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\u0085' || r == '\u2028' || r == '\u2029':
			return ' '
		case r < ' ', 0x7f <= r && r < 0xa0, r == 0xfffe, r == 0xffff:
			return '\ufffd'
		default:
			return r
		}
	}, text)
}
