package syncserver

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/syncserver/internal/journal"
	"github.com/strabo-engine/strabo/syncserver/internal/stream"
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

// NewArchive opens the log of a system; an empty name is [SystemName]. Keys are needed where the protocol has secrets.
// The error is a [*ProtocolError] if the log is of another protocol.
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
	js, err := jetstream.New(conn)
	if err != nil {
		return nil, err
	}
	err = journal.Check(ctx, js, subjects.LogStream(), rules)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		err = fmt.Errorf("there is no system %q here", system)
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

// Enactments lists every enactment, in the order in which they began.
func (a *Archive) Enactments(ctx context.Context) ([]Summary, error) {
	found := make(map[enactment.Key]int)
	var all []Summary
	err := a.entries(ctx, a.subjects.Logs(), 1, func(_ uint64, e *wire.Entry) bool {
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
// in all of them if the key is empty. It ends when visit says no.
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

// Watch visits what there is, and then what comes, until the context ends or visit says no.
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

// State folds an enactment.
func (a *Archive) State(ctx context.Context, key enactment.Key) (*enactment.State, error) {
	s := a.rules.NewState(key)
	err := a.entries(ctx, a.subjects.Log(key), 1, func(_ uint64, e *wire.Entry) bool {
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

// Verify judges a log again, finalisation by finalisation: what happened must be what would happen, alone or together.
// It tells how many finalisations it judged. An empty key stands for all enactments.
func (a *Archive) Verify(ctx context.Context, key enactment.Key, visit func(Fault)) (int, error) {
	states := make(map[enactment.Key]*enactment.State)
	judged := 0
	err := a.entries(ctx, a.subject(key), 1, func(_ uint64, e *wire.Entry) bool {
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

// backupLine is one message of a backup.
type backupLine struct {
	Stream  string          `json:"stream"`
	Subject string          `json:"subject"`
	At      time.Time       `json:"at"`
	Data    json.RawMessage `json:"data"`
	// TTL is for messages that expire.
	Expires bool `json:"expires,omitempty"`
}

// backupHead is the first line of a backup.
type backupHead struct {
	Backup   int    `json:"strabo-backup"`
	System   string `json:"system"`
	Protocol string `json:"protocol"`
	Hash     string `json:"hash"`
	Secrets  string `json:"secrets"`
}

const backupVersion = 1

// Backup writes the log and the positions of all agents, one message a line. Secrets stay sealed, so that the keys are
// needed to use the backup, unless withSecrets has them written in the clear.
func (a *Archive) Backup(ctx context.Context, w io.Writer, withSecrets bool) (int, error) {
	out := bufio.NewWriter(w)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	head := backupHead{backupVersion, a.subjects.LogStream(), a.rules.Protocol().Name(), a.rules.Hash(), "sealed"}
	if withSecrets {
		head.Secrets = "open"
	}
	if err := encoder.Encode(head); err != nil {
		return 0, err
	}
	count := 0
	err := a.log.Read(ctx, a.subjects.Logs(), 1, func(m stream.Message) (bool, error) {
		e, err := a.codec.DecodeEntry(m.Data)
		if err != nil {
			return false, fmt.Errorf("message %d of the log: %w", m.Sequence, err)
		}
		data := m.Data
		if withSecrets {
			data = wire.Codec{Rules: a.rules, Open: true}.AppendEntry(nil, e)
		}
		count++
		return true, encoder.Encode(backupLine{"log", m.Subject, m.Time, data, len(e.Finalisation.Instances) == 0})
	})
	if err != nil {
		return count, err
	}
	positions := stream.Reader{Conn: a.conn, Stream: a.subjects.PositionStream()}
	err = positions.Read(ctx, a.subjects.Positions(), 1, func(m stream.Message) (bool, error) {
		count++
		return true, encoder.Encode(backupLine{"positions", m.Subject, m.Time, m.Data, false})
	})
	return count, errors.Join(err, out.Flush())
}

// Restore makes a system from a backup. There must be none of its name. Refusals are kept as long as retention says,
// from when they were given.
func Restore(ctx context.Context, conn *nats.Conn, rules *enactment.Rules, config ServerConfig, r io.Reader) (int, error) {
	config = config.withDefaults(rules)
	subjects, err := wire.NewSubjects(config.System)
	if err != nil {
		return 0, err
	}
	lines := bufio.NewReader(r)
	decoder := json.NewDecoder(lines)
	var head backupHead
	if err := decoder.Decode(&head); err != nil || head.Backup != backupVersion {
		return 0, errors.Join(errors.New("syncserver: not a backup"), err)
	}
	if head.Hash != rules.Hash() {
		return 0, fmt.Errorf("syncserver: %w", &ProtocolError{Stream: head.System, Protocol: head.Protocol, Hash: head.Hash, Want: rules.Hash()})
	}
	codec := wire.Codec{Rules: rules}
	if config.Keys != nil {
		codec.Sealer = config.Keys
	} else if secrets(rules) {
		return 0, errors.New("syncserver: the protocol has secrets, and there are no keys to seal them with")
	}
	js, err := jetstream.New(conn)
	if err != nil {
		return 0, err
	}
	if _, err := js.Stream(ctx, subjects.LogStream()); !errors.Is(err, jetstream.ErrStreamNotFound) {
		return 0, errors.Join(fmt.Errorf("syncserver: there is a system %q already", config.System), err)
	}
	layout := journal.Layout{Subjects: subjects, Rules: rules, Replicas: config.Replicas, Memory: config.Memory}
	if err := journal.Open(ctx, js, layout); err != nil {
		return 0, err
	}
	w := restorer{conn: conn, subjects: subjects, codec: codec, config: config}
	for {
		var line backupLine
		if err := decoder.Decode(&line); errors.Is(err, io.EOF) {
			return w.count, nil
		} else if err != nil {
			return w.count, fmt.Errorf("syncserver: line %d of the backup: %w", w.count+2, err)
		}
		if err := w.put(ctx, &line); err != nil {
			return w.count, fmt.Errorf("syncserver: line %d of the backup: %w", w.count+2, err)
		}
		w.count++
	}
}

// restorer writes the messages of a backup.
type restorer struct {
	conn     *nats.Conn
	subjects wire.Subjects
	codec    wire.Codec
	config   ServerConfig
	count    int
}

func (w *restorer) put(ctx context.Context, line *backupLine) error {
	msg := nats.NewMsg("")
	switch line.Stream {
	case "log":
		e, err := w.codec.DecodeEntry(line.Data)
		if err != nil {
			return err
		}
		e.Decided = 0 // the order of arrival begins anew
		msg.Subject = w.subjects.Log(e.Key)
		msg.Data = w.codec.AppendEntry(nil, e)
		if line.Expires {
			left := w.config.Retention - time.Since(e.At)
			if left <= 0 {
				return nil
			}
			msg.Header.Set(jetstream.MsgTTLHeader, journal.TTL(left))
		}
	case "positions":
		id, err := wire.IdentityIn(line.Subject)
		if err != nil {
			return err
		}
		var form struct {
			Key enactment.Key `json:"key"`
		}
		if err := json.Unmarshal(line.Data, &form); err != nil {
			return err
		}
		msg.Subject, msg.Data = w.subjects.Position(id, form.Key), slices.Clone([]byte(line.Data))
	default:
		return fmt.Errorf("no such stream: %q", line.Stream)
	}
	_, err := stream.Publish(ctx, w.conn, msg, w.config.Timeout)
	return err
}
