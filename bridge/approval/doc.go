// Package approval keeps the questions that a bridge asks before it makes a call that somebody has to agree to, and
// what was decided. A bridge asks with [Store.Ask] and waits; a person, or a policy, decides with [Store.Decide], from
// another process as well: strabo approvals. [FileStore] keeps them in a directory; package natsapproval in a NATS
// key-value store.
//
// An approval is bound to exact bytes. A decision names the digest of what was shown, and counts for those bytes only;
// when a request changes, its question is asked anew. The first decision about a question stands.
//
// A question holds no secret: its arguments are redacted by whoever asks. The package knows nothing of HTTP and of
// contracts. Start reading at [Store].
package approval
