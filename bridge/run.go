package bridge

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/strabo-engine/strabo/bridge/audit"
	"github.com/strabo-engine/strabo/bridge/policy"
	"github.com/strabo-engine/strabo/enactment"
)

// run is the answering of one observed instance: what the journal tells of it, and what has been learnt since.
type run struct {
	bridge   *Bridge
	plan     *plan
	key      enactment.Key
	instance string
	observed enactment.Instance
	scrub    *scrubber

	at       int    // the step
	from     int    // the first step that was taken since the journal was read; -1 for none
	open     *Entry // of that step, if its request may have left
	waiting  *Entry // of that step, if it waits for the remote party
	pending  []pending
	finished bool // but for what is pending
	// before are the answers that were accepted before this bridge was started.
	before []*Answer

	world       map[string]any
	bound       map[string]any
	kept        map[string]any
	idempotency string
	lastStep    string
	// principal is on whose behalf the bridge acts, approval the id of the one that the step has needed.
	principal policy.Principal
	approval  string
	// last and said are of the step: the last call that was answered, if any was, and the last answer to its request.
	last, said *audit.Record
	// sensitive tells that what was said in the step must not be written down.
	sensitive bool
}

// done tells that the observation is answered.
func (r *run) done() bool { return r.finished && len(r.pending) == 0 }

// unclearError says that an observation stays unanswered since nobody knows what became of a call.
type unclearError struct {
	detail string
	// unsent tells that the request has certainly not left, so that it may be made anew.
	unsent bool
	// cause is a reason of its own, or nil.
	cause error
}

func (e *unclearError) Error() string { return "bridge: outcome unknown: " + e.detail }

// unmadeError says that what a step needs cannot be made, and that nothing was sent.
type unmadeError struct{ why error }

func (e *unmadeError) Error() string { return e.why.Error() }

func (r *run) stepName() string {
	if r.at < len(r.plan.steps) {
		return r.plan.steps[r.at].name
	}
	return r.lastStep
}

func (r *run) scene() *scene {
	return &scene{world: r.world, secret: func(of reference) bool {
		return of.root == rootObserved && r.bridge.rules.Secret(of.name) || of.root == rootBound && r.plan.tainted[of.name]
	}}
}

// answer takes the steps that are left and attempts what they say. The error is an [*unclearError] if nobody knows what
// became of a call; that has been told already.
func (r *run) answer(ctx context.Context) error {
	for !r.done() {
		if len(r.pending) > 0 {
			if err := r.attempt(ctx); err != nil {
				return err
			}
			continue
		}
		s := r.plan.steps[r.at]
		if r.open == nil && !s.when.holds(r.world) {
			r.at++ // Load has seen to it that a step follows.
			continue
		}
		if since, ok := r.plan.step(s.since); ok && r.open == nil && (r.from < 0 || r.from > since) {
			// Somebody was asked, or the bridge was restarted, and meanwhile the remote party may have changed its mind.
			r.at, r.from = since, since
			continue
		}
		if r.from < 0 {
			r.from = r.at
		}
		r.last, r.said, r.sensitive, r.approval = nil, nil, false, ""
		err := r.step(ctx, s)
		for _, root := range []string{rootResponse, rootStatus, rootExchange, rootNone, rootDenied} {
			delete(r.world, root)
		}
		if err == nil {
			continue
		}
		var unclear *unclearError
		if ctx.Err() != nil || !errors.As(err, &unclear) {
			return err
		}
		unclear.detail = r.scrub.text(unclear.detail, true)
		if words := r.lastWords(); words != "" {
			unclear.detail += "; " + words
		}
		if s.lost != nil { // Nothing depends on it.
			r.unsettled(ctx, unclear)
			if err := r.conclude(ctx, s, s.lost, 0, nil); err != nil {
				return err
			}
			continue
		}
		kind := EntryUnknown
		if unclear.unsent {
			kind = EntryUnsent
		}
		if err := r.append(ctx, Entry{Kind: kind, Step: s.name, Key: r.idempotency, Detail: unclear.detail}); err != nil {
			return err
		}
		r.bridge.unknown(ctx, r, unclear)
		return err
	}
	return nil
}

