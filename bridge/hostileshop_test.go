package bridge_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// shopProcess makes the test binary a hostile shop instead of running tests.
const shopProcess = "STRABO_TEST_HOSTILE_SHOP"

// effect counts what the shop has really done.
type effect struct {
	Line string `json:"line"`
	Key  string `json:"key"`
	Body string `json:"body"`
}

// ledger is what a shop tells whoever asks at /_ledger: what it did, and what it was asked.
type ledger struct {
	Effects  []effect `json:"effects"`
	Requests []effect `json:"requests"`
}

// shopState is one shop of the process; each test has its own.
type shopState struct {
	mu       sync.Mutex
	script   map[string][]string
	forgets  bool // it keeps no keys
	answered map[string]string
	receipt  string
	ledger   ledger
}

// runHostileShop serves hostile shops, each below a name of its own, until standard input ends.
func runHostileShop() int {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	var mu sync.Mutex
	shops := make(map[string]*shopState)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		mu.Lock()
		s := shops[name]
		if s == nil {
			s = &shopState{script: make(map[string][]string), answered: make(map[string]string)}
			shops[name] = s
		}
		mu.Unlock()
		s.serve(w, r, "/"+rest)
	})}
	fmt.Println("http://" + listener.Addr().String())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	fmt.Fprintln(os.Stderr, server.Serve(listener))
	return 1
}

func (s *shopState) serve(w http.ResponseWriter, r *http.Request, path string) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	s.mu.Lock()
	switch path {
	case "/_script":
		var told struct {
			Script  map[string][]string
			Forgets bool
		}
		err := json.Unmarshal(body, &told)
		s.script, s.forgets = told.Script, told.Forgets
		s.mu.Unlock()
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
		return
	case "/_ledger":
		text, _ := json.Marshal(s.ledger)
		s.mu.Unlock()
		_, _ = w.Write(text)
		return
	}
	line := r.Method + " " + path
	asked := effect{line, r.Header.Get("Idempotency-Key"), string(body)}
	s.ledger.Requests = append(s.ledger.Requests, asked)
	behaviour := ""
	if next := s.script[line]; len(next) > 0 {
		behaviour, s.script[line] = next[0], next[1:]
	}
	s.mu.Unlock()
	s.behave(w, r, behaviour, asked)
}

