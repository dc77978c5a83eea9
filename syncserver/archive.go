package syncserver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/internal/stream"
	"github.com/strabo-engine/strabo/syncserver/internal/journal"
	"github.com/strabo-engine/strabo/syncserver/internal/wire"
)

// Archive reads the log of a system as an operator sees it: everything but secrets. It needs the engine's own
// credentials, and no server that runs.
type Archive struct {
	rules    *enactment.Rules
	conn     *nats.Conn
	subjects wire.Subjects
	codec    wire.Codec
	log      stream.Reader
}

// ErrNoSystem says that no log of that name is there.
var ErrNoSystem = errors.New("there is no such system here")

// NewArchive opens the log of a system; an empty name is [SystemName]. The error is [ErrNoKeys] if the protocol has secrets
// and there are no keys, a [*ProtocolError] if the log is of another protocol, and [ErrNoSystem] if there is none.
func NewArchive(ctx context.Context, conn *nats.Conn, rules *enactment.Rules, system string, keys *Keyring) (*Archive, error) {
	if system == "" {
		system = SystemName(rules)
	}
	subjects, err := wire.NewSubjects(system)
	if err != nil {
		return nil, err
	}
	a := &Archive{
		rules: rules, conn: conn, subjects: subjects, codec: wire.Codec{Rules: rules},
		log: stream.Reader{Conn: conn, Stream: subjects.LogStream()},
	}
	if keys != nil {
		a.codec.Sealer = keys
	}
	if keys == nil && secrets(rules) {
		return nil, ErrNoKeys
	}
	js, err := jetstream.New(conn)
	if err != nil {
		return nil, err
	}
	err = journal.Check(ctx, js, subjects.LogStream(), rules)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		err = fmt.Errorf("%w: %q", ErrNoSystem, system)
	}
	if err != nil {
		return nil, fmt.Errorf("syncserver: %w", err)
	}
	return a, nil
}

// Summary says how an enactment stands.
type Summary struct {
	Enactment enactment.Key `json:"enactment"`
	// Sequence is that of the last finalisation.
	Sequence uint64 `json:"sequence"`
	// Last are the actions that happened by it.
	Last     []string `json:"last"`
	Complete bool     `json:"complete"`
	// Parties says who plays each role that is taken.
	Parties map[string]string `json:"parties,omitempty"`
	Began   time.Time         `json:"began"`
	Latest  time.Time         `json:"latest"`
}

// Enactments lists every enactment, in the order in which they began. It blocks until the log is read. The error says why
// it cannot be.
func (a *Archive) Enactments(ctx context.Context) ([]Summary, error) {
	found := make(map[enactment.Key]int)
	var all []Summary
	gone := make(map[int]bool) // removed while the log was read
	err := a.entries(ctx, a.subjects.Logs(), 1, func(_ uint64, e *wire.Entry) bool {
		if at, ok := found[e.Key]; ok && e.Removed {
			gone[at] = true
		}
		if len(e.Finalisation.Instances) == 0 {
			return true
		}
		at, ok := found[e.Key]
		if !ok {
			at = len(all)
			found[e.Key] = at
			all = append(all, Summary{Enactment: e.Key, Began: e.At})
		}
		s := &all[at]
		s.Sequence, s.Latest, s.Parties, s.Last = e.Finalisation.Sequence, e.At, e.Seats, nil
		s.Complete = s.Complete || e.Finalisation.Completed
		for i := range e.Finalisation.Instances {
			s.Last = append(s.Last, e.Finalisation.Instances[i].Action)
		}
		return true
	})
	if len(gone) > 0 {
		left := all[:0]
		for at := range all {
			if !gone[at] {
				left = append(left, all[at])
			}
		}
		all = left
	}
	return all, err
}

func (a *Archive) entries(ctx context.Context, subject string, from uint64, visit func(uint64, *wire.Entry) bool) error {
	return a.log.Read(ctx, subject, from, func(m stream.Message) (bool, error) {
		e, err := a.codec.DecodeEntry(m.Data)
		if err != nil {
			return false, fmt.Errorf("message %d of the log: %w", m.Sequence, err)
		}
		return visit(m.Sequence, e), nil
	})
}

// Records visits what happened, what was refused and is still remembered, and what became complete: in one enactment, or
// in all of them if the key is empty. It ends when visit says no. It blocks until then or until the log is read, and calls
// visit in this goroutine. The error says why it cannot be read.
func (a *Archive) Records(ctx context.Context, key enactment.Key, visit func(enactment.Record) bool) error {
	_, err := a.records(ctx, key, 1, visit)
	return err
}

func (a *Archive) records(ctx context.Context, key enactment.Key, from uint64, visit func(enactment.Record) bool) (uint64, error) {
	last := from - 1
	err := a.entries(ctx, a.subject(key), from, func(sequence uint64, e *wire.Entry) bool {
		last = sequence
		for _, r := range a.recordsOf(e) {
			if !visit(r) {
				return false
			}
		}
		return true
	})
	return last, err
}

