package acc_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/acc"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/langshaw"
)

// refund is a document of one operation. Cases put more into it.
const refund = `openapi: VERSION
info: {title: Refunds, version: "1"}
paths:
  /orders/{id}/refunds:
    parameters:
      - {name: id, in: path, required: true, schema: {type: string}}
    post:
      parameters: PARAMETERS
      requestBody:
        required: true
        content:
          application/json:
            schema: {$ref: "#/components/schemas/Refund"}
      responses: {"200": {description: ok}}
      x-agent-capability:
        version: 1
        enabled: true
        scope: refund.create
        approval:
          when:
            - CONDITION
components:
  schemas:
    Refund:
      type: object
      required: [amount, money]
      properties:
        id: {type: string, readOnly: true}
        amount: {type: integer}
        note: {type: string, default: none}
        urgent: {type: boolean}
        any: {}
        tags: {type: array, items: {type: string}}
        lines: {type: array, items: {type: object, properties: {price: {type: integer}}}}
        either: {oneOf: [{type: object, properties: {a: {type: string}}}, {type: string}]}
        money: {allOf: [{$ref: "#/components/schemas/Money"}, {type: object, required: [currency]}]}
        parent: {$ref: "#/components/schemas/Refund"}
    Money:
      type: object
      required: [value]
      properties: {value: {type: number}, currency: {type: string, enum: [EUR, USD]}}
`

func document(condition string, more ...string) string {
	replaced := append([]string{"CONDITION", condition}, more...)
	return strings.NewReplacer(append(replaced, "VERSION", "3.1.0", "PARAMETERS", "[]")...).Replace(refund)
}

func summaries(diagnostics acc.Diagnostics) []string {
	var list []string
	for _, d := range diagnostics {
		list = append(list, strings.TrimSpace(fmt.Sprintf("%s %s[%s] %s", d.Start, d.Severity, d.Code, d.Suggestion)))
	}
	return list
}

// TestConditionsAreCheckedWhenLoaded: what a condition refers to must be there, and comparable.
func TestConditionsAreCheckedWhenLoaded(t *testing.T) {
	for condition, want := range map[string]string{
		`{param: amount, op: ">", value: 1000}`:                  "",
		`{param: amount, op: ">=", value: 1e3}`:                  "",
		`{param: money.value, op: "<", value: 0.5}`:              "",
		`{param: money.currency, op: "in", value: [EUR]}`:        "",
		`{param: parent.parent.amount, op: "==", value: 1}`:      "",
		`{param: tags, op: contains, value: gift}`:               "",
		`{param: note, op: contains, value: gift}`:               "",
		`{param: note, op: exists}`:                              "",
		`{param: urgent, op: "!=", value: false}`:                "",
		`{param: id, op: "==", value: a}`:                        "21:23 error[ambiguous-input]",
		`{param: amuont, op: ">", value: 1}`:                     "21:23 error[unknown-input] amount",
		`{param: money.valu, op: ">", value: 1}`:                 "21:23 error[unknown-input] money.value",
		`{param: amount.value, op: ">", value: 1}`:               "21:23 error[unknown-input]",
		`{param: amount., op: ">", value: 1}`:                    "21:23 error[unknown-input]",
		`{param: either.a, op: "==", value: x}`:                  "21:23 error[unknown-input]",
		`{param: lines.price, op: ">", value: 1}`:                "21:23 error[array-input]",
		`{param: lines.0, op: exists}`:                           "21:23 error[array-input]",
		`{param: any, op: exists}`:                               "21:23 error[untyped-input]",
		`{param: note, op: ">", value: 1}`:                       "21:23 error[impossible-condition]",
		`{param: amount, op: ">", value: "1000"}`:                "21:23 error[impossible-condition]",
		`{param: amount, op: ">", value: 1e999999999}`:           "21:23 error[impossible-condition]",
		`{param: amount, op: "==", value: "1000"}`:               "21:23 error[impossible-condition]",
		`{param: amount, op: "==", value: 0.5}`:                  "21:23 error[impossible-condition]",
		`{param: amount, op: "==", value: null}`:                 "21:23 error[impossible-condition]",
		`{param: amount, op: "in", value: 5}`:                    "21:23 error[impossible-condition]",
		`{param: amount, op: "in", value: []}`:                   "21:23 error[impossible-condition]",
		`{param: amount, op: "in", value: [1, "2"]}`:             "21:23 error[impossible-condition]",
		`{param: tags, op: contains, value: 5}`:                  "21:23 error[impossible-condition]",
		`{param: note, op: contains, value: 5}`:                  "21:23 error[impossible-condition]",
		`{param: amount, op: contains, value: 5}`:                "21:23 error[impossible-condition]",
		`{param: amount, op: ">"}`:                               "21:15 error[invalid_declaration]",
		`{param: amount, op: "=>", value: 1}`:                    "21:35 error[invalid_declaration]",
		`{op: exists}`:                                           "21:15 error[invalid_declaration]",
		`{param: "", op: exists}`:                                "21:23 error[invalid_declaration]",
		`{param: ` + strings.Repeat("a.", 60) + `a, op: exists}`: "21:23 error[unknown-input]",
	} {
		for _, version := range []string{"3.0.3", "3.1.0"} {
			parsed, diagnostics := acc.Parse([]byte(document(condition, "VERSION", version)))
			if want == "" {
				require.Empty(t, diagnostics, condition)
				require.Len(t, parsed.Operations, 1)
				require.Empty(t, parsed.Skipped)
				continue
			}
			require.Equal(t, []string{want}, summaries(diagnostics), "%s\n%v", condition, diagnostics)
			require.Empty(t, parsed.Operations, condition)
			require.Len(t, parsed.Skipped, 1)
			require.Equal(t, "POST /orders/{id}/refunds", parsed.Skipped[0].String())
		}
	}
}

