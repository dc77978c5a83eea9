package enactment_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/strabo-engine/strabo/enactment"
)

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
	b.ReportAllocs()
	for b.Loop() {
		s := r.NewState(`{"cid":"c1"}`)
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
