package enactment

// goal is `what` compiled: the conjuncts that need looking at.
type goal struct {
	conjuncts []conjunct
	// flat tells that no action that satisfies a conjunct has keys outside the root key, so that all instances agree.
	flat bool
}

// conjunct is one part of `what`; by tells for each action whether an instance of it satisfies the conjunct.
type conjunct struct{ by []bool }

func (r *Rules) compileGoal() {
	r.goal.flat = true
	for c := range r.protocol.What() {
		by := make([]bool, len(r.actions))
		all := true
		for _, rule := range r.actions {
			for name := range c.Alternatives() {
				// An action carries its own name, so a disjunct that names an action is satisfied by it too.
				by[rule.index] = by[rule.index] || len(rule.keys) > 0 && rule.Carries(name)
			}
			all = all && by[rule.index]
			r.goal.flat = r.goal.flat && (!by[rule.index] || len(rule.residual) == 0)
		}
		if !all {
			r.goal.conjuncts = append(r.goal.conjuncts, conjunct{by})
		}
	}
}

// completes tells whether the new instances make the enactment complete: whether some pairwise agreeing instances
// satisfy every conjunct (semantics section 6). Conjuncts that any instance satisfies are left out beforehand.
func (s *State) completes(fresh []Instance) bool {
	if s.complete || len(fresh) == 0 {
		return false
	}
	for _, c := range s.rules.goal.conjuncts {
		if !anyOf(c, s.instances) && !anyOf(c, fresh) {
			return false
		}
	}
	if s.rules.goal.flat {
		return true
	}
	search := search{old: s.instances, fresh: fresh, goal: s.rules.goal.conjuncts, keys: make(map[string]string)}
	return search.from(0)
}

func anyOf(c conjunct, instances []Instance) bool {
	for i := range instances {
		if c.by[instances[i].rule.index] {
			return true
		}
	}
	return false
}

// search looks for one instance a conjunct such that all agree. Instances agree pairwise exactly when their keys
// together are one assignment of values.
type search struct {
	old, fresh []Instance
	goal       []conjunct
	keys       map[string]string
}

func (s *search) from(at int) bool {
	if at == len(s.goal) {
		return true
	}
	return s.try(at, s.fresh) || s.try(at, s.old)
}

func (s *search) try(at int, instances []Instance) bool {
	for i := range instances {
		instance := &instances[i]
		if !s.goal[at].by[instance.rule.index] {
			continue
		}
		var set []string
		agree := true
		for _, position := range instance.rule.residual {
			name, value := instance.rule.parameters[position].name, instance.values[position].canonical
			if had, ok := s.keys[name]; !ok {
				s.keys[name] = value
				set = append(set, name)
			} else if had != value {
				agree = false
				break
			}
		}
		if agree && s.from(at+1) {
			return true
		}
		for _, name := range set {
			delete(s.keys, name)
		}
	}
	return false
}
