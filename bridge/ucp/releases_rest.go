package ucp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/strabo-engine/strabo/bridge/keyvalue"
	"github.com/strabo-engine/strabo/bridge/ucp/mandate"
	"github.com/strabo-engine/strabo/bridge/ucp/negotiation"
	"github.com/strabo-engine/strabo/bridge/ucp/profiles"
	"github.com/strabo-engine/strabo/bridge/ucp/wire"
)

// releaseHandler answers the requests of one release over REST.
type releaseHandler struct {
	*businessReleases
	release wire.Release
}

// ServeHTTP implements [http.Handler]. The path is the one below the release.
func (h *releaseHandler) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	if h.admit(w, request) {
		h.serve(w, request)
	}
}

// admit reads a request to its end and verifies it; one that is not admitted is answered.
func (h *releaseHandler) admit(w http.ResponseWriter, request *http.Request) bool {
	body, ok := h.read(w, w, request)
	if !ok {
		return false
	}
	if err := h.verify(request, body); err != nil {
		h.refuse(w, request, err)
		return false
	}
	request.Body = newBody(body)
	return true
}

func newBody(body []byte) io.ReadCloser { return io.NopCloser(bytes.NewReader(body)) }

// read reads a request's body to its end; if that fails it is answered at to.
func (h *releaseHandler) read(w, to http.ResponseWriter, request *http.Request) ([]byte, bool) {
	problem := &wireError{http.StatusBadRequest, "invalid_request", "The body cannot be read."}
	if coding := request.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		problem = &wireError{http.StatusUnsupportedMediaType, "unsupported_media_type", "The body must not be compressed."}
		h.refuse(to, request, problem)
		return nil, false
	}
	body, err := h.arrivals.read(w, request, h.options.BodyLimit, h.options.BodyTimeout)
	if err == nil {
		return body, true
	}
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		problem = &wireError{http.StatusRequestEntityTooLarge, "body_too_large", "The body is too large."}
	} else if errors.Is(err, os.ErrDeadlineExceeded) {
		problem = &wireError{http.StatusRequestTimeout, "request_timeout", "The body did not arrive in time, so nothing was done."}
	}
	h.refuse(to, request, problem)
	return nil, false
}

// operationOf finds the operation of a request, whose method HEAD is GET without the body. For what is no operation the
// error says so, with the methods that the resource has.
func operationOf(w http.ResponseWriter, request *http.Request) (wire.Operation, string, error) {
	path, method := request.URL.EscapedPath(), request.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	operation, id, ok := wire.OperationOf(method, path)
	if ok && whole(path, operation, id) {
		return operation, id, nil
	}
	if path == discoveryPath { // Its own handler has the methods that there are.
		w.Header().Set("Allow", "GET, HEAD")
		return "", "", &wireError{http.StatusMethodNotAllowed, "method_not_allowed", "This resource allows GET, HEAD."}
	}
	allowed := []string{}
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut} {
		other, id, ok := wire.OperationOf(method, path)
		if ok && whole(path, other, id) {
			if allowed = append(allowed, method); method == http.MethodGet {
				allowed = append(allowed, http.MethodHead)
			}
		}
	}
	if len(allowed) == 0 {
		return "", "", &wireError{http.StatusNotFound, "not_found", "There is no such resource."}
	}
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	return "", "", &wireError{http.StatusMethodNotAllowed, "method_not_allowed", "This resource allows " + strings.Join(allowed, ", ") + "."}
}

// whole tells whether a path is all that an operation was found in, not only its end; ids may be escaped in several ways.
func whole(path string, operation wire.Operation, id string) bool {
	_, exact := operation.REST(id)
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return strings.HasPrefix(exact, "/"+first) && strings.Count(exact, "/") == strings.Count(path, "/")
}