// behave does what the script says next: commits, or does not, and answers, or does not.
func (s *shopState) behave(w http.ResponseWriter, r *http.Request, behaviour string, asked effect) {
	name, argument, _ := strings.Cut(behaviour, " ")
	switch name {
	case "commit-and-hang":
		s.commit(asked)
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	case "hang-and-commit": // after the other side has given up
		<-r.Context().Done()
		s.commit(asked)
		panic(http.ErrAbortHandler)
	case "commit-and-reset":
		s.commit(asked)
		reset(w)
	case "reset":
		reset(w)
	case "commit-and-garbage":
		s.commit(asked)
		_, _ = io.WriteString(w, "<html>200 OK, all is well</html>")
	case "commit-and-slow":
		status, text := s.commit(asked)
		w.Header().Set("Content-Length", strconv.Itoa(len(text)))
		w.WriteHeader(status)
		for _, b := range []byte(text) {
			if _, err := w.Write([]byte{b}); err != nil {
				return
			}
			_ = http.NewResponseController(w).Flush()
			select {
			case <-r.Context().Done():
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	case "commit-and-fail":
		s.commit(asked)
		http.Error(w, `{"error":"boom"}`, http.StatusInternalServerError)
	case "redirect":
		http.Redirect(w, r, argument, http.StatusTemporaryRedirect)
	case "busy": // busy STATUS SECONDS
		status, after, _ := strings.Cut(argument, " ")
		code, _ := strconv.Atoi(status)
		if after != "" {
			w.Header().Set("Retry-After", after)
		}
		w.WriteHeader(code)
	case "status":
		code, _ := strconv.Atoi(argument)
		w.WriteHeader(code)
		_, _ = io.WriteString(w, `{"error":"no"}`)
	case "says":
		w.WriteHeader(http.StatusOK)
		_, _ = io.WriteString(w, argument)
	case "commit-and-say":
		s.commit(asked)
		w.WriteHeader(http.StatusOK)
		_, _ = io.WriteString(w, argument)
	default:
		status, text := s.commit(asked)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}
}

// reset ends a connection in the rudest way.
func reset(w http.ResponseWriter) {
	connection, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := connection.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = connection.Close()
}

// commit does what is asked, once for each key where the shop keeps them, and gives the answer.
func (s *shopState) commit(asked effect) (int, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if strings.HasPrefix(asked.Line, "GET ") {
		if s.receipt != "" {
			return http.StatusOK, fmt.Sprintf(`{"number":"n1","receipt":%q}`, s.receipt)
		}
		return http.StatusOK, `{"number":"n1","state":"open"}`
	}
	if before, ok := s.answered[asked.Key]; ok && !s.forgets && asked.Key != "" {
		status := http.StatusOK
		if asked.Line == "POST /reservations" {
			status = http.StatusCreated
		}
		return status, before
	}
	s.ledger.Effects = append(s.ledger.Effects, asked)
	status, text := http.StatusOK, `{}`
	switch {
	case asked.Line == "POST /reservations":
		status, text = http.StatusCreated, `{"number":"n1"}`
	case strings.HasSuffix(asked.Line, "/payment"):
		s.receipt = fmt.Sprintf("q%d", len(s.ledger.Effects))
		text = fmt.Sprintf(`{"receipt":%q}`, s.receipt)
	}
	s.answered[asked.Key] = text
	return status, text
}

// oneOff keeps no connection.
var oneOff = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// hostileShop is a shop of the process, for one test.
type hostileShop struct {
	t   testing.TB
	url string
}

var (
	shopNumber atomic.Int64
	shopOnce   = sync.OnceValues(startHostileShop)
	stopShop   = func() {}
)

func startHostileShop() (string, error) {
	process := exec.Command(os.Args[0])
	process.Env = append(os.Environ(), shopProcess+"=1")
	process.Stderr = os.Stderr
	input, err := process.StdinPipe()
	if err != nil {
		return "", err
	}
	output, err := process.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := process.Start(); err != nil {
		return "", err
	}
	stopShop = func() {
		_ = input.Close()
		_ = process.Wait()
	}
	line, err := bufio.NewReader(output).ReadString('\n')
	return strings.TrimSpace(line), err
}

func newHostileShop(t testing.TB) *hostileShop {
	t.Helper()
	url, err := shopOnce()
	require.NoError(t, err)
	return &hostileShop{t, fmt.Sprintf("%s/shop%d", url, shopNumber.Add(1))}
}

// behaves says what the shop does at the next requests of each kind; what is not said is done as it should be.
func (s *hostileShop) behaves(script map[string][]string, forgets bool) {
	s.t.Helper()
	text, err := json.Marshal(map[string]any{"Script": script, "Forgets": forgets})
	require.NoError(s.t, err)
	response, err := oneOff.Post(s.url+"/_script", "application/json", bytes.NewReader(text))
	require.NoError(s.t, err)
	require.NoError(s.t, response.Body.Close())
	require.Equal(s.t, http.StatusOK, response.StatusCode)
}

// books is what the shop has done and was asked.
func (s *hostileShop) books() ledger {
	s.t.Helper()
	response, err := oneOff.Get(s.url + "/_ledger")
	require.NoError(s.t, err)
	defer response.Body.Close()
	var l ledger
	require.NoError(s.t, json.NewDecoder(response.Body).Decode(&l))
	return l
}

// effects counts what was done of a kind.
func (s *hostileShop) effects(line string) int { return count(s.books().Effects, line) }

// asked counts the requests of a kind.
func (s *hostileShop) asked(line string) int { return count(s.books().Requests, line) }

func count(of []effect, line string) int {
	n := 0
	for _, e := range of {
		if e.Line == line {
			n++
		}
	}
	return n
}
