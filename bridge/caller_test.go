package bridge_test

import (
	"bufio"
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge"
)

// TestACallWithoutABody has a length, and is not made again by net/http when a connection that was kept breaks, whatever key
// it has.
func TestACallWithoutABody(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	requests := make(chan *http.Request, 10)
	served := make(chan error, 1)
	go func() {
		defer close(requests)
		for {
			conn, err := listener.Accept()
			if err != nil {
				served <- nil
				return
			}
			// One request on each connection is answered, and the next is not.
			from := bufio.NewReader(conn)
			for range 2 {
				r, err := http.ReadRequest(from)
				if err != nil {
					break
				}
				requests <- r
				if len(requests)%2 == 1 {
					_, _ = conn.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"))
				}
			}
			_ = conn.Close()
		}
	}()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	caller := bridge.NewHTTPCaller(&http.Client{Transport: transport}, 0, 0)
	cancel := bridge.Request{
		Method: http.MethodPost, URL: "http://" + listener.Addr().String() + "/cancel", Header: http.Header{"Idempotency-Key": {"k1"}},
	}
	_, err = caller.Call(t.Context(), cancel)
	require.NoError(t, err)
	_, err = caller.Call(t.Context(), cancel)
	require.Error(t, err)
	require.NotErrorAs(t, err, new(*bridge.NotSentError), "it has left")
	require.NoError(t, listener.Close())
	require.NoError(t, <-served)
	require.Len(t, requests, 2)
	for r := range requests {
		require.Equal(t, "k1", r.Header.Get("Idempotency-Key"))
		require.Equal(t, "0", r.Header.Get("Content-Length"))
		require.Empty(t, r.TransferEncoding)
	}
	require.Equal(t, http.Header{"Idempotency-Key": {"k1"}}, cancel.Header, "the caller's own header is as it was")
}
