package explain

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// WriteText writes the explanation for a person, in sentences. The error is the writer's.
func (e *Explanation) WriteText(w io.Writer) error {
	p := &page{}
	p.line(0, "%s", e.Protocol)
	p.section("Who takes part")
	e.parties(p)
	p.section("How it begins")
	e.beginning(p)
	p.section("What each role may do")
	p.line(1, "Once means once in an enactment.")
	for _, role := range e.Roles {
		e.role(p, role)
	}
	p.section("Who decides what")
	e.decisions(p)
	p.section("What excludes what")
	e.conflicts(p)
	if len(e.Guards) > 0 {
		p.section("What else must be so")
		for _, guard := range e.Guards {
			p.line(1, "%s: %s (%s).", and(guard.Actions), guard.Detail, guard.Guard)
		}
	}
	p.section("How it ends")
	e.ending(p)
	p.section("Who sees what")
	e.sight(p)
	if len(e.Secrets) > 0 {
		p.section("What is secret")
		p.line(1, "%s: no record, log or answer shows %s.", and(e.Secrets), itOrThem(e.Secrets))
	}
	_, err := io.WriteString(w, p.text.String())
	return err
}

func (e *Explanation) parties(p *page) {
	p.line(1, "%s. In an enactment each role is played by one party: the one that is configured for it, else the one that the first "+
		"action names for it, else the first that acts in it.", and(e.Roles))
	if len(e.RootKey) == 0 {
		p.line(1, "No key is carried by all actions, so all that ever happens is one enactment.")
		return
	}
	p.line(1, "Enactments are told apart by %s: what has the same %s belongs together, and nothing else does.", and(e.RootKey), and(e.RootKey))
}

func (e *Explanation) beginning(p *page) {
	var first []string
	for _, a := range e.Actions {
		if a.Begins && a.Never == "" {
			first = append(first, a.Action+" of "+a.Role)
		}
	}
	switch {
	case len(first) == 0:
		p.line(1, "Nobody may begin, so nothing ever happens.")
	case len(e.RootKey) == 0:
		p.line(1, "With %s.", or(first))
	default:
		p.line(1, "With %s, under a new %s.", or(first), and(e.RootKey))
	}
}

// role writes a paragraph for each action of a role.
func (e *Explanation) role(p *page, role string) {
	p.line(1, "%s", role)
	idle := true
	for _, a := range e.Actions {
		if a.Role != role {
			continue
		}
		idle = false
		if a.Never != "" {
			p.line(2, "%s: never, since %s.", a.Action, a.Never)
			continue
		}
		p.line(2, "%s: %s.%s", a.Action, strings.Join(slices.Concat([]string{a.often()}, a.when()), ", "), a.what())
	}
	if idle {
		p.line(2, "Nothing: it has no actions.")
	}
}

// often says how often an action may happen, and with which keys.
func (a *Action) often() string {
	text := "once"
	if len(a.OncePer) > 0 {
		text += " for each " + together(a.OncePer)
	}
	for _, key := range a.NewKeys {
		if slices.Contains(a.OncePer, key) {
			text += fmt.Sprintf(" (%s may be a new one)", key)
		} else {
			text += fmt.Sprintf(", with one %s, which may be a new one", key)
		}
	}
	for _, key := range a.KnownKeys {
		if !slices.ContainsFunc(a.After, func(r Reference) bool { return slices.Contains(r.Same, key) }) {
			text += fmt.Sprintf(", with a %s that is known", key)
		}
	}
	return text
}

// mostListed is how many actions that keep another from happening are listed with it.
const mostListed = 10

// when says from when to when an action may happen.
func (a *Action) when() []string {
	var parts []string
	var after []string
	for _, r := range a.After {
		name := r.Action
		if len(r.Same) > 0 {
			name += " with the same " + and(r.Same)
		}
		after = append(after, name)
	}
	if len(after) > 0 {
		parts = append(parts, "after "+and(after))
	}
	if len(a.Needs) > 0 {
		var needs, from []string
		for _, need := range a.Needs {
			needs = append(needs, need.Attribute)
			from = append(from, or(need.From))
		}
		source := or(slices.Compact(slices.Clone(from)))
		if len(slices.Compact(slices.Clone(from))) > 1 {
			var each []string
			for i := range needs {
				each = append(each, needs[i]+" from "+from[i])
			}
			source = and(each)
		} else {
			source = "from " + source
		}
		parts = append(parts, fmt.Sprintf("as soon as %s known (%s)", is(needs), source))
	}
	switch {
	case len(parts) > 0:
	case a.Begins:
		parts = append(parts, "at any time")
	default: // it may not bind the key
		parts = append(parts, "as soon as the enactment has begun")
	}
	switch n := len(a.NotOnce); {
	case n > mostListed:
		parts = append(parts, fmt.Sprintf("unless one of %d others has happened (see what excludes what)", n))
	case n > 0:
		parts = append(parts, "unless "+or(a.NotOnce)+" has happened")
	}
	return parts
}

