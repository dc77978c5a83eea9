package verify

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/strabo-engine/strabo/langshaw"
)

// Codes of what verification finds in a text.
const (
	// CodeDeadAction: the action is enabled in no reachable state.
	CodeDeadAction langshaw.Code = "dead-action"
	// CodeRepeatedAction: the action can happen more than once in an enactment; see [Report.Repeated].
	CodeRepeatedAction langshaw.Code = "repeated-action"
	// CodeNotLive: the enactment can get stuck before it is complete.
	CodeNotLive langshaw.Code = "not-live"
	// CodeNotSafe: two roles can do at once what excludes each other.
	CodeNotSafe langshaw.Code = "not-safe"
)

// VerdictDiagnostics gives the verdicts that are no, with their witnesses, at places of the text, as warnings: not live
// at the first part of `what` that can no longer come, not safe at the nono. The messages have several lines. It is for
// those who do not show the report, which says the same; see [Report.WriteText].
func (r Report) VerdictDiagnostics(p *langshaw.Protocol) langshaw.Diagnostics {
	var found langshaw.Diagnostics
	warn := func(code langshaw.Code, span langshaw.Span, write func(out io.Writer)) {
		var message strings.Builder
		write(&message)
		found = append(found, langshaw.Diagnostic{
			Code: code, Severity: langshaw.Warning, Span: span, Message: strings.TrimSuffix(message.String(), "\n"),
		})
	}
	if r.Live == No {
		var span langshaw.Span
		for _, conjunct := range r.Unmet[:min(1, len(r.Unmet))] {
			span = conjunct.Span()
		}
		warn(CodeNotLive, span, func(out io.Writer) { r.writeNotLive(out, p) })
	}
	if r.Safe == No {
		var span langshaw.Span
		for nono := range p.Nonos() {
			names := slices.Collect(nono.Actions())
			if slices.Contains(names, actionOf(r.Pair[0])) && slices.Contains(names, actionOf(r.Pair[1])) {
				span = nono.Span()
				break
			}
		}
		warn(CodeNotSafe, span, func(out io.Writer) { r.writeNotSafe(out, p) })
	}
	return found
}

// Diagnostics gives what else the report finds at places of the text, as warnings.
func (r Report) Diagnostics(p *langshaw.Protocol) langshaw.Diagnostics {
	var found langshaw.Diagnostics
	warn := func(names []string, code langshaw.Code, format string) {
		for _, name := range names {
			if a, ok := p.Action(name); ok {
				found = append(found, langshaw.Diagnostic{
					Code: code, Severity: langshaw.Warning, Span: a.Span(), Message: fmt.Sprintf(format, name),
				})
			}
		}
	}
	warn(r.Dead, CodeDeadAction, "%s is dead: it is enabled in no state that can be reached")
	warn(r.Repeated, CodeRepeatedAction, "%s can happen more than once in an enactment, and the verdict, which takes one value a key, "+
		"does not look at two of them; let an action that carries it have fewer keys, or verify with two values a key")
	return found
}

// Proved tells whether the answer is yes to everything: live, safe, and every query.
func (r Report) Proved() bool {
	proved := r.Live == Yes && r.Safe == Yes
	for _, answer := range r.Answers {
		proved = proved && answer.Holds == Yes
	}
	return proved
}

// WriteText writes the report for a person. The error is the writer's.
func (r Report) WriteText(w io.Writer, p *langshaw.Protocol) error {
	out := bufio.NewWriter(w)
	size := fmt.Sprintf("%d states", r.States)
	if !r.Exhaustive {
		size += ", the limit was met"
	}
	fmt.Fprintf(out, "%s: %s, %s (%s)\n", p.Name(), verdict("live", r.Live), verdict("safe", r.Safe), size)
	if len(r.Dead) > 0 {
		fmt.Fprintf(out, "dead: %s\n", strings.Join(r.Dead, ", "))
	}
	if r.Live == No {
		fmt.Fprintln(out)
		r.writeNotLive(out, p)
	}
	if r.Safe == No {
		fmt.Fprintln(out)
		r.writeNotSafe(out, p)
	}
	if len(r.Answers) > 0 {
		fmt.Fprintln(out)
	}
	for _, answer := range r.Answers {
		r.answer(out, p, answer)
	}
	if len(r.Races) > 0 {
		fmt.Fprintf(out, "\nraces:\n")
	}
	for _, race := range r.Races {
		race.write(out, p)
	}
	return out.Flush()
}

func (r Report) writeNotLive(out io.Writer, p *langshaw.Protocol) {
	fmt.Fprintf(out, "not live: nothing is enabled and the enactment is not complete\n")
	r.story(out, p, r.LiveWitness)
	for _, line := range r.Stuck {
		fmt.Fprintf(out, "  %s\n", line)
	}
}

