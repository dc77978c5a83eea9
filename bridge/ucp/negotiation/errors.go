package negotiation

import "net/http"

// Code is a code of UCP for what goes wrong before a business has looked at a request (UCP 2026-04-08, overview, error
// codes).
type Code string

// The codes.
const (
	InvalidProfileURL        Code = "invalid_profile_url"
	ProfileUnreachable       Code = "profile_unreachable"
	ProfileMalformed         Code = "profile_malformed"
	ProfileNotTrusted        Code = "profile_not_trusted"
	VersionUnsupported       Code = "version_unsupported"
	CapabilitiesIncompatible Code = "capabilities_incompatible"
	SignatureMissing         Code = "signature_missing"
	SignatureInvalid         Code = "signature_invalid"
	KeyNotFound              Code = "key_not_found"
	DigestMismatch           Code = "digest_mismatch"
	AlgorithmUnsupported     Code = "algorithm_unsupported"
)

var answers = map[Code]struct{ status, rpc int }{
	InvalidProfileURL:        {http.StatusBadRequest, -32001},
	ProfileUnreachable:       {http.StatusFailedDependency, -32001},
	ProfileMalformed:         {http.StatusUnprocessableEntity, -32001},
	ProfileNotTrusted:        {http.StatusForbidden, -32000},
	VersionUnsupported:       {http.StatusUnprocessableEntity, -32001},
	CapabilitiesIncompatible: {http.StatusOK, 0},
	SignatureMissing:         {http.StatusUnauthorized, -32000},
	SignatureInvalid:         {http.StatusUnauthorized, -32000},
	KeyNotFound:              {http.StatusUnauthorized, -32000},
	DigestMismatch:           {http.StatusBadRequest, -32600},
	AlgorithmUnsupported:     {http.StatusBadRequest, -32600},
}

// Error is a problem of discovery, negotiation or signatures. Two of one code are the same to errors.Is.
type Error struct {
	Code Code
	// Content is a sentence for the other party, so it says nothing of what is behind.
	Content string
	// Err is what lies behind it; nil if nothing does.
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

// Status is the HTTP status of the answer; 200 for [CapabilitiesIncompatible], which is a business outcome.
func (e *Error) Status() int {
	if a, ok := answers[e.Code]; ok {
		return a.status
	}
	return http.StatusInternalServerError
}

// RPC is the JSON-RPC code of the answer over MCP; 0 where it is a result and no error.
func (e *Error) RPC() int {
	if a, ok := answers[e.Code]; ok {
		return a.rpc
	}
	return -32603
}
