package ucp

import (
	"net/http"

	"github.com/strabo-engine/strabo/bridge/ucp/wire"
)

// signedAnswer keeps an answer until it is whole, so that it can be signed.
type signedAnswer struct {
	*keptAnswer
	connection http.ResponseWriter
}

// Unwrap lets [http.ResponseController] reach the connection.
func (a *signedAnswer) Unwrap() http.ResponseWriter { return a.connection }

// signing has what is answered signed, where there is a key: in 2026-04-08, whose platforms verify that if they like (UCP
// 2026-04-08, signatures, when signatures apply: recommended of payments and completions, optional of the rest). The older
// releases leave a detached signature of responses optional, and say nothing of how it is made.
func (h *releaseHandler) signing(inner http.Handler) http.Handler {
	if h.options.Signer == nil || h.release != wire.April2026 {
		return inner
	}
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		answer := &signedAnswer{newAnswer(), w}
		inner.ServeHTTP(answer, request)
		answer.WriteHeader(http.StatusOK)
		body := answer.body.Bytes()
		if err := h.options.Signer.SignResponse(answer.status, answer.header, body); err != nil {
			// Whoever wants a signature sees that there is none; the rest have their answer.
			h.log.ErrorContext(request.Context(), "ucp: an answer cannot be signed", "error", err)
		}
		for name, values := range answer.header {
			w.Header()[name] = values
		}
		w.WriteHeader(answer.status)
		_, _ = w.Write(body) // Nobody is there to be told.
	})
}
