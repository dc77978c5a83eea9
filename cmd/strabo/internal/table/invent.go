package table

import (
	"fmt"
	"maps"
	"slices"

	"github.com/strabo-engine/strabo/enactment"
)

// Inventor makes up values: the samples of the protocol in turn where it has some, and item-1, item-2 and so on for any
// other attribute item, so that each tells what it stands for and no two are the same. It is not safe for concurrent use.
type Inventor struct {
	rules *enactment.Rules
	made  map[string]int
}

// NewInventor makes an inventor of values for a protocol that has made up none.
func NewInventor(rules *enactment.Rules) *Inventor {
	return &Inventor{rules: rules, made: make(map[string]int)}
}

// Next gives the value that Take will give.
func (v *Inventor) Next(attribute string) enactment.Value {
	if samples := v.rules.Samples(attribute); len(samples) > 0 {
		return samples[v.made[attribute]%len(samples)]
	}
	return madeUp(attribute, v.made[attribute]+1)
}

func madeUp(attribute string, n int) enactment.Value {
	return enactment.MustValue(fmt.Sprintf("%s-%d", attribute, n))
}

// Take makes up a value for an attribute.
func (v *Inventor) Take(attribute string) enactment.Value {
	value := v.Next(attribute)
	v.made[attribute]++
	return value
}

// Made says how many values were made up for an attribute.
func (v *Inventor) Made(attribute string) int { return v.made[attribute] }

// Settle binds the keys outside the root key that are open and that the protocol has samples of to the first sample that
// has not been used in a state, as whoever counts would do. It is false when there is a key of which most samples have
// been used; the others stay open.
func Settle(state *enactment.State, feasible enactment.Feasible, most int) (enactment.Feasible, bool) {
	rules := state.Rules()
	for _, key := range InnerKeys(rules.Protocol()) {
		samples := rules.Samples(key)
		at := slices.IndexFunc(feasible.Open, func(open enactment.Open) bool { return open.Attribute == key })
		if at < 0 || len(samples) == 0 {
			continue
		}
		used := used(state, key)
		next := slices.IndexFunc(samples, func(sample enactment.Value) bool { return !slices.ContainsFunc(used, sample.Equal) })
		if next < 0 || next >= most {
			return feasible, false
		}
		feasible.Open = slices.Delete(slices.Clone(feasible.Open), at, at+1)
		feasible.Known = maps.Clone(feasible.Known)
		feasible.Known[key] = samples[next]
	}
	return feasible, true
}
