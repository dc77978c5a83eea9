package ucp

import (
	"bytes"
	"container/list"
	"net/http"
	"sync"
	"time"
)

// arrivals are the bodies of requests that are on their way in. Whoever sends slowly takes no place from requests that
// have arrived, only from others who send: where too many come at once, the one that has been coming for longest is cut
// off. A body that is sent as bodies are is there before that can meet it.
type arrivals struct {
	most int

	mu      sync.Mutex
	waiting list.List // of *http.ResponseController, the one that came first in front
}

// read reads the body of a request to its end. The error is an [*http.MaxBytesError] if it is larger than the limit, and
// [os.ErrDeadlineExceeded] if it did not come in time or was cut off, which takes a server that can be told so.
func (a *arrivals) read(w http.ResponseWriter, r *http.Request, limit int64, timeout time.Duration) ([]byte, error) {
	connection := http.NewResponseController(w)
	// The server that was not told how long a request may take is told here, for the body alone.
	limited := connection.SetReadDeadline(time.Now().Add(timeout)) == nil
	leave := func() {}
	if limited {
		leave = a.enter(connection)
	}
	var body bytes.Buffer
	// Most bodies fit at once; whoever says that more will come gets the room when it comes.
	body.Grow(int(min(max(r.ContentLength, 0), mostRoom)) + bytes.MinRead)
	_, err := body.ReadFrom(http.MaxBytesReader(w, r.Body, limit))
	leave()
	if limited && err == nil { // Else the server is not to wait for the rest either.
		_ = connection.SetReadDeadline(time.Time{})
	}
	return body.Bytes(), err
}

// mostRoom is how many bytes are set aside for a body before it is there.
const mostRoom = 4096

// enter counts a body that is coming in until leave is called.
func (a *arrivals) enter(connection *http.ResponseController) (leave func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	own := a.waiting.PushBack(connection)
	if a.waiting.Len() > a.most {
		oldest := a.waiting.Remove(a.waiting.Front()).(*http.ResponseController)
		_ = oldest.SetReadDeadline(time.Unix(1, 0))
	}
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.waiting.Remove(own) // Nothing if it was cut off.
	}
}
