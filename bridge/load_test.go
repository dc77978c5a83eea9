package bridge_test

import (
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge"
)

func TestLoadKnowsWhatTheMappingIsFor(t *testing.T) {
	m := bookingMapping(t, bookingRules(t))
	assert.Equal(t, "Booking", m.Protocol())
	assert.Equal(t, "Hotel", m.Role())
	assert.Equal(t, []string{"house"}, m.Settings())
	assert.Equal(t, []string{"Ask", "Pay", "Withdraw"}, m.Actions())
}

// ask is a mapping with a step for Ask around what is put in.
func ask(steps string) string {
	return "protocol: Booking\nrole: Hotel\nactions:\n  Ask:\n" + indent(steps)
}

func indent(text string) string {
	return regexp.MustCompile(`(?m)^`).ReplaceAllString(text, "    ") + "\n"
}

const (
	fine    = "- {step: s, request: {method: GET, path: /x}, answers: [{attempt: {Full: {why: no}}}]}\n"
	booking = "attempt: {Booked: {number: 1, price: 2}}"
)

func TestLoadReportsFaults(t *testing.T) {
	tests := []struct {
		name, text, want string
	}{
		{"nothing", "", `m:1:1: the file is empty`},
		{"no YAML", "a: [", `m:1:1: line 1: did not find expected node content`},
		{"several documents", "a: 1\n---\nb: 2\n", `m:1:1: the file has more than one document`},
		{"a list", "- a\n", `m:1:1: a mapping must be a mapping of names to values`},
		{"an unknown field", "protocol: Booking\nrole: Hotel\ncolour: red\nactions: {Ask: [" + strings.TrimPrefix(strings.TrimSpace(fine), "- ") + "]}\n", `m:3:1: a mapping has no "colour"`},
		{"a field twice", ask(fine) + "role: Hotel\n", `m:7:1: a mapping has "role" twice`},
		{"another protocol", strings.Replace(ask(fine), "Booking", "Other", 1), `m:1:1: the mapping is of protocol Other, not of Booking`},
		{"an unknown role", strings.Replace(ask(fine), "Hotel", "Motel", 1), `m:1:1: Booking has no role "Motel"`},
		{"an unknown action", strings.Replace(ask(fine), "  Ask:", "  Beg:", 1), `m:4:3: Booking has no action "Beg"`},
		{"an action of the role itself", strings.Replace(ask(fine), "  Ask:", "  Paid:", 1), `m:4:3: Paid is an action of Hotel itself`},
		{"no steps", "protocol: Booking\nrole: Hotel\nactions: {Ask: []}\n", `m:3:16: Ask has no steps`},
		{"no actions", "protocol: Booking\nrole: Hotel\n", `m:1:1: a mapping needs actions`},
		{"an unknown attempt", ask("- {step: s, answers: [{attempt: {Bought: {}}}]}"), `m:5:38: Booking has no action "Bought"`},
		{"an attempt of another role", ask("- {step: s, answers: [{attempt: {Pay: {}}}]}"), `m:5:38: Pay is an action of Guest, not of Hotel`},
		{"an attribute that is not carried", ask("- {step: s, answers: [{attempt: {Full: {why: no, price: 1}}}]}"), `m:5:38: Full carries no "price"`},
		{"an attribute that is known", ask("- {step: s, answers: [{attempt: {Full: {why: no, rid: 1}}}]}"), `m:5:38: rid is known from Ask already`},
		{"an action as an attribute", ask("- {step: s, answers: [{attempt: {Full: {why: no, Ask: 1}}}]}"), `m:5:38: Ask is an action, which has no value`},
		{"a missing binding", ask("- {step: s, answers: [{attempt: {Booked: {}}}]}"), `m:5:38: missing binding: Booked needs number, price`},
		{"two attempts", ask("- {step: s, answers: [{attempt: {Full: {why: no}, Booked: {}}}]}"), `m:5:37: attempt names one action and its values`},
		{"two ways to go on", ask("- {step: s, answers: [{nothing: x, diverged: y}]}"), `m:5:27: an answer has one way to go on, not diverged and nothing`},
		{"what follows back", ask("- {step: s, answers: [{attempt: {Full: {why: no}}, next: s}]}"), `m:5:38: next: s goes back`},
		{"what follows nowhere", ask("- {step: s, answers: [{attempt: {Full: {why: no}}, next: t}]}"), `m:5:38: Ask has no step "t"`},
		{"a wait with nothing to look at", ask("- {step: s, request: {method: POST, path: /x}, answers: [{wait: ''}]}"), `: wait: step s has neither a status query nor a request that reads`},
		{"a wait that binds", ask("- {step: s, request: {method: GET, path: /x}, answers: [{wait: '', bind: {x: 1}}]}"), `m:5:61: what is not settled yet binds and keeps nothing`},
		{"a wait for what nobody knows", ask("- {step: s, request: {method: GET, path: /x}, answers: [{wait: $.bound.x}, {nothing: x}]}"), `m:5:68: no step before binds "x"`},
		{"late for nothing", ask("- {step: s, request: {method: GET, path: /x}, answers: [{nothing: x}], late: {nothing: x}}"), `m:5:7: step s waits for nothing that could be late`},
		{"late with a status", ask("- {step: s, request: {method: GET, path: /x}, answers: [{wait: ''}], late: {on: 200, nothing: x}}"), `m:5:7: unmade, lost and late of step s end it`},
		{"yields without an attempt", ask("- {step: s, answers: [{nothing: x, yields: true}]}"), `m:5:27: yields is for what is attempted`},
		{"the next of many", ask("- {step: s, answers: [{attempt: {Full: {why: !next [1]}}}]}"), `!next must be text`},
		{"an unknown step", ask("- {step: s, answers: [{next: t}]}"), `m:5:27: Ask has no step "t"`},
		{"a step back", ask("- {step: s, answers: [{when: $.observed.room, next: s}, {nothing: x}]}"), `m:5:27: next: s goes back`},
		{"a step twice", ask("- {step: s, answers: [{}]}\n- {step: s, answers: [{nothing: x}]}"), `m:6:7: Ask has two steps "s"`},
		{"an unreachable step", ask(fine + "- {step: t, answers: [{nothing: x}]}"), `m:6:7: step t of Ask is never reached`},
		{"the end of the steps", ask("- {step: s, answers: [{}]}"), `m:5:27: step s of Ask has an answer that goes on, and no step follows`},
		{"a skip at the end", ask("- {step: s, when: $.observed.room, answers: [{nothing: x}]}"), `m:5:7: step s of Ask may be skipped, and no step follows`},
		{"a step without a name", ask("- {answers: [{nothing: x}]}"), `m:5:7: a step needs a name`},
		{"since nothing before", ask("- {step: s, since: t, request: {method: GET, path: /x}, answers: [{nothing: x}]}"), `m:5:7: since of step s: Ask has no step "t" before it`},
		{"since itself", ask("- {step: s, since: s, request: {method: GET, path: /x}, answers: [{nothing: x}]}"), `m:5:7: since of step s: Ask has no step "s" before it`},
		{"a step without answers", ask("- {step: s}"), `m:5:7: step s has no answers`},
		{"an unknown hook", ask("- {step: s, choose: [{hook: h, bind: b}], answers: [{nothing: x}]}"), `m:5:33: there is no hook "h"`},
		{"a hook that binds nothing", ask("- {step: s, choose: [{hook: bed}], answers: [{nothing: x}]}"), `m:5:26: choose needs a hook and the variable to bind`},
		{"an unknown variable", ask("- {step: s, answers: [{attempt: {Full: {why: $.bound.x}}}]}"), `m:5:50: no step before binds "x"`},
		{
			"a variable that is not always bound",
			ask("- {step: s, answers: [{when: $.observed.room, bind: {x: 1}}, {}]}\n- {step: t, answers: [{attempt: {Full: {why: $.bound.x}}}]}"),
			`m:6:50: "x" is not bound on every way to t`,
		},
		{"an unknown attribute", ask("- {step: s, answers: [{attempt: {Full: {why: $.observed.x}}}]}"), `m:5:50: Ask carries no "x"`},
		{"an unknown kept value", ask("- {step: s, answers: [{attempt: {Full: {why: $.kept.x}}}]}"), `m:5:50: nothing keeps "x"`},
		{"an unknown setting", ask("- {step: s, answers: [{attempt: {Full: {why: $.settings.x}}}]}"), `m:5:50: "x" is none of the settings`},
		{"an unknown action in a condition", ask("- {step: s, answers: [{when: $.happened.x, nothing: y}]}"), `m:5:34: Booking has no action "x"`},
		{"an unknown part of the exchange", ask("- {step: s, answers: [{when: $.exchange.x, nothing: y}]}"), `m:5:34: an exchange has key, request, sends and waited`},
		{"a response without a request", ask("- {step: s, answers: [{when: $.response.status, nothing: y}]}"), `m:5:34: $.response is not known here, in s`},
		{"an unknown root", ask("- {step: s, answers: [{when: $.x.y, nothing: y}]}"), `m:5:34: "$.x.y": a path begins with`},
		{"a root without a name", ask("- {step: s, answers: [{attempt: {Full: {why: $.observed}}}]}"), `m:5:50: "$.observed": $.observed needs a name`},
		{"a malformed path", ask("- {step: s, answers: [{attempt: {Full: {why: '$.observed.room[x'}}}]}"), `m:5:50: the path "$.observed.room[x" is malformed`},
		{"a malformed condition", ask("- {step: s, answers: [{when: $.observed.room ==, nothing: y}]}"), `m:5:34: the condition "$.observed.room ==" is malformed`},
		{"a smuggled path", ask("- {step: s, answers: [{when: '$.observed.room].x[?$.observed.room', nothing: y}]}"), `is not one expression`},
		{"a second spelling of the context", ask("- {step: s, answers: [{when: '@.observed.room', nothing: y}]}"), `m:5:34: "@.observed.room" has an @ outside brackets`},
		{"a string that does not end", ask(`- {step: s, answers: [{when: "$.observed.room == 'a", nothing: y}]}`), `has a string that does not end`},
		{"an unknown tag", ask("- {step: s, answers: [{attempt: {Full: {why: !some $.observed.room}}}]}"), `m:5:50: there is no tag !some`},
		{"an unknown definition", ask("- {step: s, answers: [{attempt: {Full: {why: !use x}}}]}"), `m:5:50: !use x: nothing of that name is defined`},
		{"a choice of nothing", ask("- {step: s, answers: [{attempt: {Full: {why: !first []}}}]}"), `m:5:50: !first needs something to take`},
		{"an each without an array", ask("- {step: s, answers: [{attempt: {Full: {why: !each {give: 1}}}}]}"), `m:5:50: !each needs of`},
		{"an each of nothing", ask("- {step: s, answers: [{attempt: {Full: {why: $.each.x}}}]}"), `m:5:50: $.each has a meaning only below the give of an !each`},
		{"a number that is no JSON", ask("- {step: s, answers: [{attempt: {Full: {why: 0x1F}}}]}"), `m:5:50: write the number 0x1F as JSON does`},
		{"a status that is none", ask("- {step: s, request: {method: GET, path: /x}, answers: [{on: 99, nothing: y}]}"), `m:5:66: a status is a number such as 201 or a class such as 2xx`},
		{"a status without a request", ask("- {step: s, answers: [{on: 200, nothing: y}]}"), `m:5:27: step s has no request, so there is no status to go by`},
		{"a request without a method", ask("- {step: s, request: {path: /x}, answers: [{nothing: y}]}"), `m:5:26: a request needs a method and a path`},
		{"a path without a slash", ask("- {step: s, request: {method: GET, path: x}, answers: [{nothing: y}]}"), `m:5:46: a path begins with /`},
		{"a brace that does not close", ask("- {step: s, request: {method: GET, path: '/{x'}, answers: [{nothing: y}]}"), `m:5:46: "/{x" has a { without a }`},
		{"a header that is none", ask("- {step: s, request: {method: GET, path: /x, headers: {a b: c}}, answers: [{nothing: y}]}"), `m:5:60: "a b" is no name for a header`},
		{"a query that changes something", ask("- {step: s, request: {method: PUT, path: /x}, answers: [{nothing: y}], status: {request: {method: PUT, path: /x}, answers: [{nothing: y}]}}"), `m:5:84: a status query must be a GET`},
		{"a query by what it has not", ask("- {step: s, request: {method: PUT, path: /x}, answers: [{nothing: y}], status: {request: {method: GET, path: '/x/{$.exchange.request}'}, answers: [{nothing: y}]}}"), `the path of a status query may speak of $.exchange.key, not of $.exchange.request`},
		{"a request by its own key", ask("- {step: s, request: {method: PUT, path: '/x/{$.exchange.key}'}, answers: [{nothing: y}]}"), `$.exchange is not known here, in s`},
		{"ask with nothing to ask", ask("- {step: s, request: {method: PUT, path: /x}, answers: [{ask: true}]}"), `m:5:61: ask: step s has neither a status query nor retry: same-key`},
		{"resend of what is not safe", ask("- {step: s, request: {method: PUT, path: /x}, answers: [{resend: true}]}"), `m:5:61: resend: step s does not say retry: same-key`},
		{"a status by a key that is not kept", ask("- {step: s, request: {method: PUT, path: /x}, status: same-key, answers: [{nothing: y}]}"), `m:5:7: status: same-key of step s needs retry: same-key`},
		{"an operation that is no text", ask("- {step: s, request: {method: PUT, path: /x, operation: [a]}, answers: [{nothing: y}]}"), `m:5:61: operation must be text`},
		{"an unknown retry", ask("- {step: s, request: {method: PUT, path: /x}, retry: often, answers: [{nothing: y}]}"), `m:5:58: retry is same-key or never`},
		{"what is not settled binds nothing", ask("- {step: s, request: {method: GET, path: /x}, answers: [{ask: true, bind: {x: 1}}]}"), `what is not settled yet binds and keeps nothing`},
		{
			"a secret that is bound",
			strings.Replace(ask("- {step: s, answers: [{bind: {x: $.observed.card.token}, nothing: y}]}"), "  Ask:", "  Pay:", 1),
			`m:5:27: x is made of a secret`,
		},
		{
			"a secret that is attempted",
			strings.Replace(ask("- {step: s, answers: [{attempt: {Failed: {reason: {card: $.observed.card}}}}]}"), "  Ask:", "  Pay:", 1),
			`m:5:38: reason is made of a secret`,
		},
		{
			"a secret of another step",
			strings.Replace(ask("- {step: s, choose: [{hook: bed, with: $.observed.card, bind: x}], answers: [{}]}\n"+
				"- {step: t, request: {method: PUT, path: /x, body: $.bound.x}, answers: [{nothing: y}]}"), "  Ask:", "  Pay:", 1),
			`m:6:56: x was made of a secret in another step`,
		},
		{"an alias of itself", "a: &a [*a]\n", `m:1:1: the file is too large, or has an alias within itself`},
	}
	rules := bookingRules(t)
	hooks := map[string]bridge.Hook{"bed": firstBed}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := bridge.Load("m", []byte(test.text), rules, hooks)
			var faults bridge.Faults
			require.ErrorAs(t, err, &faults, test.text)
			found := false
			for _, f := range faults {
				found = found || strings.Contains(f.Error(), test.want)
			}
			assert.True(t, found, "want %s\ngot  %v\nof\n%s", test.want, err, test.text)
		})
	}
	t.Run("nothing", func(t *testing.T) {
		_, err := bridge.Load("m", []byte(ask(fine+"")), rules, hooks)
		require.NoError(t, err)
		_, err = bridge.Load("m", []byte(ask("- {step: s, answers: [{"+booking+"}]}")), rules, hooks)
		require.NoError(t, err)
	})
}

