package mandate

import "github.com/strabo-engine/strabo/bridge/ucp/wire"

// Code is a code of UCP for what is wrong with a mandate or an authorization (UCP 2026-01-11 to 2026-04-08,
// ap2_mandate.json, error_code; the list is closed).
type Code string

// The codes.
const (
	// Required: the extension was negotiated, and a complete request has no mandate.
	Required Code = "mandate_required"
	// MissingKey: the profile of the platform has no key that the mandate could be verified with.
	MissingKey Code = "agent_missing_key"
	// InvalidSignature: the mandate cannot be verified, as what it is or by its signatures.
	InvalidSignature Code = "mandate_invalid_signature"
	// Expired: its time is over.
	Expired Code = "mandate_expired"
	// ScopeMismatch: it is about another checkout, or for somebody else.
	ScopeMismatch Code = "mandate_scope_mismatch"
	// AuthorizationInvalid: what the business has signed is not what it is with, or was signed by somebody else.
	AuthorizationInvalid Code = "merchant_authorization_invalid"
	// AuthorizationMissing: a checkout is not signed by the business.
	AuthorizationMissing Code = "merchant_authorization_missing"
)

// Error is what is wrong with a mandate or an authorization: its Code, a sentence for the other party (Content), which quotes
// nothing of a mandate, and what lies behind (Err). Two of one code are the same to errors.Is.
type Error = wire.CodedError[Code]

// unverifiable is the error of what is no mandate, or not signed as it says.
func unverifiable(content string, err error) *Error {
	return &Error{Code: InvalidSignature, Content: content, Err: err}
}