// TestInputsFailClosed: an operation whose inputs are not understood is skipped.
func TestInputsFailClosed(t *testing.T) {
	good := `{param: amount, op: ">", value: 1000}`
	for _, test := range []struct {
		name string
		more []string
		want string
	}{
		{"parameter of the operation", []string{"PARAMETERS", "[{name: x, in: query, schema: {type: string}}]"}, ""},
		{"parameter in place of the path's", []string{"PARAMETERS", "[{name: id, in: path, required: true, schema: {type: integer}}]"}, ""},
		{"parameter with content", []string{"PARAMETERS", "[{name: x, in: query, content: {application/json: {schema: {type: object}}}}]"}, ""},
		{"ignored header", []string{"PARAMETERS", "[{name: Accept, in: header}]"}, ""},
		{"parameter without a schema", []string{"PARAMETERS", "[{name: x, in: query}]"}, "8:20 error[unsupported-construct]"},
		{"parameter without a place", []string{"PARAMETERS", "[{name: x, schema: {}}]"}, "8:20 error[unsupported-construct]"},
		{"parameter twice", []string{"PARAMETERS", "[{name: x, in: query, schema: {}}, {name: x, in: query, schema: {}}]"}, "8:54 error[unsupported-construct]"},
		{"parameters that are none", []string{"PARAMETERS", "{}"}, "8:19 error[unsupported-construct]"},
		{"path parameter missing", []string{"/orders/{id}/refunds", "/orders/{other}/refunds"}, "15:7 error[unsupported-construct]"},
		{"reference to another document", []string{`{type: boolean}`, `{$ref: "https://example.com/a.json"}`}, "31:24 error[unresolved-reference]"},
		{"reference to a file", []string{`{type: boolean}`, `{$ref: "../a.yaml#/a"}`}, "31:24 error[unresolved-reference]"},
		{"reference to nothing", []string{`{type: boolean}`, `{$ref: "#/components/schemas/None"}`}, "31:24 error[unresolved-reference]"},
		{"reference elsewhere", []string{`{type: boolean}`, `{$ref: "#/info"}`}, "31:24 error[unsupported-construct]"},
		{"references that never end", []string{"PARAMETERS", `[{$ref: "#/paths/~1orders~1{id}~1refunds/post/parameters/0"}]`}, "8:27 error[unresolved-reference]"},
		{"schema with its own base", []string{`{type: boolean}`, `{$id: "https://example.com/x", type: boolean}`}, "31:23 error[unsupported-construct]"},
		{"schema of another type", []string{`{type: boolean}`, `{type: bool}`}, "15:7 error[unsupported-construct]"},
		{"pattern of another dialect", []string{`{type: boolean}`, `{type: string, pattern: "(?!a)b"}`}, "15:7 error[unsupported-construct]"},
		{"huge number in a schema", []string{`{type: boolean}`, `{type: number, maximum: 1e999999999}`}, "31:41 error[unsupported-construct]"},
		{"member twice in a schema", []string{`{type: boolean}`, `{type: boolean, type: string}`}, "31:33 error[unsupported-construct]"},
		{"schema within itself", []string{`{type: boolean}`, `&u {properties: {a: *u}}`}, "31:37 error[unsupported-construct]"},
		{"contract twice", []string{"x-agent-capability:", "x-agent-capability: {}\n      x-agent-capability:"}, "7:5 error[unsupported-construct]"},
		{"schemas that combine too many", []string{"    Money:", combine(20) + "    Money:", "{type: boolean}", "{$ref: '#/components/schemas/C20'}"}, "15:7 error[unsupported-construct]"},
		{"schema that is itself", []string{"    Money:", "    Self: {allOf: [{$ref: '#/components/schemas/Self'}]}\n    Money:", "{type: boolean}", "{$ref: '#/components/schemas/Self'}"}, "15:7 error[unsupported-construct]"},
		{"body without content", []string{"content:\n          application/json:\n            schema: {$ref: \"#/components/schemas/Refund\"}", "{}"}, "11:9 error[unreadable]"},
	} {
		parsed, diagnostics := acc.Parse([]byte(document(good, test.more...)))
		if test.want == "" {
			require.Empty(t, diagnostics, test.name)
			require.Len(t, parsed.Operations, 1, test.name)
			continue
		}
		require.NotEmpty(t, diagnostics, test.name)
		if !strings.Contains(test.want, "unreadable") {
			require.Equal(t, []string{test.want}, summaries(diagnostics), "%s %v", test.name, diagnostics)
			require.Len(t, parsed.Skipped, 1, test.name)
		}
		require.Empty(t, parsed.Operations, test.name)
	}
}

