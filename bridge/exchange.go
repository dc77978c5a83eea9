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
	url    string
	shown  shownRequest
	body   []byte
	sends  int // how often it may have left
	asks   int // inconclusive queries since it was last sent
	status int // of the response to be judged
	reason string
}

// shownRequest is what others may see of a request.
type shownRequest struct{ url, body string }

// ErrRequestChanged says that a request that may have left before a restart would be rendered differently now, so that
// it can neither be sent again under its key nor under another. The mapping, the settings or the remote party's
// address were changed meanwhile.
var ErrRequestChanged = errors.New("bridge: the request is not the one that was sent")

// try tells whether the request can be made, before anything of it is written down.
func (x *exchange) try() error {
	_, _, body, err := x.render(x.step.request)
	if err == nil {
		_, err = x.headers(x.step.request, uuid.NewString(), body != nil)
	}
	delete(x.world, rootExchange)
	if err != nil {
		return fmt.Errorf("the request cannot be made: %w", err)
	}
	return nil
}

// prepare renders the request and writes it down before anything leaves.
func (x *exchange) prepare(ctx context.Context, chosen enactment.Values) error {
	request := x.step.request
	url, shown, body, err := x.render(request)
	if err != nil {
		return unclear("request of step %s: %v", x.step.name, err)
	}
	x.url, x.shown, x.body = url, shown, body
	sum := digest(request.method, url, body)
	switch {
	case x.open != nil && x.open.Digest != sum:
		return &unclearError{
			detail: fmt.Sprintf("%v: step %s of %s", ErrRequestChanged, x.step.name, x.plan.action),
			cause:  ErrRequestChanged,
		}
	case x.open != nil:
		x.sends = 1 // It may have left.
	default:
		entry := Entry{Kind: EntryOpen, Step: x.step.name, Digest: sum, Bound: chosen}
		if !request.safe() {
			entry.Key = uuid.NewString()
		}
		if err := x.append(ctx, entry); err != nil {
			return err
		}
		x.open, x.idempotency = &entry, entry.Key
	}
	return nil
}

// render gives the URL and body of a request.
func (x *exchange) render(request *call) (string, shownRequest, []byte, error) {
	path, err := request.path.render(x.scene())
	if err != nil {
		return "", shownRequest{}, nil, fmt.Errorf("path: %w", err)
	}
	url := x.bridge.base + path.value.(string)
	shown := shownRequest{url: x.scrub.text(x.bridge.base+path.shown.(string), true)}
	if request.body == nil {
		return url, shown, nil, nil
	}
	rendered, err := request.body.render(x.scene())
	if err != nil {
		return "", shownRequest{}, nil, fmt.Errorf("body: %w", err)
	}
	body, err := encodeJSON(rendered.value)
	if err != nil {
		return "", shownRequest{}, nil, fmt.Errorf("body: %w", err)
	}
	masked, err := encodeJSON(x.scrub.value(rendered.shown, true))
	if err != nil {
		return "", shownRequest{}, nil, fmt.Errorf("body: %w", err)
	}
	shown.body = string(masked)
	return url, shown, body, nil
}

