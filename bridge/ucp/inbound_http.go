package ucp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"os"
	"strconv"
	"strings"
	"unicode"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/bridge/keyvalue"
	"github.com/strabo-engine/strabo/bridge/ucp/model"
	"github.com/strabo-engine/strabo/enactment"
)

// call is one request of a remote platform, read.
type call struct {
	operation, id string
	body          []byte
	// base is the URL that the request was made at, without the path.
	base string
	// profile is that of the platform: the one that has signed the request, or else what the UCP-Agent header says; nil for
	// none.
	profile any
	// secret is the Simulation-Secret header.
	secret string
	// ifMatch and ifNoneMatch are the headers If-Match and If-None-Match, a member a line; nil where there is none.
	ifMatch, ifNoneMatch []string
	// key is the Idempotency-Key, fingerprint what it stands for, and token what ids of attempts are made of.
	key, fingerprint, token string
	// creates tells that the request makes a checkout of its key.
	creates bool
	// dialect is how the request speaks if it was translated; nil if it was not.
	dialect *dialect
}

// matches tells whether the checkout is what the platform thinks it is (RFC 9110, section 13.1.1). A header that names
// no tag at all matches nothing: whoever sends it wants to be protected.
func (c *call) matches(standing *model.Standing) bool {
	return c.ifMatch == nil || names(c.ifMatch, etagOf(standing))
}

// has tells whether the platform has the checkout as it is (RFC 9110, section 13.1.2, which compares weakly).
func (c *call) has(standing *model.Standing) bool {
	tag := etagOf(standing)
	return c.ifNoneMatch != nil && (names(c.ifNoneMatch, tag) || names(c.ifNoneMatch, "W/"+tag))
}

// names tells whether a tag, or any at all, is in the lines of a header. No tag of the bridge has a comma.
func names(lines []string, wanted string) bool {
	for _, line := range lines {
		for tag := range strings.SplitSeq(line, ",") {
			if tag = strings.TrimSpace(tag); tag == "*" || tag == wanted {
				return true
			}
		}
	}
	return false
}

// result is what a call came to, before it is encoded.
type result struct {
	status int
	body   any
	etag   string
}

// respond answers a call: with a result, or with a [*problem], or with an error that is nobody's fault but the bridge's.
type respond func(ctx context.Context, c call) (*result, error)

func (in *Inbound) routes() *http.ServeMux {
	mux := http.NewServeMux()
	operations := map[string]respond{
		"GET /checkout-sessions/{id}":           in.get,
		"GET /orders/{id}":                      in.getOrder,
		"POST /checkout-sessions":               in.create,
		"PUT /checkout-sessions/{id}":           in.update,
		"POST /checkout-sessions/{id}/complete": in.complete,
		"POST /checkout-sessions/{id}/cancel":   in.cancel,
	}
	allowed := map[string]string{
		"/.well-known/ucp":                 "GET, HEAD",
		"/checkout-sessions":               "POST",
		"/checkout-sessions/{id}":          "GET, HEAD, PUT",
		"/orders/{id}":                     "GET, HEAD",
		"/checkout-sessions/{id}/complete": "POST",
		"/checkout-sessions/{id}/cancel":   "POST",
	}
	if in.options.SimulationSecret != "" {
		operations["PUT /orders/{id}"] = in.putOrder
		operations["POST /testing/simulate-shipping/{id}"] = in.simulateShipping
		allowed["/orders/{id}"] = "GET, HEAD, PUT"
	}
	for pattern, respond := range operations {
		mux.Handle(pattern, in.handle(pattern, respond))
	}
	mux.HandleFunc("GET "+discoveryPath, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "public, max-age=60") // UCP: at least a minute.
		in.handle("GET "+discoveryPath, in.discover).ServeHTTP(w, r)
	})
	if in.options.Documents != nil {
		mux.Handle("GET "+documentsPath, http.StripPrefix(documentsPath, in.options.Documents))
	}
	// More general than the above: what is left is another path, or a known one with another method.
	for pattern, allowed := range allowed {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Allow", allowed)
			in.send(w, r, in.answer(r.Context(), nil, &problem{
				status: http.StatusMethodNotAllowed, code: "METHOD_NOT_ALLOWED", detail: "This resource allows " + allowed + ".",
			}))
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		in.send(w, r, in.answer(r.Context(), nil, &problem{
			status: http.StatusNotFound, code: "RESOURCE_NOT_FOUND", detail: "There is no such resource.",
		}))
	})
	return mux
}