// combine makes schemas, each of which refers twice to the one before.
func combine(count int) string {
	text := "    C0: {type: string}\n"
	for i := range count {
		text += fmt.Sprintf("    C%d: {allOf: [{$ref: '#/components/schemas/C%d'}, {$ref: '#/components/schemas/C%d'}]}\n", i+1, i, i)
	}
	return text
}

// TestFaultsElsewhere: what no contract leans on is not looked at.
func TestFaultsElsewhere(t *testing.T) {
	text := document(`{param: amount, op: ">", value: 1000}`) + `
    Broken: {$ref: "https://example.com/none.json", type: [x], <<: 5}
`
	text = strings.Replace(text, "paths:\n", "paths:\n  /other:\n    get: {responses: {$ref: nothing}, parameters: [{$ref: no}]}\n  x-more: 5\n", 1)
	parsed, diagnostics := acc.Parse([]byte(text))
	require.Empty(t, diagnostics)
	require.Len(t, parsed.Operations, 1)
}

func TestUnreadableTexts(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "1:1 error[unreadable]",
		"# nothing":                "1:1 error[unreadable]",
		"a: b\n  c: d":             "2:1 error[unreadable]",
		"a: 1\n---\nb: 2\n":        "2:1 error[unreadable]",
		"a\xff":                    "1:2 error[unreadable]",
		"[]":                       "1:1 error[unsupported-openapi]",
		"5":                        "1:1 error[unsupported-openapi]",
		"{}":                       "1:1 error[unsupported-openapi]",
		`{"openapi": "2.0"}`:       "1:13 error[unsupported-openapi]",
		`{"openapi": 3.1}`:         "1:13 error[unsupported-openapi]",
		"openapi: 3.1\n":           "1:10 error[unsupported-openapi]",
		"openapi: 3.2.0\n":         "1:10 error[unsupported-openapi]",
		"swagger: '2.0'\n":         "1:1 error[unsupported-openapi]",
		"openapi: 3.0.3\npaths: 5": "2:8 error[unsupported-openapi]",
		"openapi: 3.1.0\njsonSchemaDialect: http://json-schema.org/draft-07/schema\n": "2:20 error[unsupported-openapi]",
		"openapi: 3.1.0\npaths: {/a: 5}":                                              "2:13 error[unsupported-construct]",
		"openapi: 3.1.0\npaths: {/a: {$ref: '#/paths/~1a'}}":                          "2:20 error[unresolved-reference]",
	} {
		parsed, diagnostics := acc.Parse([]byte(text))
		require.Equal(t, []string{want}, summaries(diagnostics), "%q %v", text, diagnostics)
		require.NotNil(t, parsed)
		require.Empty(t, parsed.Operations)
	}
	_, diagnostics := acc.Parse(make([]byte, acc.MaximumText+1))
	require.Equal(t, []string{"1:1 error[unreadable]"}, summaries(diagnostics))
}

