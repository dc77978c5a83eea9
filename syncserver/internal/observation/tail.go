package observation

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/internal/stream"
	"github.com/strabo-engine/strabo/syncserver/internal/wire"
)

// ringSize is how many entries the tail keeps for sessions that are a little behind.
const ringSize = 8192

// ringBytes is how many bytes of entries the tail keeps, as they are in the log, and mostItemBytes how many are read at
// once; but one entry at the least.
const (
	ringBytes     = 32 << 20
	mostItemBytes = 4 << 20
)

// item is an entry of the log and its place in the stream.
type item struct {
	sequence uint64
	entry    *wire.Entry
	bytes    int    // in the log
	trail    *trail // nil where the item was not followed, or nothing happened
}

// trail is what the tail knows of one enactment.
type trail struct {
	// first is the place of its first finalisation; 0 if the tail has not seen it.
	first uint64
	// latest is the last entry by which something happened.
	latest atomic.Pointer[wire.Entry]
	// count is how many of its items are in the ring; guarded by the tail's mutex.
	count int
}

// tail follows the log's end, so that each new entry is read and decoded once for all sessions.
type tail struct {
	codec  wire.Codec
	logger *slog.Logger
	stop   func()

	mu   sync.Mutex
	ring []item // of everything after base, in order
	base uint64
	// bytes is how large the ring's entries are together.
	bytes int
	wake  chan struct{} // closed when something was added
	// known has what this process wrote itself and has not come back yet.
	known map[uint64]*wire.Entry
	// trails has the enactments that are in the ring.
	trails map[enactment.Key]*trail
}

// follow starts to follow the log from its present end.
func follow(ctx context.Context, js jetstream.JetStream, name string, codec wire.Codec, logger *slog.Logger) (*tail, error) {
	s, err := js.Stream(ctx, name)
	if err != nil {
		return nil, err
	}
	base := s.CachedInfo().State.LastSeq
	t := &tail{
		codec: codec, logger: logger, base: base, wake: make(chan struct{}), known: make(map[uint64]*wire.Entry),
		trails: make(map[enactment.Key]*trail),
	}
	consumer, err := s.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: base + 1,
	})
	if err != nil {
		return nil, err
	}
	consuming, err := consumer.Consume(t.take)
	if err != nil {
		return nil, err
	}
	t.stop = func() {
		consuming.Stop()
		<-consuming.Closed()
	}
	return t, nil
}

// announce tells of an entry that this process has written, so that it need not be decoded when it comes.
func (t *tail) announce(sequence uint64, entry *wire.Entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if sequence > t.last() && len(t.known) < ringSize {
		t.known[sequence] = entry
	}
}

func (t *tail) last() uint64 {
	if len(t.ring) == 0 {
		return t.base
	}
	return t.ring[len(t.ring)-1].sequence
}

func (t *tail) take(msg jetstream.Msg) {
	metadata, err := msg.Metadata()
	if err != nil {
		t.logger.Error("a message of the log without metadata", "error", err)
		return
	}
	sequence := metadata.Sequence.Stream
	t.mu.Lock()
	entry := t.known[sequence]
	delete(t.known, sequence)
	t.mu.Unlock()
	if entry == nil {
		if entry, err = t.codec.DecodeEntry(msg.Data()); err != nil {
			t.logger.Error("a message of the log cannot be read", "sequence", sequence, "error", err)
			entry = &wire.Entry{}
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if sequence <= t.last() {
		return
	}
	t.ring = append(t.ring, item{sequence, entry, len(msg.Data()), t.onTrail(sequence, entry)})
	t.bytes += len(msg.Data())
	if len(t.ring) >= 2*ringSize || t.bytes > ringBytes && len(t.ring) > 1 {
		t.forget(len(t.ring) / 2)
	}
	close(t.wake)
	t.wake = make(chan struct{})
}

// onTrail notes that something happened in an enactment. The caller holds the mutex.
func (t *tail) onTrail(sequence uint64, entry *wire.Entry) *trail {
	if len(entry.Finalisation.Instances) == 0 {
		return nil
	}
	on := t.trails[entry.Key]
	if on == nil {
		on = &trail{}
		if entry.Finalisation.Sequence == 1 {
			on.first = sequence
		}
		t.trails[entry.Key] = on
	}
	on.latest.Store(entry)
	on.count++
	return on
}

// forget drops the oldest items. The caller holds the mutex.
func (t *tail) forget(count int) {
	for i := range t.ring[:count] {
		t.bytes -= t.ring[i].bytes
		if on := t.ring[i].trail; on != nil {
			if on.count--; on.count == 0 {
				delete(t.trails, t.ring[i].entry.Key)
			}
		}
	}
	t.base = t.ring[count-1].sequence
	t.ring = slices.Clone(t.ring[count:])
}

// after gives what follows a place in the stream, as far as the tail has it; what does not begin there is to be read
// from the stream. The channel is closed when there is more.
func (t *tail) after(sequence uint64, most int) (items []item, covered bool, more <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if sequence < t.base {
		return nil, false, t.wake
	}
	at, found := slices.BinarySearchFunc(t.ring, sequence, func(i item, s uint64) int {
		switch {
		case i.sequence < s:
			return -1
		case i.sequence > s:
			return 1
		}
		return 0
	})
	if found {
		at++
	}
	return t.ring[at:min(len(t.ring), at+most)], true, t.wake
}

// start is where the tail's own knowledge begins.
func (t *tail) start() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.base
}

// read gives what follows a place in the stream from the stream itself.
func (t *tail) read(ctx context.Context, r stream.Reader, subject string, after uint64, most int) ([]item, error) {
	var items []item
	bytes := 0
	err := r.Read(ctx, subject, after+1, func(m stream.Message) (bool, error) {
		entry, err := t.codec.DecodeEntry(m.Data)
		if err != nil {
			t.logger.Error("a message of the log cannot be read", "sequence", m.Sequence, "error", err)
			entry = &wire.Entry{}
		}
		items = append(items, item{sequence: m.Sequence, entry: entry, bytes: len(m.Data)})
		bytes += len(m.Data)
		return len(items) < most && bytes < mostItemBytes, nil
	})
	return items, err
}
