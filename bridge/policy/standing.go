package policy

import (
	"context"
	"time"

	"github.com/strabo-engine/strabo/bridge/approval"
)

// Approver decides whether calls may be made that somebody has to agree to. An [approval.Store] is one, whose questions
// people answer; [StandingGrant] is a policy.
type Approver interface {
	// Ask asks, and tells how the question stands; see [approval.Store].
	Ask(ctx context.Context, request approval.Request) (approval.Decision, error)
	// Wait blocks until the question with the id is no longer pending.
	Wait(ctx context.Context, id string) (approval.Decision, error)
}

// StandingGrant is an [Approver] that agrees to every call, on behalf of somebody who has agreed to all of them before,
// such as whoever typed a command that makes one purchase.
type StandingGrant struct{ By, Reason string }

// Ask implements [Approver].
func (g StandingGrant) Ask(context.Context, approval.Request) (approval.Decision, error) {
	return approval.Decision{State: approval.Granted, By: g.By, Reason: g.Reason, At: time.Now().UTC()}, nil
}

// Wait implements [Approver].
func (g StandingGrant) Wait(ctx context.Context, _ string) (approval.Decision, error) {
	return g.Ask(ctx, approval.Request{})
}