// maxWords is how much of what the remote party said last is repeated where somebody is told that nothing is known, in
// bytes.
const maxWords = 300

// lastWords is what the remote party said last in the step, to the request and when it was asked; empty if it said
// nothing.
func (r *run) lastWords() string {
	var words []string
	if r.said != nil {
		words = append(words, "the last answer was "+r.wordsOf(r.said))
	}
	if r.last != nil && r.last.Kind == audit.StatusQuery && r.last.Status != 0 {
		words = append(words, "asked last, it said "+r.wordsOf(r.last))
	}
	return strings.Join(words, "; ")
}

func (r *run) wordsOf(c *audit.Record) string {
	words := fmt.Sprintf("status %d", c.Status)
	if said := c.Response; said != "" && !r.sensitive {
		words += ", " + strings.ToValidUTF8(said[:min(len(said), maxWords)], "")
	}
	return words
}

// unmadeRequest ends a step of which nothing was sent, since its request cannot be made.
func (r *run) unmadeRequest(ctx context.Context, s *step, chosen enactment.Values, why error) error {
	detail := r.scrub.text(why.Error(), true)
	if s.unmade != nil {
		r.world[rootNone] = detail
		if denied := (*policy.DeniedError)(nil); errors.As(why, &denied) {
			r.world[rootDenied] = denied.Code()
		}
		return r.conclude(ctx, s, s.unmade, 0, chosen)
	}
	err := fmt.Errorf("bridge: step %s of %s: %s", s.name, r.plan.action, detail)
	if err := r.append(ctx, Entry{Kind: EntryUnsent, Step: s.name, Detail: detail}); err != nil {
		return err
	}
	if denied := (*policy.DeniedError)(nil); errors.As(why, &denied) {
		err = fmt.Errorf("bridge: step %s of %s: %w", s.name, r.plan.action, denied)
	}
	return &NotSentError{err}
}

func unclear(format string, arguments ...any) error {
	return &unclearError{detail: fmt.Sprintf(format, arguments...)}
}

func (r *run) append(ctx context.Context, e Entry) error {
	e.Enactment, e.Instance = r.key, r.instance
	if e.At.IsZero() {
		e.At = time.Now().UTC()
	}
	return r.bridge.options.Journal.Append(ctx, e)
}

func (r *run) step(ctx context.Context, s *step) error {
	chosen := make(enactment.Values)
	for _, c := range s.choose {
		if r.open != nil && !r.plan.tainted[c.bind] {
			continue // It was chosen before, and written down.
		}
		a, err := r.choose(ctx, c, chosen)
		if unmade := (*unmadeError)(nil); errors.As(err, &unmade) {
			return r.unmadeRequest(ctx, s, chosen, unmade.why)
		}
		if err != nil {
			return err
		}
		if a != nil && r.open != nil {
			// Nothing may be concluded from a choice that was made before and cannot be made now, as under other settings.
			return unclear("%s finds nothing to choose any more, for a request that may have left", c.hook)
		}
		if a != nil {
			return r.conclude(ctx, s, a, 0, chosen)
		}
	}
	if s.request == nil {
		for _, a := range s.answers {
			if a.when.holds(r.world) {
				return r.conclude(ctx, s, a, 0, chosen)
			}
		}
		return unclear("step %s has no answer for what is", s.name)
	}
	x := &exchange{run: r, step: s, rule: r.bridge.governed[s.request]}
	if r.open != nil {
		if err := x.resume(); err != nil {
			return err
		}
	} else {
		arguments, err := x.try()
		if err == nil {
			err = x.permit(ctx, arguments)
		} else {
			err = &unmadeError{err}
		}
		if errors.As(err, new(*policy.DeniedError)) || errors.As(err, new(*unmadeError)) {
			return r.unmadeRequest(ctx, s, chosen, err)
		}
		if err != nil {
			return err
		}
		if err := x.begin(ctx, chosen); err != nil {
			return err
		}
	}
	settle := x.settle
	if r.waiting != nil {
		settle = x.look
	}
	a, status, err := settle(ctx)
	switch {
	case err != nil:
		return err
	case a.kind == wait:
		return x.park(ctx, a)
	}
	return r.conclude(ctx, s, a, status, nil)
}

