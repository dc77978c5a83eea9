package story_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/audit"
	"github.com/strabo-engine/strabo/cmd/strabo/internal/story"
	"github.com/strabo-engine/strabo/enactment"
)

// told is a story of everything that can be told, taken in out of order.
func told() *story.Story {
	begin := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	at := func(ms int) time.Time { return begin.Add(time.Duration(ms) * time.Millisecond) }
	key := enactment.Key(`{"cid":"c1"}`)
	values := func(of map[string]any) enactment.Values {
		v, err := enactment.ValuesOf(of)
		if err != nil {
			panic(err)
		}
		return v
	}
	s := new(story.Story)
	platform, shop := s.Recorder("platform"), s.Recorder("shop")
	record := func(r audit.Record) {
		if err := s.Record(context.Background(), r); err != nil {
			panic(err)
		}
	}
	record(audit.Record{
		Kind: audit.FirstCall, Enactment: key, Action: "Create", Step: "create", Method: "POST", URL: "http://shop.example/checkout-sessions",
		Outcome: "unknown", Detail: "connection \x1b[31mreset", At: at(2), Latency: 7 * time.Millisecond, Attempt: 1,
	})
	record(audit.Record{Kind: audit.ApprovalDecided, Enactment: key, Action: "Create", Step: "create", Outcome: "granted", Detail: " by ada", At: at(5)})
	platform(enactment.Record{
		Kind: enactment.Happened, Protocol: "P", Hash: "h", Enactment: key, Sequence: 1, Action: "Create", Role: "Platform", At: at(0),
		Values: values(map[string]any{
			"cid": "c1", "note": nil, "buyer": "ada\u202e", "line_items": []any{map[string]any{"item": map[string]any{"id": "lamp"}, "quantity": 2}},
		}),
	})
	record(audit.Record{
		Kind: audit.Retry, Enactment: key, Action: "Create", Step: "create", Attempt: 2, Method: "POST", URL: "http://shop.example/checkout-sessions?x=1",
		Status: 201, Outcome: "known", Request: "{}", Response: `{"id":"<1>"}`, At: at(10), Latency: time.Millisecond, KeyHash: "k",
	})
	shop(enactment.Record{
		Kind: enactment.Happened, Protocol: "P", Hash: "h", Enactment: `{"cid":"9f72326a-168f-4b2b-b123-8fe5024c748f.1"}`, Sequence: 1,
		Action: "Created", Role: "Business", Party: "lamps", At: at(11), Hidden: []string{"payment"},
		Values: values(map[string]any{"totals": []any{map[string]any{"type": "total", "amount": 5}}, "long": strings.Repeat("x", 100)}),
	})
	platform(enactment.Record{
		Kind: enactment.Refused, Protocol: "P", Hash: "h", Enactment: key, Sequence: 2, Action: "Cancel", Role: "Platform", At: at(20),
		Reason: &enactment.Rejection{Code: enactment.Blocked, By: "Complete", Detail: "no"},
	})
	platform(enactment.Record{Kind: enactment.Completed, Protocol: "P", Hash: "h", Enactment: key, Sequence: 3, At: at(21)})
	return s
}

func TestWriteText(t *testing.T) {
	var text strings.Builder
	require.NoError(t, told().WriteText(&text))
	require.Empty(t, cmp.Diff(strings.TrimPrefix(`
    0 ms  platform  Platform  [c1]  Create  buyer="ada`+"\ufffd"+`"  line_items=2 x lamp
    2 ms     HTTP   POST /checkout-sessions  no answer: connection `+"\ufffd"+`[31mreset
    5 ms    policy  approval decided granted by ada
   10 ms     HTTP   POST /checkout-sessions?x=1  201
   11 ms  shop      lamps     [9f72326a~.1]  Created  long="`+strings.Repeat("x", 55)+`...  payment=(secret)  totals=(total 5)
   20 ms  platform  Platform  [c1]  Cancel refused, blocked: no
   21 ms  platform            [c1]  complete
`, "\n"), text.String()))

	text.Reset()
	alone := new(story.Story)
	for _, r := range told().Records("shop") {
		alone.Recorder("")(r)
	}
	require.NoError(t, alone.WriteText(&text))
	require.True(t, strings.HasPrefix(text.String(), "    0 ms  lamps  [9f72326a~.1]  Created  "), text.String())

	text.Reset()
	require.NoError(t, new(story.Story).WriteText(&text))
	require.Empty(t, text.String())
}

func TestWriteJSON(t *testing.T) {
	var lines strings.Builder
	require.NoError(t, told().WriteJSON(&lines))
	all := strings.Split(strings.TrimSpace(lines.String()), "\n")
	require.Len(t, all, 7)
	require.Equal(t, `{"at":"2026-11-30T12:00:00.01Z","kind":"retry","enactment":{"cid":"c1"},"action":"Create","step":"create",`+
		`"key_hash":"k","attempt":2,"method":"POST","url":"http://shop.example/checkout-sessions?x=1","request":"{}",`+
		`"response":"{\"id\":\"<1>\"}","status":201,"outcome":"known","latency_ns":1000000}`, all[3])
	require.Equal(t, `{"kind":"refused","protocol":"P","hash":"h","enactment":{"cid":"c1"},"sequence":2,"action":"Cancel",`+
		`"role":"Platform","reason":{"code":"blocked","by":"Complete","detail":"no"},"at":"2026-11-30T12:00:00.020Z"}`, all[5])
	require.Equal(t, lines.String(), func() string {
		var again strings.Builder
		s := told()
		require.NoError(t, s.WriteText(new(strings.Builder)))
		require.NoError(t, s.WriteJSON(&again))
		return again.String()
	}(), "to be told in one way changes nothing for the other")
	require.Len(t, told().Records("platform"), 3)
}

// TestWriteTextTellsWhatChanged: a long value that was told before is told by its differences, and a comment stands
// before what it is about.
func TestWriteTextTellsWhatChanged(t *testing.T) {
	s := &story.Story{Timeless: true, Comment: func(side string, r enactment.Record) string {
		if r.Sequence == 2 {
			return "On the " + side + ", again."
		}
		return ""
	}}
	long := strings.Repeat("x", 80)
	for i, value := range []map[string]any{
		{"a": long, "b": []any{1, map[string]any{"c": 1}}, "gone": 1},
		{"a": long, "b": []any{1, map[string]any{"c": 2}}, "new": "y"},
	} {
		s.Recorder("shop")(enactment.Record{
			Kind: enactment.Happened, Enactment: `{"cid":"c1"}`, Sequence: uint64(i + 1), Action: "Create", Role: "Platform",
			Values: enactment.Values{"fulfillment": enactment.MustValue(value)},
		})
	}
	var text strings.Builder
	require.NoError(t, s.WriteText(&text))
	require.Equal(t, `shop  Platform  [c1]  Create  fulfillment={"a":"`+strings.Repeat("x", 50)+"...\n"+
		"# On the shop, again.\n"+
		`shop  Platform  [c1]  Create  fulfillment=(changed: b[1].c=2, new="y", -gone)`+"\n", text.String())
}
