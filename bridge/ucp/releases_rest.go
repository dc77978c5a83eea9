package ucp

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/strabo-engine/strabo/bridge/ucp/negotiation"
	"github.com/strabo-engine/strabo/bridge/ucp/profiles"
	"github.com/strabo-engine/strabo/bridge/ucp/wire"
)

// releaseHandler answers the requests of one release over REST.
type releaseHandler struct {
	*businessReleases
	release wire.Release
}

// ServeHTTP implements [http.Handler].
func (h *releaseHandler) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, ok := h.read(w, request)
	if !ok {
		return
	}
	// The path that was signed is the whole one.
	whole := request.Clone(request.Context())
	whole.URL.Path = releasesPath + string(h.release) + request.URL.Path
	if request.URL.RawPath != "" {
		whole.URL.RawPath = releasesPath + string(h.release) + request.URL.RawPath
	}
	if err := h.verify(whole, body); err != nil {
		h.refuse(w, request, err)
		return
	}
	request.Body = newBody(body)
	h.serve(w, request)
}

func newBody(body []byte) io.ReadCloser { return io.NopCloser(bytes.NewReader(body)) }

// read reads a request's body to its end; if that fails it is answered.
func (h *releaseHandler) read(w http.ResponseWriter, request *http.Request) ([]byte, bool) {
	body, err := io.ReadAll(http.MaxBytesReader(w, request.Body, h.options.BodyLimit))
	if err == nil {
		return body, true
	}
	status := http.StatusBadRequest
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		status = http.StatusRequestEntityTooLarge
	}
	h.say(w, request, status, wire.Object{"code": "invalid_request", "content": "The body cannot be read, or is too large."})
	return nil, false
}

// serve negotiates, has the inner handler answer, and translates both ways.
func (h *releaseHandler) serve(w http.ResponseWriter, request *http.Request) {
	operation, id, ok := wire.OperationOf(request.Method, request.URL.EscapedPath())
	if !ok {
		// What the newer releases have the same, such as methods that a resource does not allow.
		answer := newAnswer()
		h.inner.ServeHTTP(answer, request)
		h.translate(w, request, wire.Exchange{Operation: wire.GetCheckout}, nil, answer)
		return
	}
	agreement, err := h.platformOf(request)
	if err != nil {
		h.refuse(w, request, err)
		return
	}
	x := wire.Exchange{Operation: operation, Checkout: id}
	asked, err := h.asked(request, x, agreement)
	if err != nil {
		h.refuse(w, request, err)
		return
	}
	answer := newAnswer()
	h.inner.ServeHTTP(answer, asked)
	h.translate(w, request, x, agreement, answer)
}

// asked makes the request that the inner handler understands.
func (h *releaseHandler) asked(request *http.Request, x wire.Exchange, agreement *negotiation.Agreement) (*http.Request, error) {
	out := request.Clone(request.Context())
	if out.Header.Get("Request-Signature") == "" {
		out.Header.Set("Request-Signature", "verified before")
	}
	text, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(text)) > 0 {
		said, err := wire.Decode(text)
		if err != nil {
			return nil, &wireError{http.StatusBadRequest, "invalid_request", "The body is no JSON object."}
		}
		model, err := h.release.DecodeRequest(x, said)
		if err != nil {
			return nil, err
		}
		prune(model, agreement)
		lowered, err := wire.January11.EncodeRequest(x, model)
		if err != nil {
			return nil, err
		}
		if currency, _ := lowered["currency"].(string); currency == "" {
			delete(lowered, "currency") // The business decides; only a wish for one is checked.
		}
		if text, err = wire.Encode(lowered); err != nil {
			return nil, err
		}
	}
	out.Body, out.ContentLength = newBody(text), int64(len(text))
	return out, nil
}

// wireError is a request that cannot be translated.
type wireError struct {
	status        int
	code, content string
}

func (e *wireError) Error() string { return "ucp: " + e.code + ": " + e.content }

// The members of a checkout that belong to an extension.
var extensionMembers = map[string]string{
	discountCapability: "discounts", fulfillmentCapability: "fulfillment", "dev.ucp.shopping.ap2_mandate": "ap2",
}

