package sequencer

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"go.opentelemetry.io/otel/trace"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/internal/stream"
	"github.com/strabo-engine/strabo/syncserver/internal/journal"
	"github.com/strabo-engine/strabo/syncserver/internal/lease"
	"github.com/strabo-engine/strabo/syncserver/internal/tracing"
	"github.com/strabo-engine/strabo/syncserver/internal/wire"
)

// sequencer puts the arrivals of one partition into windows and has them judged. One goroutine does all but the judging.
type sequencer struct {
	config    *ElectionConfig
	partition int
	holder    *lease.Holder

	arriving chan arriving
	shut     chan *window // whose time is over
	decided  chan *window
	working  sync.WaitGroup

	enactments map[enactment.Key]*queue
	// outstanding are messages with arrivals that are not decided, in order; everything up to checkpoint is.
	outstanding []*message
	checkpoint  uint64
	// purged is up to where arrivals were removed. While purging, what is removed beside is told by removed: up to where,
	// 0 if it is not known whether it was.
	purged  uint64
	purging bool
	removed chan uint64
}

// arriving is a message of the stream.
type arriving struct {
	sequence uint64
	at       time.Time
	reply    string
	arrivals []wire.Arrival
}

// message counts the arrivals of a message that are not decided.
type message struct {
	sequence uint64
	reply    string
	left     int
}

// queue is what is to be decided in one enactment: windows one after the other.
type queue struct {
	key    enactment.Key
	open   *window
	closed []*window
	busy   bool
}

// window holds arrivals that are to be judged together.
type window struct {
	queue    *queue
	arrivals []wire.Arrival
	from     []*message
	mark     uint64 // the order of the last
	timer    *time.Timer
	isShut   bool
}

// mostOutstanding bounds how many messages may wait to be decided.
const mostOutstanding = 4096

// follow reads the arrivals of the partition in order, from the first that may be undecided.
func (s *sequencer) follow(ctx context.Context, js jetstream.JetStream) (jetstream.ConsumeContext, error) {
	arrivals, err := js.Stream(ctx, s.config.Subjects.ArrivalStream())
	if err != nil {
		return nil, err
	}
	if last := arrivals.CachedInfo().State.LastSeq; last < s.checkpoint {
		// The store lost what it had not flushed when the power went, and gives the same sequences once more. What is
		// there is decided again; what was is answered from the log.
		s.config.Logger.Warn("arrivals are lost", "partition", s.partition, "decided", s.checkpoint, "last", last)
		s.checkpoint = 0
	}
	consumer, err := js.OrderedConsumer(ctx, s.config.Subjects.ArrivalStream(), jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{s.config.Subjects.Arrival(s.partition)},
		DeliverPolicy:  jetstream.DeliverByStartSequencePolicy, OptStartSeq: s.checkpoint + 1,
	})
	if err != nil {
		return nil, err
	}
	return consumer.Consume(func(msg jetstream.Msg) {
		metadata, err := msg.Metadata()
		if err != nil {
			s.config.Logger.Error("an arrival without metadata", "error", err)
			return
		}
		a := arriving{sequence: metadata.Sequence.Stream, at: metadata.Timestamp}
		if arrivals, err := s.config.Codec.DecodeArrivals(msg.Data(), s.config.Intake.takeBack); err == nil {
			a.reply, a.arrivals = arrivals.Reply, arrivals.Attempts
		} else {
			s.config.Logger.Error("arrivals that cannot be read are passed over", "sequence", a.sequence, "error", err)
		}
		select {
		case s.arriving <- a:
		case <-ctx.Done():
		}
	})
}

