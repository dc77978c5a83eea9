// Package enactment says what is true in an enactment of a protocol, what each role may do in it now, and which of
// several attempts win (semantics sections 3, 4, 5 and 7).
//
// [Compile] turns a protocol into [Rules]. A [State] is the fold of an enactment's finalisations; [Judge] decides
// attempts against it, [State.Apply] adds what was decided, [State.Enabled] lists what a role may do, and
// [Rules.Project] says what a role sees of it. All of it is pure: the same input gives the same output, and there is no
// I/O, no clock and no goroutine in this package. It must not know of networks, storage or time beyond the times that
// attempts carry. Start reading at [Judge].
package enactment

import (
	"fmt"
	"time"
)

// Identity is who acts: a role and the party that plays it.
type Identity struct {
	Role  string `json:"role"`
	Party string `json:"party,omitempty"`
}

// String gives role, or role/party.
func (i Identity) String() string {
	if i.Party == "" {
		return i.Role
	}
	return i.Role + "/" + i.Party
}

// Attempt is the wish of an identity that an action happen.
type Attempt struct {
	// ID is unique for the role, the party and the system: the same id with the same content is the same attempt.
	ID string
	// Identity is who attempts. Executors take it from the transport, never from the sender's word.
	Identity
	// Action is the name of the action.
	Action string
	// Values has the action's keys and the attributes that the role binds. What is bound already may be left out.
	Values Values
	// Parties names the parties of other roles; only the attempt that starts an enactment may.
	Parties map[string]string
	// At is when the attempt was made, by the clock of whoever made it; zero where nobody says.
	At time.Time
	// Late is set by an executor for an attempt that is older than its memory of answers reaches: it may be a copy of
	// one answered long ago, so it is refused as [Expired] if nothing else stands against it.
	Late bool
}

// Finalisation is what one judgement made happen: one position in an enactment's log.
type Finalisation struct {
	// Sequence numbers the finalisations of an enactment from 1.
	Sequence uint64
	// Instances are what happened, in order of arrival. Empty if nothing was accepted: then it is no part of the log.
	Instances []Instance
	// Completed is set on the one finalisation by which the enactment becomes complete (semantics section 6).
	Completed bool
}

// Outcome is the answer to one attempt: accepted when Rejection is nil.
type Outcome struct {
	// Instance is what happened, all attributes filled in; zero if refused.
	Instance Instance
	// Rejection says why the attempt was refused; nil if it was accepted.
	Rejection *Rejection
	// Sequence is the finalisation that the instance is part of or, for a refusal, that of the batch that decided it or
	// of the state it was judged against.
	Sequence uint64
}

// Err is nil if the attempt was accepted, else the [*Rejection].
func (o Outcome) Err() error {
	if o.Rejection == nil {
		return nil
	}
	return o.Rejection
}

// Code is the stable reason of a refusal (semantics section 5). A Code is an error, so that
// errors.Is(err, enactment.Dominated) asks for a reason.
type Code string

// The reasons, in the order in which they are looked for; the first that applies is given.
const (
	Malformed        Code = "malformed"
	UnknownAction    Code = "unknown_action"
	WrongRole        Code = "wrong_role"
	WrongParty       Code = "wrong_party"
	AlreadyHappened  Code = "already_happened"
	BoundDifferently Code = "bound_differently"
	NoSayso          Code = "no_sayso"
	NotEnabled       Code = "not_enabled"
	Excluded         Code = "excluded"
	Blocked          Code = "blocked"
	Missing          Code = "missing"
	GuardRefused     Code = "guard"
	Dominated        Code = "dominated"
	Expired          Code = "expired"
)

// Error gives the code itself.
func (c Code) Error() string { return string(c) }

// Rejection says why an attempt was refused. It unwraps to its [Code].
type Rejection struct {
	// Code is the reason.
	Code Code `json:"code"`
	// Attribute is the attribute, or the action named by a reference, that the reason is about, where there is one.
	Attribute string `json:"attribute,omitempty"`
	// By is the action that excludes or blocks, the role that dominates, or the guard that refused.
	By string `json:"by,omitempty"`
	// Beside is set when what stands against the attempt is another attempt of the same window rather than what had
	// happened before: the action may still be enabled after it.
	Beside bool `json:"beside,omitempty"`
	// Detail is a sentence for a person.
	Detail string `json:"detail"`
}

// Error gives the code and the sentence.
func (r *Rejection) Error() string { return fmt.Sprintf("%s: %s", r.Code, r.Detail) }

// Unwrap gives the code.
func (r *Rejection) Unwrap() error { return r.Code }
