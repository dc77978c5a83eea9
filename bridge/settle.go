package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/strabo-engine/strabo/bridge/policy"
	"github.com/strabo-engine/strabo/internal/pause"
)

// followUp is what is done about a request until it is known what became of it.
type followUp struct {
	*exchange
	backoff *policy.Backoff
	until   time.Time
	tries   int
	// class is what is known after the last attempt; 0 before the first.
	class      policy.Class
	retryAfter time.Duration
	// refused is why it was not sent again when that was last considered; nil if it was.
	refused error
	// spare is the mapping's answer to a response that asks to come again, for when that may not be done.
	spare *answer
}

// move is what is done next.
type move int

const (
	sending move = iota
	asking
	givingUp
)

// settle sends the request and asks what became of it until that is known, and gives the answer that says so. Whatever
// else happens is an [*unclearError], or the end of the context.
func (x *exchange) settle(whole context.Context) (*answer, int, error) {
	patience := x.bridge.options.Patience
	until := time.Now().Add(patience.Deadline)
	if !patience.Until.IsZero() && patience.Until.Before(until) {
		until = patience.Until
	}
	ctx, cancel := context.WithDeadline(whole, until)
	defer cancel()
	f := &followUp{exchange: x, backoff: policy.NewBackoff(patience.First, patience.Longest), until: until}
	x.reason = "the bridge stopped before the response"
	next := sending
	if x.sends > 0 {
		f.class = policy.Lost
		next = f.after()
	}
	for {
		var a *answer
		var err error
		switch next {
		case sending:
			a, next, err = f.attempt(ctx)
		case asking:
			a, next, err = f.inquire(ctx)
		case givingUp:
			return nil, 0, f.giveUp()
		}
		switch {
		case whole.Err() != nil:
			return nil, 0, context.Cause(whole)
		case err != nil:
			return nil, 0, err
		case a != nil:
			return a, x.status, nil
		}
	}
}

// after says what to do about a request of which nobody knows what became: ask, or send it again where that is how to
// ask; the policy still decides whether it may be.
func (f *followUp) after() move {
	switch {
	case f.step.status != nil && !f.rule.Contract.Readonly.Value:
		f.asks = 0
		return asking
	case f.rule.Contract.Readonly.Value:
		return sending
	case f.step.replay:
		f.class = policy.Asked
		return sending
	default:
		return givingUp
	}
}

// attempt sends the request once, if that may be done, and says what it means.
func (f *followUp) attempt(ctx context.Context) (*answer, move, error) {
	if f.class != 0 {
		if err := f.again(ctx); err != nil {
			if f.spare != nil {
				return f.spare, givingUp, nil
			}
			return f.holdBack(ctx, err)
		}
	} else if ctx.Err() != nil { // A request that is never sent has no unknown fate.
		f.reason = "there was no time left to send it"
		return nil, givingUp, f.unclear(nil)
	}
	f.tries++
	f.refused = nil
	f.spare, f.retryAfter = nil, 0
	a, response, err := f.send(ctx)
	var notSent *NotSentError
	switch {
	case errors.As(err, &notSent):
		f.class = policy.Unreached
		return nil, sending, nil
	case errors.As(err, new(*unclearError)):
		return f.holdBack(ctx, err)
	case err != nil:
		f.class = policy.Lost
		return nil, f.after(), nil
	}
	wait, asked := retryAfter(response, time.Now())
	settled := a != nil && a.kind != ask && a.kind != resend
	if policy.ClassOfStatus(response.Status, asked) == policy.Busy {
		f.class, f.retryAfter = policy.Busy, wait
		if settled {
			f.spare = a
		}
		return nil, sending, nil
	}
	switch {
	case settled:
		return a, givingUp, nil
	case a == nil:
		f.class = policy.ClassOfStatus(response.Status, false)
		return nil, f.after(), nil
	case a.kind == resend:
		f.class = policy.Asked
		return nil, sending, nil
	case f.step.status != nil:
		f.class, f.asks = policy.Lost, 0
		return nil, asking, nil
	default:
		f.class = policy.Asked
		return nil, sending, nil
	}
}

