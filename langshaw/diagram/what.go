package diagram

import (
	"strings"

	"github.com/strabo-engine/strabo/langshaw"
)

// whatOf gives what an enactment is complete with, as the text has it.
func whatOf(p *langshaw.Protocol) string {
	var conjuncts []string
	for c := range p.What() {
		var alternatives []string
		for name := range c.Alternatives() {
			alternatives = append(alternatives, name)
		}
		text := strings.Join(alternatives, " or ")
		if c.IsKey() {
			text += " key"
		}
		conjuncts = append(conjuncts, text)
	}
	return strings.Join(conjuncts, ", ")
}