// choose asks a hook. It gives an answer only if the hook found nothing to choose.
func (r *run) choose(ctx context.Context, c *choose, chosen enactment.Values) (*answer, error) {
	var input any
	if c.with != nil {
		with, err := c.with.render(r.scene())
		if err != nil && r.open == nil {
			return nil, &unmadeError{fmt.Errorf("input of %s: %w", c.hook, err)}
		}
		if err != nil {
			return nil, unclear("input of %s: %v", c.hook, err)
		}
		input = with.value
	}
	result, err := c.call(ctx, input)
	if none, ok := asNoChoice(err); ok && c.none != nil {
		reason, err := plain(none.Reason)
		if err != nil {
			return nil, unclear("%s gave a reason that is no JSON", c.hook)
		}
		r.world[rootNone] = reason
		return c.none, nil
	}
	if err != nil {
		return nil, unclear("%s could not choose: %v", c.hook, err)
	}
	value, err := plain(result)
	if err != nil {
		return nil, unclear("%s chose something that is no JSON", c.hook)
	}
	if r.plan.tainted[c.bind] {
		r.bound[c.bind] = value
		return nil, nil
	}
	// What is bound is what is written down, so that a request is rendered the same after a restart.
	if chosen[c.bind], err = r.written(value); err != nil {
		return nil, err
	}
	r.bound[c.bind], err = decoded(chosen[c.bind])
	return nil, err
}

// conclude writes down how a step ended, with what was chosen in it and not written down yet, and goes on.
func (r *run) conclude(ctx context.Context, s *step, a *answer, status int, chosen enactment.Values) error {
	entry, err := r.bind(a)
	if err != nil {
		return unclear("answer of step %s: %v", s.name, err)
	}
	for name, value := range chosen {
		if _, bound := entry.Bound[name]; !bound {
			entry.Bound[name] = value
		}
	}
	entry.Kind, entry.Step, entry.Status, entry.Detail = EntryKnown, s.name, status, a.detail
	entry.Key = r.idempotency
	next := r.at + 1
	if a.kind == goTo {
		next, _ = r.plan.step(a.next)
	}
	switch a.kind {
	case goOn, goTo:
		entry.Next = r.plan.steps[next].name
	case diverged:
		entry.Kind = EntryDiverged
		if len(entry.Facts) > 0 {
			facts, err := encodeJSON(entry.Facts)
			if err != nil {
				return err
			}
			entry.Detail += ": " + string(facts)
		}
	case attempt:
		if entry.Next = a.next; a.next != "" {
			next, _ = r.plan.step(a.next)
		}
	case nothing, ask, resend, wait:
	}
	if err := r.append(ctx, entry); err != nil {
		return err
	}
	r.open, r.waiting, r.idempotency, r.lastStep = nil, nil, "", s.name
	switch a.kind {
	case goOn, goTo:
		r.at = next
	case attempt:
		r.pending = append(r.pending, pending{answer: entry.Attempt, step: s.name, last: a.next == ""})
		if a.next != "" {
			r.at = next
		}
	case diverged:
		r.finished = true
		r.bridge.diverged(ctx, Divergence{
			Enactment: r.key, Action: r.plan.action, Step: s.name, Facts: entry.Facts, Detail: entry.Detail,
		})
	case nothing, ask, resend, wait:
		r.finished = true
		r.bridge.log.InfoContext(ctx, "nothing to answer",
			"enactment", r.key, "action", r.plan.action, "step", s.name, "detail", a.detail)
	}
	return nil
}
