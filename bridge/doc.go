// Package bridge lets a party that speaks plain REST play a role of a protocol. A [Bridge] is an agent like any other:
// its adapter observes what other roles do, each observation becomes requests to the remote party, and what that
// answers becomes an attempt. So the rules of the protocol hold for a party that has never heard of it, and the bridge
// needs nothing from the engine that any agent does not have.
//
// Which requests are made and what the answers mean is data: a [Mapping], read by [Load], which checks it against the
// protocol and reports everything that is wrong at once. MAPPING.md describes the format. What data cannot say, such as
// which of several offers to take, is a [Hook].
//
// # Outcomes
//
// Between sending a request and knowing what it did lies a gap, and the bridge never guesses across it. Before the first
// byte leaves, the request is written to the [Journal] under a random idempotency key. If the response is lost, or has no
// meaning in the mapping, the outcome is unknown, neither failed nor done: the bridge asks for the status where the
// mapping says how, and sends the identical request again under the same key only where the mapping says that it is
// recognised, and the policy permits it; a refusal of a request that was sent before is no answer to the first. If nothing helps it stays unknown, is told to [Options.OnUnknown], and no action is attempted in answer. What the
// remote party reports and the protocol refuses has diverged: it is written down and told to [Options.OnDiverged]. One
// request at a time is under way in an enactment.
//
// # Waiting
//
// A remote party may be at work for long, or wait for a person. What a mapping says to wait for is looked at again and
// again, with bounded pauses and until a time, while whatever else is observed in the enactment is answered; nothing is
// sent meanwhile. Waiting survives a restart.
//
// # Policy
//
// Under every call lies a policy (package policy): the contract of the operation, which the mapping names, tightened by the
// operator. It decides before, between and after the attempts whether a call may be made, by whom it has to be approved,
// how long it is waited for, how often it may be made and whether it may be repeated. Every attempt on the wire and every
// decision not to call is a record of the audit (package audit). docs/call-policy.md explains it.
//
// # Secrets
//
// What is made of an attribute that the rules call secret is masked in what [Options.Audit] sees, may not be written
// down, and is cut out of what the remote party quotes of it before anything else sees that.
//
// The package must not know any commerce protocol's field names, nor any executor. Start reading at [Load] and [Bridge].
package bridge
