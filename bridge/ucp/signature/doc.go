// Package signature signs messages of UCP and tells whether a signature is good.
//
// Since release 2026-04-08 requests, responses and webhooks are signed as HTTP messages (RFC 9421), with a digest of the
// body (RFC 9530): [Signer.SignRequest] and [VerifyRequest]. In 2026-01-23
// a webhook carries a detached JSON Web Signature of its body (RFC 7515, RFC 7797) in Request-Signature:
// [Signer.Detached] and [VerifyDetached]. Keys are on P-256 or P-384 and published in the profile of whoever signs.
//
// A good signature says who has sent a message and that it has arrived as it was sent. It says nothing of whether the
// message was received before; that is what idempotency keys and webhook ids are for, which is why they have to be
// signed too.
//
// The package does no I/O: whoever verifies gets the keys from somewhere. It may be used from several goroutines.
// Start reading at [Signer].
package signature
