package enactment_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/enactment"
)

func TestTheHigherAuthorityWinsAWindowAndTheEarlierEachOnItsOwn(t *testing.T) {
	const text = "Priority\nwho A, B\nwhat k key, One or Two\ndo\n A: One(k, x)\n B: Two(k, x)\nsayso\n A > B: x\n"
	r := compile(t, text)
	one, two := attempt(t, "A", "One", `{"k":1,"x":"a"}`), attempt(t, "B", "Two", `{"k":1,"x":"b"}`)
	s := stateOf(t, r, one)
	for _, window := range [][]enactment.Attempt{{one, two}, {two, one}} {
		_, outcomes := enactment.Judge(s, window...)
		for i, o := range outcomes {
			if window[i].Action == "One" {
				require.NoError(t, o.Err())
				continue
			}
			require.ErrorIs(t, o.Err(), enactment.Dominated)
			require.Equal(t, "A", o.Rejection.By)
			require.Equal(t, "x", o.Rejection.Attribute)
		}
	}
	happen(t, s, two)
	require.Equal(t, []string{"bound_differently"}, judged(s, one), "what is bound is bound, whatever the rank")
	require.Equal(t, []string{"ok"}, judged(s, attempt(t, "A", "One", `{"k":1}`)))
	same := r.NewState(`{"k":1}`)
	require.Equal(t, []string{"ok", "dominated"}, judged(same, one, attempt(t, "B", "Two", `{"k":1,"x":"a"}`)), "also with the same value")
}

// Who has authority over an attribute has it within one scope: what others bind in another is none of its business.
func TestDominationHoldsWithinAScope(t *testing.T) {
	r := compile(t, scopedPriority)
	one := attempt(t, "A", "One", `{"k":1,"m":1,"x":1}`)
	other := attempt(t, "B", "Two", `{"k":1,"m":2,"x":2}`)
	same := attempt(t, "B", "Two", `{"k":1,"m":1.0,"x":2}`)
	require.Equal(t, []string{"ok", "ok", "dominated"}, judged(r.NewState(`{"k":1}`), one, other, same))
	require.Equal(t, []string{"dominated", "ok", "ok"}, judged(r.NewState(`{"k":1}`), same, other, one))
}

// Each dominates the other over one attribute, so the earlier wins.
func TestCrossedPrioritiesAreDecidedByArrival(t *testing.T) {
	r := compile(t, crossedPriorities)
	one, two := attempt(t, "A", "One", `{"ID":1,"x":1,"y":1}`), attempt(t, "B", "Two", `{"ID":1,"x":2,"y":2}`)
	s := stateOf(t, r, one)
	require.Equal(t, []string{"ok", "dominated"}, judged(s, one, two))
	require.Equal(t, []string{"ok", "dominated"}, judged(s, two, one))
}

// circle has four actions: One, Two and Three dominate each other in a circle, and One dominates Four as well.
const circle = `Circle
who A, B, C, D
what k key, One
do
  A: One(k, x, z, w)
  B: Two(k, x, y)
  C: Three(k, y, z)
  D: Four(k, w)
sayso
  A > B: x
  B > C: y
  C > A: z
  A > D: w
`

