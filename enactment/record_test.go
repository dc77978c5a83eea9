package enactment_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/enactment"
)

func TestTheExactFormOfRecords(t *testing.T) {
	r := compile(t, simpleUCP, enactment.WithSecrets("payment"))
	s := created(t, r, "c1")
	a := attempt(t, "Platform/p1", "Complete", `{"payment":{"token":"secret"},"cid":"c1"}`)
	a.ID = "a-91f"
	open := compile(t, simpleUCP) // another party acts here
	require.NotEqual(t, open.Hash(), r.Hash())
	a.Party = ""
	at := time.Date(2026, 11, 30, 13, 0, 0, 123_999_999, time.FixedZone("CET", 3600))
	f, outcomes := enactment.Judge(s, a)
	require.NoError(t, outcomes[0].Err())
	hash := r.Hash()
	line := func(record enactment.Record) string {
		text, err := json.Marshal(record)
		require.NoError(t, err)
		require.NotContains(t, string(text), "secret")
		return string(text)
	}
	instance := f.Instances[0]
	instance.Party = "p1"
	require.Equal(t, `{"kind":"happened","protocol":"SimpleUCP","hash":"`+hash+`","enactment":{"cid":"c1"},"sequence":3,`+
		`"action":"Complete","role":"Platform","party":"p1",`+
		`"values":{"cid":"c1","id":"chk_c1","totals":[{"amount":7000,"type":"total"}]},"hidden":["payment"],"attempt":"a-91f",`+
		`"at":"2026-11-30T12:00:00.123Z"}`, line(r.HappenedRecord(s.Key(), f.Sequence, instance, at)))
	s.Apply(f)

	again := a
	again.ID = "a-92f"
	_, outcomes = enactment.Judge(s, again)
	rejection := outcomes[0].Rejection
	require.Equal(t, `{"kind":"refused","protocol":"SimpleUCP","hash":"`+hash+`","enactment":{"cid":"c1"},"sequence":3,`+
		`"action":"Complete","role":"Platform","values":{"cid":"c1"},"hidden":["payment"],"attempt":"a-92f",`+
		`"reason":{"code":"already_happened","attribute":"Complete","detail":"`+rejection.Detail+`"},`+
		`"at":"2026-11-30T12:00:00.123Z"}`, line(r.RefusedRecord(s.Key(), outcomes[0].Sequence, again, rejection, at)))

	require.Equal(t, `{"kind":"completed","protocol":"SimpleUCP","hash":"`+hash+`","enactment":{"cid":"c1"},"sequence":4,`+
		`"at":"2026-11-30T12:00:00.123Z"}`, line(r.CompletedRecord(s.Key(), 4, at)))

	var back enactment.Record
	require.NoError(t, json.Unmarshal([]byte(line(r.RefusedRecord(s.Key(), 3, again, rejection, at))), &back))
	require.Equal(t, enactment.Refused, back.Kind)
	require.Equal(t, s.Key(), back.Enactment)
	require.Equal(t, enactment.AlreadyHappened, back.Reason.Code)
}

func TestRecordsHideWhatMayBeSecret(t *testing.T) {
	r := compile(t, simpleUCP, enactment.WithSecrets("payment", "buyer"))
	require.True(t, r.Secret("payment"))
	require.False(t, r.Secret("totals"))
	for _, c := range []struct {
		name, action, object string
		hidden               []string
		shown                string
	}{
		{"a wrong name", "Complete", `{"cid":"c1","Payment":"secret"}`, []string{"Payment"}, `{"cid":"c1"}`},
		{"another action's", "Cancel", `{"cid":"c1","payment":"secret"}`, []string{"payment"}, `{"cid":"c1"}`},
		{"the name of an action", "Complete", `{"cid":"c1","Created":"secret"}`, []string{"Created"}, `{"cid":"c1"}`},
		{"its own name", "Complete", `{"cid":"c1","Complete":"secret"}`, []string{"Complete"}, `{"cid":"c1"}`},
		{"an unknown action", "Pay", `{"cid":"secret","payment":"secret"}`, []string{"cid", "payment"}, `{}`},
	} {
		a := attempt(t, "Platform", c.action, c.object)
		a.ID = "1"
		_, outcomes := enactment.Judge(r.NewState(`{"cid":"c1"}`), a)
		record := r.RefusedRecord("", 0, a, outcomes[0].Rejection, time.Time{})
		require.Equal(t, c.hidden, record.Hidden, c.name)
		shown, err := json.Marshal(record.Values)
		require.NoError(t, err)
		require.JSONEq(t, c.shown, string(shown), c.name)
		text, err := json.Marshal(record)
		require.NoError(t, err)
		require.NotContains(t, string(text), "secret", c.name)
		require.Contains(t, string(text), `"enactment":null`, c.name)
		require.Contains(t, a.Values, c.hidden[0], "the attempt is left as it is")
	}
}

// What a viewer does not see is hidden from its records, and named.
func TestRecordsOfWhatAViewerSees(t *testing.T) {
	r := compile(t, "Hidden\nwho A, B\nwhat k key, Do2\ndo\n A: Do1(k, x, y, z)\n B: Do2(k, x)\nsayso\n A: x, y, z\n", enactment.WithSecrets("z"))
	s := r.NewState(`{"k":1}`)
	f, _ := enactment.Judge(s, attempt(t, "A", "Do1", `{"k":1,"x":2,"y":3,"z":4}`))
	seen, ok := r.Project("B", f.Instances[0])
	require.True(t, ok)
	record := r.HappenedRecord(s.Key(), 1, seen, time.Time{})
	require.Equal(t, []string{"y", "z"}, record.Hidden)
	require.Len(t, record.Values, 2)
	record = r.HappenedRecord(s.Key(), 1, f.Instances[0], time.Time{})
	require.Equal(t, []string{"z"}, record.Hidden)
	_, ok = r.Project("Nobody", f.Instances[0])
	require.False(t, ok)
	sees, _ := r.Sight("Nobody", "Do1")
	require.False(t, sees)
	sees, _ = r.Sight("A", "Undo")
	require.False(t, sees)
}
