package stream

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/strabo-engine/strabo/internal/request"
)

// Put is [Publish] for a subject whose last message must have the expected sequence, 0 for none.
func Put(ctx context.Context, conn *request.Conn, subject string, data []byte, expected uint64, timeout time.Duration) (uint64, error) {
	return Begin(conn, subject, expected, "", func(to []byte) []byte { return append(to, data...) }).Wait(ctx, timeout)
}

// Begin is the first half of [Put]: several messages may be begun before the first is waited for. What is written is what
// encode appends; the message lives as long as ttl says, if it is not empty.
func Begin(conn *request.Conn, subject string, expected uint64, ttl string, encode func(to []byte) []byte) Writing {
	f := forms.Get().(*form)
	f.msg.Subject = subject
	f.expected[0] = strconv.FormatUint(expected, 10)
	if f.ttl[0] = ttl; ttl == "" {
		delete(f.msg.Header, jetstream.MsgTTLHeader)
	} else {
		f.msg.Header[jetstream.MsgTTLHeader] = f.ttl[:]
	}
	f.msg.Data = encode(f.msg.Data[:0])
	call, err := conn.Start(&f.msg)
	return Writing{conn, f, call, err}
}

// Writing is a message that is being written. It must be waited for, once.
type Writing struct {
	conn *request.Conn
	form *form
	call *request.Call
	err  error
}

// Wait is the other half of [Put].
func (w Writing) Wait(ctx context.Context, timeout time.Duration) (uint64, error) {
	defer w.form.free()
	return await(ctx, w.conn, &w.form.msg, w.call, w.err, timeout)
}

// form is a message that is used again.
type form struct {
	msg           nats.Msg
	expected, ttl [1]string
}

var forms = sync.Pool{New: func() any {
	f := &form{}
	f.msg.Header = nats.Header{jetstream.ExpectedLastSubjSeqHeader: f.expected[:]}
	f.msg.Data = make([]byte, 0, 1024)
	return f
}}

// largestForm is how large a message may have been whose memory is kept.
const largestForm = 64 << 10

func (f *form) free() {
	if cap(f.msg.Data) <= largestForm {
		forms.Put(f)
	}
}
