package verify

import (
	"fmt"
	"slices"
)

// Race is a pair of actions of different roles that can be enabled at once, where it matters which comes first.
type Race struct {
	Pair [2]string
	// By is what relates them: nono, nogo or attribute.
	By string
	// Attribute is the attribute that both would bind, when By is attribute.
	Attribute string
	// Immediate and Batch say, in a sentence each, who wins by which rule of semantics section 5.
	Immediate, Batch string
}

// races lists the races of a protocol. The error is that of the limit; what was found until then is returned with it.
func (x *explorer) races() ([]Race, error) {
	var races []Race
	listed := make(map[string]bool)
	for i := range x.events {
		for j := i + 1; j < len(x.events); j++ {
			if x.events[i].role == x.events[j].role {
				continue
			}
			for _, race := range x.relations(i, j) {
				identity := fmt.Sprint(race.Pair, race.By, race.Attribute)
				if listed[identity] {
					continue
				}
				t := x.enabling(i, j)
				if race.By == "attribute" {
					t.without.addAll(x.clauses[x.bound(race.Attribute, i)])
				}
				_, found, err := x.reach(t)
				if err != nil {
					return races, err
				}
				if found {
					listed[identity] = true
					races = append(races, race)
				}
			}
		}
		if x.ctx.Err() != nil {
			return races, errLimit
		}
	}
	return races, nil
}

// relations lists what relates two events in such a way that their order matters.
func (x *explorer) relations(i, j int) []Race {
	a, b := &x.events[i], &x.events[j]
	pair := [2]string{a.action.Name(), b.action.Name()}
	var races []Race
	if a.nonos.has(j) {
		races = append(races, Race{
			Pair: pair, By: "nono", Immediate: "the first to arrive happens, and the other is refused as excluded",
			Batch: x.batchWinner(i, j, "the first to arrive happens, and the other is refused as excluded"),
		})
	}
	for _, order := range [][2]*event{{a, b}, {b, a}} {
		first, then := order[0], order[1]
		stops := first.nogos.has(j) && first == a || first.nogos.has(i) && first == b
		if !stops {
			continue
		}
		races = append(races, Race{
			Pair: [2]string{first.action.Name(), then.action.Name()}, By: "nogo",
			Immediate: fmt.Sprintf("if %s arrives first, %s is refused as blocked; the other way round both happen", first.name, then.name),
			Batch:     x.batchWinner(i, j, "in one window both happen: the nogo binds only what comes after"),
		})
	}
	for name := range a.action.Attributes() {
		attribute, _ := x.protocol.Attribute(name)
		if attribute.IsAction() || attribute.IsKey() || !b.action.Carries(name) || !attribute.MayBind(a.role) || !attribute.MayBind(b.role) ||
			!x.sameKeys(i, j, slices.Collect(attribute.Scope())) {
			continue
		}
		winner := a.role
		if mine, _ := attribute.Rank(a.role); mine > 0 {
			if yours, _ := attribute.Rank(b.role); yours < mine {
				winner = b.role
			}
		}
		races = append(races, Race{
			Pair: pair, By: "attribute", Attribute: name,
			Immediate: fmt.Sprintf("the first to arrive binds %s, and the other may only carry that value", name),
			Batch:     fmt.Sprintf("%s has the higher authority over %s, so the other is refused as dominated", winner, name),
		})
	}
	return races
}

// batchWinner says who wins a window when one role may dominate the other, and otherwise what is given.
func (x *explorer) batchWinner(i, j int, otherwise string) string {
	a, b := &x.events[i], &x.events[j]
	for name := range a.action.Attributes() {
		attribute, _ := x.protocol.Attribute(name)
		mine, ranked := attribute.Rank(a.role)
		yours, also := attribute.Rank(b.role)
		if !ranked || !also || !b.action.Carries(name) {
			continue
		}
		winner := a
		if yours < mine {
			winner = b
		}
		return fmt.Sprintf("while %s is not bound, %s has the higher authority over it and wins; after that, %s", name, winner.role, otherwise)
	}
	return otherwise
}