// serve negotiates, has the inner handler answer, and translates both ways.
func (h *releaseHandler) serve(w http.ResponseWriter, request *http.Request) {
	operation, id, err := operationOf(w, request)
	if err != nil {
		h.refuse(w, request, err)
		return
	}
	agent, err := negotiation.ParseAgent(request.Header.Values("UCP-Agent"))
	if err != nil {
		h.refuse(w, request, err)
		return
	}
	body, err := io.ReadAll(request.Body)
	if err != nil {
		h.refuse(w, request, err)
		return
	}
	platform := request.Header.Get(verifiedHeader)
	if platform != "" && platform != agent.Profile {
		h.refuse(w, request, &negotiation.Error{Code: negotiation.SignatureInvalid, Content: "The request was signed by another platform."})
		return
	}
	agreement, err := h.agree(request, agent.Profile, request.URL.EscapedPath(), body)
	if err == nil {
		err = permits(agreement, operation)
	}
	if err != nil {
		h.refuse(w, request, err)
		return
	}
	x := wire.Exchange{Operation: operation, Checkout: id}
	asked, pays, err := h.asked(request, x, agreement, body)
	if err != nil {
		h.refuse(w, request, err)
		return
	}
	// The business is told of the platform that was negotiated with, whatever else the header may be read as, and in the
	// release that the business speaks.
	asked.Header.Set("UCP-Agent", negotiation.Agent{Profile: agent.Profile}.String())
	// The business signs what the platform sees, so it has to know how that is written.
	asked = asked.WithContext(context.WithValue(asked.Context(), dialectKey{}, &dialect{
		mandates: agreement.Has(mandate.Extension), outcomes: h.release == wire.April2026,
		write: func(checkout []byte) ([]byte, error) {
			status, model, err := h.model(x, agreement, pays, http.StatusOK, checkout)
			if err != nil {
				return nil, err
			}
			_, said, err := h.release.EncodeResponse(x, status, model)
			if err != nil {
				return nil, err
			}
			return wire.Encode(said)
		},
	}))
	answer := newAnswer()
	h.inner.ServeHTTP(answer, asked)
	h.translate(w, request, x, agreement, pays, answer)
}

// asked makes the request that the inner handler understands. Of the payment instruments in it, it tells which one pays.
func (h *releaseHandler) asked(
	request *http.Request, x wire.Exchange, agreement *negotiation.Agreement, text []byte,
) (out *http.Request, pays int, err error) {
	out = request.Clone(signedBy(request.Context(), request.Header.Get(verifiedHeader)))
	out.Header.Del(verifiedHeader)
	if out.Header.Get("Request-Signature") == "" {
		out.Header.Set("Request-Signature", "verified before")
	}
	if len(bytes.TrimSpace(text)) > 0 {
		said, err := decodeStrictly(text)
		if err != nil {
			return nil, 0, err
		}
		model, err := h.release.DecodeRequest(x, said)
		if err != nil {
			return nil, 0, err
		}
		given, there := model["ap2"] // Whether it is needed is for who knows the checkout to say.
		if prune(model, agreement.Has); there && x.Operation == wire.CompleteCheckout {
			model["ap2"] = given
		}
		if pays, err = checkRequest(x, model); err != nil {
			return nil, 0, err
		}
		if text, err = inJanuary11(x, model); err != nil {
			return nil, 0, err
		}
	}
	out.Body, out.ContentLength = newBody(text), int64(len(text))
	return out, pays, nil
}

// inJanuary11 writes a request in the model as the business reads it; nil for an operation that has no body, whatever was
// sent with it.
func inJanuary11(x wire.Exchange, model wire.Object) ([]byte, error) {
	lowered, err := wire.January11.EncodeRequest(x, model)
	if err != nil || lowered == nil {
		return nil, err
	}
	if context, there := model["context"]; there && x.Operation != wire.CompleteCheckout {
		lowered["context"] = context // No part of that release, and no secret from the business.
	}
	if currency, _ := lowered["currency"].(string); currency == "" {
		delete(lowered, "currency") // The business decides; only a wish for one is checked.
	}
	if x.Operation == wire.UpdateCheckout {
		replace(lowered)
	}
	return wire.Encode(lowered)
}

// replace makes an update say what it leaves out: the business keeps that, as the platforms of 2026-01-11 expect, and
// newer releases have it cleared (UCP 2026-04-08, checkout, update).
func replace(update wire.Object) {
	for _, name := range []string{"buyer", "context", "fulfillment", "discounts"} {
		if _, said := update[name]; !said {
			update[name] = nil
		}
	}
}

// wireError is a request that cannot be translated.
type wireError struct {
	status        int
	code, content string
}

func (e *wireError) Error() string { return "ucp: " + e.code + ": " + e.content }

// The members of a checkout that belong to an extension.
var extensionMembers = map[string]string{
	discountCapability: "discounts", fulfillmentCapability: "fulfillment", mandate.Extension: "ap2",
}

// prune takes out of a message what belongs to extensions that are not active.
func prune(message wire.Object, active func(capability string) bool) {
	for capability, member := range extensionMembers {
		if !active(capability) {
			delete(message, member)
		}
	}
	if buyer, ok := message["buyer"].(wire.Object); ok && !active(consentCapability) {
		delete(buyer, "consent")
	}
}

