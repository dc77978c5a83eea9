package ucp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// webhooks calls platforms at the URLs that their profiles name.
type webhooks struct {
	client *http.Client

	mu    sync.Mutex
	known map[string]known // by the URL of a profile
}

// known is what was found in a profile.
type known struct {
	target string
	until  time.Time
}

const (
	profileLife  = time.Minute // UCP: a profile may be cached for at least a minute
	knownMost    = 1024
	webhookTime  = 10 * time.Second
	profileLimit = 256 << 10
)

func newWebhooks(client *http.Client) *webhooks {
	bounded := *client
	// A profile that moves is none (UCP: no redirects), and a webhook must not be sent on to another host.
	bounded.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &webhooks{client: &bounded, known: make(map[string]known)}
}

// errNobody says that a profile names no webhook, so that trying again makes no sense.
var errNobody = errors.New("ucp: the platform's profile names no webhook")

// target gives the URL of the webhook that a profile names.
func (w *webhooks) target(ctx context.Context, profile string) (string, error) {
	w.mu.Lock()
	found, ok := w.known[profile]
	w.mu.Unlock()
	if ok && time.Now().Before(found.until) {
		return found.target, nil
	}
	body, err := w.ask(ctx, http.MethodGet, profile, nil, nil)
	if err != nil {
		return "", fmt.Errorf("ucp: profile of the platform: %w", err)
	}
	target, err := webhookIn(body)
	if err != nil {
		return "", err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.known) >= knownMost {
		clear(w.known)
	}
	w.known[profile] = known{target, time.Now().Add(profileLife)}
	return target, nil
}

// webhookIn reads the URL of the webhook in a profile: that of the order capability or, as the public samples allow,
// that of any other. Capabilities are a list in UCP 2026-01-11, and lists by name later.
func webhookIn(profile []byte) (string, error) {
	type offer struct {
		Name   string `json:"name"`
		Config struct {
			WebhookURL string `json:"webhook_url"`
		} `json:"config"`
	}
	var read struct {
		UCP struct {
			Capabilities json.RawMessage `json:"capabilities"`
		} `json:"ucp"`
	}
	if err := json.Unmarshal(profile, &read); err != nil {
		return "", fmt.Errorf("%w: it is not a profile", errNobody)
	}
	var offers []offer
	if json.Unmarshal(read.UCP.Capabilities, &offers) != nil {
		var named map[string][]offer
		if json.Unmarshal(read.UCP.Capabilities, &named) != nil {
			return "", fmt.Errorf("%w: its capabilities cannot be read", errNobody)
		}
		for name, entries := range named {
			for _, entry := range entries {
				entry.Name = name
				offers = append(offers, entry)
			}
		}
	}
	target := ""
	for _, o := range offers {
		if o.Config.WebhookURL != "" && (target == "" || o.Name == orderCapability) {
			target = o.Config.WebhookURL
		}
	}
	if target == "" {
		return "", errNobody
	}
	return target, nil
}

// post calls a webhook. The id stays the same when it is called again with the same.
func (w *webhooks) post(ctx context.Context, target, id string, body []byte) error {
	_, err := w.ask(ctx, http.MethodPost, target, body, http.Header{
		"Content-Type": jsonContent, "Webhook-Id": {id}, "Webhook-Timestamp": {time.Now().UTC().Format(time.RFC3339)},
	})
	if err != nil {
		return fmt.Errorf("ucp: webhook of the platform: %w", err)
	}
	return nil
}

// ask makes one request and gives the body of its answer, which must be a success.
func (w *webhooks) ask(ctx context.Context, method, target string, body []byte, header http.Header) ([]byte, error) {
	u, err := url.Parse(target)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%w: it is no URL of HTTP", errNobody)
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