// prune takes out of a message what belongs to extensions that are not active.
func prune(message wire.Object, agreement *negotiation.Agreement) {
	for capability, member := range extensionMembers {
		if !agreement.Has(capability) {
			delete(message, member)
		}
	}
	if buyer, ok := message["buyer"].(wire.Object); ok && !agreement.Has(consentCapability) {
		delete(buyer, "consent")
	}
}

// translate answers with what the inner handler has answered.
func (h *releaseHandler) translate(
	w http.ResponseWriter, request *http.Request, x wire.Exchange, agreement *negotiation.Agreement, answer *keptAnswer,
) {
	answer.pass(w)
	status := answer.status
	said, err := wire.Decode(answer.body.Bytes())
	if err != nil {
		h.log.ErrorContext(request.Context(), "ucp: an answer that is no object cannot be translated", "status", status)
		h.say(w, request, http.StatusInternalServerError, wire.Object{"code": "internal", "content": "There is no answer."})
		return
	}
	status, model, err := wire.January11.DecodeResponse(x, status, said)
	if err != nil {
		h.refuse(w, request, err)
		return
	}
	if ucp, ok := model["ucp"].(wire.Object); ok && agreement != nil {
		root := checkoutCapability
		if x.Operation == wire.GetOrder {
			root = orderCapability
		}
		ucp["capabilities"] = agreement.Response(root)
		prune(model, agreement)
	}
	if model["code"] != nil && status < http.StatusBadRequest {
		status = http.StatusInternalServerError
	}
	h.say(w, request, status, model, x)
}

// say encodes an answer in the model for the release and sends it.
func (h *releaseHandler) say(w http.ResponseWriter, request *http.Request, status int, model wire.Object, of ...wire.Exchange) {
	x := wire.Exchange{Operation: wire.GetCheckout}
	if len(of) > 0 {
		x = of[0]
	}
	status, said, err := h.release.EncodeResponse(x, status, model)
	var text []byte
	if err == nil {
		text, err = wire.Encode(said)
	}
	if err != nil {
		h.log.ErrorContext(request.Context(), "ucp: an answer cannot be written", "error", err)
		http.Error(w, "", http.StatusInternalServerError)
		return
	}
	w.Header()["Content-Type"] = jsonContent
	w.WriteHeader(status)
	if request.Method != http.MethodHead {
		_, _ = w.Write(text) // Nobody is there to be told.
	}
}

// refuse answers with what went wrong before the business was asked.
func (h *releaseHandler) refuse(w http.ResponseWriter, request *http.Request, err error) {
	var (
		known *negotiation.Error
		wrong *wireError
	)
	model := wire.Object{}
	if h.options.ContinueURL != "" {
		model["continue_url"] = h.options.ContinueURL
	}
	switch {
	case errors.As(err, &known) && known.Code == negotiation.CapabilitiesIncompatible:
		model["ucp"] = wire.Object{"status": "error"}
		model["messages"] = []any{wire.Object{
			"type": "error", "code": string(known.Code), "content": known.Content, "severity": "unrecoverable",
		}}
		h.say(w, request, http.StatusOK, model)
	case errors.As(err, &known):
		h.log.InfoContext(request.Context(), "ucp: request refused", "code", known.Code, "error", err)
		model["code"], model["content"] = string(known.Code), known.Content
		h.say(w, request, known.Status(), model)
	case errors.As(err, &wrong):
		model["code"], model["content"] = wrong.code, wrong.content
		h.say(w, request, wrong.status, model)
	case errors.Is(err, profiles.ErrBusy):
		w.Header().Set("Retry-After", "1")
		model["code"], model["content"] = "busy", "Too many profiles are being fetched. Try again soon."
		h.say(w, request, http.StatusServiceUnavailable, model)
	default:
		h.log.ErrorContext(request.Context(), "ucp: request failed", "error", strings.TrimSpace(err.Error()))
		model["code"], model["content"] = "internal", "The request could not be answered."
		h.say(w, request, http.StatusInternalServerError, model)
	}
}
