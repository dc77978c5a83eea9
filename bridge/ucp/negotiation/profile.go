package negotiation

import (
	"encoding/json"
	"fmt"
	"regexp"
	"time"

	"github.com/strabo-engine/strabo/bridge/ucp/wire"
)

// Profile is what a party says of itself: a business at /.well-known/ucp, a platform at the URL that it sends along.
type Profile struct {
	// Version is the release of the profile, such as "2026-04-08". It may be one that nobody here speaks.
	Version string
	// Form is the release whose JSON the profile has. It differs from Version where a business of 2026-01-23 calls its
	// release 2026-01-11, as the documents of that release do. Encode does not look at it.
	Form wire.Release
	// SupportedVersions are the profiles of a business for other releases, by release. Each is whole by itself; profiles
	// are never merged.
	SupportedVersions map[string]string
	// Services, Capabilities and Handlers are by reverse-domain name; each may be there in several versions.
	Services     map[string][]Service
	Capabilities map[string][]Capability
	Handlers     map[string][]Handler
	// HandlerIDs are the ids of the payment handlers as Parse has found them: in the order of the document where it lists
	// them, by name where it has no order. Encode does not look at it.
	HandlerIDs []string
	// Keys are the public keys that the party signs with, as JSON Web Keys.
	Keys []Key
}

// Entity is what services, capabilities and payment handlers have in common. Everything but Version may be missing.
type Entity struct {
	ID      string          `json:"id,omitempty"`
	Version string          `json:"version"`
	Spec    string          `json:"spec,omitempty"`
	Schema  string          `json:"schema,omitempty"`
	Config  json.RawMessage `json:"config,omitempty"`
}

// Transport is a way to reach a service.
type Transport string

// The transports.
const (
	REST     Transport = "rest"
	MCP      Transport = "mcp"
	A2A      Transport = "a2a"
	Embedded Transport = "embedded"
)

// Service is a binding of a service to a transport.
type Service struct {
	Entity
	Transport Transport `json:"transport"`
	// Endpoint is a base URL, without a slash at its end.
	Endpoint string `json:"endpoint,omitempty"`
}

// Capability is something that a party can do, or an extension of something.
type Capability struct {
	Entity
	// Extends names the capabilities that it adds to; one of them has to be active for it to be. Empty for one of its own.
	Extends []string `json:"extends,omitempty"`
}

// Handler is a payment handler.
type Handler struct {
	Entity
	// Instruments are the kinds of instruments that it takes; nil for whatever its specification says.
	Instruments []Instrument `json:"available_instruments,omitempty"`
}

// Instrument is a kind of payment instrument, such as card.
type Instrument struct {
	Type        string          `json:"type"`
	Constraints json.RawMessage `json:"constraints,omitempty"`
}

// Key is a public key (RFC 7517).
type Key struct {
	ID        string `json:"kid"`
	Type      string `json:"kty"`
	Curve     string `json:"crv,omitempty"`
	X         string `json:"x,omitempty"`
	Y         string `json:"y,omitempty"`
	Use       string `json:"use,omitempty"`
	Algorithm string `json:"alg,omitempty"`
}

// Key finds a key by its id.
func (p *Profile) Key(id string) (Key, bool) {
	for _, key := range p.Keys {
		if key.ID == id {
			return key, true
		}
	}
	return Key{}, false
}

// Endpoint gives where a service is reached over a transport; empty if it is not.
func (p *Profile) Endpoint(service string, transport Transport) string {
	for _, s := range p.Services[service] {
		if s.Transport == transport && s.Endpoint != "" {
			return s.Endpoint
		}
	}
	return ""
}

// HandlerByID finds a payment handler by its id and gives its name too.
func (p *Profile) HandlerByID(id string) (string, Handler, bool) {
	for name, handlers := range p.Handlers {
		for _, handler := range handlers {
			if handler.ID == id {
				return name, handler, true
			}
		}
	}
	return "", Handler{}, false
}

var (
	nameForm = regexp.MustCompile(`^[a-z][a-z0-9]*(?:\.[a-z][a-z0-9_]*)+$`)
	dateForm = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$`)
)

// ValidVersion tells whether a text is a version of UCP: a date that exists.
func ValidVersion(version string) bool {
	if !dateForm.MatchString(version) {
		return false
	}
	_, err := time.Parse(time.DateOnly, version)
	return err == nil
}

func malformed(format string, arguments ...any) error {
	return &Error{Code: ProfileMalformed, Content: fmt.Sprintf(format, arguments...)}
}
