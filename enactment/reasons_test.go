package enactment_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/enactment"
)

func TestEachReasonByAnExample(t *testing.T) {
	r := compile(t, simpleUCP,
		enactment.WithParties("Business", "shop"),
		enactment.WithGuards(enactment.Guard{
			Name: "payment has a token", Action: "Complete", Detail: "pay with a token",
			Allow: func(_ enactment.View, i enactment.Instance) bool {
				payment, _ := i.Value("payment")
				return !payment.Equal(enactment.MustValue("cash"))
			},
		}))
	create := attempt(t, "Platform/p1", "Create", `{"cid":"c1","line_items":[1],"buyer":"b","fulfillment":null}`)
	answer := attempt(t, "Business/shop", "Created", `{"cid":"c1","id":"chk","currency":"USD","totals":[7]}`)
	cancel := attempt(t, "Platform/p1", "Cancel", `{"cid":"c1"}`)
	pay := attempt(t, "Platform/p1", "Complete", `{"cid":"c1","payment":"card"}`)
	complete := attempt(t, "Business/shop", "Completed", `{"cid":"c1","order":"o"}`)
	changed := func(a enactment.Attempt, change func(*enactment.Attempt)) enactment.Attempt {
		change(&a)
		return a
	}
	for _, c := range []struct {
		name          string
		happened      []enactment.Attempt
		attempt       enactment.Attempt
		code          enactment.Code
		attribute, by string
	}{
		{name: "no id", attempt: changed(create, func(a *enactment.Attempt) { a.ID = "" }), code: enactment.Malformed},
		{
			name: "a value that is none", attempt: changed(create, func(a *enactment.Attempt) { a.Values = enactment.Values{"cid": {}} }),
			code: enactment.Malformed, attribute: "cid",
		},
		{
			name: "an attribute that the action does not carry", attempt: attempt(t, "Platform/p1", "Cancel", `{"cid":"c1","payment":1}`),
			code: enactment.Malformed, attribute: "payment",
		},
		{
			name: "a value for the name of an action", attempt: attempt(t, "Platform/p1", "Cancel", `{"cid":"c1","Created":1}`),
			code: enactment.Malformed, attribute: "Created",
		},
		{
			name: "a value for its own name", attempt: attempt(t, "Platform/p1", "Cancel", `{"cid":"c1","Cancel":1}`),
			code: enactment.Malformed, attribute: "Cancel",
		},
		{name: "no key", attempt: attempt(t, "Platform/p1", "Cancel", `{}`), code: enactment.Malformed, attribute: "cid"},
		{name: "null for a key", attempt: attempt(t, "Platform/p1", "Cancel", `{"cid":null}`), code: enactment.Malformed, attribute: "cid"},
		{name: "an object for a key", attempt: attempt(t, "Platform/p1", "Cancel", `{"cid":{}}`), code: enactment.Malformed, attribute: "cid"},
		{name: "another enactment", attempt: attempt(t, "Platform/p1", "Cancel", `{"cid":"c2"}`), code: enactment.Malformed},
		{
			name: "a party for no role", attempt: changed(create, func(a *enactment.Attempt) { a.Parties = map[string]string{"Bank": "b"} }),
			code: enactment.Malformed, attribute: "Bank",
		},
		{name: "no such action", attempt: attempt(t, "Platform/p1", "Undo", `{"cid":"c1"}`), code: enactment.UnknownAction},
		{name: "malformed goes first", attempt: enactment.Attempt{Action: "Undo"}, code: enactment.Malformed},
		{
			name: "a malformed action goes before its role", attempt: attempt(t, "Business/shop", "Cancel", `{}`),
			code: enactment.Malformed, attribute: "cid",
		},
		{name: "another's action", attempt: attempt(t, "Business/shop", "Create", `{"cid":"c1"}`), code: enactment.WrongRole},
		{name: "no such role", attempt: attempt(t, "Bank/b", "Create", `{"cid":"c1"}`), code: enactment.WrongRole},
		{
			name: "another party than the configured one", attempt: attempt(t, "Business/other", "Refused", `{"cid":"c1","reason":1}`),
			code: enactment.WrongParty,
		},
		{
			name: "another party than the one that acted first", happened: []enactment.Attempt{create},
			attempt: attempt(t, "Platform/p2", "Cancel", `{"cid":"c1"}`), code: enactment.WrongParty,
		},
		{
			name: "it happens once", happened: []enactment.Attempt{create}, attempt: create, code: enactment.AlreadyHappened, attribute: "Create",
		},
		{
			name: "already happened goes before bound differently", happened: []enactment.Attempt{create},
			attempt: attempt(t, "Platform/p1", "Create", `{"cid":"c1","buyer":"other"}`), code: enactment.AlreadyHappened,
		},
		{
			name: "another value", happened: []enactment.Attempt{create, answer},
			attempt: attempt(t, "Platform/p1", "Complete", `{"cid":"c1","totals":[8],"payment":1}`),
			code:    enactment.BoundDifferently, attribute: "totals",
		},
		{
			name: "a value that is another's to bind", happened: []enactment.Attempt{create},
			attempt: attempt(t, "Platform/p1", "Complete", `{"cid":"c1","totals":[8],"payment":1}`),
			code:    enactment.NoSayso, attribute: "totals",
		},
		{
			name: "no sayso goes before not enabled", attempt: attempt(t, "Platform/p1", "Cancel", `{"cid":"c1","id":"mine"}`),
			code: enactment.NoSayso, attribute: "id",
		},
		{
			name: "what it needs has not happened", happened: []enactment.Attempt{create, answer}, attempt: complete,
			code: enactment.NotEnabled, attribute: "Complete", by: "Platform",
		},
		{
			name: "excluded", happened: []enactment.Attempt{create, answer},
			attempt: attempt(t, "Business/shop", "Refused", `{"cid":"c1","reason":1}`), code: enactment.Excluded, by: "Created",
		},
		{name: "blocked", happened: []enactment.Attempt{create, answer, cancel}, attempt: pay, code: enactment.Blocked, by: "Cancel"},
		{
			name: "blocked goes before missing", happened: []enactment.Attempt{create, answer, cancel},
			attempt: attempt(t, "Platform/p1", "Complete", `{"cid":"c1"}`), code: enactment.Blocked, by: "Cancel",
		},
		{
			name: "an attribute left out", happened: []enactment.Attempt{create, answer},
			attempt: attempt(t, "Platform/p1", "Complete", `{"cid":"c1"}`), code: enactment.Missing, attribute: "payment",
		},
		{
			name: "a guard", happened: []enactment.Attempt{create, answer},
			attempt: attempt(t, "Platform/p1", "Complete", `{"cid":"c1","payment":"cash"}`), code: enactment.GuardRefused, by: "payment has a token",
		},
		{name: "too old", attempt: changed(create, func(a *enactment.Attempt) { a.Late = true }), code: enactment.Expired},
		{
			name: "too old is said last", happened: []enactment.Attempt{create},
			attempt: changed(create, func(a *enactment.Attempt) { a.Late = true }), code: enactment.AlreadyHappened,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := r.NewState(`{"cid":"c1"}`)
			happen(t, s, c.happened...)
			f, outcomes := enactment.Judge(s, c.attempt)
			require.Empty(t, f.Instances)
			rejection := outcomes[0].Rejection
			require.NotNil(t, rejection)
			require.Equal(t, c.code, rejection.Code)
			if c.attribute != "" {
				require.Equal(t, c.attribute, rejection.Attribute)
			}
			if c.by != "" {
				require.Equal(t, c.by, rejection.By)
			}
			require.NotEmpty(t, rejection.Detail)
		})
	}
}

