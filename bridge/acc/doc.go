// Package acc reads Agent Capability Contracts (ACC, version 1): what the owner of an operation declares about it, so
// that software which lets an agent call the operation knows whether to expose it, whom it must act for, when a person
// has to agree, and how the call may be made. The package implements the ACC v1 Parser and Runtime profiles.
//
// [Parse] reads an OpenAPI document in which operations carry contracts, and gives every [Operation] that may be used,
// and diagnostics about the rest. It fails closed: an operation whose contract, or the part of the document that the
// contract leans on, is not understood is left out, so that nothing is ever exposed without the limits that were
// declared for it. [Operation.Contract] is the effective contract, each value with where it comes from. [Merge] joins
// it with what the operator wants, which may only tighten it. [Gate.Decide] tells whether a call needs an approval.
// [Lint] says what a reviewer of contracts wants to know.
//
// A contract is a declaration, not an authorization: the business behind the operation still decides. Nothing is
// inferred from a contract but what ACC says: not that a GET only reads, not that what only reads is harmless, not that
// what is idempotent may be repeated, and not that what timed out did not happen. Fields that ACC does not know are kept
// and never acted upon.
//
// The package is pure: it does no I/O, reads no clock and knows nothing of HTTP but the names of methods. Everything in
// it may be used from several goroutines. Start reading at [Parse] and [Contract].
package acc
