// Package wire translates between one model of UCP's messages and the JSON of each release, so that nothing else has to
// know which release a party speaks.
//
// The model ("canonical") is the JSON of release 2026-04-08: capabilities and payment handlers are maps in ucp, amounts
// are signed (a discount is negative), a payment is a list of instruments, an order stands in order, and a business
// outcome without a resource is {ucp: {status: "error"}, messages}. A [Release] encodes the model to its own JSON and
// decodes its JSON to the model, for requests and for responses, so both sides of a wire use the same four functions:
//
//	a Platform: EncodeRequest, DecodeResponse      a Business: DecodeRequest, EncodeResponse
//
// Encoding is strict: what is emitted is what the schemas of the release ask for. Decoding is lenient: what the public
// servers send differs from the schemas, and members that are not known are kept. Both are functions of their arguments
// alone, and the same model always becomes the same bytes, so that a request that is sent again is the same request.
//
// The package is pure: no I/O, no clock. It may be used from several goroutines. Start reading at [Release].
package wire
