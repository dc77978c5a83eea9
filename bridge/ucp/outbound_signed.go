package ucp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/strabo-engine/strabo/bridge"
	"github.com/strabo-engine/strabo/bridge/guard"
	"github.com/strabo-engine/strabo/bridge/ucp/negotiation"
	"github.com/strabo-engine/strabo/bridge/ucp/profiles"
	"github.com/strabo-engine/strabo/bridge/ucp/signature"
	"github.com/strabo-engine/strabo/bridge/ucp/wire"
)

// ErrUnsigned says that a shop whose answers have to be signed does not sign them: it speaks a release before 2026-04-08,
// none of which says how an answer is signed, or publishes no key.
var ErrUnsigned = errors.New("ucp: the shop does not sign its answers")

// AnswerError says that an answer is none to be believed. It is not signed as it has to be: by a key of the shop that was
// asked, for the status and the body that came (UCP 2026-04-08, signatures, REST response verification). Or it says two
// things at once, by a member that is there twice, or is larger than any checkout. Nothing of it is believed, so it is
// unknown what has become of the request, as after an answer that was lost.
type AnswerError struct {
	// Status is what the answer said, and so no more to be believed than the rest of it.
	Status int
	// Err says what is wrong: of a signature by an [*negotiation.Error], or why the key could not be had.
	Err error
}

// Error says that it is not believed, and why.
func (e *AnswerError) Error() string {
	return fmt.Sprintf("an answer with status %d came that is not believed: %s", e.Status, strings.TrimPrefix(e.Err.Error(), "ucp: "))
}

// Unwrap gives Err.
func (e *AnswerError) Unwrap() error { return e.Err }

// verifyingCaller believes of the answers of a shop of 2026-04-08 those alone whose signature is good; those that have none
// only where none is required, for a business may sign what it likes (UCP 2026-04-08, signatures, when signatures apply).
// What is signed is the whole HTTP message, over MCP as over REST, so it stands right above the connection. A signature
// does not say which request was answered: the specification leaves that to the connection.
type verifyingCaller struct {
	keys     signature.Keys
	required bool
	log      *slog.Logger
	below    bridge.Caller
}

// Call implements [bridge.Caller].
func (c *verifyingCaller) Call(ctx context.Context, request bridge.Request) (bridge.Response, error) {
	// The digest is that of the bytes on the wire, which net/http would unpack otherwise.
	request.Header = request.Header.Clone()
	request.Header.Set("Accept-Encoding", "identity")
	response, err := c.below.Call(ctx, request)
	if err != nil {
		return response, err
	}
	signed := len(response.Header.Values("Signature"))+len(response.Header.Values("Signature-Input")) > 0
	if !signed && !c.required {
		return response, nil
	}
	if _, err := signature.VerifyResponse(ctx, response.Status, response.Header, response.Body, c.keys); err != nil {
		wrong := &AnswerError{response.Status, err}
		c.log.WarnContext(ctx, "ucp: an answer is not signed as it has to be, so that it is not believed",
			"enactment", request.Enactment, "action", request.Action, "step", request.Step, "error", wrong)
		return bridge.Response{}, wrong
	}
	return response, nil
}

// shopKeys finds the keys of a shop: those of its profile as it was discovered, for as long as a profile may be kept, and
// else those that it has by now. A shop that has changed its key is asked once for that, and whoever puts any id of a key
// into an answer has the profile fetched once a minute at most: see [profiles.Fetcher.Key].
type shopKeys struct {
	business *Business
	since    time.Time
	now      func(ctx context.Context, profileURL, id string) (negotiation.Key, error)
}

func (k *shopKeys) key(ctx context.Context, id string) (negotiation.Key, error) {
	if p := k.business.Profile; p != nil && time.Since(k.since) < profiles.MaximumAge {
		if key, ok := p.Key(id); ok {
			return key, nil
		}
	}
	return k.now(ctx, k.business.origin().Business, id)
}

// keysOf makes what finds the keys of a business; nil for one that was not discovered, of which nobody knows where its keys
// are. Call idle when they are needed no more.
func keysOf(business *Business, options OutboundOptions) (keys signature.Keys, idle func(), err error) {
	if business.Profile == nil && business.URL == "" {
		return nil, func() {}, nil
	}
	find := &shopKeys{business: business, since: time.Now(), now: options.Key}
	if find.now != nil {
		return find.key, func() {}, nil
	}
	source, err := guard.New(guard.Options{
		Trusted: []string{cmp.Or(business.URL, business.Endpoint)}, AllowLoopback: guard.IsLoopback(business.URL), IdleTimeout: idleTimeout,
		Timeout: discoveryTimeout, // A fetch goes on when whoever has asked for it gives up.
	})
	if err != nil {
		return nil, nil, err
	}
	fetcher, err := profiles.New(profiles.Options{Source: source})
	if err != nil {
		return nil, nil, err
	}
	find.now = fetcher.Key
	return find.key, source.CloseIdleConnections, nil
}

// verifying puts the check of signatures above what sends, where the release has signatures and the keys can be known. The
// error wraps [ErrUnsigned] where signatures are required that the shop does not make.
func verifying(caller bridge.Caller, business *Business, keys signature.Keys, options OutboundOptions) (bridge.Caller, error) {
	release := cmp.Or(business.Release, wire.January11)
	switch {
	case options.Signed && release != wire.April2026:
		return nil, fmt.Errorf("%w: it speaks UCP %s", ErrUnsigned, release)
	case options.Signed && (business.Profile == nil || len(business.Profile.Keys) == 0):
		return nil, fmt.Errorf("%w: its profile has no key", ErrUnsigned)
	case release != wire.April2026 || keys == nil:
		return caller, nil
	}
	return &verifyingCaller{keys, options.Signed, cmp.Or(options.Logger, slog.Default()), caller}, nil
}