// translate answers with what the inner handler has answered.
func (h *releaseHandler) translate(
	w http.ResponseWriter, request *http.Request, x wire.Exchange, agreement *negotiation.Agreement, pays int, answer *keptAnswer,
) {
	answer.pass(w)
	if answer.status == http.StatusNotModified {
		w.WriteHeader(answer.status)
		return
	}
	status, model, err := h.model(x, agreement, pays, answer.status, answer.body.Bytes())
	if errors.Is(err, wire.ErrNotObject) {
		h.log.ErrorContext(request.Context(), "ucp: an answer that is no object cannot be translated", "status", answer.status)
		h.say(w, request, http.StatusInternalServerError, wire.Object{"code": "internal", "content": "There is no answer."})
		return
	}
	if err != nil {
		h.refuse(w, request, err)
		return
	}
	switch {
	case model["code"] == nil:
	case status < http.StatusBadRequest:
		status = http.StatusInternalServerError
	case status == http.StatusUnprocessableEntity:
		status = http.StatusBadRequest // 422 is about profiles (UCP 2026-04-08, checkout REST binding, status codes).
	}
	h.sayOf(w, request, status, model, x, agreement.Response(rootOf(x.Operation)))
}

// model gives what the inner handler has answered in the model, with what is active and nothing else. A checkout that is
// signed stays signed.
func (h *releaseHandler) model(
	x wire.Exchange, agreement *negotiation.Agreement, pays, status int, answer []byte,
) (int, wire.Object, error) {
	said, err := wire.Decode(answer)
	if err != nil {
		return 0, nil, err
	}
	if said["code"] == "INVALID_REQUEST" && h.release == wire.April2026 {
		// It is about the request, and no decision of the business.
		return http.StatusBadRequest, wire.Object{"code": "invalid_request", "content": said["detail"]}, nil
	}
	status, model, err := wire.January11.DecodeResponse(x, status, said)
	if err != nil {
		return 0, nil, err
	}
	h.retell(model, said, agreement, pays)
	if ucp, ok := model["ucp"].(wire.Object); ok {
		ucp["capabilities"] = agreement.Response(rootOf(x.Operation))
		signed, there := model["ap2"]
		if prune(model, agreement.Has); there {
			model["ap2"] = signed
		}
		if said := notices(agreement); len(said) > 0 {
			messages, _ := model["messages"].([]any)
			model["messages"] = append(slices.Clone(messages), said...)
		}
	}
	return status, model, nil
}

// say encodes an answer of what went wrong before the business was asked, and sends it.
func (h *releaseHandler) say(w http.ResponseWriter, request *http.Request, status int, model wire.Object) {
	h.sayOf(w, request, status, model, wire.Exchange{Operation: wire.GetCheckout}, wire.Object{})
}

// sayOf encodes an answer in the model for the release and sends it. The capabilities are those that are active for the
// operation, which every answer with ucp in it says, also one that is no (UCP 2026-04-08, overview, business requirements).
func (h *releaseHandler) sayOf(
	w http.ResponseWriter, request *http.Request, status int, model wire.Object, x wire.Exchange, capabilities wire.Object,
) {
	status, said, err := h.release.EncodeResponse(x, status, model)
	if ucp, ok := said["ucp"].(wire.Object); ok && ucp["status"] == "error" && ucp["capabilities"] == nil {
		ucp["capabilities"] = capabilities
	}
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
		h.say(w, request, known.Code.Status(), model)
	case errors.As(err, &wrong):
		model["code"], model["content"] = wrong.code, wrong.content
		h.say(w, request, wrong.status, model)
	case errors.Is(err, profiles.ErrBusy):
		w.Header().Set("Retry-After", "1")
		model["code"], model["content"] = "busy", "There are too many requests at once. Try again soon."
		h.say(w, request, http.StatusServiceUnavailable, model)
	case errors.Is(err, keyvalue.ErrUnavailable):
		// Nothing is done of which it cannot be kept that it was (UCP 2026-04-08, signatures, idempotency key requirements).
		h.log.WarnContext(request.Context(), "ucp: a request could not be answered yet", "error", err)
		w.Header().Set("Retry-After", "1")
		model["code"], model["content"] = "unavailable", "The request could not be kept, so nothing was done. Try again soon."
		h.say(w, request, http.StatusServiceUnavailable, model)
	default:
		h.log.ErrorContext(request.Context(), "ucp: request failed", "error", strings.TrimSpace(err.Error()))
		model["code"], model["content"] = "internal", "The request could not be answered."
		h.say(w, request, http.StatusInternalServerError, model)
	}
}
