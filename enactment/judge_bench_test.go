package enactment_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/langshaw"
)

const simpleUCP = `SimpleUCP
who Platform, Business
what cid key, Completed or Cancelled or Refused or Declined
do
  Platform: Create(cid, line_items, buyer, fulfillment)
  Business: Created(cid, Create, id, currency, totals)
  Business: Refused(cid, Create, reason)
  Platform: Complete(cid, Created, id, totals, payment)
  Platform: Cancel(cid, Created, id)
  Business: Completed(cid, Complete, order)
  Business: Declined(cid, Complete, decline)
  Business: Cancelled(cid, Cancel)
sayso
  Platform: line_items, buyer, fulfillment, payment
  Business: id, currency, totals, order, reason, decline
nono
  Created Refused
  Completed Cancelled Declined
nogo
  Cancel -/> Complete
`

func compile(t testing.TB, text string, options ...enactment.Option) *enactment.Rules {
	t.Helper()
	p, diagnostics := langshaw.Parse([]byte(text))
	require.False(t, diagnostics.HasErrors(), diagnostics)
	r, err := enactment.Compile(p, options...)
	require.NoError(t, err)
	return r
}

func values(t testing.TB, m map[string]any) enactment.Values {
	t.Helper()
	v, err := enactment.ValuesOf(m)
	require.NoError(t, err)
	return v
}

// created gives a SimpleUCP enactment in which Create and Created have happened.
func created(t testing.TB, r *enactment.Rules, cid string) *enactment.State {
	t.Helper()
	create := enactment.Attempt{
		ID: "1", Identity: enactment.Identity{Role: "Platform"}, Action: "Create",
		Values: values(t, map[string]any{
			"cid": cid, "line_items": []any{map[string]any{"item": map[string]any{"id": "roses"}, "quantity": 2}},
			"buyer": map[string]any{"email": "buyer@example.com"}, "fulfillment": nil,
		}),
	}
	answer := enactment.Attempt{
		ID: "2", Identity: enactment.Identity{Role: "Business"}, Action: "Created",
		Values: values(t, map[string]any{
			"cid": cid, "id": "chk_" + cid, "currency": "USD", "totals": []any{map[string]any{"type": "total", "amount": 7000}},
		}),
	}
	key, rejection := r.KeyOf(create)
	require.Nil(t, rejection)
	s := r.NewState(key)
	for _, a := range []enactment.Attempt{create, answer} {
		f, outcomes := enactment.Judge(s, a)
		require.NoError(t, outcomes[0].Err())
		s.Apply(f)
	}
	return s
}

func complete(t testing.TB, cid string) enactment.Attempt {
	return enactment.Attempt{
		ID: "3", Identity: enactment.Identity{Role: "Platform"}, Action: "Complete",
		Values: values(t, map[string]any{"cid": cid, "payment": map[string]any{"token": "t"}}),
	}
}

func BenchmarkJudge(b *testing.B) {
	r := compile(b, simpleUCP)
	s := created(b, r, "c1")
	attempt := complete(b, "c1")
	b.ReportAllocs()
	for b.Loop() {
		if f, _ := enactment.Judge(s, attempt); len(f.Instances) != 1 {
			b.Fatal("refused")
		}
	}
}

func BenchmarkJudgeRefused(b *testing.B) {
	r := compile(b, simpleUCP)
	s := created(b, r, "c1")
	attempt := complete(b, "c1")
	attempt.Role = "Business"
	b.ReportAllocs()
	for b.Loop() {
		enactment.Judge(s, attempt)
	}
}

func BenchmarkJudgeWindow(b *testing.B) {
	r := compile(b, simpleUCP)
	for _, n := range []int{2, 8, 64} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := created(b, r, "c1")
			window := make([]enactment.Attempt, n)
			for i := range window {
				window[i] = complete(b, "c1")
				window[i].ID = fmt.Sprint("attempt-", i)
			}
			b.ReportAllocs()
			for b.Loop() {
				enactment.Judge(s, window...)
			}
		})
	}
}

func BenchmarkEnabled(b *testing.B) {
	r := compile(b, simpleUCP)
	s := created(b, r, "c1")
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for range s.Enabled("Platform") {
			n++
		}
		if n != 2 {
			b.Fatal(n)
		}
	}
}

func BenchmarkApply(b *testing.B) {
	r := compile(b, simpleUCP)
	f, _ := enactment.Judge(created(b, r, "c1"), complete(b, "c1"))
	s := r.NewState(`{"cid":"c1"}`)
	b.ReportAllocs()
	for b.Loop() {
		s = r.NewState(`{"cid":"c1"}`)
		s.Apply(f)
	}
}

// BenchmarkOpenEnactments reports the memory that an open enactment holds, values included, with Create and Created
// happened.
func BenchmarkOpenEnactments(b *testing.B) {
	r := compile(b, simpleUCP)
	var before, after runtime.MemStats
	for b.Loop() {
		const n = 20_000
		runtime.GC()
		runtime.ReadMemStats(&before)
		open := make([]*enactment.State, n)
		for i := range open {
			open[i] = created(b, r, fmt.Sprint("c", i))
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/n, "B/enactment")
		runtime.KeepAlive(open)
	}
}
