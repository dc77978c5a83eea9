// Package stream writes to and reads from JetStream streams: with compare-and-set on a subject's last sequence, and in
// batches. It says of every failure whether the message may be there nevertheless.
package stream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// FirstBackoff is how long to wait at first after a conflict that was none.
const (
	FirstBackoff   = 200 * time.Microsecond
	longestBackoff = 50 * time.Millisecond
)

// Pause waits about as long as said and gives the next time to wait.
func Pause(ctx context.Context, backoff time.Duration) (time.Duration, error) {
	timer := time.NewTimer(backoff/2 + rand.N(backoff))
	defer timer.Stop()
	select {
	case <-timer.C:
		return min(2*backoff, longestBackoff), nil
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

// Put is [Publish] for a subject whose last message must have the expected sequence, 0 for none.
func Put(ctx context.Context, conn *nats.Conn, subject string, data []byte, expected uint64, timeout time.Duration) (uint64, error) {
	msg := nats.NewMsg(subject)
	msg.Header[jetstream.ExpectedLastSubjSeqHeader] = []string{strconv.FormatUint(expected, 10)}
	msg.Data = data
	return Publish(ctx, conn, msg, timeout)
}

type acknowledgement struct {
	Sequence uint64              `json:"seq"`
	Error    *jetstream.APIError `json:"error"`
}

var (
	// ErrUnavailable says that the stream could not be reached in time: whether what was to be written is there is
	// unknown.
	ErrUnavailable = errors.New("the stream cannot be reached")

	// ErrConflict says that the subject's last sequence is another than was expected. A replicated stream says so now and
	// then although it is not, so read before you believe it.
	ErrConflict = errors.New("the subject's last sequence is another")
)

// Publish writes a message to a stream and gives its sequence. The error is [ErrConflict] if the expected last sequence
// was another, and [ErrUnavailable] if it is unknown whether the message is there.
func Publish(ctx context.Context, conn *nats.Conn, msg *nats.Msg, timeout time.Duration) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for backoff := FirstBackoff; ; {
		reply, err := conn.RequestMsgWithContext(ctx, msg)
		if errors.Is(err, nats.ErrNoResponders) { // no leader at the moment: nothing was written
			if backoff, err = Pause(ctx, max(backoff, 5*time.Millisecond)); err == nil {
				continue
			}
		}
		if err != nil {
			return 0, fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		return acknowledged(reply.Data)
	}
}

func acknowledged(reply []byte) (uint64, error) {
	// The common case is read without ado: {"stream":"NAME","seq":7}.
	if _, rest, ok := bytes.Cut(reply, []byte(`"seq":`)); ok && !bytes.Contains(reply, []byte(`"error"`)) {
		digits := 0
		for digits < len(rest) && '0' <= rest[digits] && rest[digits] <= '9' {
			digits++
		}
		if sequence, err := strconv.ParseUint(string(rest[:digits]), 10, 64); err == nil {
			return sequence, nil
		}
	}
	var ack acknowledgement
	if err := json.Unmarshal(reply, &ack); err != nil {
		return 0, fmt.Errorf("%w: not an acknowledgement: %w", ErrUnavailable, err)
	}
	if ack.Error == nil {
		return ack.Sequence, nil
	}
	switch ack.Error.ErrorCode {
	case jetstream.JSErrCodeStreamWrongLastSequence, jetstream.JSErrCodeStreamWrongLastSequenceConstant:
		return 0, fmt.Errorf("%w: %w", ErrConflict, ack.Error)
	default:
		return 0, fmt.Errorf("%w: %w", ErrUnavailable, ack.Error)
	}
}