// holdBack says what to do about a request that is not sent again, or not now. One that may have left is asked about
// until the deadline, for its answer may still come to be known.
func (f *followUp) holdBack(ctx context.Context, why error) (*answer, move, error) {
	held := why
	if unclear := (*unclearError)(nil); errors.As(why, &unclear) {
		held = unclear.cause
	}
	if f.refused == nil || !errors.Is(held, policy.ErrNoTime) {
		f.refused = held
	}
	if f.sends > 0 && f.step.status != nil && !f.rule.Contract.Readonly.Value && ctx.Err() == nil {
		f.class, f.asks = policy.Lost, 0
		return nil, asking, nil
	}
	if held != why {
		return nil, givingUp, why
	}
	return nil, givingUp, f.giveUp()
}

// giveUp says that nobody knows what became of the request.
func (f *followUp) giveUp() error {
	if f.refused != nil {
		f.reason += ": " + f.refused.Error()
	}
	return f.unclear(f.refused)
}

// again waits until the request may be sent again; the error says why it may not.
func (f *followUp) again(ctx context.Context) error {
	if err := f.rule.Stands(f.principal); err != nil {
		return err
	}
	wait, err := f.rule.MayRetry(policy.Retry{
		Class: f.class, Keyed: f.rule.keyed, Attempts: max(f.tries, f.sends), Most: f.bridge.options.Patience.Sends,
		Opened: f.open.At, Now: time.Now(), Deadline: f.until, Wait: f.backoff.Next(), RetryAfter: f.retryAfter,
		SameBytes: f.open.Digest == digest(f.step.request.method, f.url, f.body),
	})
	if err != nil {
		return err
	}
	return pause.For(ctx, wait)
}

// inquire asks once what became of the request.
func (f *followUp) inquire(ctx context.Context) (*answer, move, error) {
	if err := pause.For(ctx, f.backoff.Next()); err != nil {
		return nil, givingUp, f.giveUp()
	}
	a, err := f.ask(ctx)
	switch {
	case err != nil:
		return nil, givingUp, err
	case a == nil:
		// What must not be sent again is asked about until the deadline.
		if f.asks++; f.asks >= f.bridge.options.Patience.Asks && f.rule.repeatable() {
			f.class = policy.Asked
			return nil, sending, nil
		}
		return nil, asking, nil
	case a.kind == resend:
		f.class = policy.Asked
		return nil, sending, nil
	case a.kind == ask:
		return nil, asking, nil
	default:
		return a, givingUp, nil
	}
}

func (x *exchange) unclear(cause error) error {
	return &unclearError{
		detail: fmt.Sprintf("step %s of %s, sent %d times: %s", x.step.name, x.plan.action, x.sends, x.reason),
		unsent: x.sends == 0, cause: cause,
	}
}

// longestRetryAfter bounds what a remote party may ask for; whatever is longer ends at the deadline anyway.
const longestRetryAfter = 24 * time.Hour

// retryAfter gives how long a response asks to wait, as a number of seconds or a date (RFC 9110, section 10.2.3).
func retryAfter(response Response, now time.Time) (time.Duration, bool) {
	text := strings.TrimSpace(response.Header.Get("Retry-After"))
	if seconds, err := strconv.ParseUint(text, 10, 32); err == nil {
		return min(time.Duration(seconds)*time.Second, longestRetryAfter), true
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(at.Sub(now), 0), longestRetryAfter), true
	}
	return 0, false
}

// send sends the request once. The error is an [*unclearError] if it was not to leave, a [*NotSentError] if it has not
// left, and any other if it may have.
func (x *exchange) send(ctx context.Context) (*answer, Response, error) {
	headers, err := x.headers(x.step.request, x.idempotency, x.body != nil)
	if err != nil {
		return nil, Response{}, unclear("request of step %s: %v", x.step.name, err)
	}
	if err := x.admit(ctx, x.rule, x.sends > 0); err != nil {
		x.reason = err.Error()
		return nil, Response{}, x.unclear(err)
	}
	if err := x.intend(ctx); err != nil {
		x.reason = err.Error()
		return nil, Response{}, x.unclear(err)
	}
	x.sends++
	x.world[rootExchange].(map[string]any)["sends"] = json.Number(strconv.Itoa(x.sends))
	request := Request{
		Method: x.step.request.method, URL: x.url, Header: headers, Body: x.body,
		Enactment: x.key, Action: x.plan.action, Step: x.step.name,
	}
	delete(x.world, rootStatus)
	a, response, err := x.call(ctx, request, x.rule, x.shown, rootResponse, x.step.answers)
	if errors.As(err, new(*NotSentError)) {
		x.sends--
	}
	return a, response, err
}