func (r Report) writeNotSafe(out io.Writer, p *langshaw.Protocol) {
	fmt.Fprintf(out, "not safe: %s and %s exclude each other, may be attempted at once, and neither has authority over the other\n", r.Pair[0], r.Pair[1])
	r.story(out, p, r.SafeWitness)
	fmt.Fprintf(out, "  then %s or %s\n", said(p, r.Pair[0]), said(p, r.Pair[1]))
}

func (r Race) write(out io.Writer, p *langshaw.Protocol) {
	by := r.By
	if r.Attribute != "" {
		by = "both bind " + r.Attribute
	}
	fmt.Fprintf(out, "  %s and %s (%s)\n", said(p, r.Pair[0]), said(p, r.Pair[1]), by)
	if r.Immediate == r.Batch {
		fmt.Fprintf(out, "    %s\n", r.Batch)
		return
	}
	fmt.Fprintf(out, "    immediate: %s\n    batch: %s\n", r.Immediate, r.Batch)
}

func verdict(what string, v Verdict) string {
	switch v {
	case Yes:
		return what
	case No:
		return "not " + what
	}
	return what + " unknown"
}

func (r Report) answer(out io.Writer, p *langshaw.Protocol, answer Answer) {
	switch {
	case answer.Err != nil:
		fmt.Fprintf(out, "%v\n", answer.Err)
		return
	case answer.Holds == Unknown:
		fmt.Fprintf(out, "%s: unknown, the limit was met\n", answer.Query)
	default:
		fmt.Fprintf(out, "%s: %s\n", answer.Query, answer.Holds)
	}
	if answer.Witness != nil {
		r.story(out, p, answer.Witness)
	}
}

// story tells a witness, a line a step.
func (r Report) story(out io.Writer, p *langshaw.Protocol, steps [][]string) {
	if len(steps) == 0 {
		fmt.Fprintf(out, "  at the very start\n")
	}
	for n, step := range steps {
		var actions []string
		for _, name := range step {
			actions = append(actions, said(p, name))
		}
		together := ""
		if len(step) > 1 {
			together = ", in one step"
		}
		fmt.Fprintf(out, "  %d. %s%s\n", n+1, strings.Join(actions, " and "), together)
	}
}

// said names an action, or an action under an assignment of its keys, with who does it.
func said(p *langshaw.Protocol, event string) string {
	if a, ok := p.Action(actionOf(event)); ok {
		return a.Role() + "'s " + event
	}
	return event
}

// actionOf gives the action of an event, which may name the values of keys after it.
func actionOf(event string) string {
	name, _, _ := strings.Cut(event, "[")
	return name
}

// WriteJSON writes the report for a program, as one line: an object with the keys file, protocol, errors (how many
// the text has), live, safe, dead, states, exhaustive, live_witness, safe_witness, queries, races, repeated and
// elapsed_ms. Verdicts are true, false, or null where unknown. The error is the writer's.
func (r Report) WriteJSON(w io.Writer, file string, p *langshaw.Protocol, faults int) error {
	type unsafe struct {
		Path [][]string `json:"path"`
		Pair [2]string  `json:"pair"`
	}
	type query struct {
		Query   string     `json:"query"`
		Holds   Verdict    `json:"holds"`
		Witness [][]string `json:"witness"`
		Error   string     `json:"error,omitempty"`
	}
	type race struct {
		Pair      [2]string `json:"pair"`
		By        string    `json:"by"`
		Attribute string    `json:"attribute,omitempty"`
		Immediate string    `json:"immediate"`
		Batch     string    `json:"batch"`
	}
	line := struct {
		File        string     `json:"file"`
		Protocol    string     `json:"protocol"`
		Errors      int        `json:"errors"`
		Live        Verdict    `json:"live"`
		Safe        Verdict    `json:"safe"`
		Dead        []string   `json:"dead"`
		States      int        `json:"states"`
		Exhaustive  bool       `json:"exhaustive"`
		LiveWitness [][]string `json:"live_witness"`
		SafeWitness *unsafe    `json:"safe_witness"`
		Queries     []query    `json:"queries"`
		Races       []race     `json:"races"`
		Repeated    []string   `json:"repeated"`
		ElapsedMS   float64    `json:"elapsed_ms"`
	}{
		File: file, Protocol: p.Name(), Errors: faults, Live: r.Live, Safe: r.Safe, Dead: append([]string{}, r.Dead...),
		States: r.States, Exhaustive: r.Exhaustive, LiveWitness: r.LiveWitness, Queries: []query{}, Races: []race{},
		Repeated: append([]string{}, r.Repeated...), ElapsedMS: float64(r.Elapsed.Microseconds()) / 1000,
	}
	if r.Safe == No {
		line.SafeWitness = &unsafe{r.SafeWitness, r.Pair}
	}
	for _, a := range r.Answers {
		answer := query{Query: a.Query.String(), Holds: a.Holds, Witness: a.Witness}
		if a.Err != nil {
			answer.Error = a.Err.Error()
		}
		line.Queries = append(line.Queries, answer)
	}
	for _, found := range r.Races {
		line.Races = append(line.Races, race(found))
	}
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	return out.Encode(line)
}