// what says which attributes an action binds and repeats, as a sentence of its own.
func (a *Action) what() string {
	var parts []string
	if len(a.Binds) > 0 {
		parts = append(parts, "binds "+and(a.Binds))
	}
	switch len(a.BindsIfOpen) {
	case 0:
	case 1:
		parts = append(parts, "binds "+a.BindsIfOpen[0]+" unless that is bound already")
	default:
		parts = append(parts, "binds those of "+and(a.BindsIfOpen)+" that are not bound yet")
	}
	if len(a.Repeats) > 0 {
		parts = append(parts, "repeats "+and(a.Repeats))
	}
	if len(parts) == 0 {
		return ""
	}
	text := strings.Join(parts[:len(parts)-1], ", ")
	if text != "" {
		text += ", and " // with a comma, since each may hold an "and" of its own
	}
	return " It " + text + parts[len(parts)-1] + "."
}

// decisions says for each attribute who decides it, those that are decided alike together.
func (e *Explanation) decisions(p *page) {
	p.line(1, "To bind is to give a value, for good: nobody can change what is bound.")
	told := make([]bool, len(e.Attributes))
	for i, a := range e.Attributes {
		if told[i] || len(a.CarriedBy) == 0 {
			continue
		}
		var names []string
		for j, b := range e.Attributes[i:] {
			if len(b.CarriedBy) > 0 && a.Key == b.Key && slices.Equal(a.DecidedBy, b.DecidedBy) && slices.Equal(a.OncePer, b.OncePer) {
				told[i+j] = true
				names = append(names, b.Attribute)
			}
		}
		p.line(1, "%s", e.decision(a, names))
	}
	for _, a := range e.Attributes {
		if len(a.CarriedBy) == 0 {
			p.line(1, "%s: no action carries it, so nobody ever binds it.", a.Attribute)
		}
	}
}

func (e *Explanation) decision(a Attribute, names []string) string {
	text := and(names) + ": "
	first := ""
	if len(a.DecidedBy) > 0 {
		first = a.DecidedBy[0]
	}
	each := ""
	if !a.Key && len(a.OncePer) > 0 {
		each = ", once for each " + together(a.OncePer)
	}
	switch {
	case a.Key && len(a.DecidedBy) == 0 && slices.Contains(e.RootKey, a.Attribute):
		return text + "whoever begins an enactment."
	case a.Key && len(a.DecidedBy) == 0:
		return text + "whoever first uses it."
	case a.Key && len(a.DecidedBy) == 1:
		return text + "only " + first + " may use a new one."
	case a.Key:
		return text + "only " + or(a.DecidedBy) + " may use a new one."
	case len(a.DecidedBy) == 0:
		return text + "nobody may bind " + itOrThem(names) + "."
	case len(a.DecidedBy) == 1:
		return text + first + " alone" + each + "."
	case len(a.DecidedBy) == 2:
		return text + fmt.Sprintf("%s, before %s%s. The first to bind %s decides; when both try at once, %s does.",
			first, a.DecidedBy[1], each, itOrThem(names), first)
	default:
		return text + fmt.Sprintf("%s%s. The first to bind %s decides; when several try at once, the one named first here.",
			strings.Join(a.DecidedBy, ", before "), each, itOrThem(names))
	}
}

func (e *Explanation) conflicts(p *page) {
	for _, exclusion := range e.Exclusions {
		others := "the other may not"
		if len(exclusion.Actions) > 2 {
			others = "no other of them may"
		}
		p.line(1, "%s exclude each other: once one has happened, %s%s.", and(exclusion.Actions), others, forSame(exclusion.Same))
	}
	crossing := e.blocks(p)
	switch {
	case len(e.Exclusions)+len(e.Blocks) == 0:
		p.line(1, "Nothing: no action keeps another from happening.")
	case crossing:
		p.line(1, "An action that comes too late by this may still happen beside the earlier one if they are of different roles and "+
			"are judged together, in one batch: then neither comes first.")
	}
}