func TestTheEarliestOfACycleThatNothingOutsideDominatesIsTaken(t *testing.T) {
	r := compile(t, circle)
	one := attempt(t, "A", "One", `{"k":1,"x":1,"z":1,"w":1}`)
	two := attempt(t, "B", "Two", `{"k":1,"x":2,"y":2}`)
	three := attempt(t, "C", "Three", `{"k":1,"y":3,"z":3}`)
	four := attempt(t, "D", "Four", `{"k":1,"w":4}`)
	for _, c := range []struct {
		window   []enactment.Attempt
		verdicts []string
	}{
		// One is taken first and dominates Two and Four; Three binds z otherwise than One, which is the reason said first.
		{[]enactment.Attempt{one, two, three, four}, []string{"ok", "dominated", "bound_differently", "dominated"}},
		// Four is dominated from outside the circle, so it is not the earliest to be taken.
		{[]enactment.Attempt{four, two, one, three}, []string{"ok", "ok", "bound_differently", "dominated"}},
		{[]enactment.Attempt{four, one, two, three}, []string{"dominated", "ok", "dominated", "bound_differently"}},
		{[]enactment.Attempt{three, two, one, four}, []string{"ok", "bound_differently", "dominated", "ok"}},
		{[]enactment.Attempt{four, two, three}, []string{"ok", "ok", "dominated"}},
	} {
		_, outcomes := enactment.Judge(r.NewState(`{"k":1}`), c.window...)
		require.Equal(t, c.verdicts, verdicts(outcomes))
	}
	agreed := []enactment.Attempt{
		attempt(t, "A", "One", `{"k":1,"x":0,"z":0,"w":0}`), attempt(t, "B", "Two", `{"k":1,"x":0,"y":0}`), attempt(t, "C", "Three", `{"k":1,"y":0,"z":0}`),
	}
	_, outcomes := enactment.Judge(r.NewState(`{"k":1}`), agreed...)
	require.Equal(t, []string{"ok", "dominated", "dominated"}, verdicts(outcomes), "nor does one happen that dominates what is kept")
	require.Equal(t, "A", outcomes[2].Rejection.By)
	long := make([]enactment.Attempt, 0, 600)
	for i := range 200 {
		for _, a := range []enactment.Attempt{one, two, three} {
			a.ID = fmt.Sprint(i, a.ID)
			long = append(long, a)
		}
	}
	start := time.Now()
	f, _ := enactment.Judge(r.NewState(`{"k":1}`), long...)
	require.Len(t, f.Instances, 1)
	require.Less(t, time.Since(start), 2*time.Second)
}

// Where one that dominates is itself refused, what it dominated is judged again.
func TestARefusedAttemptDominatesNobody(t *testing.T) {
	const text = `Chain
who A, B, C
what k key, One
do
  A: One(k, x)
  B: Two(k, x, y)
  C: Three(k, y)
sayso
  A > B: x
  B > C: y
`
	r := compile(t, text)
	one, two, three := attempt(t, "A", "One", `{"k":1,"x":1}`), attempt(t, "B", "Two", `{"k":1,"x":2,"y":2}`), attempt(t, "C", "Three", `{"k":1,"y":3}`)
	require.Equal(t, []string{"ok", "dominated", "ok"}, judged(r.NewState(`{"k":1}`), three, two, one))
	require.Equal(t, []string{"dominated", "ok"}, judged(r.NewState(`{"k":1}`), three, two))
	late := two
	late.Late = true
	require.Equal(t, []string{"ok", "expired"}, judged(r.NewState(`{"k":1}`), three, late), "nor does one that is not enabled")
}

// When one that dominates is refused, the earliest that it dominated has its turn before those that arrived later.
func TestTheTurnGoesBackToTheEarliest(t *testing.T) {
	r := compile(t, freed)
	window := []enactment.Attempt{
		attempt(t, "B", "Two", `{"k":1,"x":2}`), attempt(t, "C", "Stop", `{"k":1}`), attempt(t, "A", "One", `{"k":1,"x":1}`), attempt(t, "C", "Last", `{"k":1}`),
	}
	f, outcomes := enactment.Judge(r.NewState(`{"k":1}`), window...)
	require.Equal(t, []string{"ok", "ok", "excluded", "excluded"}, verdicts(outcomes))
	require.Equal(t, "Two", f.Instances[0].Action, "what happens is in order of arrival")
	require.Equal(t, []string{"ok", "excluded"}, judged(r.NewState(`{"k":1}`), window[3], window[0]))
}

