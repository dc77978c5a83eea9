package acc_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/acc"
)

func BenchmarkParse(b *testing.B) {
	text := []byte(document(`{param: amount, op: ">", value: 1000}`))
	b.ReportAllocs()
	for b.Loop() {
		if parsed, _ := acc.Parse(text); len(parsed.Operations) != 1 {
			b.Fatal("not read")
		}
	}
}

func BenchmarkDecide(b *testing.B) {
	input, err := acc.NewInput(arguments(b, `{"x":{"type":"object","properties":{"amount":{"type":"number"},"priority":{"type":"string"}}}}`)["x"])
	require.NoError(b, err)
	declaration, _ := acc.ParseDeclaration([]byte(`{"version":1,"enabled":true,"scope":"a","approval":{"when":[` +
		`{"param":"amount","op":">","value":1000},{"param":"priority","op":"==","value":"urgent"}]}}`))
	gate, diagnostics := input.Gate(false, declaration.Approval.When)
	require.Empty(b, diagnostics)
	call := arguments(b, `{"amount":10,"priority":"normal"}`)
	b.ReportAllocs()
	for b.Loop() {
		if gate.Decide(call).Outcome != acc.Allow {
			b.Fatal("not allowed")
		}
	}
}

func BenchmarkMerge(b *testing.B) {
	declaration, _ := acc.ParseDeclaration([]byte(`{"version":1,"enabled":true,"scope":"a","execution":{"timeout_ms":5000,"rate_limit":{"count":30,"window":"1m"}}}`))
	contract, local := declaration.Contract("POST"), acc.LocalPolicy{Timeout: time.Second, Dimension: acc.PerAgent}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := acc.Merge(contract, local, time.Minute); err != nil {
			b.Fatal(err)
		}
	}
}
