// Package adapter is the programming model of agents, after the Peach paper: an agent says what it does when an action
// becomes enabled, when something is observed and when an enactment completes; the adapter keeps what its role knows
// and asks the agent at the right moment.
//
// [New] makes an [Adapter] for one identity, a role and the party that plays it. [Adapter.OnEnabled],
// [Adapter.OnObservation] and [Adapter.OnCompletion] register handlers, [Adapter.Attempt] starts an enactment, and
// [Adapter.Run] does the rest. What an agent is offered is a [FeasibleAction]; attempting it gives a [Promise]. An
// agent that chooses for itself, instead of being asked, ranges over [Adapter.Enabled].
//
// The same agent runs on every [Executor]: in one process, on a server, or decentralised. It must expect that an
// attempt is refused as dominated and, in batch finalisation, that an action of another role happens beside its own
// although a nogo relates the two (semantics section 5). It must also expect that an observation is handled twice if
// the process died before the position was stored.
//
// # Order and concurrency
//
// Handlers of one enactment run one at a time, in the order of its log: the observations of a finalisation, then
// completion, then offers. Different enactments run in parallel, as many as [WithConcurrency] allows. A handler may
// attempt and wait for the promise: attempts run on goroutines of their own, and no answer waits for a handler. A
// handler that waits for something else, such as the handler of another enactment, occupies its place meanwhile.
//
// The context of a handler ends when Run ends, and with [ErrRevoked] as its cause when the enactment becomes another
// adapter's or another party's. Otherwise it lives until the handler has returned and all attempts made with it have
// resolved, so a handler may return and keep the promise.
//
// Deliveries wait in a queue of bounded size ([WithQueue]) that all enactments of the adapter share. When it is full
// nothing more is received until a handler is done, so one enactment can delay the others, its own waiting deliveries
// being in their way, but only as long as its handler runs.
//
// # Logs
//
// What is logged about a handler that failed are the action, the enactment's key, the position and the error's text: as
// an error, or as a warning if it is a [*Rejection], since a handler may well return what its promise says. The package
// itself never puts values into a text, and [FeasibleAction], [Observation] and [Enactment] print without them. An error
// of a handler is logged as it is: put no secret into it.
//
// This package must not know of networks, of storage, or of any one executor. It decides nothing: what is enabled and
// who wins is said by package enactment alone. Start reading at [Adapter].
package adapter
