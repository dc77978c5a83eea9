package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Reader reads messages of a stream. Reads may be answered by a replica that is behind, so what comes back is true but
// need not be all. A request that is lost, as one is that a server had in hand when it stopped, is made again, so that
// reads without a deadline end when the stream can be reached again.
type Reader struct {
	Conn   *nats.Conn
	Stream string
	// Silence is how long nothing may come before a request counts as lost. [DefaultSilence] if it is 0.
	Silence time.Duration
}

// DefaultSilence is how long nothing may come before a request of a [Reader] counts as lost.
const DefaultSilence = 5 * time.Second

// errLost says that nothing came for longer than the silence that is borne.
var errLost = errors.New("no answer came in time")

func (r Reader) silence() time.Duration {
	if r.Silence == 0 {
		return DefaultSilence
	}
	return r.Silence
}

// Message is a stored message.
type Message struct {
	Subject  string
	Sequence uint64
	Time     time.Time
	Data     []byte
	// Header is what [Reader.Last] reads; nil where there is none, and for what is read otherwise.
	Header nats.Header
	// Pending is how many more there were behind it.
	Pending uint64
}

const (
	// Most subjects have few messages; where there are more the next batches are larger.
	firstMessages = 32
	batchMessages = 512
	batchBytes    = 4 << 20
	// mostAnswers is more than what comes for one request: so many messages and one that there are no more.
	mostAnswers = 2 * max(batchMessages, MostSubjects)
)

// Queue is an option of connections that a [Reader] reads on. Without it the client library makes room for 65536 answers,
// half a megabyte that has to be cleared and collected, for each request.
func Queue() nats.Option { return nats.SyncQueueLen(mostAnswers) }

type getRequest struct {
	Sequence uint64 `json:"seq,omitempty"`
	Next     string `json:"next_by_subj,omitempty"`
	Last     string `json:"last_by_subj,omitempty"`
	// LastOf are subjects of each of which the last message is asked for.
	LastOf   []string `json:"multi_last,omitempty"`
	Batch    int      `json:"batch,omitempty"`
	MaxBytes int      `json:"max_bytes,omitempty"`
}

// Read reads the messages of a subject, wildcards and all, from a sequence on, until there are no more or visit says
// no.
func (r Reader) Read(ctx context.Context, subject string, from uint64, visit func(Message) (bool, error)) error {
	for batch := firstMessages; ; batch = batchMessages {
		request := getRequest{Sequence: max(from, 1), Next: subject, Batch: batch, MaxBytes: batchBytes}
		var pending, last uint64
		var failed error // of a visit, which may have lost a request of its own
		stopped := false
		err := r.batch(ctx, request, func(m Message) error {
			pending, last = m.Pending, m.Sequence
			if stopped {
				return nil
			}
			var more bool
			more, failed = visit(m)
			stopped = !more
			return failed
		})
		isLost := failed == nil && errors.Is(err, errLost) // in the middle: the rest is asked for
		switch {
		case isLost && stopped:
			return nil
		case !isLost && (err != nil || stopped || last == 0 || pending == 0):
			return err
		}
		from = last + 1
	}
}

// MostSubjects is how many subjects [Reader.ReadLast] takes.
const MostSubjects = 512

// ReadLast reads the last message of each of some subjects, in no order. Of those that have none nothing comes.
func (r Reader) ReadLast(ctx context.Context, subjects []string, visit func(Message) error) error {
	return r.batch(ctx, getRequest{LastOf: subjects, MaxBytes: batchBytes}, visit)
}