func TestLoadReportsAllFaultsAtOnce(t *testing.T) {
	text := ask("- {step: s, answers: [{when: $.x, next: t}]}\n- {step: u, answers: [{attempt: {Bought: {}}}]}") + "colour: red\n"
	_, err := bridge.Load("m.yaml", []byte(text), bookingRules(t), nil)
	assert.Equal(t, []string{"m.yaml:5:27", "m.yaml:5:34", "m.yaml:6:7", "m.yaml:6:38", "m.yaml:7:1"}, places(err))
	var fault bridge.Fault
	require.True(t, errors.As(err, &fault))
	assert.Equal(t, 5, fault.Line)
}

func places(err error) []string {
	var found []string
	for _, line := range strings.Split(err.Error(), "\n") {
		found = append(found, line[:strings.Index(line, ": ")])
	}
	return found
}

func FuzzLoad(f *testing.F) {
	text, err := os.ReadFile("testdata/booking.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(text))
	f.Add(ask(fine))
	f.Add(ask("- {step: s, answers: [{when: \"$.observed.room[?@.a == 'x']\", next: t}]}"))
	f.Add("a: &a [b, *a]\n<<: *a\n")
	rules := bookingRules(f)
	f.Fuzz(func(t *testing.T, text string) {
		mapping, err := bridge.Load("m", []byte(text), rules, map[string]bridge.Hook{"bed": firstBed})
		if err == nil {
			if mapping.Role() != "Hotel" {
				t.Fatal("accepted for another role")
			}
			return
		}
		var faults bridge.Faults
		if !errors.As(err, &faults) || len(faults) == 0 {
			t.Fatalf("an error that is no fault: %v", err)
		}
		for _, fault := range faults {
			if fault.Line < 1 || fault.Column < 1 || fault.Message == "" {
				t.Fatalf("a fault without a place: %+v", fault)
			}
		}
	})
}
