// Package sequencer is batch finalisation on many servers: attempts go through a stream, whose sequence is the order of
// arrival, and for each partition of it one elected server puts them into windows and has them judged.
//
// [Intake] is the side that takes attempts in and waits for the answers, [Election] and the sequencer behind it the side
// that decides. A sequencer that only thinks that it is still elected does no harm: it writes under compare-and-set, and
// what another decided before it is found in the log. Start reading at [Intake.Submit] and [Election].
package sequencer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/internal/request"
	"github.com/strabo-engine/strabo/internal/stream"
	"github.com/strabo-engine/strabo/syncserver/internal/tracing"
	"github.com/strabo-engine/strabo/syncserver/internal/wire"
)

// Partitions is into how many parts the enactments of a system are divided. It can never change for a system that has
// attempts on their way.
const Partitions = 8

// partitionOf says where the attempts of an enactment go.
func partitionOf(key enactment.Key) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key))
	return int(h.Sum32() % Partitions)
}

// Bounds of one message of arrivals. The place of an arrival in its message must be less than placesPerMessage.
const (
	mostArrivals     = 128
	placesPerMessage = 1024
)

// Order is that of one arrival among all: of the message in the stream, and of its place there.
func Order(message uint64, place int) uint64 { return message*placesPerMessage + uint64(place) }

// Config says how attempts are taken in and put in order.
type Config struct {
	Conn     *request.Conn
	Subjects wire.Subjects
	Codec    wire.Codec
	// Name is the server's.
	Name string
	// Health is told how writes end; it may be nil.
	Health *stream.Health
	// Timeout bounds one write.
	Timeout time.Duration
	// Together is how many bytes of several attempts, or answers, may be in one message before the last of them.
	Together int
	// Tracer makes a span for each attempt that is judged; the zero value makes none.
	Tracer tracing.Tracer
	Logger *slog.Logger
}

// Intake takes attempts in. Those that come while a message is on its way go together in the next.
type Intake struct {
	Config
	reply   string // where answers are told
	answers *nats.Subscription
	ctx     context.Context
	cancel  context.CancelFunc
	done    sync.WaitGroup
	parts   [Partitions]part
	token   atomic.Uint64

	mu      sync.Mutex
	waiting map[string]chan result
	// sent has the last messages by number, for a sequencer in this process; those up to forgotten are left out.
	sent              map[uint64][]wire.Arrival
	number, forgotten uint64
}

// mostSent is how many messages are kept for a sequencer in this process.
const mostSent = 64

type result struct {
	outcome enactment.Outcome
	err     error
}

type part struct {
	mu      sync.Mutex
	waiting []wire.Arrival
	wake    chan struct{}
}

// NewIntake starts to take attempts in.
func NewIntake(config Config) (*Intake, error) {
	in := &Intake{
		Config: config, reply: config.Subjects.Answers(config.Name), waiting: make(map[string]chan result),
		sent: make(map[uint64][]wire.Arrival),
	}
	in.ctx, in.cancel = context.WithCancel(context.Background())
	var err error
	if in.answers, err = config.Conn.Subscribe(in.reply, in.told); err != nil {
		in.cancel()
		return nil, err
	}
	for n := range in.parts {
		in.parts[n].wake = make(chan struct{}, 1)
		in.done.Go(func() { in.send(n) })
	}
	return in, nil
}

// Close stops taking attempts in. Those that wait get no answer.
func (in *Intake) Close() {
	_ = in.answers.Unsubscribe()
	in.cancel()
	in.done.Wait()
}

// Submit puts an attempt of an enactment in the order of arrival and waits until it is decided. The error is that of the
// context, or says that the outcome is unknown.
func (in *Intake) Submit(ctx context.Context, key enactment.Key, a enactment.Attempt) (enactment.Outcome, error) {
	token := strconv.FormatUint(in.token.Add(1), 36)
	answer := make(chan result, 1)
	in.mu.Lock()
	in.waiting[token] = answer
	in.mu.Unlock()
	defer func() {
		in.mu.Lock()
		delete(in.waiting, token)
		in.mu.Unlock()
	}()
	p := &in.parts[partitionOf(key)]
	p.mu.Lock()
	p.waiting = append(p.waiting, wire.Arrival{Attempt: a, Token: token, Trace: tracing.Parent(ctx)})
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default:
	}
	select {
	case r := <-answer:
		return r.outcome, r.err
	case <-ctx.Done():
		return enactment.Outcome{}, fmt.Errorf("no answer in time: %w", context.Cause(ctx))
	case <-in.ctx.Done():
		return enactment.Outcome{}, errors.New("the server stops")
	}
}

// send publishes what arrives for one partition, one message after the other, so that the order is that of arrival here.
func (in *Intake) send(n int) {
	p := &in.parts[n]
	for {
		select {
		case <-p.wake:
		case <-in.ctx.Done():
			return
		}
		for {
			arrivals, data := in.take(p)
			if len(arrivals) == 0 {
				break
			}
			msg := nats.NewMsg(in.Subjects.Arrival(n))
			msg.Data = data
			_, err := stream.Publish(in.ctx, in.Conn, msg, in.Timeout)
			in.Health.Note(err)
			if err != nil {
				for i := range arrivals {
					in.tell(arrivals[i].Token, result{err: err})
				}
			}
		}
	}
}

// take takes what goes together in one message. What nobody waits for any more is dropped: it was not put in order, and
// while the stream cannot be reached it would only pile up.
func (in *Intake) take(p *part) ([]wire.Arrival, []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	in.mu.Lock()
	p.waiting = slices.DeleteFunc(p.waiting, func(a wire.Arrival) bool { return in.waiting[a.Token] == nil })
	in.mu.Unlock()
	n, size := 0, 0
	for n < len(p.waiting) && n < mostArrivals && size < in.Together {
		size += wire.AttemptBound(&p.waiting[n].Attempt)
		n++
	}
	arrivals := p.waiting[:n:n]
	p.waiting = p.waiting[n:]
	if n == 0 {
		return nil, nil
	}
	number := in.remember(arrivals)
	return arrivals, in.Codec.AppendArrivals(make([]byte, 0, 256*n), &wire.Arrivals{
		Reply: in.reply, Number: number, Attempts: arrivals,
	})
}

// remember gives a message its number, and keeps it.
func (in *Intake) remember(arrivals []wire.Arrival) uint64 {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.number++
	in.sent[in.number] = arrivals
	for len(in.sent) > mostSent {
		in.forgotten++
		delete(in.sent, in.forgotten)
	}
	return in.number
}

// takeBack gives what was sent with a message, once, for a sequencer in this process; false if it was sent by another server
// or long ago.
func (in *Intake) takeBack(reply string, number uint64) ([]wire.Arrival, bool) {
	if reply != in.reply {
		return nil, false
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	arrivals, ok := in.sent[number]
	delete(in.sent, number)
	return arrivals, ok
}

func (in *Intake) tell(token string, r result) {
	in.mu.Lock()
	answer := in.waiting[token]
	delete(in.waiting, token)
	in.mu.Unlock()
	if answer != nil {
		answer <- r
	}
}

// told hands on what a sequencer has decided.
func (in *Intake) told(msg *nats.Msg) {
	var form map[string]json.RawMessage
	if err := json.Unmarshal(msg.Data, &form); err != nil {
		in.Logger.Warn("a sequencer says what cannot be understood", "error", err)
		return
	}
	for token, text := range form {
		outcome, err := in.Codec.DecodeAnswer(text)
		in.tell(token, result{outcome, err})
	}
}
