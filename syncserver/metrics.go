package syncserver

import (
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/strabo-engine/strabo/enactment"
)

// buckets are the upper bounds of the latency histogram.
var buckets = [...]time.Duration{
	100 * time.Microsecond, 250 * time.Microsecond, 500 * time.Microsecond, time.Millisecond, 2500 * time.Microsecond,
	5 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond,
	250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2500 * time.Millisecond, 5 * time.Second,
}

// metrics counts what a server does.
type metrics struct {
	accepted, failures, unserved, conflicts, spurious atomic.Uint64
	latency                                           [len(buckets) + 1]atomic.Uint64
	nanoseconds                                       atomic.Uint64

	mu      sync.Mutex
	refused map[enactment.Code]uint64
}

func (m *metrics) decided(rejection *enactment.Rejection, began time.Time) {
	if rejection == nil {
		m.accepted.Add(1)
	} else {
		m.mu.Lock()
		if m.refused == nil {
			m.refused = make(map[enactment.Code]uint64)
		}
		m.refused[rejection.Code]++
		m.mu.Unlock()
	}
	m.took(time.Since(began))
}

func (m *metrics) failed(began time.Time) {
	m.failures.Add(1)
	m.took(time.Since(began))
}

func (m *metrics) took(d time.Duration) {
	at := 0
	for at < len(buckets) && d > buckets[at] {
		at++
	}
	m.latency[at].Add(1)
	m.nanoseconds.Add(uint64(d))
}

func (m *metrics) refusedRequest() { m.unserved.Add(1) }

func (m *metrics) conflict(spurious bool) {
	if spurious {
		m.spurious.Add(1)
	} else {
		m.conflicts.Add(1)
	}
}

// WriteMetrics writes what the server has counted, in the text format of Prometheus.
func (s *Server) WriteMetrics(w io.Writer) error {
	m := &s.metrics
	label := fmt.Sprintf("system=%q", s.config.System)
	out := func(format string, arguments ...any) { _, _ = fmt.Fprintf(w, format+"\n", arguments...) }
	out("# HELP strabo_attempts_total Attempts answered, by outcome.")
	out("# TYPE strabo_attempts_total counter")
	out("strabo_attempts_total{%s,outcome=\"accepted\"} %d", label, m.accepted.Load())
	out("strabo_attempts_total{%s,outcome=\"failed\"} %d", label, m.failures.Load())
	m.mu.Lock()
	codes := make([]enactment.Code, 0, len(m.refused))
	for code := range m.refused {
		codes = append(codes, code)
	}
	slices.Sort(codes)
	for _, code := range codes {
		out("strabo_attempts_total{%s,outcome=%q} %d", label, code, m.refused[code])
	}
	m.mu.Unlock()
	out("# HELP strabo_attempt_seconds How long an attempt took to be answered.")
	out("# TYPE strabo_attempt_seconds histogram")
	var count uint64
	for i, bound := range buckets {
		count += m.latency[i].Load()
		out("strabo_attempt_seconds_bucket{%s,le=\"%g\"} %d", label, bound.Seconds(), count)
	}
	count += m.latency[len(buckets)].Load()
	out("strabo_attempt_seconds_bucket{%s,le=\"+Inf\"} %d", label, count)
	out("strabo_attempt_seconds_sum{%s} %g", label, time.Duration(m.nanoseconds.Load()).Seconds())
	out("strabo_attempt_seconds_count{%s} %d", label, count)
	for _, c := range []struct {
		name, kind, help string
		value            uint64
	}{
		{"strabo_conflicts_total", "counter", "Writes that lost against another server and were judged again.", m.conflicts.Load()},
		{"strabo_spurious_conflicts_total", "counter", "Writes refused although nothing stood against them.", m.spurious.Load()},
		{"strabo_unserved_requests_total", "counter", "Requests not taken in: too many, or with a reply subject that is none.", m.unserved.Load()},
		{"strabo_in_flight", "gauge", "Attempts on their way.", uint64(len(s.places))},
		{"strabo_feeds", "gauge", "Feeds served.", uint64(s.host.Sessions())},
		{"strabo_cached_enactments", "gauge", "Enactments kept in memory.", uint64(s.journal.Cached())},
		{"strabo_remembered_positions", "gauge", "Enactments of which it is known without asking which agent has them.", uint64(s.host.Remembered())},
	} {
		out("# HELP %s %s", c.name, c.help)
		out("# TYPE %s %s", c.name, c.kind)
		if _, err := fmt.Fprintf(w, "%s{%s} %d\n", c.name, label, c.value); err != nil {
			return err
		}
	}
	return nil
}
