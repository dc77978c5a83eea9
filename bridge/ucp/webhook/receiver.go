package webhook

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/strabo-engine/strabo/bridge/ucp/negotiation"
	"github.com/strabo-engine/strabo/bridge/ucp/signature"
	"github.com/strabo-engine/strabo/bridge/ucp/wire"
)

// MaximumBody is how many bytes of a webhook are read.
const MaximumBody = 1 << 20

// Event is an order that a business tells of.
type Event struct {
	// ID is the same when the same is told again: Webhook-Id where that is signed, the event_id in the body, or a digest
	// of the body.
	ID string
	// At is when it happened, as the business says; the zero time if it does not.
	At time.Time
	// Business is the URL of the business's profile.
	Business string
	// Release is the one that the webhook is of.
	Release wire.Release
	// Key is the id of the key that signed it; empty where nothing did.
	Key string
	// Order is the order in the model, see the package wire.
	Order wire.Object
	// Checkout and OrderID say which order it is.
	Checkout, OrderID string
}

// Verdict says what is done with an event.
type Verdict string

// The verdicts.
const (
	// Fresh is an event that is handed on.
	Fresh Verdict = "fresh"
	// Duplicate was handed on before: the business repeats itself, or somebody repeats the business.
	Duplicate Verdict = "duplicate"
	// Stale is older than what was handed on.
	Stale Verdict = "stale"
)

// Origin is where a checkout was opened.
type Origin struct {
	// Business is the URL of the business's profile, Release what it was spoken to in, Currency that of the checkout.
	Business string
	Release  wire.Release
	Currency string
	// Unsigned tells that the business does not sign, as the public servers do not, so that anybody who knows the
	// webhook's URL and the id of a checkout can tell of its order.
	Unsigned bool
}

// Options configure a [Receiver]. All but Observe and Logger are needed.
type Options struct {
	// Key finds a key in the profile at a URL, as profiles.Fetcher does.
	Key func(ctx context.Context, profileURL, id string) (negotiation.Key, error)
	// Origin tells where a checkout was opened; ok is false for one that nobody here has opened.
	Origin func(ctx context.Context, checkout string) (o Origin, ok bool, err error)
	// Memory remembers what was handed on.
	Memory Memory
	// Handle is given each fresh event, those of one order one at a time. It should take little time: the business waits.
	// After an error the event counts as not received, and the business is asked to repeat it.
	Handle func(ctx context.Context, e Event) error
	// Observe is told what became of an event, after that: an audit records duplicates, for example.
	Observe func(ctx context.Context, e Event, v Verdict)
	// Logger is slog.Default() if nil.
	Logger *slog.Logger
}

// Receiver is the HTTP handler of a platform's webhook. It is safe for concurrent use.
type Receiver struct {
	options Options
	log     *slog.Logger
}

// New makes a receiver. It answers 200 to whatever is received, be it again or too late; with UCP's codes and statuses
// to what cannot be verified; 403 for an order that is not this business's; and 503 where the handler or the memory
// failed, so that the business tries again.
func New(options Options) (*Receiver, error) {
	if options.Key == nil || options.Origin == nil || options.Memory == nil || options.Handle == nil {
		return nil, errors.New("ucp: webhook: Key, Origin, Memory and Handle are needed")
	}
	r := &Receiver{options: options, log: options.Logger}
	if r.log == nil {
		r.log = slog.Default()
	}
	return r, nil
}

// ServeHTTP implements [http.Handler].
func (r *Receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	if request.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		refuse(w, http.StatusMethodNotAllowed, "method_not_allowed", "A webhook is posted.")
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, request.Body, MaximumBody))
	if err != nil {
		refuse(w, http.StatusRequestEntityTooLarge, "body_too_large", "The body cannot be read, or is too large.")
		return
	}
	ctx := request.Context()
	event, err := r.read(ctx, request, body)
	var (
		known   *negotiation.Error
		problem *problem
	)
	switch {
	case errors.As(err, &known):
		r.log.WarnContext(ctx, "ucp: webhook refused", "code", known.Code, "error", err)
		refuse(w, known.Status(), string(known.Code), known.Content)
		return
	case errors.As(err, &problem):
		r.log.WarnContext(ctx, "ucp: webhook refused", "code", problem.code, "detail", problem.content)
		refuse(w, problem.status, problem.code, problem.content)
		return
	case err != nil:
		r.log.ErrorContext(ctx, "ucp: webhook cannot be verified now", "error", err)
		again(w)
		return
	}
	verdict, err := r.options.Memory.Once(ctx, event, func(ctx context.Context) error { return r.options.Handle(ctx, event) })
	if err != nil {
		r.log.ErrorContext(ctx, "ucp: webhook not handled", "event", event.ID, "order", event.OrderID, "error", err)
		again(w)
		return
	}
	if r.options.Observe != nil {
		r.options.Observe(ctx, event, verdict)
	}
	answer(w, http.StatusOK, wire.Object{"ucp": wire.Object{"version": string(event.Release)}})
}

