package bridge

import (
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/strabo-engine/strabo/enactment"
)

// Load reads a mapping, in the format of MAPPING.md, and checks it against the protocol and the hooks that there are.
// The name is that of the file in errors. The error is [Faults]: everything that is wrong, each with its place.
func Load(name string, text []byte, rules *enactment.Rules, hooks map[string]Hook) (*Mapping, error) {
	return load(&reader{file: name, hooks: hooks}, text, rules)
}

// Check is [Load] for who has no hooks, such as a tool: it takes it that every hook is there which the mapping names. The
// error is [Faults].
func Check(name string, text []byte, rules *enactment.Rules) error {
	_, err := load(&reader{file: name, anyHook: true}, text, rules)
	return err
}

func load(r *reader, text []byte, rules *enactment.Rules) (*Mapping, error) {
	r.define, r.places = make(map[string]template), make(map[any]place)
	root, err := parseYAML(text)
	if err != nil {
		r.faultAt(yamlPlace(err), "%s", strings.TrimPrefix(err.Error(), "yaml: "))
		return nil, r.faults
	}
	m := r.mapping(root)
	r.check(m, root, rules)
	if len(r.faults) > 0 {
		return nil, r.faults.sorted()
	}
	return m, nil
}

var yamlLine = regexp.MustCompile(`line (\d+)`)

// yamlPlace finds the line that the YAML parser puts into its messages only.
func yamlPlace(err error) place {
	at := place{1, 1}
	if found := yamlLine.FindStringSubmatch(err.Error()); found != nil {
		if line, err := strconv.Atoi(found[1]); err == nil && line > 0 {
			at.line = line
		}
	}
	return at
}

func (r *reader) mapping(root *yaml.Node) *Mapping {
	m := &Mapping{name: r.file, actions: make(map[string]*plan)}
	// Definitions come first, wherever they stand, since all else may use them.
	if root.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(root.Content); i += 2 {
			if root.Content[i].Value == "define" {
				r.definitions(root.Content[i+1])
			}
		}
	}
	r.take(root, "a mapping", map[string]func(*yaml.Node){
		"protocol": func(n *yaml.Node) { m.protocol = r.text(n, "protocol") },
		"role":     func(n *yaml.Node) { m.role = r.text(n, "role") },
		"settings": func(n *yaml.Node) {
			for _, setting := range r.list(n, "settings") {
				m.settings = append(m.settings, r.text(setting, "a setting"))
			}
		},
		"headers": func(n *yaml.Node) { m.headers = r.headers(n) },
		"define":  func(*yaml.Node) {},
		"actions": func(n *yaml.Node) {
			for _, f := range r.fields(n, "actions") {
				m.order = append(m.order, f.key.Value)
				m.actions[f.key.Value] = r.plan(f)
			}
		},
	})
	return m
}

func (r *reader) definitions(n *yaml.Node) {
	defined := make(map[string]template)
	for _, f := range r.fields(n, "define") {
		defined[f.key.Value] = r.template(f.value)
	}
	r.define = defined
}

func (r *reader) plan(f field) *plan {
	r.places[f.key.Value] = placeOf(f.key)
	p := &plan{action: f.key.Value, tainted: make(map[string]bool)}
	for _, n := range r.list(f.value, "the steps of "+p.action) {
		s := r.step(n)
		if _, again := p.step(s.name); again {
			r.fault(n, "%s has two steps %q", p.action, s.name)
		}
		if _, before := p.step(s.since); s.since != "" && !before {
			r.fault(n, "since of step %s: %s has no step %q before it", s.name, p.action, s.since)
		}
		p.steps = append(p.steps, s)
	}
	if len(p.steps) == 0 {
		r.fault(f.value, "%s has no steps", p.action)
	}
	return p
}