func TestNogoInOneWindowStopsNeitherOfDifferentRoles(t *testing.T) {
	const different = `Partners
who A, B, C
what ID key, E or F
do
  A: One(ID)
  B: Two(ID)
  C: E(ID, One)
  C: F(ID, Two)
nogo
  One -/> Two
  Two -/> One
  Two -/> E
  One -/> F
`
	r := compile(t, different)
	one, two := attempt(t, "A", "One", `{"ID":1}`), attempt(t, "B", "Two", `{"ID":1}`)
	s := r.NewState(`{"ID":1}`)
	f, outcomes := enactment.Judge(s, two, one)
	require.Equal(t, []string{"ok", "ok"}, verdicts(outcomes), "forbidden after, not beside")
	s.Apply(f)
	require.Empty(t, enabledActions(s, "C"), "both block what the other would lead to")
	require.False(t, s.Complete())
	single := r.NewState(`{"ID":1}`)
	happen(t, single, one)
	require.Equal(t, []string{"blocked"}, judged(single, two))
	happen(t, single, attempt(t, "C", "E", `{"ID":1}`))
	require.True(t, single.Complete(), "one by one it ends well")

	const joint = "Joint\nwho A, B\nwhat ID key, Both\ndo\n A: One(ID)\n B: Two(ID)\n A: Both(ID, One, Two)\nnogo\n One -/> Two\n Two -/> One\n"
	r = compile(t, joint)
	s = r.NewState(`{"ID":1}`)
	f, _ = enactment.Judge(s, one, two)
	s.Apply(f)
	happen(t, s, attempt(t, "A", "Both", `{"ID":1}`))
	require.True(t, s.Complete())

	const own = "Own\nwho A\nwhat ID key, One\ndo\n A: One(ID)\n A: Two(ID)\nnogo\n One -/> Two\n"
	r = compile(t, own)
	two = attempt(t, "A", "Two", `{"ID":1}`)
	require.Equal(t, []string{"ok", "blocked"}, judged(r.NewState(`{"ID":1}`), one, two))
	require.Equal(t, []string{"ok", "blocked"}, judged(r.NewState(`{"ID":1}`), two, one), "of one role in either direction")
	s = r.NewState(`{"ID":1}`)
	happen(t, s, two, one)
}

func TestAWindowGivesTheFirstOfSeveralReasons(t *testing.T) {
	const text = "Reasons\nwho A, B\nwhat k key, One\ndo\n A: One(k, x)\n A: Two(k, x)\n B: Three(k)\nsayso\n A: x\nnono\n One Two\n Two Three\n"
	r := compile(t, text)
	one, two, three := attempt(t, "A", "One", `{"k":1,"x":1}`), attempt(t, "A", "Two", `{"k":1,"x":2}`), attempt(t, "B", "Three", `{"k":1}`)
	_, outcomes := enactment.Judge(r.NewState(`{"k":1}`), three, one, two)
	require.Equal(t, []string{"ok", "ok", "bound_differently"}, verdicts(outcomes))
	_, outcomes = enactment.Judge(r.NewState(`{"k":1}`), three, two, one)
	require.Equal(t, []string{"ok", "excluded", "ok"}, verdicts(outcomes))
	require.Equal(t, "Three", outcomes[1].Rejection.By)
	again := one
	again.ID = "again"
	_, outcomes = enactment.Judge(r.NewState(`{"k":1}`), one, again)
	require.Equal(t, []string{"ok", "already_happened"}, verdicts(outcomes))
	require.EqualValues(t, 1, outcomes[1].Sequence, "decided by the batch")
	_, outcomes = enactment.Judge(r.NewState(`{"k":1}`), attempt(t, "B", "One", `{"k":1}`), attempt(t, "A", "Three", `{"k":1}`))
	require.EqualValues(t, 0, outcomes[0].Sequence, "nothing happened, so judged against the state")
}