// run decides until the context ends or the lease is lost.
func (s *sequencer) run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	renew := time.NewTicker(max(s.config.Lease/3, time.Millisecond))
	defer renew.Stop()
	until := time.Now().Add(s.config.Lease)
	defer s.stopTimers()
	for {
		arriving := s.arriving
		if len(s.outstanding) >= mostOutstanding {
			arriving = nil
		}
		select {
		case a := <-arriving:
			s.arrive(ctx, a)
		case w := <-s.shut:
			s.close(ctx, w)
		case w := <-s.decided:
			s.settle(ctx, w)
		case upTo := <-s.removed:
			s.purging = false
			s.purged = max(s.purged, upTo)
		case <-renew.C:
			began := time.Now()
			s.holder.SetPosition(s.checkpoint)
			switch err := s.holder.Renew(ctx); {
			case err == nil:
				until = began.Add(s.config.Lease)
				s.purge(ctx)
			case errors.Is(err, lease.ErrLost) || time.Now().After(until):
				s.config.Logger.Warn("no longer the sequencer", "partition", s.partition, "error", err)
				return
			}
		case <-ctx.Done():
			s.holder.SetPosition(s.checkpoint)
			return
		}
	}
}

// arrive puts arrivals into the windows of their enactments.
func (s *sequencer) arrive(ctx context.Context, a arriving) {
	m := &message{sequence: a.sequence, reply: a.reply}
	s.outstanding = append(s.outstanding, m)
	for n := range a.arrivals {
		arrival := &a.arrivals[n]
		arrival.Attempt.Late = !arrival.Attempt.At.IsZero() && a.at.Sub(arrival.Attempt.At) > s.config.Retention
		key, unplaced := s.config.Codec.Rules.KeyOf(arrival.Attempt)
		if unplaced != nil {
			continue // a server takes in none of that kind
		}
		m.left++
		q := s.enactments[key]
		if q == nil {
			q = &queue{key: key}
			s.enactments[key] = q
		}
		w := q.open
		if w == nil {
			w = s.open(ctx, q)
		}
		w.arrivals, w.from = append(w.arrivals, *arrival), append(w.from, m)
		w.mark = Order(a.sequence, n)
		if len(w.arrivals) == s.config.Count {
			s.close(ctx, w)
		}
	}
	s.advance()
}

func (s *sequencer) open(ctx context.Context, q *queue) *window {
	w := &window{queue: q}
	q.open = w
	if s.config.Span > 0 {
		w.timer = time.AfterFunc(s.config.Span, func() {
			select {
			case s.shut <- w:
			case <-ctx.Done():
			}
		})
	}
	return w
}

// close has a window decided, once those before it are.
func (s *sequencer) close(ctx context.Context, w *window) {
	if w.isShut {
		return
	}
	w.isShut = true
	if w.timer != nil {
		w.timer.Stop()
	}
	w.queue.open = nil
	w.queue.closed = append(w.queue.closed, w)
	s.next(ctx, w.queue)
}

func (s *sequencer) next(ctx context.Context, q *queue) {
	if q.busy || len(q.closed) == 0 {
		if !q.busy && q.open == nil {
			delete(s.enactments, q.key)
		}
		return
	}
	w := q.closed[0]
	q.closed = q.closed[1:]
	q.busy = true
	s.working.Go(func() {
		s.decide(ctx, w)
		select {
		case s.decided <- w:
		case <-ctx.Done():
		}
	})
}

// settle notes that a window is decided.
func (s *sequencer) settle(ctx context.Context, w *window) {
	for _, m := range w.from {
		m.left--
	}
	w.queue.busy = false
	s.next(ctx, w.queue)
	s.advance()
}

// advance moves the checkpoint over what is decided.
func (s *sequencer) advance() {
	for len(s.outstanding) > 0 && s.outstanding[0].left == 0 {
		s.checkpoint = s.outstanding[0].sequence
		s.outstanding = s.outstanding[1:]
	}
}

