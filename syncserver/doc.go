// Package syncserver coordinates the agents of a system: it puts the attempts of an enactment in order, has
// [enactment.Judge] decide them, one by one or in batches (semantics section 5), keeps the log and delivers to each
// identity what it sees of it.
//
// [Local] does so within one process and in memory: it is for tests, demonstrations and systems that are one process.
// A service on NATS, which keeps its logs and may run many times over, comes beside it, with a client that is the same
// kind of executor; agents do not tell the difference.
//
// What is accepted is decided by package enactment and nowhere else; this package must not know what an adapter does
// with a delivery, nor of bridges and HTTP. Start reading at [Local.Attempt].
package syncserver