// TestMisplacedContracts: a contract has an effect in one place only.
func TestMisplacedContracts(t *testing.T) {
	text := strings.Replace(document(`{param: amount, op: exists}`), "    post:", "    x-agent-capability: {}\n    post:", 1)
	text = "x-agent-capability: {version: 1}\n" + text + "  examples: {a: {x-agent-capability: 5}}\n"
	parsed, diagnostics := acc.Parse([]byte(text))
	require.Equal(t, []string{"1:1 warning[misplaced]", "8:5 warning[misplaced]"}, summaries(diagnostics))
	require.Len(t, parsed.Operations, 1)
}

// TestJSONAndYAML: the same document is read the same way from both, characters beyond U+FFFF included.
func TestJSONAndYAML(t *testing.T) {
	text := `{"openapi": "3.0.0", "info": {"title": "\ud83d\ude00", "version": "1"}, "paths": {"/a": {"get": {"responses": {},
	"x-agent-capability": {"version": 1, "enabled": true, "scope": "a", "x-note": "\ud83d\ude00\/", "execution": {"timeout_ms": 9e2}}}}}}`
	parsed, diagnostics := acc.Parse([]byte("\ufeff" + text))
	require.Empty(t, diagnostics)
	require.Len(t, parsed.Operations, 1)
	operation := parsed.Operations[0]
	require.Equal(t, "2:2", operation.Span.Start.String())
	require.Equal(t, `"😀/"`, operation.Declaration.Unknown[0].Value.String())
	require.Equal(t, "900ms", operation.Contract().Timeout.Value.String())
	span, ok := operation.Declaration.Span("execution.timeout_ms")
	require.True(t, ok)
	require.Equal(t, strings.Index("\ufeff"+text, `"timeout_ms"`), span.Start.Offset)

	_, diagnostics = acc.ParseDeclaration([]byte(`{"version": 1, "enabled": true, "scope": "a", "x": "\ud83d"}`))
	require.Equal(t, []string{"1:52 error[invalid_declaration]"}, summaries(diagnostics))
}

