package approval

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

var (
	idPattern     = regexp.MustCompile(`^[!-?A-~]{1,200}$`) // visible ASCII without @
	digestPattern = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// mostLabels bounds the number of labels.
const mostLabels = 100

func invalid(format string, arguments ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrInvalid}, arguments...)...)
}

// Validate tells whether a request is what its documentation asks for; the error wraps [ErrInvalid].
func (r Request) Validate() error {
	for name, text := range map[string]string{
		"operation": r.Operation, "scope": r.Scope, "enactment": string(r.Enactment), "action": r.Action, "step": r.Step, "prompt": r.Prompt,
	} {
		if len(text) > MaxText {
			return invalid("%s has more than %d bytes", name, MaxText)
		}
	}
	switch {
	case !idPattern.MatchString(r.ID):
		return invalid("an id has 1 to %d characters, visible ASCII without @", MaxID)
	case !digestPattern.MatchString(r.Digest):
		return invalid("the digest is no SHA-256 in lower-case hexadecimal")
	case len(r.Arguments) > MaxArguments:
		return invalid("the arguments have more than %d bytes", MaxArguments)
	case len(r.Arguments) > 0 && !json.Valid(r.Arguments):
		return invalid("the arguments are no JSON")
	case len(r.Values) > MaxArguments:
		return invalid("the values have more than %d bytes", MaxArguments)
	case len(r.Values) > 0 && !json.Valid(r.Values):
		return invalid("the values are no JSON")
	case len(r.Labels) > mostLabels || slices.ContainsFunc(r.Labels, func(label string) bool { return len(label) > MaxText }):
		return invalid("there may be %d labels of %d bytes", mostLabels, MaxText)
	}
	return nil
}

// The functions below are what every [Store] does, without the storing.

// Asked gives what is to be stored when a request is asked at a time, where old is stored, or nothing if it is nil; and
// whether that is anything new.
func Asked(old *Entry, request Request, now time.Time) (entry Entry, isNew bool, err error) {
	if err := request.Validate(); err != nil {
		return Entry{}, false, err
	}
	if request.At.IsZero() {
		request.At = now
	}
	fresh := Entry{Request: request, Decision: Decision{State: Pending}}
	switch {
	case old == nil || old.Request.Digest != request.Digest:
		return fresh, true, nil
	case old.Standing(now).Decision.State == Expired && (request.Expires.IsZero() || request.Expires.After(old.Request.Expires)):
		return fresh, true, nil
	default:
		return *old, false, nil
	}
}

// Decided gives what is to be stored when a verdict about a stored question is given at a time. The error is as that of
// [Store.Decide].
func Decided(old Entry, verdict Verdict, now time.Time) (Entry, error) {
	switch {
	case strings.TrimSpace(verdict.By) == "" || len(verdict.By) > MaxText || len(verdict.Reason) > MaxText:
		return Entry{}, invalid("who decides and why may have %d bytes, and somebody must", MaxText)
	case old.Request.Digest != verdict.Digest:
		return Entry{}, ErrChanged
	}
	switch old.Standing(now).Decision.State {
	case Pending:
	case Expired:
		return Entry{}, ErrExpired
	default:
		return Entry{}, ErrDecided
	}
	state := Denied
	if verdict.Granted {
		state = Granted
	}
	old.Decision = Decision{State: state, By: verdict.By, Reason: verdict.Reason, At: now}
	return old, nil
}

// Standing gives an entry as it stands at a time: what is stored says nothing of its own expiry.
func (e Entry) Standing(now time.Time) Entry {
	expires := e.Request.Expires
	if expires.IsZero() || now.Before(expires) || e.Decision.State == Denied {
		return e
	}
	if e.Decision.State == Pending {
		e.Decision.At = expires
	}
	e.Decision.State = Expired
	return e
}

// Finished tells since when nothing more can come of an entry; the zero time if something can.
func (e Entry) Finished(now time.Time) time.Time {
	switch standing := e.Standing(now); standing.Decision.State {
	case Pending:
		return time.Time{}
	case Expired:
		return e.Request.Expires
	default:
		if standing.Decision.State == Granted && !e.Request.Expires.IsZero() {
			return time.Time{}
		}
		return standing.Decision.At
	}
}

// Order compares entries by when they were asked.
func Order(a, b Entry) int {
	if order := a.Request.At.Compare(b.Request.At); order != 0 {
		return order
	}
	return strings.Compare(a.Request.ID, b.Request.ID)
}
