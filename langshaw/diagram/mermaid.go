package diagram

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// WriteMermaid writes the chart as a flowchart for Mermaid. The error is the writer's.
func (c *Chart) WriteMermaid(w io.Writer) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "---\ntitle: %s\n---\nflowchart TB\n", yamlString(c.heading()))
	numbers := make(map[*node]int)
	var aims []string
	for i, l := range c.lanes {
		fmt.Fprintf(out, "  subgraph r%d[\"%s\"]\n    direction TB\n", i, escapeMermaid(l.role))
		for _, n := range l.nodes {
			number := len(numbers)
			numbers[n] = number
			fmt.Fprintf(out, "    a%d[\"%s\"]\n", number, n.mermaidLabel())
			if n.aim {
				aims = append(aims, fmt.Sprintf("a%d", number))
			}
		}
		fmt.Fprintf(out, "  end\n")
	}
	var conflicts []string
	for i, e := range c.edges {
		fmt.Fprintf(out, "  a%d %s a%d\n", numbers[e.from], e.mermaidArrow(), numbers[e.to])
		if e.kind >= exclusion {
			conflicts = append(conflicts, fmt.Sprint(i))
		}
	}
	links := len(c.edges)
	for i, hub := range c.hubs {
		fmt.Fprintf(out, "  h%d((\"nono\"))\n", i)
		for _, n := range hub {
			fmt.Fprintf(out, "  h%d --x a%d\n", i, numbers[n])
			conflicts = append(conflicts, fmt.Sprint(links))
			links++
		}
	}
	fmt.Fprintf(out, "  subgraph notes[\" \"]\n    note[\"%s\"]\n  end\n", c.mermaidNote())
	fmt.Fprintf(out, "  style notes fill:none,stroke:none\n  style note fill:none,stroke:none,color:%s,text-align:left\n", quietColour)
	if len(aims) > 0 {
		fmt.Fprintf(out, "  classDef aim fill:%s,stroke:%s,stroke-width:2px,color:%s\n  class %s aim\n", aimColour, inkColour, inkColour, strings.Join(aims, ","))
	}
	if len(conflicts) > 0 {
		fmt.Fprintf(out, "  linkStyle %s stroke:%s\n", strings.Join(conflicts, ","), conflictColour)
	}
	return out.Flush()
}

// mermaidNote has the captions.
func (c *Chart) mermaidNote() string {
	lines := c.captions()
	for i, line := range lines {
		lines[i] = escapeMermaid(line)
	}
	return strings.Join(lines, "<br/>")
}

// mermaidLabel shows an action as WriteDot does: keys underlined, what must be known slanted.
func (n *node) mermaidLabel() string {
	var b strings.Builder
	b.WriteString("<b>" + escapeMermaid(n.name) + "</b>")
	for _, line := range n.wrapped() {
		b.WriteString("<br/>")
		for i, a := range line {
			if i > 0 {
				b.WriteString(", ")
			}
			text := escapeMermaid(a.name)
			if a.key {
				text = "<u>" + text + "</u>"
			}
			if !a.bound {
				text = "<i>" + text + "</i>"
			}
			b.WriteString(text)
		}
	}
	return b.String()
}

func (e edge) mermaidArrow() string {
	switch e.kind {
	case flow:
		return fmt.Sprintf(`-. "%s" .->`, escapeMermaid(strings.Join(e.labels, ", ")))
	case exclusion:
		return "x--x"
	case blocking:
		return "-.-x"
	case mutual:
		return "x-.-x"
	default:
		return "-->"
	}
}

// escapeMermaid makes text safe inside quotes. Mermaid writes characters as #number;.
func escapeMermaid(text string) string {
	var b strings.Builder
	for _, r := range printable(text) {
		if strings.ContainsRune("\"#;&<>`\\%{}", r) {
			fmt.Fprintf(&b, "#%d;", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// yamlString quotes text for the head of a Mermaid text, which is YAML.
func yamlString(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(printable(text)) + `"`
}