// Two customers name different parties for one role: the later is refused, and happens nowhere.
func TestPartiesOfOneWindow(t *testing.T) {
	r := compile(t, purchase)
	start := func(id, buyer, seller string) enactment.Attempt {
		a := attempt(t, "Buyer/"+buyer, "RFQ", `{"ID":1,"item":"rose"}`)
		a.ID = id
		if seller != "" {
			a.Parties = map[string]string{"Seller": seller}
		}
		return a
	}
	quote := func(seller string) enactment.Attempt {
		return attempt(t, "Seller/"+seller, "Quote", `{"ID":1,"price":5,"item":"rose"}`)
	}
	s := r.NewState(`{"ID":1}`)
	require.Equal(t, []string{"ok", "wrong_party"}, judged(s, start("1", "b1", "s1"), start("2", "b2", "s1")))
	require.Equal(t, []string{"ok", "wrong_party"}, judged(s, start("1", "b1", "s1"), start("2", "b1", "s2")), "who plays another role")
	naming, acting := attempt(t, "A/a", "One", `{"k":1,"m":1,"x":1}`), attempt(t, "B/b", "Two", `{"k":1,"m":2,"x":1}`)
	naming.Parties = map[string]string{"B": "other"}
	apart := compile(t, scopedPriority).NewState(`{"k":1}`)
	require.Equal(t, []string{"ok", "wrong_party"}, judged(apart, naming, acting), "named, and acting")
	require.Equal(t, []string{"ok", "wrong_party"}, judged(apart, acting, naming))
	f, _ := enactment.Judge(s, start("1", "b1", "s1"))
	s.Apply(f)
	require.Equal(t, map[string]string{"Seller": "s1"}, f.Instances[0].Parties)
	party, ok := s.Party("Seller")
	require.True(t, ok)
	require.Equal(t, "s1", party)
	require.True(t, s.Sees(enactment.Identity{Role: "Seller", Party: "s1"}))
	require.False(t, s.Sees(enactment.Identity{Role: "Seller", Party: "s2"}))
	require.False(t, s.Sees(enactment.Identity{Role: "Buyer", Party: "s1"}))
	require.False(t, s.Sees(enactment.Identity{Role: "Bank", Party: "s1"}))
	require.Equal(t, []string{"wrong_party"}, judged(s, quote("s2")))
	named := quote("s1")
	named.Parties = map[string]string{"Buyer": "b1", "Seller": "s1"}
	require.Equal(t, []string{"ok"}, judged(s, named), "naming who plays is no fault")
	named.Parties = map[string]string{"Buyer": "b2"}
	require.Equal(t, []string{"wrong_party"}, judged(s, named))
	open := r.NewState(`{"ID":1}`)
	happen(t, open, start("1", "b1", ""))
	require.True(t, open.Sees(enactment.Identity{Role: "Seller", Party: "anybody"}), "the role is open")
	late := attempt(t, "Buyer/b1", "Reject", `{"ID":1}`)
	late.Parties = map[string]string{"Seller": "s1"}
	require.Equal(t, []string{"wrong_party"}, judged(open, late), "only the attempt that starts names others")

	configured := compile(t, purchase, enactment.WithParties("Seller", "s1", "s2"), enactment.WithParties("Buyer", "b1"))
	s = configured.NewState(`{"ID":1}`)
	require.Equal(t, []string{"wrong_party"}, judged(s, start("1", "b2", "")))
	require.Equal(t, []string{"wrong_party"}, judged(s, start("1", "b1", "s3")), "not one of those configured")
	require.Equal(t, []string{"ok"}, judged(s, start("1", "b1", "s2")))
	require.False(t, s.Sees(enactment.Identity{Role: "Seller", Party: "s3"}))
	_, ok = configured.Party("Seller")
	require.False(t, ok)
	party, ok = configured.Party("Buyer")
	require.True(t, ok)
	require.Equal(t, "b1", party)
}

// What is decided shares no memory with the attempt, which belongs to whoever made it.
func TestInstancesShareNothingWithTheAttempt(t *testing.T) {
	r := compile(t, purchase)
	a := attempt(t, "Buyer/b", "RFQ", `{"ID":1,"item":"rose"}`)
	a.Parties = map[string]string{"Seller": "s"}
	f, _ := enactment.Judge(r.NewState(`{"ID":1}`), a)
	seen, ok := r.Project("Seller", f.Instances[0])
	require.True(t, ok)
	seen.Parties["Seller"] = "mallory"
	a.Parties["Seller"] = "mallory"
	a.Values["item"] = enactment.MustValue("thorn")
	require.Contains(t, instanceText(f.Instances[0]), `item="rose"`)
	require.Equal(t, "s", f.Instances[0].Parties["Seller"])
}
