package bridge

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/strabo-engine/strabo/enactment"
)

// exchange is one request of a step, sent until it is known what became of it.
type exchange struct {
	*run
	step   *step
	rule   *governed
	url    string
	shown  shownRequest
	body   []byte
	sends  int // how often it may have left
	asks   int // inconclusive queries since it was last sent
	status int // of the response to be judged
	reason string
	// results are the digests of the whole answers to the request that were to be final, by HTTP 2xx.
	results map[string]bool
}

// shownRequest is what others may see of a request.
type shownRequest struct{ url, body string }

// ErrRequestChanged says that a request that may have left before a restart would be rendered differently now, so that
// it can neither be sent again under its key nor under another. The mapping, the settings or the remote party's
// address were changed meanwhile.
var ErrRequestChanged = errors.New("bridge: the request is not the one that was sent")

// try makes the request, before anything of it is written down, and gives what it would give to the operation. The error
// says that it cannot be made.
func (x *exchange) try() (arguments enactment.Values, err error) {
	defer delete(x.world, rootExchange)
	request := x.step.request
	var body any
	if x.url, x.shown, x.body, body, err = x.render(request); err != nil {
		return nil, fmt.Errorf("the request cannot be made: %w", err)
	}
	header, err := x.headers(request, uuid.NewString(), x.body != nil)
	if err != nil {
		return nil, fmt.Errorf("the request cannot be made: %w", err)
	}
	if !x.rule.declared {
		return nil, nil
	}
	if arguments, err = x.rule.arguments(x.scene(), x.url, header, body); err != nil {
		return nil, fmt.Errorf("the request cannot be made: %w", err)
	}
	return arguments, nil
}

// begin writes the request down before anything leaves.
func (x *exchange) begin(ctx context.Context, chosen enactment.Values) error {
	entry := Entry{
		Kind: EntryOpen, Step: x.step.name, Digest: digest(x.step.request.method, x.url, x.body), Bound: chosen, At: time.Now().UTC(),
	}
	if !x.rule.keyless(x.step.request) {
		entry.Key = uuid.NewString()
	}
	if err := x.append(ctx, entry); err != nil {
		return err
	}
	x.open, x.idempotency = &entry, entry.Key
	return nil
}

// resume makes a request that may have left before a restart: it must be the same.
func (x *exchange) resume() error {
	if _, err := x.try(); err != nil {
		return unclear("request of step %s: %v", x.step.name, err)
	}
	if x.open.Digest != digest(x.step.request.method, x.url, x.body) {
		return &unclearError{
			detail: fmt.Sprintf("%v: step %s of %s", ErrRequestChanged, x.step.name, x.plan.action),
			cause:  ErrRequestChanged,
		}
	}
	x.sends = 1 // It may have left.
	return nil
}

// render gives the URL and body of a request, the body also as a value.
func (x *exchange) render(request *call) (address string, shown shownRequest, body []byte, value any, err error) {
	path, err := request.path.render(x.scene())
	if err != nil {
		return "", shownRequest{}, nil, nil, fmt.Errorf("path: %w", err)
	}
	address = x.bridge.base + path.value.(string)
	shown = shownRequest{url: x.scrub.text(x.bridge.base+path.shown.(string), true)}
	if request.body == nil {
		return address, shown, nil, nil, nil
	}
	rendered, err := request.body.render(x.scene())
	if err != nil {
		return "", shownRequest{}, nil, nil, fmt.Errorf("body: %w", err)
	}
	if body, err = encodeJSON(rendered.value); err != nil {
		return "", shownRequest{}, nil, nil, fmt.Errorf("body: %w", err)
	}
	masked, err := encodeJSON(x.scrub.value(rendered.shown, true))
	if err != nil {
		return "", shownRequest{}, nil, nil, fmt.Errorf("body: %w", err)
	}
	shown.body = string(masked)
	return address, shown, body, rendered.value, nil
}

// headers renders the headers of a request; one whose value is not there is left out.
func (x *exchange) headers(request *call, key string, hasBody bool) (http.Header, error) {
	about := map[string]any{"request": uuid.NewString(), "waited": x.waiting != nil}
	if key != "" {
		about["key"] = key
	}
	x.world[rootExchange] = about
	headers := http.Header{"Accept": {"application/json"}}
	if hasBody {
		headers.Set("Content-Type", "application/json")
	}
	for _, from := range [][]header{x.bridge.mapping.headers, request.headers} {
		for _, h := range from {
			value, err := h.value.render(x.scene())
			switch {
			case errors.Is(err, errAbsent):
			case err != nil:
				return nil, fmt.Errorf("header %s: %w", h.name, err)
			default:
				headers.Set(h.name, value.value.(string))
			}
		}
	}
	return headers, nil
}

const (
	// maxText is how much of a body that is not JSON is shown and told, in bytes.
	maxText = 1024
	// maxScrubbed is how much of it is searched for secrets.
	maxScrubbed = 64 << 10
)

// judge finds the answer that a response means, and what others may see of its body. A response that means nothing
// leaves it open what became of the request.
func (x *exchange) judge(response Response, root string, answers []*answer) (*answer, string) {
	about := map[string]any{"status": json.Number(strconv.Itoa(response.Status))}
	shown := ""
	if body, err := decodeJSON(response.Body); err == nil {
		about["body"] = body
		if text, err := encodeJSON(x.scrub.value(body, true)); err == nil {
			shown = string(text)
		}
	} else if len(response.Body) > 0 {
		// Secrets are looked for before anything is cut off, for half of one would not be found.
		text := x.scrub.text(toUTF8(response.Body[:min(len(response.Body), maxScrubbed)]), true)
		shown = strings.ToValidUTF8(text[:min(len(text), maxText)], "")
		about["text"] = shown
	}
	x.world[root] = about
	x.reason = fmt.Sprintf("the response with status %d has no meaning in the mapping", response.Status)
	for _, a := range answers {
		if !a.matches(response.Status, x.world) {
			continue
		}
		if a.kind != ask && a.kind != resend && a.kind != wait {
			if err := x.lacks(a); err != nil {
				x.reason = fmt.Sprintf("the response with status %d lacks something: %v", response.Status, err)
				return nil, shown
			}
		}
		x.status = response.Status
		return a, shown
	}
	return nil, shown
}

// lacks tells what an answer would bind that the response has not.
func (x *exchange) lacks(a *answer) error {
	trial := *x.run
	trial.bound, trial.kept, trial.world = clone(x.bound), clone(x.kept), clone(x.world)
	trial.world[rootBound], trial.world[rootKept] = trial.bound, trial.kept
	_, err := trial.bind(a)
	return err
}

func clone(m map[string]any) map[string]any {
	c := make(map[string]any, len(m)+1)
	for name, value := range m {
		c[name] = value
	}
	return c
}

func toUTF8(text []byte) string {
	if utf8.Valid(text) {
		return string(text)
	}
	return string([]rune(string(text)))
}

func digest(method, url string, body []byte) string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%s\n%s\n", method, url)
	sum.Write(body)
	return hex.EncodeToString(sum.Sum(nil))
}
