package diagram

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// WriteMermaid writes the sequence as a sequence diagram for Mermaid. The error is the writer's.
func (s Sequence) WriteMermaid(w io.Writer) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "---\ntitle: %s\n---\nsequenceDiagram\n", yamlString(s.Title))
	numbers := make(map[string]int)
	for i, role := range s.Roles {
		numbers[role] = i
		fmt.Fprintf(out, "  participant r%d as %s\n", i, escapeMermaid(role))
	}
	for _, step := range s.Steps {
		for i, e := range step {
			switch {
			case len(step) > 1 && i == 0:
				fmt.Fprintf(out, "  par at the same time\n")
			case len(step) > 1:
				fmt.Fprintf(out, "  and\n")
			}
			e.writeMermaid(out, numbers)
		}
		if len(step) > 1 {
			fmt.Fprintf(out, "  end\n")
		}
	}
	if len(s.End) > 0 && len(s.Roles) > 0 {
		lines := make([]string, len(s.End))
		for i, line := range s.End {
			lines[i] = escapeMermaid(line)
		}
		over := "r0"
		if last := len(s.Roles) - 1; last > 0 {
			over += fmt.Sprintf(",r%d", last)
		}
		fmt.Fprintf(out, "  note over %s: %s\n", over, strings.Join(lines, "<br/>"))
	}
	return out.Flush()
}

func (e Event) writeMermaid(out io.Writer, numbers map[string]int) {
	from := numbers[e.Role]
	label := escapeMermaid(e.label(nil))
	switch {
	case e.Refused != "":
		fmt.Fprintf(out, "  r%d-xr%d: %s<br/>%s\n", from, from, label, escapeMermaid(e.Refused))
	case len(e.To) == 0:
		fmt.Fprintf(out, "  r%d->>r%d: %s\n", from, from, label)
	}
	if e.Refused == "" {
		for _, to := range e.To {
			fmt.Fprintf(out, "  r%d->>r%d: %s\n", from, numbers[to.Role], escapeMermaid(e.label(to.Hidden)))
		}
	}
}
