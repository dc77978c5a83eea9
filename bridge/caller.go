package bridge

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"time"

	"github.com/strabo-engine/strabo/enactment"
)

// Caller sends one request and gives the response. It makes one attempt and no more: whether there is another is for the
// policy. It is safe for concurrent use.
//
// An error that is a [*NotSentError] promises that nothing has left, so that the request had no effect. After any
// other error the request may have arrived and may have had its effect.
type Caller interface {
	// Call makes the request once and waits for the response, as long as the context lives.
	Call(ctx context.Context, request Request) (Response, error)
}

// Request is a request to the remote party. Neither the header nor the body may be changed: they hold secrets, and a
// request that is sent again must be the same.
type Request struct {
	Method string
	URL    string
	Header http.Header
	// Body is the exact body; nil for none.
	Body []byte
	// Enactment, Action and Step say what the request is for: the step of the mapping's answer to the action.
	Enactment enactment.Key
	Action    string
	Step      string
	// Query tells that it asks about the request of the step, which is another.
	Query bool
}

// Response is the remote party's answer, read to its end.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

// NotSentError says that a request did not leave.
type NotSentError struct{ Err error }

// Error says why.
func (e *NotSentError) Error() string { return "not sent: " + e.Err.Error() }

// Unwrap gives Err.
func (e *NotSentError) Unwrap() error { return e.Err }

// ErrTooLarge is the error of a response whose body is longer than allowed. The request has arrived.
var ErrTooLarge = errors.New("bridge: the response is too large")

// DefaultMaxResponse is how many bytes of a response's body are read.
const DefaultMaxResponse = 4 << 20

// HTTPCaller is a [Caller] over net/http. Redirects are not followed: where a request goes is said by the mapping, not
// by an answer. Nothing is ever sent twice of itself.
type HTTPCaller struct {
	client      *http.Client
	timeout     time.Duration
	maxResponse int64
}

// NewHTTPCaller makes a caller of a client, of which the transport and the jar are used; nil means
// http.DefaultTransport and no jar. The timeout is for one call from dialling to the last byte; maxResponse is in bytes.
// Where they are 0, the context alone bounds a call, as the policy has it, and [DefaultMaxResponse] a body.
func NewHTTPCaller(client *http.Client, timeout time.Duration, maxResponse int64) *HTTPCaller {
	own := &http.Client{}
	if client != nil {
		*own = *client
	}
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c := &HTTPCaller{client: own, timeout: timeout, maxResponse: maxResponse}
	if c.maxResponse <= 0 {
		c.maxResponse = DefaultMaxResponse
	}
	return c
}

// Call implements [Caller].
func (c *HTTPCaller) Call(ctx context.Context, request Request) (Response, error) {
	if c.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.timeout)
		defer cancel()
	}
	var connected, written atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn:          func(httptrace.GotConnInfo) { connected.Store(true) },
		WroteHeaderField: func(string, []string) { written.Store(true) },
	})
	// net/http sends a request again by itself, on a connection that broke, if it can read the body again and the method
	// is one for reading or there is an idempotency key. A body of our own keeps it from that.
	body := io.NopCloser(bytes.NewReader(request.Body))
	header := request.Header.Clone()
	if len(request.Body) == 0 && request.Method != http.MethodGet && request.Method != http.MethodHead {
		// A body of our own that is empty would go out in chunks, which not every server takes where there is nothing to
		// come. With none, the name of the key has to be one that net/http does not look for; on the wire it is the same.
		body = http.NoBody
		for _, name := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
			if values, there := header[name]; there {
				delete(header, name)
				header[strings.ToLower(name)] = values
			}
		}
	}
	r, err := http.NewRequestWithContext(ctx, request.Method, request.URL, body)
	if err != nil {
		return Response{}, &NotSentError{err}
	}
	r.ContentLength = int64(len(request.Body))
	r.Header = header
	response, err := c.client.Do(r)
	if err != nil {
		if !connected.Load() && beforeSending(err) {
			return Response{}, &NotSentError{err}
		}
		// The remote party closed a kept connection before the first header was written to it. When the time is over
		// somebody may still be writing.
		if connected.Load() && !written.Load() && ctx.Err() == nil {
			return Response{}, &NotSentError{err}
		}
		return Response{}, err
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, c.maxResponse+1))
	closed := response.Body.Close()
	switch {
	case err != nil:
		return Response{}, fmt.Errorf("bridge: read the response: %w", err)
	case int64(len(text)) > c.maxResponse:
		return Response{}, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, c.maxResponse)
	case closed != nil:
		return Response{}, fmt.Errorf("bridge: read the response: %w", closed)
	}
	return Response{Status: response.StatusCode, Header: response.Header, Body: text}, nil
}

// beforeSending tells whether an error is one of finding or reaching the remote party. It takes positive evidence, for
// a transport that is not net/http's may give any error at any time.
func beforeSending(err error) bool {
	var (
		operation   *net.OpError
		resolution  *net.DNSError
		certificate *tls.CertificateVerificationError
	)
	return errors.As(err, &operation) && operation.Op == "dial" ||
		errors.As(err, &resolution) || errors.As(err, &certificate)
}