func (r *reader) step(n *yaml.Node) *step {
	s := &step{where: placeOf(n)}
	r.take(n, "a step", map[string]func(*yaml.Node){
		"step": func(n *yaml.Node) { s.name = r.text(n, "step") },
		"when": func(n *yaml.Node) { s.when = r.condition(n) },
		"choose": func(n *yaml.Node) {
			for _, n := range r.list(n, "choose") {
				s.choose = append(s.choose, r.choose(n))
			}
		},
		"request": func(n *yaml.Node) { s.request = r.request(n) },
		"retry": func(n *yaml.Node) {
			s.retry = n.Value == "same-key"
			if n.Kind != yaml.ScalarNode || !s.retry && n.Value != "never" {
				r.fault(n, "retry is same-key or never")
			}
		},
		"answers": func(n *yaml.Node) { s.answers = r.answers(n) },
		"status": func(n *yaml.Node) {
			if s.replay = n.Kind == yaml.ScalarNode && n.Value == "same-key"; !s.replay {
				s.status = r.query(n)
			}
		},
		"since":  func(n *yaml.Node) { s.since = r.text(n, "since") },
		"unmade": func(n *yaml.Node) { s.unmade = r.answer(n) },
		"lost":   func(n *yaml.Node) { s.lost = r.answer(n) },
		"late":   func(n *yaml.Node) { s.late = r.answer(n) },
	})
	switch {
	case s.name == "":
		r.fault(n, "a step needs a name: step")
	case len(s.answers) == 0:
		r.fault(n, "step %s has no answers", s.name)
	}
	if s.replay && !s.retry {
		r.fault(n, "status: same-key of step %s needs retry: same-key", s.name)
	}
	if s.request == nil && (s.status != nil || s.retry || s.lost != nil || s.since != "") {
		r.fault(n, "step %s has no request, so there is nothing to retry, to ask about, to lose or to look at before", s.name)
	}
	for _, a := range []*answer{s.unmade, s.lost, s.late} {
		if a != nil && (a.kind == ask || a.kind == resend || a.kind == wait || a.when != nil || len(a.on) > 0) {
			r.fault(n, "unmade, lost and late of step %s end it: they have no response to go by", s.name)
		}
	}
	if s.late != nil && !s.waits() {
		r.fault(n, "step %s waits for nothing that could be late", s.name)
	}
	return s
}

// waits tells whether an answer of the step says to wait.
func (s *step) waits() bool {
	answers := s.answers
	if s.status != nil {
		answers = slices.Concat(answers, s.status.answers)
	}
	return slices.ContainsFunc(answers, func(a *answer) bool { return a.kind == wait })
}

func (r *reader) query(n *yaml.Node) *query {
	q := &query{}
	r.take(n, "status", map[string]func(*yaml.Node){
		"request": func(n *yaml.Node) { q.request = r.request(n) },
		"answers": func(n *yaml.Node) { q.answers = r.answers(n) },
	})
	if q.request == nil || len(q.answers) == 0 {
		r.fault(n, "status needs a request and answers")
		return nil
	}
	if !q.request.reads() {
		r.fault(n, "a status query must be a GET: it may be repeated")
	}
	return q
}

func (r *reader) choose(n *yaml.Node) *choose {
	c := &choose{}
	r.take(n, "choose", map[string]func(*yaml.Node){
		"hook": func(n *yaml.Node) {
			c.hook = r.text(n, "hook")
			found, ok := r.hooks[c.hook]
			if !ok && !r.anyHook && c.hook != "" {
				r.fault(n, "there is no hook %q", c.hook)
			}
			c.call = found
		},
		"with": func(n *yaml.Node) { c.with = r.template(n) },
		"bind": func(n *yaml.Node) { c.bind = r.text(n, "bind") },
		"none": func(n *yaml.Node) { c.none = r.answer(n) },
	})
	if c.hook == "" || c.bind == "" {
		r.fault(n, "choose needs a hook and the variable to bind")
	}
	return c
}

var (
	token  = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")
	method = regexp.MustCompile(`^[A-Z]+$`)
)

func (r *reader) request(n *yaml.Node) *call {
	c := &call{where: placeOf(n)}
	r.take(n, "request", map[string]func(*yaml.Node){
		"operation": func(n *yaml.Node) { c.operation = r.text(n, "operation") },
		"method": func(n *yaml.Node) {
			if c.method = r.text(n, "method"); !method.MatchString(c.method) {
				r.fault(n, "%q is no HTTP method", c.method)
			}
		},
		"path": func(n *yaml.Node) {
			c.path = r.braced(n, "path", true)
			if !strings.HasPrefix(n.Value, "/") {
				r.fault(n, "a path begins with /")
			}
		},
		"headers": func(n *yaml.Node) { c.headers = r.headers(n) },
		"body":    func(n *yaml.Node) { c.body = r.template(n) },
	})
	if c.method == "" || len(c.path.parts) == 0 {
		r.fault(n, "a request needs a method and a path")
	}
	return c
}

func (r *reader) headers(n *yaml.Node) []header {
	var found []header
	for _, f := range r.fields(n, "headers") {
		if !token.MatchString(f.key.Value) {
			r.fault(f.key, "%q is no name for a header", f.key.Value)
		}
		found = append(found, header{http.CanonicalHeaderKey(f.key.Value), r.braced(f.value, "a header", false)})
	}
	return found
}