// decide has a window judged, however long it takes, and tells those who wait.
func (s *sequencer) decide(ctx context.Context, w *window) {
	attempts := make([]enactment.Attempt, len(w.arrivals))
	for i := range w.arrivals {
		attempts[i] = w.arrivals[i].Attempt
	}
	spans := s.judging(ctx, w)
	ctx = tracing.WithLinks(ctx, spans)
	for backoff := 10 * time.Millisecond; ; {
		outcomes, err := s.config.Journal.Decide(ctx, w.queue.key, attempts, w.mark)
		if err == nil {
			for i := range spans {
				spans[i].Decided(&outcomes[i], nil)
			}
			s.tell(w, func(i int) result { return result{outcome: outcomes[i]} })
			return
		}
		if errors.Is(err, journal.ErrDamaged) {
			s.config.Logger.Error("a window cannot be decided", "enactment", w.queue.key, "error", err)
			unknown(spans)
			failure := &wire.Error{Reason: wire.Unavailable, Detail: err.Error()}
			s.tell(w, func(int) result { return result{err: failure} })
			return
		}
		if backoff, err = stream.Pause(ctx, backoff); err != nil {
			unknown(spans)
			return
		}
	}
}

// judging begins a span for each attempt of a window, in the trace of the server that took it in; nil if no spans are
// made.
func (s *sequencer) judging(ctx context.Context, w *window) []tracing.Span {
	if !s.config.Tracer.On() {
		return nil
	}
	spans := make([]tracing.Span, len(w.arrivals))
	for i := range w.arrivals {
		a := &w.arrivals[i]
		_, spans[i] = s.config.Tracer.Start(tracing.WithParent(ctx, a.Trace), "strabo.judge", trace.SpanKindConsumer, a.Attempt.Action)
	}
	return spans
}

// unknown ends spans of attempts of which it is not known what became.
func unknown(spans []tracing.Span) {
	for _, span := range spans {
		span.Ended(tracing.Failed, true)
	}
}

// tell answers the servers that took the arrivals in, others each with one message.
func (s *sequencer) tell(w *window, answer func(i int) result) {
	messages := make(map[string][]byte)
	for i := range w.arrivals {
		token, reply, r := w.arrivals[i].Token, w.from[i].reply, answer(i)
		if reply == s.config.Intake.reply {
			s.config.Intake.tell(token, r)
			continue
		}
		text, ok := messages[reply]
		if !ok {
			text = append(make([]byte, 0, 256*len(w.arrivals)), '{')
		} else {
			text = append(text, ',')
		}
		text = append(append(append(text, '"'), token...), '"', ':')
		if r.err != nil {
			text = append(text, (&wire.Error{Reason: wire.Unavailable, Detail: r.err.Error()}).Encode()...)
		} else {
			text = wire.AppendAnswer(text, &r.outcome)
		}
		messages[reply] = text
		if len(text) > s.config.Together {
			s.send(reply, text)
			delete(messages, reply)
		}
	}
	for reply, text := range messages {
		s.send(reply, text)
	}
}

func (s *sequencer) send(reply string, text []byte) {
	if !bytes.HasPrefix([]byte(reply), []byte(s.config.Subjects.Answers(""))) {
		return // no server writes such an arrival
	}
	if err := s.config.Conn.Publish(reply, append(text, '}')); err != nil {
		s.config.Logger.Warn("cannot tell a server what was decided", "error", err)
	}
}

// purge removes arrivals that are decided and that no sequencer will read again. It does so beside the rest and not for
// ever: where the request is lost with the leader of the stream, nothing that is to be decided waits for its answer.
func (s *sequencer) purge(ctx context.Context) {
	if s.checkpoint == s.purged || s.purging {
		return
	}
	s.purging = true
	upTo := s.checkpoint
	request := []byte(`{"filter":"` + s.config.Subjects.Arrival(s.partition) + `","seq":` + uintText(upTo+1) + `}`)
	s.working.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, s.config.Timeout)
		defer cancel()
		if _, err := s.config.Conn.RequestWithContext(ctx, "$JS.API.STREAM.PURGE."+s.config.Subjects.ArrivalStream(), request); err != nil {
			upTo = 0
		}
		s.removed <- upTo // has room: only one removes at a time
	})
}

func uintText(n uint64) string { return strconv.FormatUint(n, 10) }

func (s *sequencer) stopTimers() {
	for _, q := range s.enactments {
		if q.open != nil && q.open.timer != nil {
			q.open.timer.Stop()
		}
	}
}
