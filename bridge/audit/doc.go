// Package audit is the record of what a bridge did and did not do: one [Record] for every attempt on the wire, and one
// for every decision not to make a call. A bridge writes records to a [Sink]; here are sinks for a structured log and
// for a file, and ways to combine them; package natsaudit has one for a stream. Records are read again with [ReadFile]
// and chosen with a [Filter].
//
// A record holds no secret. What a call sends and receives is written down as the bridge redacts it, and not at all
// where the contract of the operation says that it is sensitive. What must be told apart without being known, the
// idempotency key and the bytes of a request, is a keyed hash: see [Hasher].
//
// The package knows nothing of HTTP, of contracts or of how calls are made. Everything in it may be used from several
// goroutines, and a file by several processes. Start reading at [Record] and [Sink].
package audit