// batch asks, again as long as nothing comes, and visits what is answered. The error is errLost if some came, and then no
// more.
func (r Reader) batch(ctx context.Context, request getRequest, visit func(Message) error) error {
	text, err := json.Marshal(request)
	if err != nil {
		return err
	}
	for backoff := 5 * time.Millisecond; ; {
		again, err := r.ask(ctx, text, visit)
		if !again {
			return err
		}
		if backoff, err = Pause(ctx, backoff); err != nil {
			return fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
	}
}

// ask asks once, with an inbox of its own, so that a late answer is not taken for one to a later request.
func (r Reader) ask(ctx context.Context, text []byte, visit func(Message) error) (again bool, err error) {
	inbox := r.Conn.NewInbox()
	subscription, err := r.Conn.SubscribeSync(inbox)
	if err != nil {
		return false, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	defer func() { _ = subscription.Unsubscribe() }()
	if err := r.Conn.PublishRequest("$JS.API.DIRECT.GET."+r.Stream, inbox, text); err != nil {
		return false, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return r.answers(ctx, subscription, visit)
}

// answers visits what comes for one request. It is to be asked again where nobody answered.
func (r Reader) answers(ctx context.Context, subscription *nats.Subscription, visit func(Message) error) (again bool, err error) {
	waiting, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silent := time.AfterFunc(r.silence(), func() { cancel(errLost) })
	defer silent.Stop()
	for visited := false; ; visited = true {
		msg, err := subscription.NextMsgWithContext(waiting)
		silent.Stop() // what is done with the message takes its time
		isLost := err != nil && errors.Is(context.Cause(waiting), errLost)
		switch {
		case errors.Is(err, nats.ErrNoResponders) || isLost && !visited:
			return true, nil
		case isLost:
			return false, fmt.Errorf("%w: %w", ErrUnavailable, errLost)
		case err != nil:
			return false, fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		switch status := msg.Header.Get("Status"); status {
		case "":
			m, err := messageOf(msg)
			if err == nil {
				err = visit(m)
			}
			if err != nil {
				return false, err
			}
			silent.Reset(r.silence())
		case "204", "404":
			return false, nil
		default:
			return false, fmt.Errorf("%w: %s %s", ErrUnavailable, status, msg.Header.Get("Description"))
		}
	}
}

func messageOf(msg *nats.Msg) (Message, error) {
	header := func(name string) string {
		if values := msg.Header[name]; len(values) > 0 {
			return values[len(values)-1]
		}
		return ""
	}
	m := Message{Subject: header(jetstream.SubjectHeader), Data: msg.Data}
	var err error
	if m.Sequence, err = strconv.ParseUint(header(jetstream.SequenceHeader), 10, 64); err != nil {
		return Message{}, fmt.Errorf("%w: a message without a sequence", ErrUnavailable)
	}
	if m.Time, err = time.Parse(time.RFC3339Nano, header(jetstream.TimeStampHeaer)); err != nil {
		return Message{}, fmt.Errorf("%w: a message without a time", ErrUnavailable)
	}
	if pending := header("Nats-Num-Pending"); pending != "" { // Only those of a batch have it.
		if m.Pending, err = strconv.ParseUint(pending, 10, 64); err != nil {
			return Message{}, fmt.Errorf("%w: nobody knows how many messages follow", ErrUnavailable)
		}
	}
	return m, nil
}

type getResponse struct {
	Error   *jetstream.APIError `json:"error"`
	Message *struct {
		Sequence uint64    `json:"seq"`
		Header   []byte    `json:"hdrs"`
		Data     []byte    `json:"data"`
		Time     time.Time `json:"time"`
	} `json:"message"`
}

// Last reads the last message of a subject from the stream's leader, so that it is the last one indeed. The sequence is
// 0 if there is none.
func (r Reader) Last(ctx context.Context, subject string) (Message, error) {
	text, err := json.Marshal(getRequest{Last: subject})
	if err != nil {
		return Message{}, err
	}
	var reply *nats.Msg
	for backoff := 5 * time.Millisecond; ; {
		waiting, cancel := context.WithTimeoutCause(ctx, r.silence(), errLost)
		reply, err = r.Conn.RequestWithContext(waiting, "$JS.API.STREAM.MSG.GET."+r.Stream, text)
		isLost := err != nil && errors.Is(context.Cause(waiting), errLost)
		cancel()
		if !isLost && !errors.Is(err, nats.ErrNoResponders) {
			break
		}
		if backoff, err = Pause(ctx, backoff); err != nil {
			break
		}
	}
	if err != nil {
		return Message{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	var response getResponse
	if err := json.Unmarshal(reply.Data, &response); err != nil {
		return Message{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	switch {
	case response.Error != nil && response.Error.ErrorCode == jetstream.JSErrCodeMessageNotFound:
		return Message{}, nil
	case response.Error != nil:
		return Message{}, fmt.Errorf("%w: %w", ErrUnavailable, response.Error)
	case response.Message == nil:
		return Message{}, fmt.Errorf("%w: an answer without a message", ErrUnavailable)
	}
	m := Message{Subject: subject, Sequence: response.Message.Sequence, Data: response.Message.Data, Time: response.Message.Time}
	if len(response.Message.Header) > 0 {
		if m.Header, err = nats.DecodeHeadersMsg(response.Message.Header); err != nil {
			return Message{}, fmt.Errorf("%w: a header that is none: %w", ErrUnavailable, err)
		}
	}
	return m, nil
}