// headers renders the headers of a request; one whose value is not there is left out.
func (x *exchange) headers(request *call, key string, hasBody bool) (http.Header, error) {
	about := map[string]any{"request": uuid.NewString()}
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

// settle sends the request and asks what became of it until that is known, and gives the answer that says so. Whatever
// else happens is an [*unclearError], or the end of the context.
func (x *exchange) settle(ctx context.Context) (*answer, int, error) {
	patience := x.bridge.options.Patience
	whole := ctx
	until := time.Now().Add(patience.Deadline)
	if !patience.Until.IsZero() && patience.Until.Before(until) {
		until = patience.Until
	}
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	wait := patience.First
	send := x.sends == 0
	resendable := x.step.retry || x.step.request.safe()
	x.reason = "the bridge stopped before the response"
	for tries := 0; ; {
		if !send && x.step.status == nil {
			if !resendable {
				return nil, 0, x.unclear()
			}
			send = true
		}
		if x.sends > 0 || tries > 0 {
			if err := pause(ctx, wait); err != nil {
				return nil, 0, x.stopped(whole)
			}
			wait = min(2*wait, patience.Longest)
		}
		if send {
			if x.sends >= patience.Sends || tries >= patience.Sends {
				return nil, 0, x.unclear()
			}
			if ctx.Err() != nil { // A request that is never sent has no unknown fate.
				if x.sends == 0 {
					x.reason = "there was no time left to send it"
				}
				return nil, 0, x.stopped(whole)
			}
			tries++
			a, left, err := x.send(ctx)
			if whole.Err() != nil {
				return nil, 0, x.stopped(whole)
			}
			switch {
			case err != nil:
				return nil, 0, err
			case a != nil && a.kind != ask && a.kind != resend:
				return a, x.status, nil
			case left && (a == nil || a.kind == ask):
				send, x.asks = false, 0
			}
			continue
		}
		a, err := x.ask(ctx)
		if whole.Err() != nil {
			return nil, 0, x.stopped(whole)
		}
		switch {
		case err != nil:
			return nil, 0, err
		case a == nil:
			if x.asks++; x.asks >= patience.Asks && resendable {
				send = true
			} else if x.asks >= patience.Asks && !resendable {
				return nil, 0, x.unclear()
			}
		case a.kind == resend:
			send = true
		case a.kind != ask:
			return a, x.status, nil
		}
	}
}

func (x *exchange) unclear() error {
	return &unclearError{
		detail: fmt.Sprintf("step %s of %s, sent %d times: %s", x.step.name, x.plan.action, x.sends, x.reason),
		unsent: x.sends == 0,
	}
}

// stopped tells whether the bridge is to stop, or the deadline of the step has passed.
func (x *exchange) stopped(whole context.Context) error {
	if whole.Err() != nil {
		return context.Cause(whole)
	}
	return x.unclear()
}

// send sends the request once. left tells whether it may have left.
func (x *exchange) send(ctx context.Context) (a *answer, left bool, err error) {
	headers, err := x.headers(x.step.request, x.idempotency, x.body != nil)
	if err != nil {
		return nil, false, unclear("request of step %s: %v", x.step.name, err)
	}
	x.sends++
	x.world[rootExchange].(map[string]any)["sends"] = json.Number(strconv.Itoa(x.sends))
	request := Request{
		Method: x.step.request.method, URL: x.url, Header: headers, Body: x.body,
		Enactment: x.key, Action: x.plan.action, Step: x.step.name,
	}
	delete(x.world, rootStatus)
	a, err = x.call(ctx, request, x.shown, rootResponse, x.step.answers)
	var notSent *NotSentError
	if errors.As(err, &notSent) {
		x.sends--
		return nil, false, nil
	}
	return a, true, nil
}

// ask asks once what became of the request.
func (x *exchange) ask(ctx context.Context) (*answer, error) {
	query := x.step.status.request
	url, shown, body, err := x.render(query)
	if err != nil {
		return nil, unclear("status query of step %s: %v", x.step.name, err)
	}
	headers, err := x.headers(query, "", body != nil)
	if err != nil {
		return nil, unclear("status query of step %s: %v", x.step.name, err)
	}
	x.world[rootExchange].(map[string]any)["sends"] = json.Number(strconv.Itoa(x.sends))
	request := Request{
		Method: query.method, URL: url, Header: headers, Body: body,
		Enactment: x.key, Action: x.plan.action, Step: x.step.name, Query: true,
	}
	a, _ := x.call(ctx, request, shown, rootStatus, x.step.status.answers)
	return a, nil
}

// call makes one call and finds the answer that its response means; nil if it means nothing. The error is the
// caller's.
func (x *exchange) call(ctx context.Context, request Request, shown shownRequest, root string, answers []*answer) (*answer, error) {
	audit := Call{
		Enactment: x.key, Action: x.plan.action, Step: x.step.name, Query: request.Query,
		Method: request.Method, URL: shown.url, Request: shown.body, Outcome: Unknown, At: time.Now(),
	}
	if !request.Query {
		audit.Send, audit.Key = x.sends, x.idempotency
	}
	response, err := x.bridge.options.Caller.Call(ctx, request)
	audit.Duration = time.Since(audit.At)
	delete(x.world, root)
	var a *answer
	if err == nil {
		audit.Status = response.Status
		a, audit.Response = x.judge(response, root, answers)
	} else {
		x.reason = err.Error()
	}
	if a != nil && !request.Query && !x.believes(a) {
		x.reason = fmt.Sprintf("status %d does not say what became of the same request, sent before", response.Status)
		a = &answer{kind: ask}
	} else if a != nil && (a.kind == ask || a.kind == resend) {
		x.reason = fmt.Sprintf("not settled after status %d", response.Status)
	}
	switch {
	case a == nil:
		audit.Error = x.scrub.text(x.reason, true)
	case a.kind == ask || a.kind == resend:
		audit.Outcome = Open
	default:
		audit.Outcome = Known
	}
	if audit.Status != 0 || x.last == nil || x.last.Status == 0 {
		x.last = &audit
	}
	if !audit.Query && audit.Status != 0 {
		x.said = &audit
	}
	if x.bridge.options.Audit != nil {
		x.bridge.options.Audit(audit)
	}
	return a, err
}

// believes tells whether a response with the status that was judged settles the request. What a request that changes
// something has done when it was sent before, nobody knows; a refusal of the same request now, which may come from
// whatever stands in front of the remote party, does not prove that it has done nothing.
func (x *exchange) believes(a *answer) bool {
	if x.step.request.safe() || x.sends <= 1 || a.kind == diverged {
		return true
	}
	return x.status >= http.StatusOK && x.status < http.StatusMultipleChoices
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
		if a.kind != ask && a.kind != resend {
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

func pause(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func digest(method, url string, body []byte) string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%s\n%s\n", method, url)
	sum.Write(body)
	return hex.EncodeToString(sum.Sum(nil))
}