func (r *reader) braced(n *yaml.Node, what string, escape bool) text {
	source := r.text(n, what)
	if strings.ContainsAny(source, "\r\n") {
		r.fault(n, "%s has a line break", what)
	}
	t, err := parseText(source, escape)
	if err != nil {
		r.fault(n, "%v", err)
	}
	for _, part := range t.parts {
		if part.path != nil {
			r.note(n, part.path, part.path.references)
		}
	}
	return t
}

func (r *reader) answers(n *yaml.Node) []*answer {
	var found []*answer
	for _, n := range r.list(n, "answers") {
		found = append(found, r.answer(n))
	}
	return found
}

func (r *reader) answer(n *yaml.Node) *answer {
	a := &answer{where: placeOf(n)}
	var kinds []string
	kind := func(k answerKind, name string) {
		a.kind = k
		kinds = append(kinds, name)
	}
	flag := func(n *yaml.Node, k answerKind, name string) {
		kind(k, name)
		r.yes(n, name)
	}
	r.take(n, "an answer", map[string]func(*yaml.Node){
		"on":       func(n *yaml.Node) { a.on = r.statuses(n) },
		"when":     func(n *yaml.Node) { a.when = r.condition(n) },
		"bind":     func(n *yaml.Node) { a.bind = r.members(n, "bind") },
		"keep":     func(n *yaml.Node) { a.keep = r.members(n, "keep") },
		"next":     func(n *yaml.Node) { kind(goTo, "next"); a.next = r.text(n, "next") },
		"attempt":  func(n *yaml.Node) { kind(attempt, "attempt"); r.attempt(n, a) },
		"ask":      func(n *yaml.Node) { flag(n, ask, "ask") },
		"resend":   func(n *yaml.Node) { flag(n, resend, "resend") },
		"diverged": func(n *yaml.Node) { kind(diverged, "diverged"); a.detail = r.text(n, "diverged") },
		"nothing":  func(n *yaml.Node) { kind(nothing, "nothing"); a.detail = r.text(n, "nothing") },
		"facts":    func(n *yaml.Node) { a.facts = r.members(n, "facts") },
		"wait":     func(n *yaml.Node) { kind(wait, "wait"); a.until = r.template(n) },
		"yields":   func(n *yaml.Node) { a.yields = r.yes(n, "yields") },
	})
	// What is attempted may be followed by more.
	if len(kinds) == 2 && slices.Contains(kinds, "attempt") && slices.Contains(kinds, "next") {
		a.kind, kinds = attempt, nil
	}
	if a.yields && a.kind != attempt {
		r.fault(n, "yields is for what is attempted")
	}
	if len(a.facts) > 0 && a.kind != diverged {
		r.fault(n, "facts are what is told of what has diverged")
	}
	if len(kinds) > 1 {
		slices.Sort(kinds)
		r.fault(n, "an answer has one way to go on, not %s", strings.Join(kinds, " and "))
	}
	if (a.kind == ask || a.kind == resend || a.kind == wait) && len(a.bind)+len(a.keep) > 0 {
		r.fault(n, "what is not settled yet binds and keeps nothing")
	}
	return a
}

// yes reads what is either true or not there.
func (r *reader) yes(n *yaml.Node, name string) bool {
	if n.Value != "true" {
		r.fault(n, "%s is either true or not there", name)
	}
	return n.Value == "true"
}

func (r *reader) attempt(n *yaml.Node, a *answer) {
	fields := r.fields(n, "attempt")
	if len(fields) != 1 {
		r.fault(n, "attempt names one action and its values")
		return
	}
	a.attempt = fields[0].key.Value
	a.where = placeOf(fields[0].key)
	a.values = r.members(fields[0].value, "the values of "+a.attempt)
}

var statusClass = regexp.MustCompile(`^[1-5]xx$`)

func (r *reader) statuses(n *yaml.Node) []statusRange {
	nodes := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		nodes = n.Content
	}
	var found []statusRange
	for _, n := range nodes {
		status, err := strconv.Atoi(n.Value)
		switch {
		case n.Kind == yaml.ScalarNode && statusClass.MatchString(n.Value):
			low := int(n.Value[0]-'0') * 100
			found = append(found, statusRange{low, low + 99})
		case n.Kind == yaml.ScalarNode && err == nil && status >= 100 && status <= 599:
			found = append(found, statusRange{status, status})
		default:
			r.fault(n, "a status is a number such as 201 or a class such as 2xx")
		}
	}
	return found
}
