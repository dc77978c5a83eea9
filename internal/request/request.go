// Package request makes many requests at once over one connection. It does what the request methods of nats.Conn do, with
// less work for each: what an answer is waited for with is used again, there is a limit of time without a context of its
// own, and a caller may make several requests before it waits for the first answer.
//
// It knows nothing of what is asked. Start reading at [Conn.Call].
package request

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

var (
	// ErrClosed says that the requests of the connection were ended.
	ErrClosed = errors.New("request: closed")
	// ErrTimeout says that no answer came in time: whether the request arrived is unknown.
	ErrTimeout = errors.New("request: no answer in time")
	// ErrBroken says that the connection broke while an answer was waited for, which would not arrive any more: whether the
	// request arrived is unknown.
	ErrBroken = errors.New("request: the connection broke before the answer")
)

// Conn is a connection that makes requests. Its methods are safe for concurrent use.
type Conn struct {
	*nats.Conn
	inbox        string // with the point at its end
	subscription *nats.Subscription
	closed       chan struct{}
	once         sync.Once
	done         sync.WaitGroup
	unused       sync.Pool // of *Call

	mu      sync.Mutex
	next    uint64
	waiting map[uint64]*Call
}

// Over lets a connection make requests, until [Conn.End]. It stays its owner's.
func Over(conn *nats.Conn) (*Conn, error) {
	c := &Conn{
		Conn: conn, inbox: conn.NewInbox() + ".", closed: make(chan struct{}), waiting: make(map[uint64]*Call),
	}
	var err error
	if c.subscription, err = conn.Subscribe(c.inbox+"*", c.answered); err != nil {
		return nil, fmt.Errorf("request: %w", err)
	}
	c.subscription.SetClosedHandler(func(string) { c.end() })
	broken := conn.StatusChanged(nats.RECONNECTING)
	c.done.Go(func() { c.watch(broken) })
	return c, nil
}

// End ends all requests that are waiting with [ErrClosed]. It does not close the connection.
func (c *Conn) End() {
	_ = c.subscription.Unsubscribe() // it fails only if the connection is closed
	c.end()
	c.done.Wait()
}

// watch ends the requests that are waiting whenever the connection breaks.
func (c *Conn) watch(broken chan nats.Status) {
	defer c.Conn.RemoveStatusListener(broken)
	for {
		select {
		case _, open := <-broken:
			if !open {
				return
			}
		case <-c.closed:
			return
		}
		c.mu.Lock()
		calls := c.waiting
		c.waiting = make(map[uint64]*Call)
		c.mu.Unlock()
		for _, call := range calls {
			call.answer <- nil
		}
	}
}

func (c *Conn) end() { c.once.Do(func() { close(c.closed) }) }

// Call is a request that was made. Each must be waited for, once.
type Call struct {
	conn   *Conn
	token  uint64
	answer chan *nats.Msg // has room for one; nil if the connection broke
	timer  *time.Timer
}

// Call makes a request and waits for the answer, as long as the limit says. The error is [ErrTimeout], [ErrBroken], that
// of the context, [ErrClosed], nats.ErrConnectionClosed, or that of nats.ErrNoResponders, which says that nobody was there.
// The message's reply subject is overwritten.
func (c *Conn) Call(ctx context.Context, msg *nats.Msg, limit time.Duration) (*nats.Msg, error) {
	call, err := c.Start(msg)
	if err != nil {
		return nil, err
	}
	return call.Wait(ctx, limit)
}

// Start makes a request. The message's reply subject is overwritten; the message may be used again when Start returns.
func (c *Conn) Start(msg *nats.Msg) (*Call, error) {
	call, ok := c.unused.Get().(*Call)
	if !ok {
		call = &Call{conn: c, answer: make(chan *nats.Msg, 1)}
	}
	c.mu.Lock()
	c.next++
	call.token = c.next
	c.waiting[call.token] = call
	c.mu.Unlock()
	var buffer [64]byte
	msg.Reply = string(strconv.AppendUint(append(buffer[:0], c.inbox...), call.token, 36))
	if err := c.Conn.PublishMsg(msg); err != nil {
		if c.forget(call) {
			c.unused.Put(call)
		}
		return nil, err
	}
	return call, nil
}

// Wait waits for the answer, as [Conn.Call] does.
func (call *Call) Wait(ctx context.Context, limit time.Duration) (*nats.Msg, error) {
	c := call.conn
	if call.timer == nil {
		call.timer = time.NewTimer(limit)
	} else {
		call.timer.Reset(limit)
	}
	var err error
	select {
	case msg := <-call.answer:
		return call.done(msg)
	case <-call.timer.C:
		err = ErrTimeout
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-c.closed:
		if err = ErrClosed; c.Conn.IsClosed() {
			err = nats.ErrConnectionClosed
		}
	}
	if !c.forget(call) { // it is being answered at this very moment
		return call.done(<-call.answer)
	}
	call.timer.Stop()
	c.unused.Put(call)
	return nil, err
}

func (call *Call) done(msg *nats.Msg) (*nats.Msg, error) {
	call.timer.Stop()
	call.conn.unused.Put(call)
	if msg == nil {
		return nil, ErrBroken
	}
	if len(msg.Data) == 0 && msg.Header.Get("Status") == "503" {
		return nil, nats.ErrNoResponders
	}
	return msg, nil
}

// forget tells whether nobody has begun to answer a call; then nobody will.
func (c *Conn) forget(call *Call) bool { return c.taken(call.token) != nil }

func (c *Conn) taken(token uint64) *Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	call := c.waiting[token]
	delete(c.waiting, token)
	return call
}

// answered hands an answer to whoever waits for it. What nobody waits for any more is dropped.
func (c *Conn) answered(msg *nats.Msg) {
	token, err := strconv.ParseUint(msg.Subject[len(c.inbox):], 36, 64)
	if err != nil {
		return // nobody was told of such a subject
	}
	if call := c.taken(token); call != nil {
		call.answer <- msg
	}
}