// TestDeclarationsReportEverything: all that is wrong in one contract is said at once, each at its place.
func TestDeclarationsReportEverything(t *testing.T) {
	declaration, diagnostics := acc.ParseDeclaration([]byte(`version: 1
enabled: "true"
scope: -a
risk: {level: critical}
subject: true
approval: {required: 1, prompt: [], when: {}}
audit: {sensitive: null}
execution: {readonly: yes, timeout_ms: 0x10, rate_limit: {count: .inf, window: 5}}
guidance: {when_to_use: 5, returns: ` + strings.Repeat("x", 2001) + `, examples: [5], context: [""]}
`))
	require.Nil(t, declaration)
	// A number that is none makes the whole unreadable, and nothing else is said.
	require.Equal(t, []string{"8:66 error[invalid_declaration]"}, summaries(diagnostics))

	_, diagnostics = acc.ParseDeclaration([]byte(`version: 1
enabled: "true"
scope: -a
risk: {level: critical}
subject: true
approval: {required: 1, prompt: [], when: {}}
audit: {sensitive: null}
execution: {readonly: yes, timeout_ms: 0x10, rate_limit: {count: 0, window: 5}}
guidance: {when_to_use: 5, returns: ` + strings.Repeat("x", 2001) + `, examples: [5], context: [""]}
`))
	want := []string{
		"2:10", "3:8", "4:15", "5:10", "6:22", "6:33", "6:43", "7:20", "8:23", "8:66", "8:77", "9:25", "9:37", "9:2051", "9:2065",
	}
	for i := range want {
		want[i] += " error[invalid_declaration]"
	}
	require.Empty(t, cmp.Diff(want, summaries(diagnostics)))
}

// TestUnknownFieldsAreKept: they are there as they were written, and change nothing.
func TestUnknownFieldsAreKept(t *testing.T) {
	text := `{"version":1,"enabled":true,"scope":"a","risk":{"x":1},"approval":{"when":[{"param":"p","op":"exists","y":[1.50]}]},"z":{"risk":"high"}}`
	declaration, diagnostics := acc.ParseDeclaration([]byte(text))
	require.Empty(t, diagnostics)
	require.Equal(t, text, declaration.Raw.String())
	var paths []string
	for _, field := range declaration.Unknown {
		paths = append(paths, field.Path+"="+field.Value.String())
	}
	require.Equal(t, []string{"risk.x=1", "approval.when[0].y=[1.50]", `z={"risk":"high"}`}, paths)
	require.Equal(t, acc.MediumRisk, declaration.Contract("POST").Risk.Value)
}

func arguments(t testing.TB, text string) enactment.Values {
	values, err := enactment.ParseValues([]byte(text))
	require.NoError(t, err)
	return values
}

