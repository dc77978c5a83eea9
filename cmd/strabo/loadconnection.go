package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/google/uuid"
)

// loadConnection makes one request after the other over a connection of its own. The load shares the machine with the
// shop that it measures, so it does no more than it must: http.Transport, with two goroutines for each connection, takes
// several times as much of the processor. It is for one goroutine.
type loadConnection struct {
	base   *url.URL
	conn   net.Conn // nil while there is none
	cut    func() bool
	reader *bufio.Reader
	writer []byte
	answer bytes.Buffer
	// run makes the names of requests, with a number, unlike those of all others.
	run  string
	made int64
}

func newLoadConnection(base *url.URL) *loadConnection {
	return &loadConnection{base: base, run: uuid.NewString()}
}

// loadPatience is how long a request may take.
const loadPatience = time.Minute

// ask makes a request, and gives the body of its answer if that is a success; until the next.
func (c *loadConnection) ask(ctx context.Context, method, path string, body []byte) (answer []byte, err error) {
	if c.conn == nil {
		if err := c.dial(ctx); err != nil {
			return nil, err
		}
	}
	response, err := c.exchange(method, path, body)
	if err == nil {
		c.answer.Reset()
		_, err = c.answer.ReadFrom(response.Body)
		answer = c.answer.Bytes()
	}
	switch {
	case ctx.Err() != nil:
		c.close()
		return nil, context.Cause(ctx)
	case err != nil:
		c.close()
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	case response.Close:
		c.close()
	}
	if response.StatusCode > 299 {
		return nil, fmt.Errorf("%s %s: %s %.200s", method, path, response.Status, answer)
	}
	return answer, nil
}

func (c *loadConnection) dial(ctx context.Context) (err error) {
	address, dialer := c.base.Host, &net.Dialer{Timeout: loadPatience}
	if c.base.Port() == "" {
		port := "80"
		if c.base.Scheme == "https" {
			port = "443"
		}
		address = net.JoinHostPort(c.base.Hostname(), port)
	}
	if c.base.Scheme == "https" {
		c.conn, err = (&tls.Dialer{NetDialer: dialer}).DialContext(ctx, "tcp", address)
	} else {
		c.conn, err = dialer.DialContext(ctx, "tcp", address)
	}
	if err != nil {
		c.conn = nil
		return err
	}
	conn := c.conn
	c.cut = context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	c.reader = bufio.NewReader(conn)
	return nil
}

// exchange writes a request, in one piece, and reads the head of its answer.
func (c *loadConnection) exchange(method, path string, body []byte) (*http.Response, error) {
	if err := c.conn.SetDeadline(time.Now().Add(loadPatience)); err != nil {
		return nil, err
	}
	c.made++
	w := append(c.writer[:0], method...)
	w = append(append(append(w, ' '), c.base.EscapedPath()...), path...)
	w = append(append(w, " HTTP/1.1\r\nHost: "...), c.base.Host...)
	w = append(w, "\r\nUCP-Agent: profile=\"\"\r\nRequest-Signature: unsigned\r\nRequest-Id: "...)
	w = c.appendName(w)
	if method != http.MethodGet {
		w = c.appendName(append(w, "\r\nIdempotency-Key: "...))
		w = append(w, "\r\nContent-Type: application/json\r\nContent-Length: "...)
		w = strconv.AppendInt(w, int64(len(body)), 10)
	}
	c.writer = append(append(w, "\r\n\r\n"...), body...)
	if _, err := c.conn.Write(c.writer); err != nil {
		return nil, err
	}
	return http.ReadResponse(c.reader, nil)
}

func (c *loadConnection) appendName(to []byte) []byte {
	return strconv.AppendInt(append(append(to, c.run...), '-'), c.made, 10)
}

// close closes the connection; the next request makes another.
func (c *loadConnection) close() {
	if c.conn != nil {
		c.cut()
		_ = c.conn.Close() // What failed was told, and what did not has nothing more to tell.
		c.conn = nil
	}
}
