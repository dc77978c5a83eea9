package lsp

import (
	"fmt"
	"slices"
	"strings"

	"github.com/strabo-engine/strabo/langshaw"
)

// mostItems is the most that is proposed at a time.
const mostItems = 500

// completions gives what may be written at a place.
func (d *document) completions(p position) completionList {
	place := langshaw.PlaceAt(d.bytes, d.offset(p))
	c := completer{document: d, place: place, proposed: make(map[string]bool), written: make(map[string]bool)}
	for i, word := range place.Entry {
		// In do an entry begins with its role, which has a space of names of its own.
		c.written[word] = c.written[word] || i > 0 || place.Clause != "do"
	}
	c.list.Items = []completionItem{}
	for _, mark := range place.Marks {
		c.add(mark, completionKeyword, "", 0)
	}
	for _, kind := range place.Fits {
		switch kind {
		case langshaw.ClauseName:
			for _, clause := range clauseOrder {
				c.add(clause, completionKeyword, clauses[clause].short, 3)
			}
		case langshaw.RoleName:
			c.addRoles()
		case langshaw.ActionName:
			c.addActions()
		case langshaw.AttributeName:
			c.addAttributes()
		}
	}
	slices.SortFunc(c.list.Items, func(a, b completionItem) int { return strings.Compare(a.SortText, b.SortText) })
	return c.list
}

type completer struct {
	*document
	place    langshaw.Place
	proposed map[string]bool
	// written are the words of the entry that is open, which are not proposed again.
	written map[string]bool
	list    completionList
}

// add proposes a word; those with a lower group come first, and then in the order in which they are added.
func (c *completer) add(word string, kind int, detail string, group int) {
	switch {
	case c.proposed[word]:
		return
	case len(c.list.Items) == mostItems:
		c.list.IsIncomplete = true
		return
	}
	c.proposed[word] = true
	c.list.Items = append(c.list.Items, completionItem{
		Label: word, Kind: kind, Detail: detail, SortText: fmt.Sprintf("%d%04d", group, len(c.list.Items)),
		TextEdit: textEdit{c.span(c.place.From, c.place.To), word},
	})
}

// others lists the names of a kind that stand elsewhere than at the place, and not in the entry that is open, each once.
func (c *completer) others(kind langshaw.OccurrenceKind) []langshaw.Occurrence {
	var found []langshaw.Occurrence
	listed := make(map[string]bool)
	for _, o := range c.names() {
		if o.Kind == kind && o.Start.Offset != c.place.From && !c.written[o.Name] && !listed[o.Name] {
			listed[o.Name] = true
			found = append(found, o)
		}
	}
	return found
}

// declared tells of each name of a kind whether it is declared elsewhere than at the place.
func (c *completer) declared(kind langshaw.OccurrenceKind) map[string]bool {
	declared := make(map[string]bool)
	for _, o := range c.names() {
		if o.Kind == kind && o.Declares && o.Start.Offset != c.place.From {
			declared[o.Name] = true
		}
	}
	return declared
}

// addRoles proposes roles; in who those that are used and not declared yet.
func (c *completer) addRoles() {
	declared := c.declared(langshaw.RoleName)
	for _, o := range c.others(langshaw.RoleName) {
		if declared[o.Name] != (c.place.Clause == "who") {
			c.add(o.Name, completionClass, "role", 0)
		}
	}
}

// addActions proposes actions; where one is to be declared, names that are mentioned and may be meant for one.
func (c *completer) addActions() {
	declared := c.declared(langshaw.ActionName)
	if c.place.Clause == "do" && !slices.Contains(c.place.Fits, langshaw.AttributeName) {
		for _, o := range c.others(langshaw.ActionName) {
			if !declared[o.Name] {
				c.add(o.Name, completionMethod, "action, not declared yet", 0)
			}
		}
		p, _ := c.parse()
		for _, o := range c.others(langshaw.AttributeName) {
			if a, ok := p.Attribute(o.Name); !ok || !a.IsKey() && !hasSayso(a) {
				c.add(o.Name, completionMethod, "mentioned, not declared yet", 1)
			}
		}
		return
	}
	for _, o := range c.names() {
		if o.Kind == langshaw.ActionName && declared[o.Name] && o.Declares && !c.written[o.Name] {
			c.add(o.Name, completionMethod, c.actionDetail(o.Name), 2)
		}
	}
}

func (c *completer) actionDetail(name string) string {
	p, _ := c.parse()
	if a, ok := p.Action(name); ok {
		return signature(a)
	}
	return "action"
}

// addAttributes proposes attributes, keys first; in sayso those over which there is none yet.
func (c *completer) addAttributes() {
	p, _ := c.parse()
	ruled := c.declared(langshaw.AttributeName)
	for _, o := range c.others(langshaw.AttributeName) {
		a, known := p.Attribute(o.Name)
		switch {
		case p.IsKey(o.Name) && c.place.Clause == "sayso":
			c.add(o.Name, completionProperty, "key", 1)
		case p.IsKey(o.Name):
			c.add(o.Name, completionProperty, "key", 0)
		case !known:
			c.add(o.Name, completionProperty, "attribute", 1)
		case !hasSayso(a):
			c.add(o.Name, completionProperty, "attribute, without a sayso", 0)
		case c.place.Clause != "sayso" || !ruled[o.Name]:
			c.add(o.Name, completionProperty, "attribute of "+ranks(a), 1)
		}
	}
}

// ranks writes the sayso over an attribute, cut short where it is long.
func ranks(a *langshaw.Attribute) string {
	var roles []string
	for role := range a.Sayso() {
		if len(roles) == mostNamed {
			roles = append(roles, "...")
			break
		}
		roles = append(roles, role)
	}
	return strings.Join(roles, " > ")
}

// hasSayso tells whether somebody has sayso over an attribute.
func hasSayso(a *langshaw.Attribute) bool {
	for range a.Sayso() {
		return true
	}
	return false
}

// signature writes an action as do does, cut short where it is long.
func signature(a *langshaw.Action) string {
	var carried []string
	for name := range a.Attributes() {
		if len(carried) == mostNamed {
			carried = append(carried, "...")
			break
		}
		carried = append(carried, name)
	}
	return fmt.Sprintf("%s: %s(%s)", a.Role(), a.Name(), strings.Join(carried, ", "))
}
