// Package schemas finds out what the schemas of UCP's extensions require: the versions of the protocol and of the
// capabilities that they extend (UCP 2026-04-08, overview, version requirements). What they say goes into
// negotiation.Negotiate.
//
// The URL of a schema comes with a profile, so from whoever publishes that. It is asked for only if it belongs to whoever
// governs the extension's name, through a guard, at a bounded rate, and once for everybody for a while. Schemas may also
// be in a directory, and those of UCP itself are known: none of them requires anything.
//
// Start reading at [New].
package schemas
