// Package ucp speaks UCP, the Universal Commerce Protocol, release 2026-01-11 over REST, so that parties that know
// nothing of the engine take part in its protocols.
//
// Outbound, a remote shop plays the Business: [Discover] reads what a shop says of itself and [NewOutbound] makes a bridge
// to it, by the mapping protocols/simple-ucp.outbound.yaml. What the Platform may ask for is a [Wish]; what it leaves
// open is decided by [Choices]. Both public sample shops differ from the spec and from each other, so everything is read
// tolerantly, and nothing is believed that is not said.
//
// Inbound, a remote platform plays the Platform: [NewInbound] makes an HTTP handler that speaks to it as a shop.
//
// The package must not know of any one executor. Start reading at [NewOutbound] or [NewInbound].
package ucp
