package syncserver_test

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/syncserver/embedded"
)

// side makes so many operations and returns when all are done. What it prepares before it calls begin is not measured.
type side func(n int, begin func())

// cost is what operations took: time on the clock, processor time of the whole process, and allocations of the whole
// process, the embedded NATS among it.
type cost struct {
	wall, cpu   time.Duration
	allocations uint64
}

func (c *cost) add(other cost) {
	c.wall += other.wall
	c.cpu += other.cpu
	c.allocations += other.allocations
}

func measure(b *testing.B, run side, n int) cost {
	b.Helper()
	var c cost
	var before runtime.MemStats
	var began time.Time
	run(n, func() {
		runtime.ReadMemStats(&before)
		c.cpu, began = spent(b), time.Now()
	})
	c.wall = time.Since(began)
	c.cpu = spent(b) - c.cpu
	var after runtime.MemStats
	runtime.ReadMemStats(&after)
	c.allocations = after.Mallocs - before.Mallocs
	return c
}

// spent is the processor time that this process has taken.
func spent(b testing.TB) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// compare runs both sides in turn, a round of each after the other, so that whatever else the machine does meets both. It
// reports the rate of ours as a part of the reference's: the median of the rounds, since one that was disturbed says
// nothing. Rates, processor time and allocations are those of all rounds.
func compare(b *testing.B, round int, reference, ours side) {
	b.Helper()
	sides := [2]side{reference, ours}
	for _, run := range sides {
		measure(b, run, round) // until all is warm
	}
	var total [2]cost
	var ratios []float64
	b.ResetTimer()
	for range b.N { // an iteration is a round of each
		var now [2]cost
		for k := range sides {
			which := (k + len(ratios)) % 2
			now[which] = measure(b, sides[which], round)
			total[which].add(now[which])
		}
		ratios = append(ratios, float64(now[0].wall)/float64(now[1].wall))
	}
	slices.Sort(ratios)
	each := func(which int, amount float64) float64 { return amount / float64(round*len(ratios)) }
	b.ReportMetric(ratios[len(ratios)/2], "of-raw")
	b.ReportMetric(float64(total[0].cpu)/float64(total[1].cpu), "of-raw-cpu")
	b.ReportMetric(1/each(1, total[1].wall.Seconds()), "attempts/s")
	b.ReportMetric(1/each(0, total[0].wall.Seconds()), "raw/s")
	b.ReportMetric(each(1, total[1].cpu.Seconds())*1e6, "cpu-µs/attempt")
	b.ReportMetric(each(1, float64(total[1].allocations)), "allocs/attempt")
	b.ReportMetric(each(0, float64(total[0].allocations)), "allocs/raw")
	b.ReportMetric(each(1, float64(total[1].wall.Nanoseconds())), "ns/op")
}

// raw publishes with compare-and-set: writers, each four times to a subject and then to the next.
func raw(b *testing.B, s *embedded.Server, writers int) side {
	b.Helper()
	js, err := jetstream.New(connect(b, s))
	require.NoError(b, err)
	_, err = js.CreateOrUpdateStream(b.Context(), jetstream.StreamConfig{Name: "RAW", Subjects: []string{"raw.>"}})
	require.NoError(b, err)
	payload := make([]byte, 256)
	turn := 0
	return func(n int, begin func()) {
		turn++
		subjects := make([][]string, writers)
		for w := range writers {
			for k := range n / writers / 4 {
				subjects[w] = append(subjects[w], fmt.Sprintf("raw.%d.%d.%d.%d", writers, turn, w, k))
			}
		}
		begin()
		var done sync.WaitGroup
		for w := range writers {
			done.Go(func() {
				for _, subject := range subjects[w] {
					last := uint64(0)
					for range 4 {
						ack, err := js.Publish(b.Context(), subject, payload, jetstream.WithExpectLastSequencePerSubject(last))
						if err != nil {
							b.Error(err)
							return
						}
						last = ack.Sequence
					}
				}
			})
		}
		done.Wait()
	}
}

// tally counts what arrives, and lets wait for it.
type tally struct {
	mu   sync.Mutex
	more sync.Cond
	n    int
}

func newTally() *tally {
	t := &tally{}
	t.more.L = &t.mu
	return t
}

func (t *tally) count() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n++
	t.more.Broadcast()
}

func (t *tally) wait(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.n < n {
		t.more.Wait()
	}
}
