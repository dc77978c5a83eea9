package bridge

import (
	"maps"
)

// flow is what is known of the variables at one point of a plan.
type flow struct {
	reached bool
	// always are bound on every way here, ever on some way.
	always, ever map[string]bool
	observed     observed
	tainted      map[string]bool // secret, here
	foreign      map[string]bool // secret, of another step
}

func (f flow) with(names ...string) flow {
	f.always, f.ever = maps.Clone(f.always), maps.Clone(f.ever)
	for _, name := range names {
		f.always[name], f.ever[name] = true, true
	}
	return f
}

func (f *flow) join(g flow) {
	if !f.reached {
		*f = g.with()
		f.reached = true
		return
	}
	maps.DeleteFunc(f.always, func(name string, _ bool) bool { return !g.always[name] })
	maps.Copy(f.ever, g.ever)
}

func (c *checker) steps(p *plan, o observed) {
	at := make([]flow, len(p.steps))
	start := flow{always: map[string]bool{}, ever: map[string]bool{}, observed: o}
	if len(at) > 0 {
		at[0].join(start)
	}
	foreign := make(map[string]bool)
	for i, s := range p.steps {
		in := at[i]
		if !in.reached {
			c.faultAt(s.where, "step %s of %s is never reached", s.name, p.action)
			in = start
		}
		in.tainted, in.foreign = make(map[string]bool), maps.Clone(foreign)
		leave := func(a *answer, out flow) { c.leave(p, i, at, a, out) }
		if s.when != nil {
			c.conditions(s.when, roots(rootObserved, rootHappened, rootBound, rootKept, rootSettings), in, s.name)
			c.follow(p, i, at, in, s.where, "may be skipped")
		}
		c.step(p, s, in, leave)
		maps.Copy(foreign, in.tainted)
		maps.Copy(p.tainted, in.tainted)
	}
}

// follow goes on with the step after the i-th.
func (c *checker) follow(p *plan, i int, at []flow, out flow, where place, why string) {
	if i+1 == len(p.steps) {
		c.faultAt(where, "step %s of %s %s, and no step follows", p.steps[i].name, p.action, why)
		return
	}
	at[i+1].join(out)
}

func (c *checker) leave(p *plan, i int, at []flow, a *answer, out flow) {
	if a.next != "" {
		target, ok := p.step(a.next)
		switch {
		case !ok:
			c.faultAt(a.where, "%s has no step %q", p.action, a.next)
		case target <= i:
			c.faultAt(a.where, "next: %s goes back: steps go forward only, so that they come to an end", a.next)
		default:
			at[target].join(out)
		}
	}
	switch a.kind {
	case goOn:
		c.follow(p, i, at, out, a.where, "has an answer that goes on")
	case wait:
		if s := p.steps[i]; s.status == nil && (s.request == nil || !s.request.reads()) {
			c.faultAt(a.where, "wait: step %s has neither a status query nor a request that reads, so nothing can be looked at", s.name)
		}
	case ask:
		if s := p.steps[i]; s.status == nil && !s.retry && (s.request == nil || !s.request.reads()) {
			c.faultAt(a.where, "ask: step %s has neither a status query nor retry: same-key", s.name)
		}
	case resend:
		if s := p.steps[i]; !s.retry && (s.request == nil || !s.request.reads()) {
			c.faultAt(a.where, "resend: step %s does not say retry: same-key", s.name)
		}
	case goTo, attempt, diverged, nothing:
	}
}

func (c *checker) step(p *plan, s *step, in flow, leave func(*answer, flow)) {
	before := []string{rootObserved, rootHappened, rootBound, rootKept, rootSettings}
	for _, choose := range s.choose {
		if choose.with != nil {
			if c.paths(choose.with, roots(before...), in, s.name) {
				in.tainted[choose.bind] = true
			}
		}
		if choose.none != nil {
			c.answer(p, s, choose.none, roots(append(before, rootNone)...), in, leave)
		}
		tainted := in.tainted
		in = in.with(choose.bind)
		in.tainted = tainted
	}
	if s.unmade != nil {
		c.answer(p, s, s.unmade, roots(append(before, rootNone, rootDenied)...), in, leave)
	}
	for _, a := range []*answer{s.lost, s.late} {
		if a != nil {
			c.answer(p, s, a, roots(before...), in, leave)
		}
	}
	after := append(before, rootExchange)
	if s.request != nil {
		c.call(s.request, before, before, in, s.name)
		after = append(after, rootResponse)
	}
	for _, a := range s.answers {
		if s.request == nil && len(a.on) > 0 {
			c.faultAt(a.where, "step %s has no request, so there is no status to go by", s.name)
		}
		c.answer(p, s, a, roots(after...), in, leave)
	}
	if s.status != nil {
		// The key of the request that is asked about is known by then, and all that some services know one by.
		c.call(s.status.request, append(before, rootExchange), before, in, s.name)
		for _, part := range s.status.request.path.parts {
			if part.path != nil && part.path.references[0].root == rootExchange && part.path.references[0].name != "key" {
				c.faultAt(c.places[part.path], "the path of a status query may speak of $.exchange.key, not of $.exchange.%s", part.path.references[0].name)
			}
		}
		for _, a := range s.status.answers {
			c.answer(p, s, a, roots(append(after, rootStatus)...), in, leave)
		}
	}
}

// call checks a request, whose path may speak of inPath.
func (c *checker) call(request *call, inPath, before []string, in flow, step string) {
	withKey := roots(append(before, rootExchange)...)
	c.paths(request.path, roots(inPath...), in, step)
	for _, header := range request.headers {
		c.paths(header.value, withKey, in, step)
	}
	if request.body != nil {
		c.paths(request.body, roots(before...), in, step)
	}
}

func (c *checker) answer(p *plan, s *step, a *answer, allowed map[string]bool, in flow, leave func(*answer, flow)) {
	if a.when != nil {
		c.conditions(a.when, allowed, in, s.name)
	}
	out := in
	// What an answer binds is seen by what the same answer keeps and attempts.
	for _, bound := range a.bind {
		c.plainly(bound, a, allowed, in, s.name)
		out = out.with(bound.name)
	}
	for _, kept := range a.keep {
		c.plainly(kept, a, allowed, out, s.name)
	}
	for _, fact := range a.facts {
		c.plainly(fact, a, allowed, out, s.name)
	}
	if a.until != nil {
		c.paths(a.until, allowed, in, s.name)
	}
	if a.kind == attempt {
		for _, value := range a.values {
			c.plainly(value, a, allowed, out, s.name)
		}
		c.attempted(a, in.observed)
	}
	leave(a, out)
}
