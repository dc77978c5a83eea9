package ucp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/strabo-engine/strabo/bridge/ucp/negotiation"
	"github.com/strabo-engine/strabo/bridge/ucp/signature"
	"github.com/strabo-engine/strabo/bridge/ucp/wire"
)

// webhooks calls platforms at the URLs that their profiles name.
type webhooks struct {
	client *http.Client
	// signer and profile are the business's own; nil where nothing is signed.
	signer  *signature.Signer
	profile string

	mu    sync.Mutex
	known map[string]known // by the URL of a profile
}

// known is what was found in a profile.
type known struct {
	target  string
	release wire.Release
	until   time.Time
}

const (
	profileLife  = time.Minute // UCP: a profile may be cached for at least a minute
	knownMost    = 1024
	webhookTime  = 10 * time.Second
	profileLimit = 256 << 10
)

func newWebhooks(options InboundOptions) *webhooks {
	bounded := *options.Client
	// A profile that moves is none (UCP: no redirects), and a webhook must not be sent on to another host.
	bounded.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &webhooks{
		client: &bounded, signer: options.Signer, profile: options.ProfileURL, known: make(map[string]known),
	}
}

// errNobody says that a profile names no webhook, so that trying again makes no sense.
var errNobody = errors.New("ucp: the platform's profile names no webhook")

// target gives the webhook that a profile names.
func (w *webhooks) target(ctx context.Context, profile string) (known, error) {
	w.mu.Lock()
	found, ok := w.known[profile]
	w.mu.Unlock()
	if ok && time.Now().Before(found.until) {
		return found, nil
	}
	body, err := w.ask(ctx, http.MethodGet, profile, nil, nil)
	if err != nil {
		return known{}, fmt.Errorf("ucp: profile of the platform: %w", err)
	}
	if found, err = webhookIn(body); err != nil {
		return known{}, fmt.Errorf("ucp: profile of the platform: %w", err)
	}
	found.until = time.Now().Add(profileLife)
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.known) >= knownMost {
		clear(w.known)
	}
	w.known[profile] = found
	return found, nil
}

// webhookIn reads the URL of the webhook in a profile, that of the order capability or, as the public samples allow, that
// of any other, and the release that the platform is told in.
func webhookIn(profile []byte) (known, error) {
	p, err := negotiation.Parse(profile)
	if err != nil {
		return known{}, err // Whoever publishes nonsense for a moment is asked again later.
	}
	found := known{release: p.Form}
	for _, name := range slices.Sorted(maps.Keys(p.Capabilities)) {
		for _, c := range p.Capabilities[name] {
			var config struct {
				WebhookURL string `json:"webhook_url"`
			}
			if json.Unmarshal(c.Config, &config) == nil && config.WebhookURL != "" && (found.target == "" || name == orderCapability) {
				found.target = config.WebhookURL
			}
		}
	}
	if found.target == "" {
		return known{}, errNobody
	}
	return found, nil
}

// post calls a webhook. What is told again has the same id, time and body.
func (w *webhooks) post(ctx context.Context, to known, body []byte, id string, at time.Time) error {
	header := http.Header{
		"Content-Type": jsonContent, "Webhook-Id": {id}, "Webhook-Timestamp": {strconv.FormatInt(at.Unix(), 10)},
	}
	if err := w.sign(ctx, to, header, body); err != nil {
		return err
	}
	if _, err := w.ask(ctx, http.MethodPost, to.target, body, header); err != nil {
		return fmt.Errorf("ucp: webhook of the platform: %w", err)
	}
	return nil
}

// sign signs a webhook as its release has it: since 2026-04-08 the message, before the body alone.
func (w *webhooks) sign(ctx context.Context, to known, header http.Header, body []byte) error {
	// Whose the webhook is has to be said in every release (UCP 2026-01-11, order, guidelines).
	if w.profile != "" {
		header.Set("UCP-Agent", negotiation.Agent{Profile: w.profile}.String())
	}
	if w.signer == nil {
		return nil
	}
	if to.release != wire.April2026 {
		text, err := w.signer.Detached(body)
		header.Set("Request-Signature", text)
		return err
	}
	u, err := url.Parse(to.target)
	if err != nil {
		return fmt.Errorf("%w: it is no URL of HTTP", errNobody)
	}
	r := &http.Request{Method: http.MethodPost, URL: u, Host: u.Host, Header: header}
	return w.signer.SignRequest(r.WithContext(ctx), body)
}

// ask makes one request and gives the body of its answer, which must be a success.
func (w *webhooks) ask(ctx context.Context, method, target string, body []byte, header http.Header) ([]byte, error) {
	u, err := url.Parse(target)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%w: it is no URL of HTTP", errNobody)
	}
	if strings.HasSuffix(strings.ToLower(strings.TrimSuffix(u.Hostname(), ".")), ".invalid") {
		return nil, fmt.Errorf("%w: no host has a name below .invalid (RFC 6761)", errNobody)
	}
	ctx, cancel := context.WithTimeout(ctx, webhookTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, target, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if header != nil {
		request.Header = header
	}
	response, err := w.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, profileLimit))
	switch {
	case err != nil:
		return nil, err
	case response.StatusCode < 200 || response.StatusCode > 299:
		return nil, fmt.Errorf("it answers %s", response.Status)
	}
	return answer, nil
}

// webhookBody is what a platform is told of an order in its release: since 2026-04-08 the order, in 2026-01-23 the order
// with the event's id and time, and in 2026-01-11 what the public servers send, which name the event and wrap the order.
func webhookBody(release wire.Release, n *notice, view orderView) ([]byte, error) {
	if release == wire.January11 {
		return json.Marshal(struct {
			Event    string    `json:"event_type"`
			Checkout string    `json:"checkout_id"`
			Order    orderView `json:"order"`
		}{n.Event, n.Checkout, view})
	}
	text, err := json.Marshal(view)
	if err != nil {
		return nil, err
	}
	said, err := wire.Decode(text)
	if err != nil {
		return nil, err
	}
	order, err := wire.January11.DecodeOrder(wire.Exchange{}, said)
	if err != nil {
		return nil, err
	}
	capability := wire.Object{"version": string(release)}
	order["ucp"] = wire.Object{"capabilities": wire.Object{orderCapability: []any{capability}}}
	if said, err = release.EncodeOrder(order); err != nil {
		return nil, err
	}
	if release == wire.January23 {
		said["event_id"], said["created_time"] = n.name, n.Since.UTC().Format(time.RFC3339)
	}
	return wire.Encode(said)
}
