package protocols_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/protocols"
)

// world is one reachable state, kept as the log that leads to it.
type world struct {
	rules *enactment.Rules
	key   enactment.Key
	log   []enactment.Finalisation
}

func (w world) state() *enactment.State {
	s := w.rules.NewState(w.key)
	for _, f := range w.log {
		s.Apply(f)
	}
	return s
}

// name identifies a state by what has happened in it, in whatever order.
func name(s *enactment.State) string {
	return nameOf(slices.Collect(s.Instances()))
}

func nameOf(instances []enactment.Instance) string {
	var happened []string
	for _, i := range instances {
		line := i.Action
		for attribute, value := range i.Values() {
			line += " " + attribute + "=" + value.String()
		}
		happened = append(happened, line)
	}
	slices.Sort(happened)
	return strings.Join(happened, "\n")
}

// revisions bounds the values of a key that has samples. The number of states multiplies with each; more can be asked
// for by STRABO_TEST_REVISIONS.
var revisions = func() int {
	if n, err := strconv.Atoi(os.Getenv("STRABO_TEST_REVISIONS")); err == nil {
		return n
	}
	return 3
}()

func used(s *enactment.State, key string, value enactment.Value) bool {
	for i := range s.Instances() {
		if had, ok := i.Value(key); ok && had.Equal(value) {
			return true
		}
	}
	return false
}

// quotes bounds the values that an open key may take, since there are as many as one likes.
var quotes = []string{"q1", "q2"}

// candidates lists one attempt for each action that some role may do, each open attribute bound to a value that tells
// who bound it.
func candidates(t *testing.T, w world, s *enactment.State) []enactment.Attempt {
	t.Helper()
	root := w.key.Values()
	var attempts []enactment.Attempt
	for role := range w.rules.Protocol().Roles() {
	offers:
		for f := range s.Enabled(role) {
			values := maps.Clone(root)
			for attribute, value := range f.Known {
				values[attribute] = value
			}
			for _, open := range f.Open {
				if _, ok := root[open.Attribute]; ok {
					continue
				}
				value := enactment.MustValue(open.Attribute + " by " + role)
				samples := w.rules.Samples(open.Attribute)
				switch {
				case w.rules.Protocol().IsKey(open.Attribute) && len(samples) > 0:
					i := slices.IndexFunc(samples[:revisions], func(v enactment.Value) bool { return !used(s, open.Attribute, v) })
					if i < 0 {
						continue offers
					}
					value = samples[i]
				case len(samples) > 0:
					value = samples[0]
				case w.rules.Protocol().IsKey(open.Attribute):
					i := slices.IndexFunc(quotes, func(q string) bool { return !strings.Contains(name(s), q) })
					if i < 0 {
						continue offers
					}
					value = enactment.MustValue(quotes[i])
				}
				values[open.Attribute] = value
			}
			attempt := enactment.Attempt{
				ID:       fmt.Sprintf("%d-%s-%d", len(w.log), f.Action, len(attempts)),
				Identity: enactment.Identity{Role: role}, Action: f.Action, Values: values,
			}
			// What a guard refuses is enabled but cannot happen, in a window neither.
			if _, outcomes := enactment.Judge(s, attempt); !errors.Is(outcomes[0].Err(), enactment.GuardRefused) {
				attempts = append(attempts, attempt)
			}
		}
	}
	return attempts
}

// windows lists what may be judged together: every attempt alone, every two in both orders, and all of them in both.
func windows(attempts []enactment.Attempt) [][]enactment.Attempt {
	var all [][]enactment.Attempt
	for i := range attempts {
		all = append(all, attempts[i:i+1])
		for j := range attempts {
			if i != j {
				all = append(all, []enactment.Attempt{attempts[i], attempts[j]})
			}
		}
	}
	reversed := slices.Clone(attempts)
	slices.Reverse(reversed)
	return append(all, attempts, reversed)
}

// namesOf tells steps out of one state apart: there the ids of attempts are those of [candidates].
func namesOf(f enactment.Finalisation) string {
	var ids []string
	for _, i := range f.Instances {
		ids = append(ids, i.Attempt)
	}
	slices.Sort(ids)
	return strings.Join(ids, " ")
}

// explore visits every state that can be reached and calls visit with it and whether nothing can follow.
func explore(t *testing.T, rules *enactment.Rules, key enactment.Key, visit func(s *enactment.State, end bool)) int {
	t.Helper()
	return exploreWorlds(t, rules, key, func(_ world, s *enactment.State, end bool) { visit(s, end) })
}

// exploreWorlds is explore for those who ask in which order things have happened, too: of the ways to one state it shows
// one of the shortest.
func exploreWorlds(t *testing.T, rules *enactment.Rules, key enactment.Key, visit func(w world, s *enactment.State, end bool)) int {
	t.Helper()
	seen := map[string]bool{"": true}
	for queue := []world{{rules: rules, key: key}}; len(queue) > 0; queue = queue[1:] {
		w := queue[0]
		s := w.state()
		attempts := candidates(t, w, s)
		visit(w, s, len(attempts) == 0)
		if len(attempts) == 0 {
			continue
		}
		before, reached := slices.Collect(s.Instances()), make(map[string]bool)
		for _, window := range windows(attempts) {
			finalisation, outcomes := enactment.Judge(s, window...)
			require.Len(t, outcomes, len(window))
			require.NotEmpty(t, finalisation.Instances, "of enabled attempts none was accepted in\n%s", name(s))
			if step := namesOf(finalisation); !reached[step] {
				reached[step] = true
				if id := nameOf(append(slices.Clone(before), finalisation.Instances...)); !seen[id] {
					seen[id] = true
					queue = append(queue, world{rules: rules, key: key, log: append(slices.Clone(w.log), finalisation)})
				}
			}
		}
	}
	return len(seen)
}

