// Package journal keeps the logs of a system's enactments in a JetStream stream: one subject an enactment, one message a
// finalisation, compare-and-set on the subject's last sequence (architecture, idea 2).
//
// Any number of journals may work on one stream, in one process or many. Refusals are written to the same subject, so
// that one order holds for both: whoever appends knows every answer that was given before. A refusal's message expires
// when answers need not be kept any more; what happened never does.
//
// It decides by enactment.Judge alone and knows no clients. Start reading at [Journal.Decide].
package journal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"go.opentelemetry.io/otel/trace"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/internal/request"
	"github.com/strabo-engine/strabo/internal/stream"
	"github.com/strabo-engine/strabo/syncserver/internal/tracing"
	"github.com/strabo-engine/strabo/syncserver/internal/wire"
)

// Config says how a journal works. All fields are needed unless they say otherwise.
type Config struct {
	Conn     *request.Conn
	Subjects wire.Subjects
	Codec    wire.Codec
	// Retention is how long a refusal is kept.
	Retention time.Duration
	// Health is told how writes end; it may be nil.
	Health *stream.Health
	// Clock tells the time of day.
	Clock func() time.Time
	// Timeout bounds one write.
	Timeout time.Duration
	// MaxEntry is how many bytes an entry may have.
	MaxEntry int
	// Cache is how many instances may be kept of enactments that nobody uses at the moment.
	Cache int
	// Alone tells that nobody else writes to the log, so that what is known of an enactment need not be asked for.
	Alone bool
	// SnapshotEvery is after how many finalisations an enactment gets a new snapshot; 0 for never.
	SnapshotEvery int
	// Tracer makes a span for each write; the zero value makes none.
	Tracer tracing.Tracer
	Logger *slog.Logger
	// Appended is told of every entry that this journal has written, and of the attempts that were decided with it,
	// before anybody is answered; it may be nil. The enactment is locked meanwhile.
	Appended func(sequence uint64, e *wire.Entry, attempts []enactment.Attempt, outcomes []enactment.Outcome)
	// Folded is told of every finalisation that is folded into an enactment, be it written here or read, with the state
	// after it, or that of a later one where it comes from a snapshot; after a snapshot proved useless, of some again. The enactment is locked meanwhile. It may be nil.
	Folded func(*enactment.State, enactment.Finalisation)
	// Removed is told of every enactment that turns out to have been removed. The enactment is locked meanwhile. It may be nil.
	Removed func(enactment.Key)
	// Conflict is told of every write that lost against another server's, or was refused though nothing stood against
	// it; it may be nil.
	Conflict func(spurious bool)
}

// Journal reads and writes logs. Its methods are safe for concurrent use.
type Journal struct {
	Config
	js     jetstream.JetStream
	reader stream.Reader
	cache  *cache
	// background are snapshots on their way.
	background sync.WaitGroup
	saving     chan struct{} // has a token for each of them
}

// New makes a journal on streams that are there: see [Open].
func New(config Config) (*Journal, error) {
	js, err := jetstream.New(config.Conn.Conn)
	if err != nil {
		return nil, err
	}
	return &Journal{
		Config: config, js: js, cache: newCache(config.Cache, config.Folded, config.Removed), saving: make(chan struct{}, snapshotsAtOnce),
		reader: stream.Reader{Conn: config.Conn.Conn, Stream: config.Subjects.LogStream()},
	}, nil
}

// Cached is how many enactments are kept in memory.
func (j *Journal) Cached() int { return j.cache.size() }

// Reachable tells why the log cannot be reached; nil if it can.
func (j *Journal) Reachable(ctx context.Context) error {
	_, err := j.reader.Last(ctx, j.Subjects.Logs())
	return err
}

// Close waits until nothing is written any more.
func (j *Journal) Close() { j.background.Wait() }

// ErrDamaged says that what is in the log cannot be an enactment.
var ErrDamaged = errors.New("journal: the log is damaged")

// Arrival is an attempt to be decided.
type Arrival = enactment.Attempt

// Decide judges attempts of one enactment together, in order of arrival, and gives an outcome for each once the log
// holds it. Attempts that were answered before get that answer. The mark is the highest arrival among them, 0 in
// immediate finalisation; it is written with the decision. The error is [stream.ErrUnavailable], [ErrDamaged], or that of the
// context: then any of the attempts may have happened.
func (j *Journal) Decide(
	ctx context.Context, key enactment.Key, window []Arrival, mark uint64,
) (outcomes []enactment.Outcome, err error) {
	e, done, err := j.take(ctx, key)
	if err != nil {
		return nil, err
	}
	defer done()
	return j.decide(ctx, e, window, mark)
}

// DecideToEnd is Decide, but what was begun is brought to an end: when the context ends it only matters as long as others
// have the enactment.
func (j *Journal) DecideToEnd(
	ctx context.Context, key enactment.Key, window []Arrival, mark uint64,
) (outcomes []enactment.Outcome, err error) {
	e, done, err := j.take(ctx, key)
	if err != nil {
		return nil, err
	}
	defer done()
	return j.decide(context.WithoutCancel(ctx), e, window, mark)
}