func (a *Archive) subject(key enactment.Key) string {
	if key == "" {
		return a.subjects.Logs()
	}
	return a.subjects.Log(key)
}

func (a *Archive) recordsOf(e *wire.Entry) []enactment.Record {
	var records []enactment.Record
	f := e.Finalisation
	for _, instance := range f.Instances {
		records = append(records, a.rules.HappenedRecord(e.Key, f.Sequence, instance, e.At))
	}
	for _, r := range e.Refused {
		attempt := enactment.Attempt{ID: r.Attempt, Identity: r.Identity, Action: r.Action}
		records = append(records, a.rules.RefusedRecord(e.Key, r.Sequence, attempt, r.Rejection, e.At))
	}
	if f.Completed {
		records = append(records, a.rules.CompletedRecord(e.Key, f.Sequence, e.At))
	}
	return records
}

// Watch visits what there is, and then what comes, until the context ends or visit says no. It blocks until then, and
// calls visit in this goroutine. The error says why the log cannot be read; an end of the context is none.
func (a *Archive) Watch(ctx context.Context, key enactment.Key, visit func(enactment.Record) bool) error {
	js, err := jetstream.New(a.conn)
	if err != nil {
		return err
	}
	consumer, err := js.OrderedConsumer(ctx, a.subjects.LogStream(), jetstream.OrderedConsumerConfig{FilterSubjects: []string{a.subject(key)}})
	if err != nil {
		return err
	}
	messages, err := consumer.Messages()
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, messages.Stop)()
	defer messages.Stop()
	for {
		msg, err := messages.Next()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		e, err := a.codec.DecodeEntry(msg.Data())
		if err != nil {
			return err
		}
		for _, r := range a.recordsOf(e) {
			if !visit(r) {
				return nil
			}
		}
	}
}

// State folds an enactment. It blocks until the log of the enactment is read. The error says why it cannot be.
func (a *Archive) State(ctx context.Context, key enactment.Key) (*enactment.State, error) {
	s := a.rules.NewState(key)
	err := a.entries(ctx, a.subjects.Log(key), 1, func(_ uint64, e *wire.Entry) bool {
		if e.Removed {
			s = a.rules.NewState(key)
		}
		if len(e.Finalisation.Instances) > 0 {
			s.Apply(e.Finalisation)
		}
		return true
	})
	return s, err
}

// Fault is something in a log that cannot have been judged so.
type Fault struct {
	Enactment enactment.Key `json:"enactment"`
	Sequence  uint64        `json:"sequence"`
	Detail    string        `json:"detail"`
}

// Verify judges a log again, finalisation by finalisation: what happened must be what would happen, alone or together. It
// tells how many finalisations it judged. An empty key stands for all enactments. It blocks until the log is read, and
// calls visit in this goroutine for each finalisation that is not so. The error says why the log cannot be read.
func (a *Archive) Verify(ctx context.Context, key enactment.Key, visit func(Fault)) (int, error) {
	states := make(map[enactment.Key]*enactment.State)
	judged := 0
	err := a.entries(ctx, a.subject(key), 1, func(_ uint64, e *wire.Entry) bool {
		if e.Removed {
			delete(states, e.Key)
		}
		if len(e.Finalisation.Instances) == 0 {
			return true
		}
		s, ok := states[e.Key]
		if !ok {
			s = a.rules.NewState(e.Key)
			states[e.Key] = s
		}
		judged++
		if detail := judgeAgain(s, e); detail != "" {
			visit(Fault{e.Key, e.Finalisation.Sequence, detail})
		}
		if e.Finalisation.Sequence > s.Sequence() {
			s.Apply(e.Finalisation)
		}
		return true
	})
	return judged, err
}

// judgeAgain says what is wrong with an entry; nothing if it is empty.
func judgeAgain(s *enactment.State, e *wire.Entry) string {
	f := e.Finalisation
	if f.Sequence != s.Sequence()+1 {
		return fmt.Sprintf("it follows on %d", s.Sequence())
	}
	window := make([]enactment.Attempt, len(f.Instances))
	for i := range f.Instances {
		instance := &f.Instances[i]
		window[i] = enactment.Attempt{
			ID: instance.Attempt, Identity: enactment.Identity{Role: instance.Role, Party: instance.Party},
			Action: instance.Action, Values: maps.Collect(instance.Values()), Parties: instance.Parties,
		}
	}
	again, outcomes := enactment.Judge(s, window...)
	for i, o := range outcomes {
		if o.Rejection != nil {
			return fmt.Sprintf("%s would be refused: %s", window[i].Action, o.Rejection)
		}
	}
	if again.Completed != f.Completed {
		return fmt.Sprintf("it says completed %t, and that is %t", f.Completed, again.Completed)
	}
	return ""
}
