package journal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/internal/request"
	"github.com/strabo-engine/strabo/internal/stream"
	"github.com/strabo-engine/strabo/syncserver/internal/wire"
)

// An enactment is removed by a message that takes the place of its log: JetStream rolls the subject up, under the same
// compare-and-set as anything else that is appended. So a removal and an attempt have one order, and a server that has the
// enactment in memory finds the message where it would find what others have made happen. The message stays for good: it
// is what keeps a late copy of an attempt from starting the enactment anew.

// ErrNotRemovable says that a log was made so that nothing can be removed from it.
var ErrNotRemovable = errors.New("journal: nothing can be removed from the log")

// Removable tells whether enactments can be removed from a log. The error is [ErrNotRemovable] if not.
func Removable(ctx context.Context, js jetstream.JetStream, name string) error {
	s, err := js.Stream(ctx, name)
	if err != nil {
		return fmt.Errorf("look for stream %s: %w", name, err)
	}
	if c := s.CachedInfo().Config; !c.AllowRollup || c.DenyPurge {
		return ErrNotRemovable
	}
	return nil
}

// Remove removes an enactment. What is known of it must be all of it: expected is the sequence of the last message of its
// log, f has the last finalisation's sequence and tells whether the enactment was complete. The error is
// [stream.ErrConflict] if the log ends otherwise, and [stream.ErrUnavailable] if it is unknown whether it was removed.
func Remove(
	ctx context.Context, conn *request.Conn, subjects wire.Subjects, codec wire.Codec,
	key enactment.Key, f enactment.Finalisation, expected uint64, now time.Time, timeout time.Duration,
) error {
	msg := Removal(subjects, codec, &wire.Entry{
		Hash: codec.Rules.Hash(), Key: key, At: now, Removed: true,
		Finalisation: enactment.Finalisation{Sequence: f.Sequence, Completed: f.Completed},
	})
	msg.Header.Set(jetstream.ExpectedLastSubjSeqHeader, fmt.Sprint(expected))
	_, err := stream.Publish(ctx, conn, msg, timeout)
	return err
}

// Removal is the message by which an enactment is removed.
func Removal(subjects wire.Subjects, codec wire.Codec, e *wire.Entry) *nats.Msg {
	msg := nats.NewMsg(subjects.Log(e.Key))
	msg.Header.Set(jetstream.MsgRollup, jetstream.MsgRollupSubject)
	msg.Data = codec.AppendEntry(nil, e)
	return msg
}

// remove folds a removal.
func (e *Enactment) remove(sequence uint64) {
	e.reset()
	e.removed, e.last, e.happened = true, sequence, sequence
	if e.gone != nil {
		e.gone(e.key)
	}
}

// removedRejection refuses an attempt in an enactment that was removed. It is made anew for each, which is the caller's.
func removedRejection() *enactment.Rejection {
	return &enactment.Rejection{
		Code: enactment.Expired, Detail: "the enactment ended long ago and was removed; its keys cannot be used again",
	}
}