// decide is Decide, for an enactment that is locked. A window whose entry would be too large is divided, and what happens
// by one attempt alone and is too large is refused.
func (j *Journal) decide(
	ctx context.Context, e *Enactment, window []Arrival, mark uint64,
) (outcomes []enactment.Outcome, err error) {
	for backoff := stream.FirstBackoff; ; {
		if e.doubt {
			if err := j.catchUp(ctx, e); err != nil {
				return nil, err
			}
		}
		d := e.draft(window, mark, j.Clock(), j.Retention)
		if d.entry == nil {
			return d.outcomes, nil
		}
		if !j.Codec.EntryFits(d.entry, j.MaxEntry) {
			if len(window) > 1 {
				first, err := j.decide(ctx, e, window[:len(window)/2], 0)
				if err != nil {
					return nil, err
				}
				second, err := j.decide(ctx, e, window[len(window)/2:], mark)
				return append(first, second...), err
			}
			d.refuse(e, j.MaxEntry)
		}
		if d.guess && !e.loaded {
			// Refused although nothing is known of the enactment: it will be there already.
			e.doubt = true
			continue
		}
		sequence, err := j.traced(ctx, e, &d)
		switch {
		case err == nil:
			e.apply(sequence, d.entry)
			if j.Appended != nil {
				j.Appended(sequence, d.entry, d.fresh, d.judged)
			}
			j.considerSnapshot(e)
			return d.outcomes, nil
		case errors.Is(err, stream.ErrConflict):
			known := e.last
			if err := j.catchUp(ctx, e); err != nil {
				return nil, err
			}
			if j.Conflict != nil {
				j.Conflict(e.last == known)
			}
			if e.last == known {
				if backoff, err = stream.Pause(ctx, backoff); err != nil {
					return nil, fmt.Errorf("%w: %w", stream.ErrUnavailable, err)
				}
			}
		default:
			e.doubt = true
			return nil, err
		}
	}
}

// take locks an enactment until done is called. The error is [stream.ErrUnavailable] if the context ends before others
// have done with it.
func (j *Journal) take(ctx context.Context, key enactment.Key) (e *Enactment, done func(), err error) {
	e = j.cache.acquire(key, j.Codec.Rules)
	select {
	case e.lock <- struct{}{}:
	default:
		select {
		case e.lock <- struct{}{}:
		case <-ctx.Done():
			j.cache.abandon(e)
			return nil, nil, fmt.Errorf("%w: %w", stream.ErrUnavailable, context.Cause(ctx))
		}
	}
	return e, func() {
		j.cache.release(e)
		<-e.lock
	}, nil
}

// traced is append, with a span.
func (j *Journal) traced(ctx context.Context, e *Enactment, d *draft) (uint64, error) {
	action := ""
	if len(d.fresh) == 1 {
		action = d.fresh[0].Action
	}
	ctx, span := j.Tracer.Start(ctx, "strabo.append", trace.SpanKindProducer, action)
	sequence, err := j.append(ctx, e, d.entry)
	j.Health.Note(err)
	switch {
	case err == nil:
		span.Ended(tracing.Appended, false)
	case errors.Is(err, stream.ErrConflict):
		span.Ended(tracing.Conflict, false)
	default:
		span.Ended(tracing.Failed, true)
	}
	return sequence, err
}

// append writes an entry behind what is known of the enactment.
func (j *Journal) append(ctx context.Context, e *Enactment, entry *wire.Entry) (uint64, error) {
	ttl := ""
	if len(entry.Finalisation.Instances) == 0 {
		ttl = TTL(j.Retention)
	}
	return stream.Begin(j.Conn, j.Subjects.Log(e.key), e.last, ttl, func(to []byte) []byte {
		return j.Codec.AppendEntry(to, entry)
	}).Wait(ctx, j.Timeout)
}

// TTL is a time to live as JetStream takes it: whole seconds, at least one.
func TTL(d time.Duration) string {
	return fmt.Sprintf("%ds", max(1, int64((d+time.Second-1)/time.Second)))
}

// Look lets read what is known of an enactment. The stream is not asked where that is not needed: the latest must be known
// only if asked for, and nothing if the enactment is said to be new. The view must not keep the enactment.
func (j *Journal) Look(ctx context.Context, key enactment.Key, latest, begun bool, view func(*Enactment)) error {
	e, done, err := j.take(ctx, key)
	if err != nil {
		return err
	}
	defer done()
	others := latest && !begun && !j.Alone // may have written what is asked for
	switch {
	case others:
		err = j.reach(ctx, e)
	case !begun && (e.last == 0 || e.doubt):
		err = j.catchUp(ctx, e)
	}
	if err != nil {
		return err
	}
	view(e)
	return nil
}