// blocks says what may no longer happen after what, and whether any two of those are of different roles.
func (e *Explanation) blocks(p *page) (crossing bool) {
	told := make([]bool, len(e.Blocks))
	for i, block := range e.Blocks {
		crossing = crossing || block.Crossing
		if told[i] {
			continue
		}
		var then []string
		for j, other := range e.Blocks[i:] {
			if other.First == block.First && slices.Equal(other.Same, block.Same) {
				told[i+j] = true
				then = append(then, other.Then)
			}
		}
		p.line(1, "Once %s has happened, %s may no longer happen%s.", block.First, and(then), forSame(block.Same))
	}
	return crossing
}

func forSame(keys []string) string {
	if len(keys) == 0 {
		return ""
	}
	return " for the same " + and(keys)
}

func (e *Explanation) ending(p *page) {
	switch len(e.Complete) {
	case 0:
		p.line(1, "An enactment is complete as soon as anything has happened.")
	case 1:
		p.line(1, "An enactment is complete when %s.", e.Complete[0].text())
	default:
		agreeing := ""
		if len(e.CompleteSame) > 0 {
			agreeing = ", by actions with the same " + and(e.CompleteSame)
		}
		p.line(1, "An enactment is complete when all of this is so%s:", agreeing)
		for _, goal := range e.Complete {
			p.line(2, "%s.", goal.text())
		}
	}
	p.line(1, "That alone ends nothing: whatever is still enabled may happen.")
}

// text says what meets a goal.
func (g Goal) text() string {
	var ways, happened []string
	for _, alternative := range g.AnyOf {
		switch {
		case alternative.Action:
			happened = append(happened, alternative.Name)
		case len(alternative.By) == 0:
			ways = append(ways, alternative.Name+" is bound (which nobody can do)")
		default:
			ways = append(ways, alternative.Name+" is bound (by "+or(alternative.By)+")")
		}
	}
	if len(happened) > 0 {
		ways = append(ways, or(happened)+" has happened")
	}
	return or(ways)
}

func (e *Explanation) sight(p *page) {
	open := true
	for _, a := range e.Actions {
		open = open && (a.Never != "" || !slices.ContainsFunc(a.SeenBy, func(sight Sight) bool { return !sight.All }))
	}
	if open {
		p.line(1, "Everybody sees all of every action.")
		return
	}
	for _, a := range e.Actions {
		if a.Never == "" {
			p.line(1, "%s: %s.", a.Action, a.seen())
		}
	}
	p.line(1, "So the attributes are seen")
	var order []string
	names := make(map[string][]string)
	for _, attribute := range e.Attributes {
		if attribute.Key || len(attribute.CarriedBy) == 0 {
			continue
		}
		who := e.seers(attribute)
		if len(names[who]) == 0 {
			order = append(order, who)
		}
		names[who] = append(names[who], attribute.Attribute)
	}
	for _, who := range order {
		p.line(2, "by %s: %s.", who, and(names[who]))
	}
}

// seers says who sees an attribute, and where that depends on the action, in which.
func (e *Explanation) seers(attribute Attribute) string {
	var who []string
	everybody := len(attribute.SeenBy) == len(e.Roles)
	for _, seen := range attribute.SeenBy {
		name := seen.Role
		if !seen.Everywhere {
			name += " (in " + or(seen.In) + ")"
			everybody = false
		}
		who = append(who, name)
	}
	if everybody {
		return "everybody"
	}
	return and(who)
}

// seen says who sees what of an action.
func (a *Action) seen() string {
	var all, none []string
	partly := make(map[string][]string)
	var order []string
	for _, sight := range a.SeenBy {
		switch {
		case sight.All:
			all = append(all, sight.Role)
		case !sight.Any:
			none = append(none, sight.Role)
		default:
			what := and(sight.Attributes)
			if len(partly[what]) == 0 {
				order = append(order, what)
			}
			partly[what] = append(partly[what], sight.Role)
		}
	}
	if len(all) == len(a.SeenBy) {
		return "everybody sees all of it"
	}
	parts := []string{see(all) + " all of it"}
	for _, what := range order {
		parts = append(parts, see(partly[what])+" "+what)
	}
	if len(none) > 0 {
		parts = append(parts, see(none)+" nothing of it")
	}
	return strings.Join(parts, "; ")
}
