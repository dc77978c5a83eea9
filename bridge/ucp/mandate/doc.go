// Package mandate signs and verifies what the AP2 extension of UCP (dev.ucp.shopping.ap2_mandate) has two parties exchange
// so that neither can say later that it was otherwise: the business signs every checkout that it states, and whoever pays
// signs that very checkout.
//
// The business's word is the merchant authorization, a detached JSON Web Signature of the canonical checkout (RFC 7515,
// RFC 8785): [Authorize] and [VerifyAuthorization]. The buyer's is the checkout mandate, an SD-JWT (RFC 9901) that
// contains the checkout with the authorization: [Signer] makes one, [Verifier] verifies one. What the mandate has to agree
// with, the checkout as it stands, is for whoever verifies to compare.
//
// A mandate is a credential. Nothing here writes one down, and no error quotes one. The package does no I/O but by the
// functions that it is given for keys, bounds what it reads, and may be used from several goroutines. Start reading at
// [Verifier].
package mandate
