package acc_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/acc"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/langshaw"
)

func rawJSON(text string) json.RawMessage { return json.RawMessage(text) }

// requireSound checks what holds of the diagnostics of any text.
func requireSound(t *testing.T, text []byte, diagnostics acc.Diagnostics) {
	last := 0
	for _, d := range diagnostics {
		require.GreaterOrEqual(t, d.Start.Offset, last, "not in order of position")
		last = d.Start.Offset
		require.GreaterOrEqual(t, d.End.Offset, d.Start.Offset)
		require.LessOrEqual(t, d.End.Offset, len(text))
		require.Positive(t, d.Start.Line)
		require.Positive(t, d.Start.Column)
		require.NotEmpty(t, d.Message)
		require.NotContains(t, d.Message, "\n")
		require.Contains(t, []langshaw.Severity{langshaw.Error, langshaw.Warning}, d.Severity)
	}
}

// FuzzParse: no text makes the parser panic, and no operation with an error is usable.
func FuzzParse(f *testing.F) {
	f.Add([]byte(document(`{param: amount, op: ">", value: 1000}`)))
	f.Add([]byte(document(`{param: parent.money.value, op: in, value: [1, .5, 0x10]}`, "VERSION", "3.0.0")))
	f.Add([]byte(`{"openapi":"3.0.0","paths":{"/a":{"get":{"x-agent-capability":{"version":1,"enabled":true,"scope":"a"}}}}}`))
	f.Add([]byte("openapi: 3.1.0\npaths: &p\n  /a: {$ref: '#/paths/~1b'}\n  /b: {get: {x-agent-capability: *p}}\n"))
	f.Add([]byte("openapi: 3.1.0\u2028paths: {/a: {get: {x-agent-capability: [}}}\u0085\r\n\t"))
	f.Fuzz(func(t *testing.T, text []byte) {
		document, diagnostics := acc.Parse(text)
		requireSound(t, text, diagnostics)
		require.Equal(t, len(document.Skipped) > 0 && !diagnostics.HasErrors(), false)
		requireSound(t, text, acc.Lint(document))
		for _, operation := range document.Operations {
			require.NotNil(t, operation.Gate)
			contract := operation.Contract()
			require.NotEmpty(t, contract.Risk.Value)
			require.LessOrEqual(t, contract.Timeout.Value, acc.MaximumTimeout)
			operation.Gate.Decide(enactment.Values{"id": enactment.MustValue("1"), "amount": enactment.MustValue(5)})
		}
	})
}

// FuzzParseDeclaration: a declaration is there if and only if there is no error, and says what was written.
func FuzzParseDeclaration(f *testing.F) {
	if text, err := os.ReadFile(filepath.Join("testdata", "execution-vectors.json")); err == nil {
		var all vectors
		if json.Unmarshal(text, &all) == nil {
			for _, v := range all.Vectors {
				f.Add([]byte(v.Input.Declaration))
			}
		}
	}
	f.Add([]byte("version: 1\nenabled: true\nscope: a\napproval: {when: [{param: a.b, op: in, value: [1_000, .5, 0o17]}]}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		declaration, diagnostics := acc.ParseDeclaration(text)
		requireSound(t, text, diagnostics)
		require.Equal(t, declaration == nil, diagnostics.HasErrors())
		if declaration == nil {
			return
		}
		again, diagnostics := acc.ParseDeclaration([]byte(declaration.Raw.String()))
		require.Empty(t, diagnostics)
		require.Equal(t, declaration.Execution, again.Execution)
		require.Equal(t, declaration.Scope, again.Scope)
		require.Len(t, again.Unknown, len(declaration.Unknown))
	})
}

// FuzzDecide: no schema, condition and arguments make the gate panic, and an approval that is required by a condition
// is never lost by valid arguments.
func FuzzDecide(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"type":"number"}}}`, `{"param":"a","op":">","value":1}`, `{"a":1e400}`)
	f.Add(`{"type":"object","properties":{"a":{"type":"string"}}}`, `{"param":"a","op":"contains","value":"x"}`, `{"a":"yx"}`)
	f.Add(`{"type":"object","properties":{"a":{"type":["array","null"]}}}`, `{"param":"a","op":"contains","value":null}`, `{"a":[null]}`)
	f.Add(`{"type":"object","allOf":[{"properties":{"a":{"type":"object","properties":{"b":{"type":"integer"}}}}}]}`, `{"param":"a.b","op":"in","value":[1]}`, `{"a":{"b":1}}`)
	f.Fuzz(func(t *testing.T, schemaText, condition, arguments string) {
		schema, err := enactment.ParseValue([]byte(schemaText))
		if err != nil {
			return
		}
		values, err := enactment.ParseValues([]byte(arguments))
		if err != nil {
			return
		}
		input, err := acc.NewInput(schema)
		if err != nil {
			return
		}
		declaration, _ := acc.ParseDeclaration([]byte(`{"version":1,"enabled":true,"scope":"a","approval":{"when":[` + condition + `]}}`))
		if declaration == nil {
			return
		}
		gate, diagnostics := input.Gate(false, declaration.Approval.When)
		require.Equal(t, gate == nil, diagnostics.HasErrors())
		if gate == nil {
			return
		}
		decision := gate.Decide(values)
		always, _ := input.Gate(true, declaration.Approval.When)
		if input.Check(values) == nil {
			require.Equal(t, acc.ApprovalRequired, always.Decide(values).Outcome)
		} else {
			require.Equal(t, acc.RejectInvalidArguments, decision.Outcome)
		}
	})
}

// FuzzParseIn looks for references and other documents that panic, or that lead out of the folder.
func FuzzParseIn(f *testing.F) {
	f.Add("shared/parameters.yaml#/Key/schema", "type: object")
	f.Add("other.yaml#/a", "a: {$ref: 'other.yaml#/b'}\nb: {type: object, properties: {amount: {$ref: 'shop.yaml#/components/schemas/Money'}}}")
	f.Add("../api/other.yaml", "$ref: '#'")
	f.Fuzz(func(t *testing.T, reference, other string) {
		if strings.ContainsAny(reference, "'\n\r") {
			return
		}
		files := folder(map[string]string{"api/other.yaml": other})
		document, found := acc.ParseIn([]byte(referring(fmt.Sprintf(schemaBody, reference))), "api/shop.yaml", files)
		require.Equal(t, found.HasErrors(), len(document.Skipped) > 0 || len(document.Operations) == 0)
	})
}