// TestDecisions judges calls by conditions: equality is strict and exact, and what is left out is what ACC says it is.
func TestDecisions(t *testing.T) {
	const allow, ask, reject = acc.Allow, acc.ApprovalRequired, acc.RejectInvalidArguments
	schema := `{"type":"object","properties":{"n":{"type":"number"},"i":{"type":"integer"},"s":{"type":["string","null"]},` +
		`"l":{"type":"array"},"o":{"type":"object","properties":{"n":{"type":"number"}}},"d":{"type":"integer","default":5000}}}`
	for _, test := range []struct {
		condition, arguments string
		want                 acc.Outcome
	}{
		{`{"param":"n","op":">","value":1000}`, `{"n":1000}`, allow},
		{`{"param":"n","op":">","value":1000}`, `{"n":1000.0000000000000000000000001}`, ask},
		{`{"param":"n","op":">=","value":1000}`, `{"n":1e3}`, ask},
		{`{"param":"n","op":"<","value":0}`, `{"n":-0.0}`, allow},
		{`{"param":"n","op":"<=","value":-0}`, `{"n":0}`, ask},
		{`{"param":"n","op":"<","value":1}`, `{"n":-1e400}`, ask},
		{`{"param":"n","op":">","value":1000}`, `{}`, reject},
		{`{"param":"n","op":">","value":1000}`, `{"n":1e999999999}`, reject},
		{`{"param":"n","op":">","value":1000}`, `{"n":"1500"}`, reject},
		{`{"param":"n","op":">","value":1000}`, `{"n":null}`, reject},
		{`{"param":"i","op":"==","value":9007199254740993}`, `{"i":9007199254740993}`, ask},
		{`{"param":"i","op":"==","value":9007199254740993}`, `{"i":9007199254740992}`, allow},
		{`{"param":"i","op":">","value":9007199254740992}`, `{"i":9007199254740993}`, ask},
		{`{"param":"i","op":"==","value":1}`, `{"i":1.0}`, ask},
		{`{"param":"i","op":"==","value":1}`, `{"i":1.5}`, reject},
		{`{"param":"i","op":"!=","value":1}`, `{"i":10e-1}`, allow},
		{`{"param":"i","op":"!=","value":1}`, `{}`, ask},
		{`{"param":"i","op":"==","value":1}`, `{}`, allow},
		{`{"param":"i","op":"in","value":[1,2]}`, `{"i":2}`, ask},
		{`{"param":"i","op":"in","value":[1,2]}`, `{"i":3}`, allow},
		{`{"param":"i","op":"in","value":[1,2]}`, `{}`, allow},
		{`{"param":"s","op":"exists"}`, `{"s":""}`, ask},
		{`{"param":"s","op":"exists"}`, `{"s":null}`, allow},
		{`{"param":"s","op":"exists"}`, `{}`, allow},
		{`{"param":"s","op":"==","value":null}`, `{"s":null}`, ask},
		{`{"param":"s","op":"==","value":null}`, `{}`, allow},
		{`{"param":"s","op":"==","value":"é"}`, `{"s":"\u00e9"}`, ask},
		{`{"param":"s","op":"contains","value":"rg"}`, `{"s":"urgent"}`, ask},
		{`{"param":"s","op":"contains","value":"RG"}`, `{"s":"urgent"}`, allow},
		{`{"param":"s","op":"contains","value":"rg"}`, `{}`, reject},
		{`{"param":"s","op":"contains","value":"rg"}`, `{"s":null}`, reject},
		{`{"param":"l","op":"contains","value":1}`, `{"l":["1",1.0]}`, ask},
		{`{"param":"l","op":"contains","value":1}`, `{"l":["1",[1]]}`, allow},
		{`{"param":"l","op":"==","value":[{"a":1,"b":2}]}`, `{"l":[{"b":2.0,"a":1}]}`, ask},
		{`{"param":"o.n","op":"==","value":1}`, `{"o":{"n":1}}`, ask},
		{`{"param":"o.n","op":"==","value":1}`, `{"o":{}}`, allow},
		{`{"param":"o.n","op":"!=","value":1}`, `{}`, ask},
		{`{"param":"o.n","op":"exists"}`, `{"o":{"n":0}}`, ask},
		{`{"param":"d","op":"==","value":5000}`, `{}`, ask},
		{`{"param":"d","op":"==","value":5000}`, `{"d":1}`, allow},
		{`{"param":"d","op":"exists"}`, `{}`, ask},
	} {
		input, err := acc.NewInput(enactment.MustValue(rawJSON(schema)))
		require.NoError(t, err)
		declaration, diagnostics := acc.ParseDeclaration([]byte(`{"version":1,"enabled":true,"scope":"a","approval":{"when":[` + test.condition + `]}}`))
		require.Empty(t, diagnostics)
		gate, diagnostics := input.Gate(false, declaration.Approval.When)
		require.Empty(t, diagnostics, test.condition)
		decision := gate.Decide(arguments(t, test.arguments))
		require.Equal(t, test.want, decision.Outcome, "%s of %s: %v", test.condition, test.arguments, decision.Err)
		require.Equal(t, test.want == reject, decision.Err != nil)
		require.Equal(t, test.want == ask, decision.Condition != nil)
		if decision.Err != nil {
			require.ErrorIs(t, decision.Err, acc.ErrInvalidArguments)
		}
	}
}

