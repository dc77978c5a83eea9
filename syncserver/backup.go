package syncserver

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/internal/request"
	"github.com/strabo-engine/strabo/internal/stream"
	"github.com/strabo-engine/strabo/syncserver/internal/journal"
	"github.com/strabo-engine/strabo/syncserver/internal/wire"
)

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
// needed to use the backup, unless withSecrets has them written in the clear. It gives how many messages it has written,
// and blocks until all are. The error is the writer's, or says why the log cannot be read.
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
		return true, encoder.Encode(backupLine{"log", m.Subject, m.Time, data, len(e.Finalisation.Instances) == 0 && !e.Removed})
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

// Restore makes a system from a backup. There must be none of its name. Refusals are kept as long as retention says, from
// when they were given. It gives how many messages it has written, and blocks until all are. The error says that the
// backup is none or of another protocol (a [*ProtocolError]), that keys are missing, that there is such a system, or why
// NATS did not take it.
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
	requests, err := request.Over(conn)
	if err != nil {
		return 0, err
	}
	defer requests.End()
	w := restorer{conn: requests, subjects: subjects, codec: codec, config: config}
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
	conn     *request.Conn
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
		if e.Removed {
			msg = journal.Removal(w.subjects, w.codec, e) // what came before it in the backup was removed meanwhile
			break
		}
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
