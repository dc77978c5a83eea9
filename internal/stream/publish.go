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

	"github.com/strabo-engine/strabo/internal/pause"
	"github.com/strabo-engine/strabo/internal/request"
)

// FirstBackoff is how long to wait at first after a conflict that was none.
const (
	FirstBackoff   = 200 * time.Microsecond
	longestBackoff = 50 * time.Millisecond
)

// Pause waits about as long as said and gives the next time to wait.
func Pause(ctx context.Context, backoff time.Duration) (time.Duration, error) {
	if err := pause.For(ctx, backoff/2+rand.N(backoff)); err != nil {
		return 0, err
	}
	return min(2*backoff, longestBackoff), nil
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
func Publish(ctx context.Context, conn *request.Conn, msg *nats.Msg, timeout time.Duration) (uint64, error) {
	call, err := conn.Start(msg)
	return await(ctx, conn, msg, call, err, timeout)
}

// await waits for the acknowledgement of a message that was written, and writes it again as long as nobody is there to
// take it.
func await(
	ctx context.Context, conn *request.Conn, msg *nats.Msg, call *request.Call, err error, timeout time.Duration,
) (uint64, error) {
	var reply *nats.Msg
	if err == nil {
		reply, err = call.Wait(ctx, timeout)
	}
	if errors.Is(err, nats.ErrNoResponders) { // no leader at the moment: nothing was written
		reply, err = again(ctx, conn, msg, timeout)
	}
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return acknowledged(reply.Data)
}

func again(ctx context.Context, conn *request.Conn, msg *nats.Msg, timeout time.Duration) (*nats.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for backoff := 5 * time.Millisecond; ; {
		var err error
		if backoff, err = Pause(ctx, backoff); err != nil {
			return nil, err
		}
		reply, err := conn.Call(ctx, msg, timeout)
		if !errors.Is(err, nats.ErrNoResponders) {
			return reply, err
		}
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
	var answer acknowledgement
	if err := json.Unmarshal(reply, &answer); err != nil {
		return 0, fmt.Errorf("%w: not an acknowledgement: %w", ErrUnavailable, err)
	}
	if answer.Error == nil {
		return answer.Sequence, nil
	}
	switch answer.Error.ErrorCode {
	case jetstream.JSErrCodeStreamWrongLastSequence, jetstream.JSErrCodeStreamWrongLastSequenceConstant:
		return 0, fmt.Errorf("%w: %w", ErrConflict, answer.Error)
	default:
		return 0, fmt.Errorf("%w: %w", ErrUnavailable, answer.Error)
	}
}
