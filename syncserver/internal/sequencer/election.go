package sequencer

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/syncserver/internal/journal"
	"github.com/strabo-engine/strabo/syncserver/internal/lease"
)

// ElectionConfig says how windows close and who may close them.
type ElectionConfig struct {
	Config
	Journal *journal.Journal
	// Intake is that of the same server: what it took in itself need not be read again.
	Intake *Intake
	// Span and Count close a window: after that time, and when it holds as many. One of them is positive.
	Span  time.Duration
	Count int
	// Retention is how old an attempt may be that is not late.
	Retention time.Duration
	// Lease is how long a sequencer that has fallen silent keeps its partition.
	Lease time.Duration
}

// Election has this server stand for every partition, and be the sequencer of those for which it is elected.
type Election struct {
	config ElectionConfig
	js     jetstream.JetStream
	watch  *lease.Watch
	cancel context.CancelFunc
	done   sync.WaitGroup

	mu   sync.Mutex
	held map[int]bool
}

// Stand starts to stand for election.
func Stand(config ElectionConfig) (*Election, error) {
	js, err := jetstream.New(config.Conn.Conn)
	if err != nil {
		return nil, err
	}
	e := &Election{config: config, js: js, held: make(map[int]bool)}
	e.watch = lease.NewWatch(config.Conn, config.Subjects.LeaseStream(), config.Subjects.SequencerLeases(), config.Lease, config.Timeout)
	ctx, cancel := context.WithCancel(context.Background())
	e.cancel = cancel
	e.done.Go(func() { e.stand(ctx) })
	return e, nil
}

// Close gives up every partition. It returns when nothing more is decided.
func (e *Election) Close() {
	e.cancel()
	e.done.Wait()
}

// stand looks now and then for partitions that have no sequencer.
func (e *Election) stand(ctx context.Context) {
	ticker := time.NewTicker(max(e.config.Lease/10, 10*time.Millisecond))
	defer ticker.Stop()
	for {
		if _, err := e.watch.Look(ctx); err == nil {
			for n := range Partitions {
				e.tryFor(ctx, n)
			}
		} else if ctx.Err() == nil {
			e.config.Logger.Warn("cannot see which sequencers live", "error", err)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

func (e *Election) tryFor(ctx context.Context, n int) {
	subject := e.config.Subjects.SequencerLease(n)
	if e.holds(n) || !e.watch.Free(subject) {
		return
	}
	holder, err := lease.Take(ctx, e.config.Conn, e.config.Subjects.LeaseStream(), subject, e.config.Name, true, e.config.Timeout)
	if err != nil {
		if !errors.Is(err, lease.ErrLost) && ctx.Err() == nil {
			e.config.Logger.Warn("cannot stand for a partition", "partition", n, "error", err)
		}
		return
	}
	e.mu.Lock()
	e.held[n] = true
	e.mu.Unlock()
	e.config.Logger.Info("elected", "partition", n, "from", holder.Position())
	e.done.Go(func() {
		e.lead(ctx, n, holder)
		e.mu.Lock()
		delete(e.held, n)
		e.mu.Unlock()
	})
}

func (e *Election) holds(n int) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.held[n]
}

// lead is the sequencer of a partition until the lease is lost or the server stops.
func (e *Election) lead(ctx context.Context, n int, holder *lease.Holder) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &sequencer{
		config: &e.config, partition: n, holder: holder, enactments: make(map[enactment.Key]*queue),
		shut: make(chan *window, 64), decided: make(chan *window, 64), arriving: make(chan arriving, 64),
		removed: make(chan uint64, 1), checkpoint: holder.Position(),
	}
	consumer, err := s.follow(ctx, e.js)
	if err == nil {
		s.run(ctx)
		consumer.Stop()
		<-consumer.Closed()
		s.working.Wait()
	} else if ctx.Err() == nil {
		e.config.Logger.Error("cannot follow the arrivals", "partition", n, "error", err)
	}
	if !e.config.Conn.IsConnected() {
		return
	}
	ending, stop := context.WithTimeout(context.WithoutCancel(ctx), e.config.Timeout)
	defer stop()
	if err := holder.End(ending); err != nil && !errors.Is(err, lease.ErrLost) {
		e.config.Logger.Warn("cannot give the partition up", "partition", n, "error", err)
	}
}