// TestArgumentsOfAnOperation: parameters and body are checked, each by its own schema.
func TestArgumentsOfAnOperation(t *testing.T) {
	for _, version := range []string{"3.0.3", "3.1.0"} {
		parsed, diagnostics := acc.Parse([]byte(document(`{param: amount, op: ">", value: 1000}`, "VERSION", version)))
		require.Empty(t, diagnostics)
		operation := parsed.Operations[0]
		require.Equal(t, []string{"amount", "any", "either", "id", "lines", "money", "note", "parent", "tags", "urgent"}, operation.Input.Names())
		for text, want := range map[string]acc.Outcome{
			`{"id":"1","amount":1,"money":{"value":1,"currency":"EUR"}}`:             acc.Allow,
			`{"id":"1","amount":1001,"money":{"value":1,"currency":"EUR"}}`:          acc.ApprovalRequired,
			`{"amount":1,"money":{"value":1,"currency":"EUR"}}`:                      acc.RejectInvalidArguments,
			`{"id":5,"amount":1,"money":{"value":1,"currency":"EUR"}}`:               acc.RejectInvalidArguments,
			`{"id":"1","amount":1,"money":{"value":1}}`:                              acc.RejectInvalidArguments,
			`{"id":"1","amount":1,"money":{"value":1,"currency":"GBP"}}`:             acc.RejectInvalidArguments,
			`{"id":"1","amount":1,"money":{"value":1,"currency":"EUR"},"parent":{}}`: acc.RejectInvalidArguments,
			`{"id":"1"}`: acc.RejectInvalidArguments,
			`{}`:         acc.RejectInvalidArguments,
		} {
			decision := operation.Gate.Decide(arguments(t, text))
			require.Equal(t, want, decision.Outcome, "%s: %v", text, decision.Err)
			if decision.Err != nil {
				require.NotContains(t, decision.Err.Error(), "GBP", "a value is quoted")
			}
		}
	}
}

// TestLint: one document with everything that a reviewer is told.
func TestLint(t *testing.T) {
	text := `openapi: 3.1.0
info: {title: t, version: "1"}
paths:
  /a/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: string}}]
    get:
      x-agent-capability: {version: 1, enabled: true, scope: a.get}
    put:
      x-agent-capability: {version: 1, enabled: true, scope: a.put, execution: {readonly: true, idempotent: true}}
    delete:
      x-agent-capability: {version: 1, enabled: true, scope: a.delete, risk: {level: high}, execution: {readonly: true}}
    post:
      requestBody: {content: {application/json: {schema: {type: object, properties: {n: {type: number}}}}}}
      x-agent-capability:
        version: 1
        enabled: true
        scope: a.post
        approvals: {required: true}
        x-note: fine
        approval: {when: [{param: n, op: ">", value: 1}]}
        execution: {idempotent: true, readOnly: true, max_retries: 3, rate_limit: {count: 1, window: 1s, concurrency: 2}}
    patch:
      parameters: [{name: Idempotency-Key, in: header, schema: {type: string}}]
      x-agent-capability: {version: 1, enabled: true, scope: a.patch, execution: {idempotent: true}}
    trace:
      x-agent-capabilty: {version: 1}
    head:
      x-agent-capability: {version: 1, enabled: true, scope: a.head, execution: {readonly: false}}
`
	parsed, diagnostics := acc.Parse([]byte(text))
	require.Empty(t, diagnostics)
	require.Equal(t, []string{
		"7:7 warning[get-without-readonly]",
		"9:81 warning[readonly-on-update]",
		"11:79 warning[high-risk-without-approval]",
		"11:105 warning[readonly-on-delete]",
		"18:9 warning[unknown-field] approval",
		"20:35 warning[condition-on-optional]",
		"21:21 warning[idempotent-without-key]",
		"21:39 warning[unknown-field] readonly",
		"21:55 warning[foreign-field]",
		"21:71 warning[limit-without-dimension]",
		"21:106 warning[foreign-field]",
		"26:7 warning[misspelt-extension] x-agent-capability",
	}, summaries(acc.Lint(parsed)))
	for _, d := range acc.Lint(parsed) {
		require.Equal(t, langshaw.Warning, d.Severity)
	}
}