// documentsPath is where documents are served, if any are.
const documentsPath = "/documents/"

// handle reads a request, answers it, and answers it once where it has an Idempotency-Key.
func (in *Inbound) handle(pattern string, respond respond) http.Handler {
	creates := strings.HasSuffix(pattern, " /checkout-sessions")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := in.read(w, r)
		if err != nil {
			in.send(w, r, in.answer(r.Context(), nil, err))
			return
		}
		select {
		case in.places <- struct{}{}:
			defer func() { <-in.places }()
		default:
			in.send(w, r, in.answer(r.Context(), nil, tooMany))
			return
		}
		// A request that has arrived is answered to its end, lest a client that has gone leaves half of it.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), in.options.AnswerTimeout)
		defer cancel()
		c := call{
			operation: pattern, id: r.PathValue("id"), base: in.base(r), profile: profileIn(r.Header.Get("UCP-Agent")), creates: creates, body: raw,
			secret: r.Header.Get("Simulation-Secret"), dialect: dialectIn(ctx),
			ifMatch: r.Header.Values("If-Match"), ifNoneMatch: r.Header.Values("If-None-Match"),
		}
		if r.Method == http.MethodPost || r.Method == http.MethodPut {
			if c.key, err = keyIn(r.Header.Values("Idempotency-Key")); err != nil {
				in.send(w, r, in.answer(ctx, nil, err))
				return
			}
		}
		if platform := signerOf(ctx); platform != "" {
			c.profile, c.key = platform, scopedKey(platform, c.key)
		}
		c.token = tokenOf(c.key)
		if c.key != "" {
			c.fingerprint = fingerprintOf(pattern, c.id, raw)
			if c.dialect.tellsOutcomes() { // The same request is answered otherwise.
				c.fingerprint = fingerprintOf(pattern+" with outcomes", c.id, raw)
			}
		}
		answer := in.once(ctx, c, func() (reply, bool, error) {
			result, err := respond(ctx, c)
			if errors.Is(err, errReused) {
				return reply{}, true, err
			}
			p, isProblem := problemOf(err)
			transient := err != nil && (!isProblem || p.transient)
			if isProblem && p.outcome && !c.creates && c.dialect.tellsOutcomes() {
				if result, err = in.outcome(ctx, c, p); err != nil && !errors.Is(err, p) {
					transient = true
				}
			}
			return in.answer(ctx, result, err), transient, nil
		})
		in.send(w, r, answer)
	})
}

// longestKey is how long an Idempotency-Key may be; a UUID has 36 characters.
const longestKey = 255

// keyIn gives the Idempotency-Key of a request; empty where there is none. One with characters that no header can have came
// in a message of another transport.
func keyIn(lines []string) (string, error) {
	switch {
	case len(lines) == 0:
		return "", nil
	case len(lines) > 1:
		return "", wrongHeader("There is more than one Idempotency-Key.")
	case len(lines[0]) > longestKey:
		return "", wrongHeader("The Idempotency-Key is too long.")
	case strings.ContainsFunc(lines[0], unicode.IsControl):
		return "", wrongHeader("The Idempotency-Key has a control character in it.")
	}
	return lines[0], nil
}

func wrongHeader(detail string) *problem {
	return &problem{status: http.StatusBadRequest, code: "INVALID_REQUEST", detail: detail}
}

// read checks what the headers say and reads the body.
func (in *Inbound) read(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if err := checkAgent(r.Header.Get("UCP-Agent")); err != nil {
		return nil, err
	}
	if r.ContentLength == 0 && r.Body == http.NoBody {
		return nil, nil
	}
	if coding := r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return nil, &problem{
			status: http.StatusUnsupportedMediaType, code: "UNSUPPORTED_MEDIA_TYPE", detail: "The body must not be compressed.",
		}
	}
	body, err := in.arrivals.read(w, r, in.options.BodyLimit, in.options.BodyTimeout)
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, &problem{
			status: http.StatusRequestEntityTooLarge, code: "BODY_TOO_LARGE",
			detail: fmt.Sprintf("The body has more than %d bytes.", tooLarge.Limit),
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
	if len(body) > 0 && r.Header.Get("Content-Type") != "application/json" {
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
		return value, unsound()
	}
	return value, nil
}

