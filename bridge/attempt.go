package bridge

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/bridge/audit"
	"github.com/strabo-engine/strabo/enactment"
)

// pending is an answer that is still to be attempted.
type pending struct {
	answer  *Answer
	step    string
	last    bool // nothing follows it
	resumed bool // it may have been attempted before
}

// attempt attempts the first answer that is pending.
func (r *run) attempt(ctx context.Context) error {
	first := r.pending[0]
	answer, step := first.answer, first.step
	if first.resumed {
		r.tell(ctx, audit.Record{
			At: time.Now().UTC(), Kind: audit.Replay, Enactment: r.key, Action: r.plan.action, Step: step, Subject: r.principal.Subject,
			Detail: "the result that was written down before is used: " + answer.Action,
		})
	}
	values := make(adapter.Values, len(answer.Values))
	for name, value := range answer.Values {
		values[name] = value
	}
	err := r.bridge.adapter.Attempt(ctx, answer.Action, values, adapter.WithAttemptID(answer.ID)).Err(ctx)
	var rejection *enactment.Rejection
	switch {
	case err == nil:
		return r.answered(ctx, first)
	case !errors.As(err, &rejection):
		return fmt.Errorf("bridge: attempt %s: %w", answer.Action, err)
	case first.resumed && rejection.Code == enactment.AlreadyHappened:
		// The executor has forgotten the attempt that was made before the restart, but it is what happened.
		return r.answered(ctx, first)
	}
	r.pending, r.finished = nil, true
	detail := fmt.Sprintf("%s was refused: %v", answer.Action, rejection)
	if answer.Yields {
		r.bridge.log.InfoContext(ctx, "nothing to answer any more",
			"enactment", r.key, "action", r.plan.action, "step", step, "detail", detail)
		return r.append(ctx, Entry{Kind: EntryYielded, Step: step, Attempt: answer, Detail: detail})
	}
	if err := r.append(ctx, Entry{Kind: EntryDiverged, Step: step, Attempt: answer, Detail: detail}); err != nil {
		return err
	}
	r.bridge.diverged(ctx, Divergence{
		Enactment: r.key, Action: r.plan.action, Step: step, Attempt: answer, Rejection: rejection, Detail: detail,
	})
	return nil
}

// answered notes that the first answer was accepted.
func (r *run) answered(ctx context.Context, first pending) error {
	r.pending, r.finished = r.pending[1:], r.finished || first.last
	r.world[rootHappened].(map[string]any)[first.answer.Action] = true
	accepted := &Answer{ID: first.answer.ID, Action: first.answer.Action}
	return r.append(ctx, Entry{Kind: EntryAnswered, Step: first.step, Attempt: accepted})
}
