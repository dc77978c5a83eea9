package ucp

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"regexp"
	"time"

	"github.com/strabo-engine/strabo/enactment"
)

// call is one request of a remote platform, read.
type call struct {
	operation, id string
	body          enactment.Value
	// base is the URL that the request was made at, without the path.
	base string
	// token makes the ids of the attempts; see [answered].
	token string
	// repeatable tells that the request has an Idempotency-Key.
	repeatable bool
}

// respond answers a call: with a status and a body, or with a [*problem], or with an error that is nobody's fault but
// the bridge's.
type respond func(ctx context.Context, c call) (status int, body any, err error)

func (in *Inbound) routes() *http.ServeMux {
	mux := http.NewServeMux()
	for pattern, respond := range map[string]respond{
		"GET /checkout-sessions/{id}":           in.get,
		"GET /orders/{id}":                      in.getOrder,
		"POST /checkout-sessions":               in.create,
		"PUT /checkout-sessions/{id}":           in.update,
		"POST /checkout-sessions/{id}/complete": in.complete,
		"POST /checkout-sessions/{id}/cancel":   in.cancel,
	} {
		mux.Handle(pattern, in.handle(pattern, respond))
	}
	mux.HandleFunc("GET "+discoveryPath, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "public, max-age=60") // UCP: at least a minute.
		in.handle("GET "+discoveryPath, in.discover).ServeHTTP(w, r)
	})
	// More general than the above: what is left is another path, or a known one with another method.
	for pattern, allowed := range map[string]string{
		"/.well-known/ucp":                 "GET, HEAD",
		"/checkout-sessions":               "POST",
		"/checkout-sessions/{id}":          "GET, HEAD, PUT",
		"/orders/{id}":                     "GET, HEAD",
		"/checkout-sessions/{id}/complete": "POST",
		"/checkout-sessions/{id}/cancel":   "POST",
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Allow", allowed)
			in.send(w, r, in.answer(r.Context(), 0, nil, &problem{
				status: http.StatusMethodNotAllowed, code: "METHOD_NOT_ALLOWED", detail: "This resource allows " + allowed + ".",
			}))
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		in.send(w, r, in.answer(r.Context(), 0, nil, &problem{
			status: http.StatusNotFound, code: "RESOURCE_NOT_FOUND", detail: "There is no such resource.",
		}))
	})
	return mux
}

// handle reads a request, answers it, and answers it once where it has an Idempotency-Key.
func (in *Inbound) handle(pattern string, respond respond) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := in.read(w, r)
		if err != nil {
			in.send(w, r, in.answer(r.Context(), 0, nil, err))
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), in.options.AnswerTimeout)
		defer cancel()
		c := call{operation: pattern, id: r.PathValue("id"), base: in.base(r)}
		key := ""
		if r.Method == http.MethodPost || r.Method == http.MethodPut {
			key = r.Header.Get("Idempotency-Key")
		}
		if len(key) > longestKey {
			in.send(w, r, in.answer(ctx, 0, nil, &problem{
				status: http.StatusBadRequest, code: "INVALID_REQUEST", detail: "The Idempotency-Key is too long.",
			}))
			return
		}
		c.repeatable = key != ""
		result, err := in.answers.once(ctx, key, fingerprintOf(pattern, c.id, raw), func(token string) (reply, bool) {
			c.token = token
			var err error
			if c.body, err = parse(raw); err != nil {
				return in.answer(ctx, 0, nil, err), false
			}
			status, body, err := respond(ctx, c)
			p, isProblem := errors.AsType[*problem](err)
			return in.answer(ctx, status, body, err), err != nil && (!isProblem || p.transient)
		})
		if err != nil {
			result = in.answer(ctx, 0, nil, err)
		}
		in.send(w, r, result)
	})
}

// longestKey is how long an Idempotency-Key may be; a UUID has 36 characters.
const longestKey = 255

// read checks what the headers say and reads the body.
func (in *Inbound) read(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if err := checkAgent(r.Header.Get("UCP-Agent")); err != nil {
		return nil, err
	}
	// The server that was not told how long a request may take is told here, for the body alone.
	connection := http.NewResponseController(w)
	limited := connection.SetReadDeadline(time.Now().Add(in.options.BodyTimeout)) == nil
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, in.options.BodyLimit))
	if limited && err == nil { // Else the server is not to wait for the rest either.
		_ = connection.SetReadDeadline(time.Time{})
	}
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, &problem{
			status: http.StatusRequestEntityTooLarge, code: "BODY_TOO_LARGE", detail: tooLarge.Error(),
		}
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, &problem{
			status: http.StatusRequestTimeout, code: "REQUEST_TIMEOUT", detail: "The body did not arrive in time, so nothing was done.",
		}
	}
	if err != nil {
		return nil, &problem{status: http.StatusBadRequest, code: "INVALID_REQUEST", detail: "The body could not be read."}
	}
	if len(body) > 0 {
		media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
		if err != nil || media != "application/json" {
			return nil, &problem{
				status: http.StatusUnsupportedMediaType, code: "UNSUPPORTED_MEDIA_TYPE", detail: "The body must be application/json.",
			}
		}
	}
	return body, nil
}

// parse reads a body as strict JSON; no body is a null.
func parse(body []byte) (enactment.Value, error) {
	if len(body) == 0 {
		return null, nil
	}
	value, err := enactment.ParseValue(body)
	if err != nil {
		// Not the parser's own words: they may quote what is secret.
		return value, &problem{status: http.StatusBadRequest, code: "INVALID_REQUEST", detail: "The body is not sound JSON."}
	}
	return value, nil
}

var agentVersion = regexp.MustCompile(`(?:^|[;,\s])version="([^"]*)"`)

// checkAgent refuses a platform that says that it speaks a newer version than the bridge. Versions are dates, so their
// order is that of their text.
func checkAgent(header string) error {
	found := agentVersion.FindStringSubmatch(header)
	if found == nil || found[1] <= Release {
		return nil
	}
	return &problem{
		status: http.StatusBadRequest, code: "VERSION_UNSUPPORTED", severity: "requires_buyer_input",
		detail: "The version is newer than " + Release + ", which is what is spoken here.",
	}
}

// base gives the URL under which the request reached the bridge.
func (in *Inbound) base(r *http.Request) string {
	switch {
	case in.options.PublicURL != "":
		return in.options.PublicURL
	case r.TLS != nil:
		return "https://" + r.Host
	default:
		return "http://" + r.Host
	}
}

// answer encodes what a call came to.
func (in *Inbound) answer(ctx context.Context, status int, body any, err error) reply {
	if err != nil {
		p, ok := errors.AsType[*problem](err)
		switch {
		case ok:
		case ctx.Err() != nil:
			p = unanswered("The request")
		default:
			in.log.ErrorContext(ctx, "ucp: a request could not be answered", "error", err)
			p = &problem{status: http.StatusInternalServerError, code: "INTERNAL_ERROR", detail: "The request could not be answered."}
		}
		status, body = p.status, p.body()
	}
	r, err := newReply(status, body)
	if err != nil {
		in.log.ErrorContext(ctx, "ucp: an answer could not be encoded", "error", err)
		r = reply{status: http.StatusInternalServerError, body: []byte("{}\n")}
	}
	r.retryAfter = status == http.StatusServiceUnavailable
	return r
}

func (in *Inbound) send(w http.ResponseWriter, r *http.Request, answer reply) {
	if err := answer.write(w); err != nil {
		in.log.DebugContext(r.Context(), "ucp: an answer could not be sent", "error", err)
	}
}
