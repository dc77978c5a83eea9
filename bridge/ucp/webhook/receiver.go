package webhook

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/strabo-engine/strabo/bridge/ucp/negotiation"
	"github.com/strabo-engine/strabo/bridge/ucp/signature"
	"github.com/strabo-engine/strabo/bridge/ucp/wire"
)

const (
	// MaximumBody is how many bytes of a webhook are read. So an order fits into a value of a key-value store and into a
	// message of the engine.
	MaximumBody = 512 << 10
	// DefaultBodyTimeout is how long the body of a webhook may take to arrive.
	DefaultBodyTimeout = 10 * time.Second
)

// Event is an order that a business tells of.
type Event struct {
	// ID is the same when the same is told again: Webhook-Id where that is signed, the event_id in the body, or a digest
	// of the body. It is whatever the business calls it, up to a thousand bytes.
	ID string
	// At is when it happened, as the business says; the zero time if it does not.
	At time.Time
	// Business is the one of [Origin].
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
	// Business is the URL of the business's profile, of the release that it is spoken to in, and Also are further ones
	// under which the business is known, such as that of its discovery document. Release is what it is spoken to in,
	// Currency that of the checkout.
	Business string
	Also     []string
	Release  wire.Release
	Currency string
	// Unsigned tells that the business does not sign, as the public servers do not, so that anybody who knows the
	// webhook's URL and the id of a checkout can tell of its order. Such an event has no Key.
	Unsigned bool
}

// is tells whether the URL of a profile is one of the business's.
func (o *Origin) is(profile string) bool {
	return profile == o.Business || slices.Contains(o.Also, profile)
}

// Options configure a [Receiver]. Key, Origins, Memory and Handle are needed.
type Options struct {
	// Key finds a key in the profile at a URL, as profiles.Fetcher does.
	Key func(ctx context.Context, profileURL, id string) (negotiation.Key, error)
	// Origins tells where a checkout was opened: nowhere if nobody here has opened it, and at several businesses where
	// they have the same id for one.
	Origins func(ctx context.Context, checkout string) ([]Origin, error)
	// Memory remembers what was handed on.
	Memory *Memory
	// Handle is given each fresh event, see [Memory.Once]. It should take little time: the business waits. After an error
	// the event counts as not received, and the business is asked to repeat it.
	Handle func(ctx context.Context, e Event) error
	// Observe is told what became of an event, after that: an audit records duplicates, for example.
	Observe func(ctx context.Context, e Event, v Verdict)
	// BodyTimeout is how long a body may take to arrive, where the server can be told so; [DefaultBodyTimeout] if 0.
	BodyTimeout time.Duration
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
	if options.Key == nil || options.Origins == nil || options.Memory == nil || options.Handle == nil {
		return nil, errors.New("ucp: webhook: Key, Origins, Memory and Handle are needed")
	}
	options.BodyTimeout = cmp.Or(options.BodyTimeout, DefaultBodyTimeout)
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
	body, wrong := r.body(w, request)
	if wrong != nil {
		refuse(w, wrong.status, wrong.code, wrong.content)
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
		refuse(w, known.Code.Status(), string(known.Code), known.Content)
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

// body reads the body to its end.
func (r *Receiver) body(w http.ResponseWriter, request *http.Request) ([]byte, *problem) {
	// The server that was not told how long a request may take is told here, for the body alone.
	connection := http.NewResponseController(w)
	limited := connection.SetReadDeadline(time.Now().Add(r.options.BodyTimeout)) == nil
	body, err := io.ReadAll(http.MaxBytesReader(w, request.Body, MaximumBody))
	switch {
	case err == nil && limited: // Else the server is not to wait for the rest either.
		_ = connection.SetReadDeadline(time.Time{})
	case errors.As(err, new(*http.MaxBytesError)):
		return nil, &problem{http.StatusRequestEntityTooLarge, "body_too_large", "The body is too large."}
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, &problem{http.StatusRequestTimeout, "request_timeout", "The body did not arrive in time."}
	case err != nil:
		return nil, &problem{http.StatusBadRequest, "invalid_request", "The body cannot be read."}
	}
	return body, nil
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
	origins, err := r.options.Origins(ctx, e.Checkout)
	if err != nil {
		return Event{}, err
	}
	origin, verified, err := r.verify(ctx, request, body, origins)
	if err != nil {
		return Event{}, err
	}
	e.Business, e.Release, e.Key = origin.Business, origin.Release, verified.Key
	if e.Order, err = origin.Release.DecodeOrder(wire.Exchange{Currency: origin.Currency}, said); err != nil {
		return Event{}, err
	}
	e.ID, e.At = identify(request.Header, verified, said, body)
	return e, nil
}

// foreign says that an order is none of the business that tells of it. Who asks for checkouts that are not here learns no
// more than who asks for those of others.
func foreign() error {
	return &problem{http.StatusForbidden, "not_yours", "The order is none of this business."}
}

// verify finds the business that a webhook is from, of those where its checkout may have been opened: the one that has
// signed it.
func (r *Receiver) verify(ctx context.Context, request *http.Request, body []byte, origins []Origin) (Origin, signature.Verified, error) {
	if len(origins) == 0 {
		return Origin{}, signature.Verified{}, foreign()
	}
	if request.Header.Get("Signature") != "" || request.Header.Get("Signature-Input") != "" {
		agent, err := negotiation.ParseAgent(request.Header.Values("UCP-Agent"))
		if err != nil {
			return Origin{}, signature.Verified{}, err
		}
		// A good signature of another business is none here (UCP 2026-04-08, order, authorization).
		at := slices.IndexFunc(origins, func(o Origin) bool { return o.is(agent.Profile) })
		if at < 0 {
			return Origin{}, signature.Verified{}, foreign()
		}
		verified, err := signature.VerifyWebhook(ctx, request, body, r.keysOf(agent.Profile))
		return origins[at], verified, err
	}
	return r.verifyDetached(ctx, request.Header.Get("Request-Signature"), body, origins)
}

// verifyDetached finds the business whose key has signed the body. Before 2026-04-08 a webhook does not say whose it is, so
// the keys of each are tried that has a checkout of this id.
func (r *Receiver) verifyDetached(ctx context.Context, header string, body []byte, origins []Origin) (Origin, signature.Verified, error) {
	var wrong error = &negotiation.Error{Code: negotiation.SignatureMissing, Content: "The webhook is not signed."}
	for _, origin := range origins {
		if origin.Release == wire.April2026 || header == "" {
			continue
		}
		id, err := signature.VerifyDetached(ctx, header, body, r.keysOf(origin.Business))
		if err == nil {
			return origin, signature.Verified{Key: id, Covered: []string{"content-digest"}}, nil
		}
		wrong = err
	}
	unsigned := slices.DeleteFunc(slices.Clone(origins), func(o Origin) bool { return !o.Unsigned })
	if len(unsigned) == 1 && !signature.IsDetached(header) {
		return unsigned[0], signature.Verified{}, nil
	}
	return Origin{}, signature.Verified{}, wrong
}

func (r *Receiver) keysOf(profile string) signature.Keys {
	return func(ctx context.Context, id string) (negotiation.Key, error) { return r.options.Key(ctx, profile, id) }
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
	if id == "" || len(id) > longestID {
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

// longestID is how long an event's id may be; one that is longer is none.
const longestID = 1000

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
