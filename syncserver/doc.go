// Package syncserver coordinates the agents of a system: it puts the attempts of an enactment in order, has
// [enactment.Judge] decide them, one by one or in batches (semantics section 5), keeps the log and delivers to each
// identity what it sees of it.
//
// [Local] does so within one process and in memory: it is for tests, demonstrations and systems that are one process.
// [Server] does so on NATS: it keeps its logs in JetStream and may run many times over, and [Client] is the same kind of
// executor for it; agents do not tell the difference. Package embedded runs a NATS inside the process, package natsconfig
// makes the accounts by which NATS says who may be whom, and [Archive] is for operators.
//
// What is accepted is decided by package enactment and nowhere else; this package must not know what an adapter does
// with a delivery, nor of bridges and HTTP. Start reading at [Local.Attempt], and
// for the server at [NewServer].
package syncserver