func TestARejectionIsAnErrorOfItsCode(t *testing.T) {
	r := compile(t, simpleUCP)
	_, outcomes := enactment.Judge(r.NewState(`{"cid":"c1"}`), attempt(t, "Business", "Create", `{"cid":"c1"}`))
	err := outcomes[0].Err()
	require.ErrorIs(t, err, enactment.WrongRole)
	require.NotErrorIs(t, err, enactment.WrongParty)
	require.ErrorContains(t, err, "wrong_role: ")
	var rejection *enactment.Rejection
	require.True(t, errors.As(err, &rejection))
	require.Equal(t, "wrong_role", enactment.WrongRole.Error())
	require.NoError(t, enactment.Outcome{}.Err())
}

// The adopted shape is that what is bound is filled in, whoever is asked, and equal values may be said again.
func TestWhatIsBoundIsFilledIn(t *testing.T) {
	s := created(t, compile(t, simpleUCP), "c1")
	a := attempt(t, "Platform", "Complete", `{"cid":"c1","totals":[{"amount":70.00e2,"type":"total"}],"payment":1}`)
	_, outcomes := enactment.Judge(s, a)
	require.NoError(t, outcomes[0].Err())
	id, ok := outcomes[0].Instance.Value("id")
	require.True(t, ok)
	require.Equal(t, `"chk_c1"`, id.String())
	_, ok = outcomes[0].Instance.Value("Created")
	require.False(t, ok, "the name of an action has no value")
	_, ok = outcomes[0].Instance.Value("buyer")
	require.False(t, ok, "it does not carry it")
	_, ok = enactment.Instance{}.Value("id")
	require.False(t, ok)
}

