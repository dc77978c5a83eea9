package ucp_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/ucp"
)

// TestInboundRemembersSoManyBytes: answers are repeated as long as there is place for them, counted in bytes.
func TestInboundRemembersSoManyBytes(t *testing.T) {
	s := newSystem(t, func(_ *stall, o *ucp.InboundOptions) { o.RememberedBytes = 10_000 })
	create := func(key string) response {
		return s.ask("POST", "/checkout-sessions", `{"line_items": [{"item": {"id": "pen"}, "quantity": 1}], "buyer": {"note": "`+
			strings.Repeat("x", 4000)+`"}}`, "Idempotency-Key", key)
	}
	first, second := create("k1"), create("k2")
	require.Equal(t, first.raw, create("k1").raw)
	require.Equal(t, second.raw, create("k2").raw)
	create("k3")
	require.Equal(t, second.raw, create("k2").raw)
	require.NotEqual(t, first.id(), create("k1").id(), "the first has been forgotten")
}

// TestInboundChangesAreBounded: each change is an enactment, of which there is no end otherwise.
func TestInboundChangesAreBounded(t *testing.T) {
	s := newSystem(t, func(_ *stall, o *ucp.InboundOptions) { o.Changes = 3 })
	path := "/checkout-sessions/" + s.ready(t)
	change := func(i int) response { return s.ask("PUT", path, fmt.Sprintf(`{"buyer": {"email": "%d"}}`, i)) }
	for i := range 3 {
		require.Equal(t, 200, change(i).status)
	}
	tooMany := change(3)
	require.Equal(t, http.StatusConflict, tooMany.status)
	require.Equal(t, "TOO_MANY_CHANGES", tooMany.code())
	require.Equal(t, 200, change(2).status, "that changes nothing")
	require.Equal(t, 200, s.ask("POST", path+"/complete", paying(goodToken)).status)
}

func TestInboundBodyLimitByDefault(t *testing.T) {
	s := newSystem(t, nil)
	body := func(size int) string { return `{"line_items": [], "x": "` + strings.Repeat("x", size) + `"}` }
	require.Equal(t, http.StatusUnprocessableEntity, s.ask("POST", "/checkout-sessions", body(200<<10)).status)
	require.Equal(t, http.StatusRequestEntityTooLarge, s.ask("POST", "/checkout-sessions", body(256<<10)).status)
}

// TestInboundBodyDoesNotArrive: that is told as what it is, and the time that the Business has begins when it has arrived.
func TestInboundBodyDoesNotArrive(t *testing.T) {
	s := newSystem(t, func(_ *stall, o *ucp.InboundOptions) { o.BodyTimeout = 100 * time.Millisecond })
	server := httptest.NewServer(s.inbound)
	defer server.Close()
	connection, err := net.Dial("tcp", strings.TrimPrefix(server.URL, "http://"))
	require.NoError(t, err)
	defer connection.Close()
	before := s.records.String()
	_, err = fmt.Fprint(connection, "POST /checkout-sessions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
	require.NoError(t, err)
	answer, err := http.ReadResponse(bufio.NewReader(connection), nil)
	require.NoError(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusRequestTimeout, answer.StatusCode, string(text))
	require.Contains(t, string(text), "nothing was done")
	require.Equal(t, before, s.records.String())
}

// TestInboundKeepsAConnection: the time limit of a body is not one of the connection.
func TestInboundKeepsAConnection(t *testing.T) {
	taking := newGate("Create")
	s := newSystem(t, func(st *stall, o *ucp.InboundOptions) {
		o.BodyTimeout = 20 * time.Millisecond
		st.hold = taking.hold
	})
	server := httptest.NewServer(s.inbound)
	defer server.Close()
	time.AfterFunc(60*time.Millisecond, func() { close(taking.open) })
	for range 2 {
		answer, err := server.Client().Post(server.URL+"/checkout-sessions", "application/json", strings.NewReader(onePen+"}"))
		require.NoError(t, err)
		require.Equal(t, http.StatusCreated, answer.StatusCode)
		_, err = io.Copy(io.Discard, answer.Body)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
	}
}