// ask asks once what became of the request. The answer is nil if that says nothing.
func (x *exchange) ask(ctx context.Context) (*answer, error) {
	query := x.step.status.request
	about := make(map[string]any)
	if x.idempotency != "" {
		about["key"] = x.idempotency
	}
	x.world[rootExchange] = about
	address, shown, body, _, err := x.render(query)
	if err != nil {
		return nil, unclear("status query of step %s: %v", x.step.name, err)
	}
	headers, err := x.headers(query, "", body != nil)
	if err != nil {
		return nil, unclear("status query of step %s: %v", x.step.name, err)
	}
	rule := x.bridge.governed[query]
	if err := rule.Stands(x.principal); err != nil {
		x.denied(ctx, rule, err)
		return nil, x.unclear(err)
	}
	if err := x.admit(ctx, rule, false); err != nil {
		return nil, nil // It is not asked now; perhaps later.
	}
	exchange := x.world[rootExchange].(map[string]any)
	exchange["sends"] = json.Number(strconv.Itoa(x.sends))
	maps.Copy(exchange, about) // The key goes into no header of the query: that is another request.
	request := Request{
		Method: query.method, URL: address, Header: headers, Body: body,
		Enactment: x.key, Action: x.plan.action, Step: x.step.name, Query: true,
	}
	a, _, _ := x.call(ctx, request, rule, shown, rootStatus, x.step.status.answers)
	return a, nil
}

// call makes one call and finds the answer that its response means; nil if it means nothing. The error is the
// caller's, or says that the target is left alone.
func (x *exchange) call(
	ctx context.Context, request Request, rule *governed, shown shownRequest, root string, answers []*answer,
) (*answer, Response, error) {
	done, err := x.bridge.options.Policy.Reach(x.bridge.target)
	if err != nil {
		x.reason = err.Error()
		x.left(ctx, rule, err)
		return nil, Response{}, &NotSentError{err}
	}
	// The timeout bounds the waiting. What happens at the other end goes on.
	waiting, cancel := context.WithTimeout(ctx, rule.Contract.Timeout.Value)
	defer cancel()
	began := time.Now()
	response, err := x.bridge.options.Caller.Call(waiting, request)
	latency := time.Since(began)
	done(health(ctx, response, err))
	delete(x.world, root)
	var a *answer
	said := ""
	if err == nil {
		a, said = x.judge(response, root, answers)
	} else {
		x.reason = err.Error()
	}
	if a != nil && !request.Query && !x.believes(a) {
		x.reason = fmt.Sprintf("status %d does not say what became of the same request, sent before", response.Status)
		a = &answer{kind: ask}
	} else if a != nil && (a.kind == ask || a.kind == resend || a.kind == wait) {
		x.reason = fmt.Sprintf("not settled after status %d", response.Status)
	}
	x.attempted(ctx, attempted{
		request: request, rule: rule, shown: shown, began: began, latency: latency, response: response, said: said, answer: a, err: err,
	})
	if err == nil && !request.Query {
		x.compare(ctx, rule, response, a)
	}
	return a, response, err
}

// health is what a call says about the remote party. What the bridge itself broke off says nothing.
func health(ctx context.Context, response Response, err error) policy.Health {
	switch {
	case err != nil && ctx.Err() != nil:
		return policy.Unjudged
	case err != nil, response.Status >= http.StatusInternalServerError:
		return policy.Failing
	default:
		return policy.Healthy
	}
}

// believes tells whether a response with the status that was judged settles the request. What a request that changes
// something has done when it was sent before, nobody knows; a refusal of the same request now, which may come from
// whatever stands in front of the remote party, does not prove that it has done nothing.
func (x *exchange) believes(a *answer) bool {
	if x.rule.keyless(x.step.request) || x.sends <= 1 || a.kind == diverged {
		return true
	}
	return x.status >= http.StatusOK && x.status < http.StatusMultipleChoices
}
