package bridge

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
)

// Mapping says how a role of a protocol is played by calling a REST service: for each action that the role observes,
// the steps to take and the action to attempt in answer. It is made by [Load], which has checked it against the
// protocol; it never changes and is safe for concurrent use. The format is described in MAPPING.md.
type Mapping struct {
	name     string
	protocol string
	role     string
	settings []string
	headers  []header
	actions  map[string]*plan
	order    []string
}

// Protocol is the name of the protocol.
func (m *Mapping) Protocol() string { return m.protocol }

// Role is the role that is played.
func (m *Mapping) Role() string { return m.role }

// Settings lists the settings that the mapping mentions and [Options] must give.
func (m *Mapping) Settings() []string { return slices.Clone(m.settings) }

// Actions lists the observed actions that the mapping answers.
func (m *Mapping) Actions() []string { return slices.Clone(m.order) }

// plan is what is done when an action is observed.
type plan struct {
	action string
	steps  []*step
	// tainted are the variables that are made of secrets; they are never written down.
	tainted map[string]bool
}

func (p *plan) step(name string) (int, bool) {
	at := slices.IndexFunc(p.steps, func(s *step) bool { return s.name == name })
	return at, at >= 0
}

// step is one exchange with the remote party, or a decision without one.
type step struct {
	name    string
	when    *condition
	choose  []*choose
	request *call // nil for a decision
	answers []*answer
	// retry tells that the remote party recognises a repetition of the request by its key.
	retry  bool
	status *query
	// replay tells that the request itself, sent again under its key, is how to ask what became of it.
	replay bool
	// since names the step before, where what the request rests on was looked at; empty if there is none. If something
	// came in between, such as that somebody was asked, it is looked at again before anything is sent.
	since string
	// unmade is the answer if the request cannot be made; nil for none.
	unmade *answer
	// lost is the answer if it stays unknown what became of the request; nil where that matters.
	lost *answer
	// late is the answer if what is waited for has not come in time; nil where that leaves it unknown.
	late  *answer
	where place
}

// place is a position in the mapping file.
type place struct{ line, column int }

// choose asks a hook and binds what it gives.
type choose struct {
	hook string
	call Hook
	with template // nil for none
	bind string
	none *answer // nil where the hook must always choose
}

// call is how a request is rendered.
type call struct {
	// operation is the one that is called, by the name of its contract; empty for none.
	operation string
	method    string
	path      text
	headers   []header
	body      template // nil for none
	where     place
}

type header struct {
	name  string
	value text
}

// reads tells that the method is one for reading. That alone permits nothing: whether a call changes anything is said by
// its contract.
func (c *call) reads() bool { return c.method == http.MethodGet || c.method == http.MethodHead }

// query asks what has become of a request.
type query struct {
	request *call
	answers []*answer
}

// answer says what a response means.
type answer struct {
	on   []statusRange // empty for any
	when *condition
	bind []member
	keep []member
	kind answerKind
	// next is the step to go on with; after an attempt too, empty if nothing follows that.
	next string
	// yields tells that the attempt may be refused since something else came first.
	yields bool
	// until says, as a time of RFC 3339, how long is waited; "" for the bridge's own patience.
	until template
	// attempt is the action to attempt, values what to attempt it with.
	attempt string
	values  []member
	// detail says why nothing is done, or what has diverged.
	detail string
	// facts are what is told of a divergence.
	facts []member
	where place
}

// answerKind says how it goes on.
type answerKind int

const (
	goOn     answerKind = iota // with the following step
	goTo                       // with a named step
	attempt                    // an action
	ask                        // not settled yet: ask the status query
	resend                     // it has had no effect: send it again
	wait                       // the remote party is at work, or somebody there: look again, until a time
	diverged                   // what the remote says does not fit the protocol
	nothing                    // there is nothing to answer
)

type statusRange struct{ low, high int }

func (a *answer) matches(status int, world map[string]any) bool {
	if len(a.on) > 0 && !slices.ContainsFunc(a.on, func(r statusRange) bool { return r.low <= status && status <= r.high }) {
		return false
	}
	return a.when.holds(world)
}

// Hook makes a choice that a mapping leaves to code, such as which of the offered options to take. The input is what
// the mapping gives it, the result becomes the variable that the mapping binds; both are JSON values as
// encoding/json has them with UseNumber, and the result may be anything that encoding/json encodes. A hook must give
// the same result for the same input for as long as an observation is being answered, since it is asked again when that
// is resumed after a restart. If nothing can be chosen it returns a [*NoChoice]; any other error stops the answer as
// unknown. It may block until the context ends and is called from several goroutines.
type Hook func(ctx context.Context, input any) (any, error)

// NoChoice is the error of a [Hook] that finds nothing to choose. The mapping says what is answered then, and may use
// the reason, as $.none.
type NoChoice struct {
	// Reason is anything that encoding/json encodes.
	Reason any
}

// Error says that nothing could be chosen. It does not give the reason, which may hold what must not be logged.
func (*NoChoice) Error() string { return "nothing to choose" }

func asNoChoice(err error) (*NoChoice, bool) {
	var none *NoChoice
	ok := errors.As(err, &none)
	return none, ok
}

func (p place) String() string { return fmt.Sprintf("%d:%d", p.line, p.column) }
