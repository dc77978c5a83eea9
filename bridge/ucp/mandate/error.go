package mandate

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

// Error is what is wrong with a mandate or an authorization. Two of one code are the same to errors.Is.
type Error struct {
	Code Code
	// Content is a sentence for the other party. It quotes nothing of a mandate.
	Content string
	// Err is what lies behind it, which is not for the other party; nil if nothing does.
	Err error
}

// Error gives the code, the sentence and what lies behind.
func (e *Error) Error() string {
	text := "ucp: " + string(e.Code) + ": " + e.Content
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap gives Err.
func (e *Error) Unwrap() error { return e.Err }

// Is tells whether the other is an Error with the same code.
func (e *Error) Is(other error) bool {
	o, ok := other.(*Error)
	return ok && o.Code == e.Code
}

// unverifiable is the error of what is no mandate, or not signed as it says.
func unverifiable(content string, err error) *Error {
	return &Error{Code: InvalidSignature, Content: content, Err: err}
}