// An action without a key can never happen; null is a value, not a missing one.
func TestKeylessActionsAreNeverEnabled(t *testing.T) {
	r := compile(t, "Keyless\nwho A, B\nwhat k key\ndo\n A: Do(k, x)\n A: Loose(x)\n B: Answer(k, Loose)\nsayso\n A: x\nnono\n Do Loose\n")
	s := r.NewState(`{"k":1}`)
	require.Equal(t, []string{"not_enabled"}, judged(s, attempt(t, "A", "Loose", `{"x":1}`)))
	require.Equal(t, []string{"wrong_role"}, judged(s, attempt(t, "B", "Loose", `{"x":1}`)))
	require.Equal(t, []string{"malformed"}, judged(s, attempt(t, "A", "Loose", `{"k":1}`)))
	require.Equal(t, []string{"not_enabled"}, judged(s, attempt(t, "B", "Answer", `{"k":1}`)))
	require.Equal(t, []string{"Do"}, enabledActions(s, "A"))
	require.Empty(t, enabledActions(s, "B"))
	happen(t, s, attempt(t, "A", "Do", `{"k":1,"x":null}`))
	require.True(t, s.Complete())
	require.Equal(t, []string{"wrong_party"}, judged(s, attempt(t, "A/other", "Loose", `{}`)))
}

func TestGuardsSeeTheActorsViewAndTheWholeCandidate(t *testing.T) {
	var seen []string
	guard := func(name string, allow bool) enactment.Guard {
		return enactment.Guard{Name: name, Action: "Complete", Allow: func(view enactment.View, i enactment.Instance) bool {
			for earlier := range view.Instances() {
				seen = append(seen, instanceText(earlier))
			}
			seen = append(seen, instanceText(i))
			return allow
		}}
	}
	r := compile(t, simpleUCP, enactment.WithGuards(guard("first", true), guard("second", false)))
	s := created(t, r, "c1")
	_, outcomes := enactment.Judge(s, complete(t, "c1"))
	require.ErrorIs(t, outcomes[0].Err(), enactment.GuardRefused)
	require.Equal(t, "second", outcomes[0].Rejection.By)
	require.NotEmpty(t, outcomes[0].Rejection.Detail, "a general sentence")
	require.Len(t, seen, 6, "both instances and the candidate, twice")
	require.Contains(t, seen[2], `id="chk_c1"`)
	require.Contains(t, enabledActions(s, "Platform"), "Complete", "guards judge whole instances, so they do not change what is listed")

	p := r.Protocol()
	for name, option := range map[string]enactment.Option{
		"no name":        enactment.WithGuards(enactment.Guard{Action: "Complete", Allow: guard("", true).Allow}),
		"no predicate":   enactment.WithGuards(enactment.Guard{Name: "g", Action: "Complete"}),
		"no such action": enactment.WithGuards(enactment.Guard{Name: "g", Action: "Undo", Allow: guard("", true).Allow}),
		"no such role":   enactment.WithParties("Bank", "b"),
		"no such secret": enactment.WithSecrets("iban"),
		"an action":      enactment.WithSecrets("Complete"),
		"a key":          enactment.WithSecrets("cid"),
	} {
		_, err := enactment.Compile(p, option)
		require.Error(t, err, name)
	}
}

// A guard that looks at its view sees what its role may see, and no more.
func TestAGuardDoesNotSeeWhatItsRoleDoesNot(t *testing.T) {
	var seen []string
	r := compile(t, "Hidden\nwho A, B\nwhat k key, Do2\ndo\n A: Do1(k, x, y)\n B: Do2(k, x)\nsayso\n A: x, y\n",
		enactment.WithGuards(enactment.Guard{Name: "g", Action: "Do2", Allow: func(view enactment.View, _ enactment.Instance) bool {
			for i := range view.Instances() {
				seen = append(seen, instanceText(i))
			}
			return true
		}}))
	s := r.NewState(`{"k":1}`)
	happen(t, s, attempt(t, "A", "Do1", `{"k":1,"x":2,"y":3}`), attempt(t, "B", "Do2", `{"k":1}`))
	require.Len(t, seen, 1)
	require.Contains(t, seen[0], "x=2")
	require.NotContains(t, seen[0], "y=3")
}
