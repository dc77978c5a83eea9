package negotiation

import (
	"net/http"

	"github.com/strabo-engine/strabo/bridge/ucp/wire"
)

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

// Error is a problem of discovery, negotiation or signatures: its Code, a sentence for the other party (Content), and what
// lies behind (Err). Two of one code are the same to errors.Is.
type Error = wire.CodedError[Code]

// Refuses tells whether the code is one of those above that a request is refused with: all but [CapabilitiesIncompatible],
// which is a business outcome.
func (c Code) Refuses() bool {
	_, ok := answers[c]
	return ok && c != CapabilitiesIncompatible
}

// Status is the HTTP status of the answer; 200 for [CapabilitiesIncompatible], 500 for a code that is not one of those above.
func (c Code) Status() int {
	if a, ok := answers[c]; ok {
		return a.status
	}
	return http.StatusInternalServerError
}

// RPC is the JSON-RPC code of the answer over MCP; 0 for [CapabilitiesIncompatible], which is a result and no error there,
// -32603 for a code that is not one of those above.
func (c Code) RPC() int {
	if a, ok := answers[c]; ok {
		return a.rpc
	}
	return -32603
}
