package enactment_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/enactment"
)

func TestAnAttemptThatArrivesAgainGetsTheFirstAnswer(t *testing.T) {
	r := compile(t, purchase)
	noon := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	answers := enactment.NewAnswers()
	rfq := attempt(t, "Buyer/b", "RFQ", `{"ID":1,"item":"rose"}`)
	early := attempt(t, "Buyer/b", "Accept", `{"ID":1,"address":"here"}`)
	s := stateOf(t, r, rfq)
	_, ok := answers.Recall(rfq)
	require.False(t, ok)
	var first []string
	for i, a := range []enactment.Attempt{early, rfq} {
		f, outcomes := enactment.Judge(s, a)
		if len(f.Instances) > 0 {
			s.Apply(f)
		}
		answers.Remember(a, outcomes[0], noon.Add(time.Duration(i)*time.Minute))
		first = append(first, outcomeText(outcomes[0]))
	}
	happen(t, s, attempt(t, "Seller", "Quote", `{"ID":1,"price":5}`))
	for i, a := range []enactment.Attempt{early, rfq} {
		again, ok := answers.Recall(a)
		require.True(t, ok)
		require.Equal(t, first[i], outcomeText(again), "also when it would be accepted now")
	}

	respelt := attempt(t, "Buyer/b", "RFQ", `{"item":"\u0072ose","ID":10e-1}`)
	respelt.ID = rfq.ID
	again, ok := answers.Recall(respelt)
	require.True(t, ok)
	require.NoError(t, again.Err(), "the same content in other words")
	for name, change := range map[string]func(*enactment.Attempt){
		"other value":     func(a *enactment.Attempt) { a.Values = values(t, map[string]any{"ID": 1, "item": "tulip"}) },
		"a value less":    func(a *enactment.Attempt) { a.Values = values(t, map[string]any{"ID": 1}) },
		"a value more":    func(a *enactment.Attempt) { a.Values = values(t, map[string]any{"ID": 1, "item": "rose", "x": nil}) },
		"other action":    func(a *enactment.Attempt) { a.Action = "Reject" },
		"a party's name":  func(a *enactment.Attempt) { a.Parties = map[string]string{"Seller": "s"} },
		"value and party": func(a *enactment.Attempt) { a.Values = nil; a.Parties = map[string]string{"ID": "1"} },
	} {
		other := rfq
		change(&other)
		again, ok := answers.Recall(other)
		require.True(t, ok, name)
		require.ErrorIs(t, again.Err(), enactment.Malformed, name)
	}
	for name, id := range map[string]enactment.Identity{
		"another role": {Role: "Seller", Party: "b"}, "another party": {Role: "Buyer", Party: "c"}, "no party": {Role: "Buyer"},
	} {
		other := rfq
		other.Identity = id
		_, ok := answers.Recall(other)
		require.False(t, ok, "ids are one's own: %s", name)
	}
	answers.Remember(rfq, enactment.Outcome{Rejection: &enactment.Rejection{Code: enactment.Expired}}, noon.Add(time.Hour))
	again, _ = answers.Recall(rfq)
	require.NoError(t, again.Err(), "the first answer stays")
}

func TestForgottenAnswersMakeOldAttemptsLate(t *testing.T) {
	noon := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	answers := enactment.NewAnswers()
	at := func(id string, minute int) enactment.Attempt {
		return enactment.Attempt{ID: id, Action: "RFQ", At: noon.Add(time.Duration(minute) * time.Minute)}
	}
	for i, id := range []string{"a", "b", "c"} {
		require.False(t, answers.Late(at(id, i)))
		answers.Remember(at(id, i), enactment.Outcome{Sequence: uint64(i)}, noon.Add(time.Duration(i)*time.Minute))
	}
	answers.Forget(noon.Add(2 * time.Minute))
	for i, id := range []string{"a", "b", "c"} {
		_, ok := answers.Recall(at(id, i))
		require.Equal(t, id == "c", ok, "%s", id)
		require.Equal(t, id != "c", answers.Late(at(id, i)), "%s", id)
	}
	answers.Forget(noon)
	require.True(t, answers.Late(at("new", 1)), "what is forgotten stays forgotten")
	require.False(t, answers.Late(at("new", 2)))
	require.False(t, answers.Late(enactment.Attempt{ID: "x"}), "nobody says when it was made")
	answers.Remember(at("a", 3), enactment.Outcome{Sequence: 9}, noon.Add(3*time.Minute))
	again, ok := answers.Recall(at("a", 3))
	require.True(t, ok)
	require.EqualValues(t, 9, again.Sequence, "a forgotten id may be used anew")
}

func TestTheDigestIsOfTheContentAlone(t *testing.T) {
	a := attempt(t, "Buyer/b", "RFQ", `{"ID":1,"item":{"p":1,"q":2}}`)
	b := attempt(t, "Seller/s", "RFQ", `{"item":{"q":2.0,"p":1},"ID":1e0}`)
	b.At, b.Late = time.Now(), true
	require.Equal(t, a.Digest(), b.Digest())
	// Names and values are told apart whatever marks stand in them.
	digests := make(map[[32]byte]string)
	for _, object := range []string{`{}`, `{"a":"b"}`, `{"a":1,"b":2}`, `{"a:1b":2}`, `{"a":"1\"b\":2"}`, `{"a":12}`, `{"a":1}`, `{"a":null}`} {
		digest := attempt(t, "Buyer", "RFQ", object).Digest()
		require.Empty(t, digests[digest], object)
		digests[digest] = object
	}
}
