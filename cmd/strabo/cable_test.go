package main

import (
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// cable is the network between a client and a server, and it breaks as networks do.
type cable struct {
	listener net.Listener

	mu      sync.Mutex
	target  string
	cut     bool          // nobody gets through, and whoever was is thrown out
	stalled chan struct{} // closed when bytes flow; nil if they do
	delay   time.Duration // of whatever is read at once
	ends    map[net.Conn]bool
	running sync.WaitGroup
}

func newCable(t *testing.T, target string) *cable {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	c := &cable{listener: listener, target: target, ends: make(map[net.Conn]bool)}
	c.running.Go(c.accept)
	t.Cleanup(func() {
		_ = listener.Close()
		c.setCut(true)
		c.setStalled(false)
		c.running.Wait()
	})
	return c
}

func (c *cable) address() string { return c.listener.Addr().String() }

func (c *cable) accept() {
	for {
		near, err := c.listener.Accept()
		if err != nil {
			return
		}
		c.mu.Lock()
		target, cut := c.target, c.cut
		c.mu.Unlock()
		if cut {
			_ = near.Close()
			continue
		}
		far, err := net.Dial("tcp", target)
		if err != nil {
			_ = near.Close()
			continue
		}
		c.mu.Lock()
		c.ends[near], c.ends[far] = true, true
		c.mu.Unlock()
		c.running.Go(func() { c.carry(near, far) })
		c.running.Go(func() { c.carry(far, near) })
	}
}

func (c *cable) carry(from, to net.Conn) {
	defer func() {
		_ = from.Close()
		_ = to.Close()
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.ends, from)
	}()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		c.mu.Lock()
		stalled, delay := c.stalled, c.delay
		c.mu.Unlock()
		if stalled != nil {
			<-stalled
		}
		time.Sleep(delay)
		if _, failure := to.Write(buffer[:n]); failure != nil || err != nil {
			return
		}
	}
}

func (c *cable) setCut(cut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = cut
	if cut {
		for end := range c.ends {
			_ = end.Close()
		}
	}
}

func (c *cable) setStalled(stalled bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case stalled && c.stalled == nil:
		c.stalled = make(chan struct{})
	case !stalled && c.stalled != nil:
		close(c.stalled)
		c.stalled = nil
	}
}

func (c *cable) setDelay(delay time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.delay = delay
}

func (c *cable) setTarget(target string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.target = target
}
