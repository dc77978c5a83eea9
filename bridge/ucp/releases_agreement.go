package ucp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/strabo-engine/strabo/bridge/keyvalue"
	"github.com/strabo-engine/strabo/bridge/ucp/negotiation"
	"github.com/strabo-engine/strabo/bridge/ucp/wire"
)

// agreed is what is kept of an Idempotency-Key: what it stands for, and what was agreed on when it was first used.
type agreed struct {
	Fingerprint  string                        `json:"fingerprint"`
	Capabilities map[string]negotiation.Active `json:"capabilities"`
	Dropped      []negotiation.Dropped         `json:"dropped,omitempty"`
}

// keyOfAnother answers a key that stands for another request.
var keyOfAnother = &wireError{
	http.StatusConflict, "idempotency_conflict", "The Idempotency-Key was used for another request.",
}

// agree gives what is agreed on with the platform of a request. What was agreed on for a key stands for as long as the
// key does, for the same request has to have the same answer; a key that stands for another request, of another platform
// or in another release, is a [*wireError].
func (h *releaseHandler) agree(request *http.Request, profile, target string, body []byte) (*negotiation.Agreement, error) {
	if h.options.Store == nil || request.Method == http.MethodGet || request.Method == http.MethodHead {
		return h.negotiate(request, profile)
	}
	key, err := keyIn(request.Header.Values("Idempotency-Key"))
	if p, wrong := problemOf(err); wrong {
		return nil, &wireError{p.status, strings.ToLower(p.code), p.detail}
	}
	if key == "" {
		return h.negotiate(request, profile)
	}
	ctx := request.Context()
	name := "release." + digestOf(scopedKey(request.Header.Get(verifiedHeader), key))
	fingerprint := digestOf(fmt.Sprintf("%s\n%s\n%s\n%q\n%s", h.release, request.Method, target, profile, body))
	found, err := h.recall(ctx, name, fingerprint)
	if found != nil || err != nil {
		return found, err
	}
	agreement, err := h.negotiate(request, profile)
	if err != nil {
		return nil, err
	}
	value, err := json.Marshal(agreed{fingerprint, agreement.Capabilities, unfitting(agreement)})
	if err != nil {
		return nil, fmt.Errorf("ucp: releases: an agreement: %w", err)
	}
	switch _, err = h.options.Store.Put(ctx, name, value, 0); {
	case errors.Is(err, keyvalue.ErrConflict): // The same request at the same time, or another.
		if found, err = h.recall(ctx, name, fingerprint); found == nil && err == nil {
			err = keyOfAnother
		}
		return found, err
	case err != nil:
		return nil, fmt.Errorf("ucp: releases: an agreement cannot be kept: %w", err)
	}
	return agreement, nil
}

// recall finds what was agreed on for a key; nil if it is new.
func (h *releaseHandler) recall(ctx context.Context, name, fingerprint string) (*negotiation.Agreement, error) {
	entry, err := h.options.Store.Get(ctx, name)
	if errors.Is(err, keyvalue.ErrNone) {
		return nil, nil
	}
	var found agreed
	if err == nil {
		err = json.Unmarshal(entry.Value, &found)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("ucp: releases: what was agreed on cannot be read: %w", err)
	case found.Fingerprint != fingerprint:
		return nil, keyOfAnother
	}
	return &negotiation.Agreement{Release: h.release, Capabilities: found.Capabilities, Dropped: found.Dropped}, nil
}

// unfitting gives the extensions that both parties have and that are not active all the same.
func unfitting(agreement *negotiation.Agreement) []negotiation.Dropped {
	return slices.DeleteFunc(slices.Clone(agreement.Dropped), func(d negotiation.Dropped) bool { return !d.Unfit })
}

// notices tell the platform of them.
func notices(agreement *negotiation.Agreement) (messages []any) {
	for _, d := range unfitting(agreement) {
		messages = append(messages, wire.Object{
			"type": "info", "code": "extension_not_active", "content": fmt.Sprintf("%s is not active: %s.", d.Name, d.Reason),
		})
	}
	return messages
}

func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// negotiate computes what is active between the business and the platform with a profile.
func (h *releaseHandler) negotiate(request *http.Request, profile string) (*negotiation.Agreement, error) {
	theirs, err := h.options.Platforms.Get(request.Context(), profile)
	if err != nil {
		return nil, err
	}
	spoken := theirs.Version
	if theirs.Form == h.release && wire.Release(spoken).Known() {
		spoken = string(h.release) // The documents of 2026-01-23 call it 2026-01-11.
	}
	if _, err := negotiation.Accept([]wire.Release{h.release}, spoken); err != nil {
		return nil, err
	}
	ours, err := h.profileOf(request, h.release)
	if err != nil {
		return nil, err
	}
	if theirs.Version != string(h.release) {
		for _, entries := range ours.Capabilities {
			for i := range entries {
				entries[i].Version = theirs.Version
			}
		}
	}
	var requires func(name, schema string) (*negotiation.Requires, error)
	if h.release == wire.April2026 { // No schema of a release before that says what it requires.
		requires = func(name, schema string) (*negotiation.Requires, error) {
			return h.options.Schemas.Requires(request.Context(), name, schema)
		}
	}
	agreement, err := negotiation.Negotiate(h.release, theirs, ours, requires)
	if agreement != nil {
		for _, d := range unfitting(agreement) {
			h.log.WarnContext(request.Context(), "ucp: an extension is not active", "extension", d.Name, "platform", profile, "reason", d.Reason)
		}
	}
	return agreement, err
}

// rootOf is the capability that an operation belongs to.
func rootOf(operation wire.Operation) string {
	if operation == wire.GetOrder {
		return orderCapability
	}
	return checkoutCapability
}

// permits tells whether the capability of an operation is active: nothing is done that was not agreed on.
func permits(agreement *negotiation.Agreement, operation wire.Operation) error {
	root := rootOf(operation)
	if agreement.Has(root) {
		return nil
	}
	return &negotiation.Error{
		Code: negotiation.CapabilitiesIncompatible, Content: "The platform and this business have " + root + " not in common.",
	}
}
