package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/cmd/strabo/internal/table"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/protocols"
)

// step is an attempt in a story: its action, the revision that it is about, if any, and what it binds.
type step struct {
	action  string
	rev     int // of actions that carry it
	values  map[string]any
	refused enactment.Code // empty where it happens
}

// asked is what a platform asks for.
func asked(items string, fulfillment any) map[string]any {
	return map[string]any{
		"line_items": items, "buyer": nil, "fulfillment": fulfillment, "discounts": nil, "instruments": nil, "context": nil,
	}
}

func with(values map[string]any, more ...any) map[string]any {
	for i := 0; i < len(more); i += 2 {
		values[more[i].(string)] = more[i+1]
	}
	return values
}

func stated(amount int, messages ...any) map[string]any {
	if messages == nil {
		messages = []any{}
	}
	return map[string]any{
		"id": "chk_1", "checkout": "lilies", "currency": "USD", "messages": messages,
		"totals": []any{map[string]any{"type": "subtotal", "amount": amount}, map[string]any{"type": "total", "amount": amount}},
	}
}

// stories are checkouts as they are told in docs/ucp.md, by the names of their pictures.
var stories = map[string][]step{
	"ucp-incremental-declined": {
		{"Create", 0, with(asked("3 lilies", nil), "profile", "https://agent.example/ucp"), ""},
		{"NeedsInput", 1, stated(4500, "where to?"), ""},
		{"Update", 1, with(asked("3 lilies", "by mail"), "cause", "key-2"), ""},
		{"Offered", 2, stated(5000), ""},
		{"Complete", 2, map[string]any{"cause": "key-3", "credential": "token"}, ""},
		{"Update", 2, with(asked("9 lilies", "by mail"), "cause", "key-4"), enactment.BoundDifferently},
		{"Declined", 2, map[string]any{"notice": "no funds"}, ""},
		{"Offered", 3, stated(5000), ""},
		{"Complete", 3, map[string]any{"cause": "key-5", "credential": "token"}, ""},
		{"Completed", 3, map[string]any{"order": "ord_1"}, ""},
		{"Receipt", 0, nil, ""},
		{"OrderChanged", 4, map[string]any{"notice": "shipped"}, ""},
		{"Noted", 4, nil, ""},
	},
	"ucp-incremental-race": {
		{"Create", 0, with(asked("3 lilies", "by mail"), "profile", "https://agent.example/ucp"), ""},
		{"Offered", 1, stated(5000), ""},
		{"Update", 1, with(asked("4 lilies", "by mail"), "cause", "key-2"), ""},
		{"Complete", 1, map[string]any{"cause": "key-3", "credential": "token"}, enactment.BoundDifferently},
		{"Offered", 2, stated(6500), ""},
		{"Complete", 2, map[string]any{"cause": "key-4", "credential": "token"}, ""},
		{"Complete", 2, map[string]any{"cause": "key-5", "credential": "token"}, enactment.AlreadyHappened},
		{"Cancel", 0, map[string]any{"seen": nil}, ""},
		{"Completed", 2, map[string]any{"order": "ord_1"}, ""},
		{"Cancelled", 0, nil, enactment.Excluded},
	},
	"ucp-incremental-buyer": {
		{"Create", 0, with(asked("3 lilies", "by mail"), "profile", "https://agent.example/ucp"), ""},
		{"NeedsInput", 1, stated(5000, "sign in"), ""},
		{"HandOff", 1, nil, ""},
		{"Withdrawn", 1, map[string]any{"cause": "buyer signed in"}, ""},
		{"Offered", 2, stated(4500), ""},
		{"BuyerCompleted", 0, map[string]any{"order": "ord_1"}, ""},
		{"Complete", 2, map[string]any{"cause": "key-2", "credential": "token"}, enactment.Blocked},
	},
}

// tell has a story judged and gives its records, one a line.
func tell(t *testing.T, steps []step) string {
	t.Helper()
	rules, err := protocols.Load("ucp-incremental")
	require.NoError(t, err)
	var lines strings.Builder
	at := table.New(rules, func(r enactment.Record) { require.NoError(t, json.NewEncoder(&lines).Encode(r)) })
	for i, s := range steps {
		action, ok := rules.Protocol().Action(s.action)
		require.True(t, ok, s.action)
		values := enactment.Values{"cid": enactment.MustValue("c1")}
		if action.Carries("rev") {
			values["rev"] = enactment.MustValue(s.rev)
		}
		for name, value := range s.values {
			values[name] = enactment.MustValue(value)
		}
		outcome := at.Judge(time.Unix(int64(i), 0), enactment.Attempt{
			ID: fmt.Sprint(i), Identity: enactment.Identity{Role: action.Role()}, Action: s.action, Values: values,
		})[0]
		if s.refused == "" {
			require.NoError(t, outcome.Err(), "%s at %d", s.action, s.rev)
		} else {
			require.ErrorIs(t, outcome.Err(), s.refused, "%s at %d", s.action, s.rev)
		}
	}
	require.True(t, at.State().Complete())
	return lines.String()
}
