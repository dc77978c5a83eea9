package negotiation

import (
	"net/url"
	"slices"
	"strings"
)

// Governs tells whether whoever has the host of a URL may define what the reverse-domain name names: the labels of the
// host, the other way round, are the name or its beginning (UCP 2026-04-08, overview, spec URL binding): ucp.dev governs
// dev.ucp.shopping.checkout, and so does shopping.ucp.dev; example.com does not. The URL has to be https, without
// credentials.
func Governs(at, name string) bool {
	u, err := url.Parse(at)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil {
		return false
	}
	labels := strings.Split(strings.TrimSuffix(strings.ToLower(u.Hostname()), "."), ".")
	slices.Reverse(labels)
	named := strings.Split(name, ".")
	// One label would be a whole top-level domain.
	return len(labels) >= 2 && len(labels) <= len(named) && slices.Equal(labels, named[:len(labels)])
}

// governed tells whether what an entry points at belongs to whoever has its name. What points at nothing, as a business
// may leave it, claims nothing.
func governed(name string, e Entity) bool {
	return (e.Schema == "" || Governs(e.Schema, name)) && (e.Spec == "" || Governs(e.Spec, name))
}
