package lsp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/strabo-engine/strabo/langshaw/verify"
)

// ErrNoShutdown says that the client went away, or said exit, without having said shutdown first.
var ErrNoShutdown = errors.New("lsp: the client ended without shutdown")

const (
	// mostWaiting is how many messages are read ahead, so that a request can be cancelled before its turn.
	mostWaiting = 16
	// mostDocuments is how many documents may be open, mostText how many bytes one may have. Others are not looked at.
	mostDocuments = 1000
	mostText      = 1 << 20
	// mostStates and longestVerification bound the verification of a document that is being edited.
	mostStates          = 20_000
	longestVerification = 5 * time.Second
)

// Options say how to serve.
type Options struct {
	// Version is told to the client.
	Version string
	// Debounce is how long a text must rest before it is checked and verified; 0 is not at all.
	Debounce time.Duration
	// Logger is told what goes wrong with the client; nil for nobody.
	Logger *slog.Logger
}

// Serve speaks with one client until it says exit, the input ends or cannot be understood, the output fails, or the
// context ends. It gives nil after shutdown and exit, and otherwise ErrNoShutdown, ErrFrame, the error of the output or
// that of the context. When it returns, nothing it started is left but, after an end by the context or the output, a
// Read of the input, which lasts until the input is closed.
func Serve(ctx context.Context, in io.Reader, out io.Writer, options Options) error {
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	ctx, end := context.WithCancel(ctx)
	s := &server{
		Options: options, out: out, messages: make(chan message, mostWaiting), broken: make(chan error, 1), pending: make(map[string]bool),
		documents: make(map[string]*document), stale: make(map[string]bool), unverified: make(map[string]bool),
		verdicts: make(chan verdict, 1), timer: time.NewTimer(0), encoding: utf16Encoding,
	}
	<-s.timer.C
	defer func() {
		end()
		s.timer.Stop()
		s.working.Wait()
	}()
	go s.read(ctx, bufio.NewReader(in))
	return s.run(ctx)
}

// server is one session. All but read and the verifications run in one goroutine, which alone touches what is not said
// to be shared.
type server struct {
	Options
	out      io.Writer
	messages chan message
	// broken gives why reading ended, after which no messages come.
	broken chan error

	// shared guards pending: the ids of requests that are read and not answered, and whether they are cancelled.
	shared  sync.Mutex
	pending map[string]bool

	initialized, shutdown bool
	client                initializeParams
	encoding              encoding
	documents             map[string]*document
	// stale are the documents that are to be checked when the timer has run out, unverified those to be verified when
	// no verification runs.
	stale, unverified map[string]bool
	timer             *time.Timer
	// verifying is the document that is being verified, giveUp ends that, verdicts has the outcome.
	verifying *document
	giveUp    context.CancelFunc
	verdicts  chan verdict
	working   sync.WaitGroup
	failure   error
}

// verdict is the outcome of the verification of a document.
type verdict struct {
	document *document
	report   verify.Report
}

// read passes messages on until there are none. Only a message that cancels another takes effect at once.
func (s *server) read(ctx context.Context, in *bufio.Reader) {
	for {
		content, err := readFrame(in)
		var m message
		switch {
		case errors.Is(err, errTooLarge):
			m = message{broken: &failure{invalidRequest, err.Error()}}
		case err != nil:
			s.broken <- err
			close(s.messages)
			return
		default:
			m = decode(content)
		}
		if m.Method == "$/cancelRequest" {
			s.cancel(m)
			continue
		}
		if m.isRequest() {
			s.shared.Lock()
			s.pending[string(m.ID)] = false
			s.shared.Unlock()
		}
		select {
		case s.messages <- m:
		case <-ctx.Done():
			return
		}
		if m.Method == "exit" {
			return
		}
	}
}

// cancel notes that the answer to a request is no longer wanted, if it is still to come.
func (s *server) cancel(m message) {
	p, err := params[struct {
		ID json.RawMessage `json:"id"`
	}](m)
	if err != nil {
		return
	}
	s.shared.Lock()
	defer s.shared.Unlock()
	if id := string(bytes.TrimSpace(p.ID)); id != "" {
		if _, ok := s.pending[id]; ok {
			s.pending[id] = true
		}
	}
}

// taken takes a request from those that are pending and tells whether it was cancelled.
func (s *server) taken(m message) (cancelled bool) {
	s.shared.Lock()
	defer s.shared.Unlock()
	cancelled = s.pending[string(m.ID)]
	delete(s.pending, string(m.ID))
	return cancelled
}

func (s *server) run(ctx context.Context) error {
	for s.failure == nil {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case m, ok := <-s.messages:
			switch {
			case !ok:
				return s.ended(<-s.broken)
			case m.Method == "exit" && !m.isRequest():
				return s.ended(io.EOF)
			default:
				s.take(m)
			}
		case <-s.timer.C:
			s.check(ctx)
		case v := <-s.verdicts:
			s.conclude(ctx, v)
		}
	}
	return s.failure
}

// ended gives what Serve gives when no more is read.
func (s *server) ended(err error) error {
	switch {
	case !errors.Is(err, io.EOF):
		return err
	case s.shutdown:
		return nil
	default:
		return ErrNoShutdown
	}
}

// take handles one message: it answers a request, and follows a notification.
func (s *server) take(m message) {
	if !m.isRequest() {
		switch {
		case m.broken != nil:
			s.Logger.Warn("a message cannot be understood", "reason", m.broken.Message)
			s.send(refusal{"2.0", nullID, m.broken})
		case s.initialized && !s.shutdown:
			s.follow(m)
		}
		return
	}
	var result any
	var err error
	switch cancelled := s.taken(m); {
	case m.broken != nil:
		err = m.broken
	case cancelled:
		err = &failure{requestCancelled, "cancelled"}
	case s.shutdown:
		err = &failure{invalidRequest, "after shutdown only exit is left"}
	case !s.initialized && m.Method != "initialize":
		err = &failure{notInitialized, "initialize comes first"}
	default:
		result, err = s.answer(m)
	}
	if err != nil {
		var f *failure
		if !errors.As(err, &f) {
			f = &failure{requestFailed, err.Error()}
		}
		s.send(refusal{"2.0", m.ID, f})
		return
	}
	s.send(answer{"2.0", m.ID, result})
}

// send writes a message. The first failure ends the session.
func (s *server) send(m any) {
	if s.failure != nil {
		return
	}
	var content bytes.Buffer
	encoder := json.NewEncoder(&content)
	encoder.SetEscapeHTML(false)
	if s.failure = encoder.Encode(m); s.failure == nil {
		s.failure = writeFrame(s.out, content.Bytes())
	}
}

func (s *server) warn(message string) {
	const warning = 2
	s.send(notification{"2.0", "window/showMessage", showMessageParams{warning, message}})
}