// problem is a webhook that cannot be taken, for a reason that UCP has no code for.
type problem struct {
	status        int
	code, content string
}

func (p *problem) Error() string { return "ucp: webhook: " + p.code + ": " + p.content }

// read finds out what a webhook says and whether it may say that.
func (r *Receiver) read(ctx context.Context, request *http.Request, body []byte) (Event, error) {
	said, err := wire.Decode(body)
	if err != nil {
		return Event{}, &problem{http.StatusBadRequest, "invalid_request", "The body is no JSON object."}
	}
	order := said
	if inner, ok := said["order"].(wire.Object); ok && said["line_items"] == nil {
		order = inner
	}
	e := Event{Checkout: member(order, "checkout_id"), OrderID: member(order, "id")}
	if e.Checkout == "" || e.OrderID == "" {
		return Event{}, &problem{http.StatusUnprocessableEntity, "invalid_request", "The body is no order: it has no id or no checkout_id."}
	}
	origin, ok, err := r.options.Origin(ctx, e.Checkout)
	if err != nil {
		return Event{}, err
	}
	// Who asks for checkouts that are not here learns no more than who asks for those of others.
	foreign := &problem{http.StatusForbidden, "not_yours", "The order is none of this business."}
	if !ok {
		return Event{}, foreign
	}
	e.Business, e.Release = origin.Business, origin.Release
	verified, err := r.verify(ctx, request, body, origin, foreign)
	if err != nil {
		return Event{}, err
	}
	e.Key = verified.Key
	if e.Order, err = origin.Release.DecodeOrder(wire.Exchange{Currency: origin.Currency}, said); err != nil {
		return Event{}, err
	}
	e.ID, e.At = identify(request.Header, verified, said, body)
	return e, nil
}

// verify tells whether the business of the checkout has signed a webhook.
func (r *Receiver) verify(ctx context.Context, request *http.Request, body []byte, origin Origin, foreign error) (signature.Verified, error) {
	keys := func(ctx context.Context, id string) (negotiation.Key, error) {
		return r.options.Key(ctx, origin.Business, id)
	}
	switch {
	case request.Header.Get("Signature") != "" || request.Header.Get("Signature-Input") != "":
		agent, err := negotiation.ParseAgent(request.Header.Values("UCP-Agent"))
		if err != nil {
			return signature.Verified{}, err
		}
		// A good signature of another business is none here (UCP 2026-04-08, order, authorization).
		if agent.Profile != origin.Business {
			return signature.Verified{}, foreign
		}
		return signature.VerifyRequest(ctx, request, body, keys)
	case origin.Unsigned:
		return signature.Verified{}, nil
	}
	header := request.Header.Get("Request-Signature")
	if origin.Release == wire.April2026 || header == "" {
		return signature.Verified{}, &negotiation.Error{Code: negotiation.SignatureMissing, Content: "The webhook is not signed."}
	}
	if err := signature.VerifyDetached(ctx, header, body, keys); err != nil {
		return signature.Verified{}, err
	}
	return signature.Verified{Key: "detached", Covered: []string{"content-digest"}}, nil
}

// identify gives the id and the time of an event from what nobody can have changed: headers count where they are signed
// or nothing is.
func identify(header http.Header, verified signature.Verified, said wire.Object, body []byte) (string, time.Time) {
	trusted := func(name string) string {
		if verified.Key == "" || verified.Covers(name) {
			return header.Get(name)
		}
		return ""
	}
	id := trusted("Webhook-Id")
	if id == "" {
		id = member(said, "event_id")
	}
	if id == "" {
		sum := sha256.Sum256(body)
		id = "sha-256:" + base64.RawURLEncoding.EncodeToString(sum[:])
	}
	text := trusted("Webhook-Timestamp")
	if text == "" {
		text = member(said, "created_time")
	}
	at := moment(text)
	if at.After(time.Now().Add(ahead)) {
		at = time.Time{}
	}
	return id, at
}

// ahead is how much later than here it may be at a business. What is said to happen after that has no time that is known,
// lest whatever comes then be taken for stale.
const ahead = time.Hour

// moment reads a time: seconds since 1970, as in Standard Webhooks, or RFC 3339.
func moment(text string) time.Time {
	if seconds, err := strconv.ParseInt(text, 10, 64); err == nil && seconds > 0 && seconds < 1<<40 {
		return time.Unix(seconds, 0).UTC()
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}
	}
	return at.UTC()
}

func member(object wire.Object, name string) string {
	text, _ := object[name].(string)
	return text
}

func refuse(w http.ResponseWriter, status int, code, content string) {
	answer(w, status, wire.Object{"code": code, "content": content})
}

func again(w http.ResponseWriter) {
	w.Header().Set("Retry-After", "5")
	refuse(w, http.StatusServiceUnavailable, "try_again", "The webhook could not be received just now.")
}

func answer(w http.ResponseWriter, status int, said wire.Object) {
	text, err := json.Marshal(said)
	if err != nil { // Not of texts and objects.
		http.Error(w, fmt.Sprint(status), status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(text) // Nobody is there to be told.
}
