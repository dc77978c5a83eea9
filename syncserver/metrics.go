package syncserver

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/syncserver/internal/wire"
)

// buckets are the upper bounds of the latency histogram.
var buckets = [...]time.Duration{
	100 * time.Microsecond, 250 * time.Microsecond, 500 * time.Microsecond, time.Millisecond, 2500 * time.Microsecond,
	5 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond,
	250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2500 * time.Millisecond, 5 * time.Second,
}

// metrics counts what a server does.
type metrics struct {
	accepted, failures, conflicts, spurious atomic.Uint64
	latency                                 [len(buckets) + 1]atomic.Uint64
	nanoseconds                             atomic.Uint64

	mu      sync.Mutex
	refused map[enactment.Code]uint64
	turned  map[wire.Reason]uint64 // away
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

// turnedAway counts a request that was not done.
func (m *metrics) turnedAway(reason wire.Reason) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.turned == nil {
		m.turned = make(map[wire.Reason]uint64)
	}
	m.turned[reason]++
}

func (m *metrics) conflict(spurious bool) {
	if spurious {
		m.spurious.Add(1)
	} else {
		m.conflicts.Add(1)
	}
}

// family is one metric of all servers.
type family struct {
	name, kind, help string
	// samples writes those of one server.
	samples func(s *Server, name, label string, out func(format string, arguments ...any))
}

// families are the metrics in the order in which they are written.
var families = []family{
	{"strabo_attempts_total", "counter", "Attempts answered, by outcome.", (*Server).attemptSamples},
	{"strabo_attempt_seconds", "histogram", "How long an attempt took to be answered.", (*Server).latencySamples},
	{"strabo_open_enactments", "gauge", "Enactments of the whole system that have begun and are not complete.", (*Server).openSamples},
	single("strabo_conflicts_total", "counter", "Writes that lost against another server and were judged again.", func(s *Server) uint64 { return s.metrics.conflicts.Load() }),
	single("strabo_spurious_conflicts_total", "counter", "Writes refused although nothing stood against them.", func(s *Server) uint64 { return s.metrics.spurious.Load() }),
	{"strabo_refused_requests_total", "counter", "Requests for whatever that were not done, by reason.", (*Server).refusedSamples},
	single("strabo_in_flight", "gauge", "Attempts on their way.", func(s *Server) uint64 { return uint64(len(s.places)) }),
	single("strabo_feeds", "gauge", "Feeds served.", func(s *Server) uint64 { return uint64(s.host.Sessions()) }),
	single("strabo_cached_enactments", "gauge", "Enactments kept in memory.", func(s *Server) uint64 { return uint64(s.journal.Cached()) }),
	single("strabo_remembered_positions", "gauge", "Enactments of which it is known without asking which agent has them.", func(s *Server) uint64 { return uint64(s.host.Remembered()) }),
}

func single(name, kind, help string, value func(*Server) uint64) family {
	return family{name, kind, help, func(s *Server, name, label string, out func(string, ...any)) {
		out("%s{%s} %d\n", name, label, value(s))
	}}
}

// WriteMetrics writes what servers of different systems have counted, in the text format of Prometheus. How many
// enactments are open is read from the log, for the whole system; where that takes longer than a quarter of a second, it is
// told the next time. The error is that of the writer.
func WriteMetrics(w io.Writer, servers ...*Server) error {
	var failure error
	out := func(format string, arguments ...any) {
		if failure == nil {
			_, failure = fmt.Fprintf(w, format, arguments...)
		}
	}
	for _, f := range families {
		out("# HELP %s %s\n# TYPE %s %s\n", f.name, f.help, f.name, f.kind)
		for _, s := range servers {
			f.samples(s, f.name, fmt.Sprintf("system=%q", s.config.System), out)
		}
	}
	return failure
}

// WriteMetrics is the function of that name for one server.
func (s *Server) WriteMetrics(w io.Writer) error { return WriteMetrics(w, s) }

func (s *Server) attemptSamples(name, label string, out func(string, ...any)) {
	m := &s.metrics
	sample := func(outcome string, count uint64) { out("%s{%s,outcome=%q} %d\n", name, label, outcome, count) }
	sample("accepted", m.accepted.Load())
	sample("failed", m.failures.Load())
	m.mu.Lock()
	refused := maps.Clone(m.refused)
	m.mu.Unlock()
	for _, code := range slices.Sorted(maps.Keys(refused)) {
		sample(string(code), refused[code])
	}
}

func (s *Server) refusedSamples(name, label string, out func(string, ...any)) {
	m := &s.metrics
	m.mu.Lock()
	turned := maps.Clone(m.turned)
	m.mu.Unlock()
	for _, reason := range slices.Sorted(maps.Keys(turned)) {
		out("%s{%s,reason=%q} %d\n", name, label, reason, turned[reason])
	}
}

func (s *Server) latencySamples(name, label string, out func(string, ...any)) {
	m := &s.metrics
	var count uint64
	for i, bound := range buckets {
		count += m.latency[i].Load()
		out("%s_bucket{%s,le=\"%g\"} %d\n", name, label, bound.Seconds(), count)
	}
	count += m.latency[len(buckets)].Load()
	out("%s_bucket{%s,le=\"+Inf\"} %d\n", name, label, count)
	out("%s_sum{%s} %g\n", name, label, time.Duration(m.nanoseconds.Load()).Seconds())
	out("%s_count{%s} %d\n", name, label, count)
}

func (s *Server) openSamples(name, label string, out func(string, ...any)) {
	if open, known := s.openEnactments(); known {
		out("%s{%s} %d\n", name, label, open)
	}
}