// unsound is the problem of a body that is no JSON. It does not have the parser's own words: they may quote what is
// secret.
func unsound() *problem {
	return &problem{status: http.StatusBadRequest, code: "INVALID_REQUEST", detail: "The body is not sound JSON."}
}

// agentSays finds a parameter of a UCP-Agent header, whatever else the header says.
func agentSays(header, parameter string) (value string, ok bool) {
	for at := 0; ; {
		next := strings.Index(header[at:], parameter+`="`)
		if next < 0 {
			return "", false
		}
		from := at + next
		at = from + len(parameter) + len(`="`)
		if from > 0 && !strings.ContainsRune(";, \t\r\n\f", rune(header[from-1])) {
			continue // the end of another parameter's name
		}
		value, _, ok = strings.Cut(header[at:], `"`)
		return value, ok
	}
}

// checkAgent refuses a platform that says that it speaks a newer version than the bridge. Versions are dates, so their
// order is that of their text.
func checkAgent(header string) error {
	if version, ok := agentSays(header, "version"); !ok || version <= Release {
		return nil
	}
	return &problem{
		status: http.StatusBadRequest, code: "VERSION_UNSUPPORTED", severity: "requires_buyer_input",
		detail: "The version is newer than " + Release + ", which is what is spoken here.",
	}
}

// longestProfile is how long the URL of a profile may be.
const longestProfile = 2048

// profileIn gives the URL of the platform's profile in a UCP-Agent header; nil if it has none.
func profileIn(header string) any {
	profile, ok := agentSays(header, "profile")
	if !ok || len(profile) > longestProfile {
		return nil
	}
	return profile
}

// base gives the URL under which the request reached the bridge.
func (in *Inbound) base(r *http.Request) string {
	switch {
	case in.options.PublicURL != "":
		return strings.TrimSuffix(in.options.PublicURL, "/")
	case r.TLS != nil:
		return "https://" + r.Host
	default:
		return "http://" + r.Host
	}
}

// reply is an answer ready to be sent, or to be sent again.
type reply struct {
	status     int
	retryAfter bool
	etag       string
	body       []byte
}

// answer encodes what a call came to.
func (in *Inbound) answer(ctx context.Context, came *result, err error) reply {
	if err != nil {
		p, ok := problemOf(err)
		switch {
		case ok:
		case ctx.Err() != nil:
			p = unanswered("The request")
		case errors.Is(err, keyvalue.ErrUnavailable), errors.Is(err, adapter.ErrUnavailable), errors.Is(err, adapter.ErrClosed):
			in.log.WarnContext(ctx, "ucp: a request could not be answered yet", "error", err)
			p = unanswered("The request")
		default:
			in.log.ErrorContext(ctx, "ucp: a request could not be answered", "error", err)
			p = &problem{status: http.StatusInternalServerError, code: "INTERNAL_ERROR", detail: "The request could not be answered."}
		}
		came = &result{status: p.status, body: p.body()}
	}
	encoded, ready := came.body.(json.RawMessage)
	if came.status == http.StatusNotModified {
		return reply{status: came.status, etag: came.etag}
	}
	if !ready {
		encoded, err = json.Marshal(came.body)
	} else {
		err = nil
	}
	if err != nil {
		in.log.ErrorContext(ctx, "ucp: an answer could not be encoded", "error", err)
		return reply{status: http.StatusInternalServerError, body: []byte("{}\n")}
	}
	return reply{
		status: came.status, etag: came.etag, body: append(encoded, '\n'), retryAfter: came.status == http.StatusServiceUnavailable,
	}
}

func (in *Inbound) failed(ctx context.Context, err error) reply { return in.answer(ctx, nil, err) }

func (in *Inbound) send(w http.ResponseWriter, r *http.Request, answer reply) {
	header := w.Header()
	if answer.body != nil {
		header["Content-Type"], header["Content-Length"] = jsonContent, []string{strconv.Itoa(len(answer.body))}
	}
	if answer.retryAfter {
		header.Set("Retry-After", "1")
	}
	if answer.etag != "" {
		header["Etag"] = []string{answer.etag}
	}
	w.WriteHeader(answer.status)
	if answer.body == nil {
		return
	}
	if _, err := w.Write(answer.body); err != nil {
		in.log.DebugContext(r.Context(), "ucp: an answer could not be sent", "error", err)
	}
}

var jsonContent = []string{"application/json"}