func happened(s *enactment.State) map[string]int {
	count := make(map[string]int)
	for i := range s.Instances() {
		count[i.Action]++
	}
	return count
}

// TestPlay plays every protocol in every way there is, one at a time and in batches: what excludes each other never
// happens together, and whatever has nowhere to go is complete.
func TestPlay(t *testing.T) {
	for _, file := range protocols.Names() {
		t.Run(file, func(t *testing.T) {
			rules, err := protocols.Load(file)
			require.NoError(t, err)
			ends := 0
			states := exploreWorlds(t, rules, rootKey(t, rules), func(w world, s *enactment.State, end bool) {
				requireNonosKept(t, rules, s)
				requireSecretsKept(t, rules, s)
				if file == "ucp-incremental" {
					historyOf(w.log).requireSound(t)
				}
				if end {
					ends++
					require.True(t, s.Complete(), name(s))
				}
			})
			require.Positive(t, ends)
			t.Logf("%d states, %d of them ends", states, ends)
		})
	}
}

// requireNonosKept checks that of what has happened nothing excludes what it agrees with.
func requireNonosKept(t *testing.T, rules *enactment.Rules, s *enactment.State) {
	t.Helper()
	for nono := range rules.Protocol().Nonos() {
		var kept []enactment.Instance
		for i := range s.Instances() {
			if !slices.Contains(slices.Collect(nono.Actions()), i.Action) {
				continue
			}
			for _, other := range kept {
				require.False(t, other.Action != i.Action && agree(rules, i, other), "%s and %s in\n%s", i.Action, other.Action, name(s))
			}
			kept = append(kept, i)
		}
	}
}

func agree(rules *enactment.Rules, a, b enactment.Instance) bool {
	for key := range rules.Protocol().Keys() {
		of, carried := a.Value(key)
		other, both := b.Value(key)
		if carried && both && !of.Equal(other) {
			return false
		}
	}
	return true
}

func rootKey(t *testing.T, rules *enactment.Rules) enactment.Key {
	t.Helper()
	for role := range rules.Protocol().Roles() {
		for f := range rules.Starts(role) {
			values := enactment.Values{}
			for _, open := range f.Open {
				values[open.Attribute] = enactment.MustValue("k")
			}
			key, rejection := rules.KeyOf(enactment.Attempt{Identity: enactment.Identity{Role: role}, Action: f.Action, Values: values})
			require.Nil(t, rejection)
			return key
		}
	}
	require.Fail(t, "nothing starts an enactment")
	return ""
}

// requireSecretsKept checks that of what has happened only the two parties of a payment see it.
func requireSecretsKept(t *testing.T, rules *enactment.Rules, s *enactment.State) {
	t.Helper()
	for i := range s.Instances() {
		for role := range rules.Protocol().Roles() {
			seen, ok := rules.Project(role, i)
			if !ok || role != "Shipper" {
				continue
			}
			for attribute := range seen.Values() {
				require.False(t, rules.Secret(attribute), "%s sees %s of %s", role, attribute, i.Action)
			}
		}
	}
}

// TestUpdateIsNeverMissed checks what simple-ucp-update is for: whoever pays, pays the total that followed the update
// if there was one, and a total that the business called ready is never updated.
func TestUpdateIsNeverMissed(t *testing.T) {
	rules, err := protocols.Load("simple-ucp-update")
	require.NoError(t, err)
	paid := 0
	explore(t, rules, rootKey(t, rules), func(s *enactment.State, _ bool) {
		count := happened(s)
		require.False(t, count["Update"] > 0 && count["Ready"] > 0, name(s))
		if count["Complete"] > 0 {
			paid++
			require.True(t, count["Ready"] > 0 || count["Updated"] > 0, name(s))
		}
	})
	require.Positive(t, paid)
}

// TestOneAward checks what rfq-quotes is for: many quotes, each its own price, and one award.
func TestOneAward(t *testing.T) {
	rules, err := protocols.Load("rfq-quotes")
	require.NoError(t, err)
	most := 0
	explore(t, rules, rootKey(t, rules), func(s *enactment.State, _ bool) {
		most = max(most, happened(s)["Quote"])
		require.LessOrEqual(t, happened(s)["Award"], 1, name(s))
	})
	require.Equal(t, len(quotes), most)
}

// TestPriceSetter checks what price-setter is for: one after the other the first wins, together the seller does.
func TestPriceSetter(t *testing.T) {
	rules, err := protocols.Load("price-setter")
	require.NoError(t, err)
	key := rootKey(t, rules)
	attempt := func(role, action string, price int) enactment.Attempt {
		return enactment.Attempt{
			ID: action, Identity: enactment.Identity{Role: role}, Action: action,
			Values: enactment.Values{"ID": enactment.MustValue("k"), "price": enactment.MustValue(price)},
		}
	}
	bid, list := attempt("Buyer", "Bid", 1), attempt("Seller", "List", 2)

	_, together := enactment.Judge(rules.NewState(key), bid, list)
	require.ErrorIs(t, together[0].Err(), enactment.Dominated)
	require.NoError(t, together[1].Err())

	s := rules.NewState(key)
	first, outcomes := enactment.Judge(s, bid)
	require.NoError(t, outcomes[0].Err())
	s.Apply(first)
	_, outcomes = enactment.Judge(s, list)
	require.ErrorIs(t, outcomes[0].Err(), enactment.BoundDifferently)
}
