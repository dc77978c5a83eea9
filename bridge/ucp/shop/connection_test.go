package shop_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/keyvalue"
	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/bridge/ucp/model"
	"github.com/strabo-engine/strabo/bridge/ucp/shop"
)

// TestBodyDoesNotArrive: that is told as what it is, and nothing was done.
func TestBodyDoesNotArrive(t *testing.T) {
	b := newTown(t).open(t, func(_ *shop.Options, o *ucp.InboundOptions) { o.BodyTimeout = 50 * time.Millisecond })
	connection, err := net.Dial("tcp", strings.TrimPrefix(b.url, "http://"))
	require.NoError(t, err)
	defer connection.Close()
	_, err = fmt.Fprint(connection, "POST /checkout-sessions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
	require.NoError(t, err)
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusRequestTimeout, response.StatusCode, string(text))
	require.Contains(t, string(text), "nothing was done")
}

// heldCatalogue answers when it is let.
type heldCatalogue struct {
	shop.Catalogue
	asked chan struct{}
	let   chan struct{}
	once  sync.Once
}

func (h *heldCatalogue) Product(ctx context.Context, id string) (model.Item, bool, error) {
	h.once.Do(func() { close(h.asked) })
	<-h.let
	return h.Catalogue.Product(ctx, id)
}

// TestClientThatHangsUp: what it asked for is brought to its end, so that it is answered when it is repeated; and a
// request with the same key meanwhile waits for it.
func TestClientThatHangsUp(t *testing.T) {
	held := &heldCatalogue{asked: make(chan struct{}), let: make(chan struct{})}
	b := newTown(t).open(t, func(o *shop.Options, _ *ucp.InboundOptions) { held.Catalogue, o.Catalogue = o.Catalogue, held })
	ctx, hangUp := context.WithCancel(t.Context())
	request, err := http.NewRequestWithContext(ctx, "POST", b.url+"/checkout-sessions", strings.NewReader(wants("wick-cotton", 1)))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Idempotency-Key", "k")
	failed := make(chan error, 1)
	go func() {
		response, err := b.client.Do(request)
		if err == nil {
			err = response.Body.Close()
		}
		failed <- err
	}()
	<-held.asked
	hangUp()
	require.ErrorIs(t, <-failed, context.Canceled)
	other := b.ask("POST", "/checkout-sessions", wants("wick-cotton", 2), "Idempotency-Key", "k")
	require.Equal(t, "IDEMPOTENCY_CONFLICT", other.code())
	close(held.let)
	first := b.create("wick-cotton", 1, "Idempotency-Key", "k")
	require.Equal(t, first, b.create("wick-cotton", 1, "Idempotency-Key", "k"))
}

// TestShopThatDoesNotAnswer is told as what it is, and asked anew by the next request.
func TestShopThatDoesNotAnswer(t *testing.T) {
	broken := &brokenCatalogue{}
	b := newTown(t).open(t, func(o *shop.Options, in *ucp.InboundOptions) {
		broken.Catalogue, o.Catalogue = o.Catalogue, broken
		in.AnswerTimeout = 300 * time.Millisecond
	})
	unanswered := b.ask("POST", "/checkout-sessions", wants("wick-cotton", 1), "Idempotency-Key", "k")
	require.Equal(t, http.StatusServiceUnavailable, unanswered.status, unanswered.raw)
	require.Equal(t, "NO_ANSWER_YET", unanswered.code())
	require.Eventually(t, func() bool { return strings.Contains(b.log.String(), "the shelves have fallen down") }, patience, time.Millisecond)
	broken.mend()
	answered := b.ask("POST", "/checkout-sessions", wants("wick-cotton", 1), "Idempotency-Key", "k")
	for answered.code() == "NO_ANSWER_YET" { // It is as impatient as before.
		answered = b.ask("POST", "/checkout-sessions", wants("wick-cotton", 1), "Idempotency-Key", "k")
	}
	require.Equal(t, "ready_for_complete", answered.state(), answered.raw)
}

// brokenCatalogue fails until it is mended.
type brokenCatalogue struct {
	shop.Catalogue
	mu     sync.Mutex
	mended bool
}

func (b *brokenCatalogue) mend() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mended = true
}

func (b *brokenCatalogue) Product(ctx context.Context, id string) (model.Item, bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.mended {
		return model.Item{}, false, fmt.Errorf("the shelves have fallen down")
	}
	return b.Catalogue.Product(ctx, id)
}

// gone is a store that cannot be reached.
type gone struct{ keyvalue.Store }

func (gone) Get(context.Context, string) (keyvalue.Entry, error) {
	return keyvalue.Entry{}, keyvalue.ErrUnavailable
}

func (gone) Put(context.Context, string, []byte, uint64) (uint64, error) {
	return 0, keyvalue.ErrUnavailable
}

// TestWhatCannotBeReached is no fault of the request, which is to be repeated.
func TestWhatCannotBeReached(t *testing.T) {
	to := newTown(t)
	id := to.open(t).create("wick-cotton", 1).id()
	b := to.open(t, func(_ *shop.Options, o *ucp.InboundOptions) { o.Keys = gone{o.Keys} })
	a := b.complete(id, shop.TokenPays, "Idempotency-Key", "k")
	require.Equal(t, http.StatusServiceUnavailable, a.status, a.raw)
	b = to.open(t, func(_ *shop.Options, o *ucp.InboundOptions) { o.AnswerTimeout = time.Hour })
	b.conn.Close()
	for _, request := range [][2]string{{"GET", ""}, {"PUT", wants("wick-cotton", 2)}, {"POST", paying(shop.TokenPays)}} {
		path := "/checkout-sessions/" + id
		if request[0] == "POST" {
			path += "/complete"
		}
		a := b.ask(request[0], path, request[1], "Idempotency-Key", "other")
		require.Equal(t, http.StatusServiceUnavailable, a.status, a.raw)
	}
}

// TestSlowBodies take no place from requests that have arrived, and where too many of them come at once the one that has
// been coming for longest is cut off.
func TestSlowBodies(t *testing.T) {
	const most = 3
	b := newTown(t).open(t, func(_ *shop.Options, o *ucp.InboundOptions) { o.Requests, o.BodyTimeout = most, time.Hour })
	var slow []net.Conn
	for range most {
		connection, err := net.Dial("tcp", strings.TrimPrefix(b.url, "http://"))
		require.NoError(t, err)
		defer connection.Close()
		_, err = fmt.Fprint(connection, "POST /checkout-sessions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n")
		require.NoError(t, err)
		response, err := http.ReadResponse(bufio.NewReader(connection), nil)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, http.StatusContinue, response.StatusCode, "it is waited for")
		slow = append(slow, connection)
	}
	b.create("wick-cotton", 1)
	response, err := http.ReadResponse(bufio.NewReader(slow[0]), nil)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusRequestTimeout, response.StatusCode)
	// Now there are no more than there may be, and the others have all the time that they need.
	b.create("wick-cotton", 1)
	_, err = fmt.Fprintf(slow[1], "%-100s", `{"currency": "EUR"}`)
	require.NoError(t, err)
	response, err = http.ReadResponse(bufio.NewReader(slow[1]), nil)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusUnprocessableEntity, response.StatusCode)
}
