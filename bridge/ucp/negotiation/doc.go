// Package negotiation finds out what a platform and a business of UCP can do together: which release they speak and
// which capabilities are active between them (UCP 2026-04-08, overview, discovery and negotiation).
//
// [Parse] reads a profile, of a business or of a platform, of any release; [Profile.Encode] writes one. [Choose] picks
// the release that a business is to be spoken to in, [Accept] is the business's side of that, and [Negotiate] computes
// the capabilities that are active, with why the others are not. Problems are an [*Error], with UCP's code and the
// status that REST and MCP have for it.
//
// The package is pure: it fetches nothing, so profiles and schemas come from the caller. It may be used from several
// goroutines. Start reading at [Profile] and [Negotiate].
package negotiation
