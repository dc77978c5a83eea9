// Package memorynet lets clients and a server in one process talk without a network, as tests in a bubble of
// testing/synctest have to: there the time of waiting passes at once, and no machine is too slow for a deadline.
package memorynet

import (
	"context"
	"net"
	"sync"
)

// Listener is a net.Listener whose clients are those that Dial it. It is safe for use by several goroutines.
type Listener struct {
	dialed chan net.Conn
	closed chan struct{}
	close  func()
}

// Listen makes a listener, in the bubble that its connections are used in.
func Listen() *Listener {
	l := &Listener{dialed: make(chan net.Conn), closed: make(chan struct{})}
	l.close = sync.OnceFunc(func() { close(l.closed) })
	return l
}

// Accept blocks until somebody dials, or the listener is closed, which gives net.ErrClosed.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.dialed:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close has Accept and Dial fail; connections that there are stay open.
func (l *Listener) Close() error {
	l.close()
	return nil
}

// Addr gives an address on this machine that nobody listens on.
func (l *Listener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// Dial connects to the listener, whatever the network and address, and blocks until that is accepted, the listener is
// closed, which gives net.ErrClosed, or ctx ends. It suits http.Transport.DialContext.
func (l *Listener) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	var err error
	select {
	case l.dialed <- there:
		return here, nil
	case <-l.closed:
		err = net.ErrClosed
	case <-ctx.Done():
		err = ctx.Err()
	}
	_, _ = here.Close(), there.Close() // A pipe's Close never fails.
	return nil, err
}
