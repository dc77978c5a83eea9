package negotiation

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/strabo-engine/strabo/bridge/ucp/wire"
)

// Unnamed is the name of what a list has without one.
const Unnamed = "unnamed.handler"

// MaximumEntries bounds how many services, capabilities, payment handlers and keys of a profile are read.
const MaximumEntries = 1024

// Parse reads a profile of a business or a platform, of any release: with lists, as in 2026-01-11, or with maps. Nulls
// and members that are not known are passed over, and so is an entry without a version or a name of the right form,
// which the public servers have; what is left is what can be relied on. The error is an [*Error] with
// [ProfileMalformed] if the text is no JSON object with a ucp.version, or if it has more than [MaximumEntries] entries.
func Parse(text []byte) (*Profile, error) {
	whole, err := wire.Decode(text)
	if err != nil {
		return nil, &Error{Code: ProfileMalformed, Content: "The profile is no JSON object.", Err: err}
	}
	ucp, _ := whole["ucp"].(wire.Object)
	version, _ := ucp["version"].(string)
	if !ValidVersion(version) {
		return nil, malformed("The profile has no ucp.version, a date such as 2026-04-08.")
	}
	p := &Profile{
		Version: version, Form: formOf(version, ucp), SupportedVersions: map[string]string{}, Services: map[string][]Service{},
		Capabilities: map[string][]Capability{}, Handlers: map[string][]Handler{},
	}
	reading := reader{left: MaximumEntries}
	if supported, ok := ucp["supported_versions"].(wire.Object); ok {
		for date, at := range supported {
			if url, ok := at.(string); ok && ValidVersion(date) && reading.take() {
				p.SupportedVersions[date] = url
			}
		}
	}
	reading.services(p, ucp["services"])
	reading.named(ucp["capabilities"], func(name string, entry wire.Object) {
		var c Capability
		if reading.into(entry, &c.Entity) {
			c.Extends = texts(entry["extends"])
			p.Capabilities[name] = append(p.Capabilities[name], c)
		}
	})
	handlers := ucp["payment_handlers"]
	if payment, ok := whole["payment"].(wire.Object); ok && handlers == nil {
		handlers = payment["handlers"]
	}
	reading.named(handlers, func(name string, entry wire.Object) {
		var h Handler
		// Its version is the handler's affair; what is paid with is named by the id.
		if remake(entry, &h.Entity) && h.ID != "" {
			if h.Schema == "" {
				h.Schema, _ = entry["config_schema"].(string)
			}
			reading.instruments(&h, entry["available_instruments"])
			p.Handlers[name] = append(p.Handlers[name], h)
			p.HandlerIDs = append(p.HandlerIDs, h.ID)
		}
	})
	keys := whole["signing_keys"]
	if keys == nil { // The draft after 2026-04-08 calls them keys.
		keys = whole["keys"]
	}
	if set, ok := keys.(wire.Object); ok {
		keys = set["keys"]
	}
	for _, element := range list(keys) {
		var key Key
		if entry, ok := element.(wire.Object); ok && reading.take() && remake(entry, &key) && key.ID != "" {
			p.Keys = append(p.Keys, key)
		}
	}
	if reading.left < 0 {
		return nil, malformed("The profile has more than %d entries.", MaximumEntries)
	}
	return p, nil
}

// formOf tells the release whose form a profile has: lists were maps from 2026-01-23 on.
func formOf(version string, ucp wire.Object) wire.Release {
	_, mapped := ucp["capabilities"].(wire.Object)
	switch release := wire.Release(version); {
	case version >= string(wire.April2026):
		return wire.April2026
	case mapped:
		return wire.January23
	case release.Known():
		return release
	}
	return wire.January11
}

// reader counts what it reads.
type reader struct{ left int }

func (r *reader) take() bool {
	r.left--
	return r.left >= 0
}

// named goes through entries in either form: a map of lists, or a list of entries with names. An entry alone instead of
// a list is taken too.
func (r *reader) named(value any, each func(name string, entry wire.Object)) {
	visit := func(name string, element any) {
		if entry, ok := element.(wire.Object); ok && r.take() && nameForm.MatchString(name) {
			each(name, entry)
		}
	}
	switch value := value.(type) {
	case wire.Object:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			entries := value[name]
			if alone, ok := entries.(wire.Object); ok {
				visit(name, alone)
				continue
			}
			for _, element := range list(entries) {
				visit(name, element)
			}
		}
	case []any:
		for _, element := range value {
			entry, _ := element.(wire.Object)
			name, _ := entry["name"].(string)
			if id, _ := entry["id"].(string); name == "" && id != "" {
				name = Unnamed // What has an id, as payment handlers have, is known by that.
			}
			visit(name, element)
		}
	}
}

// services reads services: in 2026-01-11 one object per service, with a member for each transport.
func (r *reader) services(p *Profile, value any) {
	r.named(value, func(name string, entry wire.Object) {
		// A version may be missing, for it is the transport and the endpoint that count.
		var base Service
		if !remake(entry, &base) {
			return
		}
		if base.Transport != "" {
			base.Endpoint = strings.TrimRight(base.Endpoint, "/")
			p.Services[name] = append(p.Services[name], base)
			return
		}
		for _, transport := range []Transport{REST, MCP, A2A, Embedded} {
			binding, ok := entry[string(transport)].(wire.Object)
			if !ok {
				continue
			}
			s := base
			s.Transport = transport
			s.Schema, _ = binding["schema"].(string)
			s.Endpoint, _ = binding["endpoint"].(string)
			s.Endpoint = strings.TrimRight(s.Endpoint, "/")
			p.Services[name] = append(p.Services[name], s)
		}
	})
}

func (r *reader) instruments(h *Handler, value any) {
	for _, element := range list(value) {
		var instrument Instrument
		if entry, ok := element.(wire.Object); ok && r.take() && remake(entry, &instrument) && instrument.Type != "" {
			h.Instruments = append(h.Instruments, instrument)
		}
	}
}

// into reads an entry that has a version.
func (r *reader) into(entry wire.Object, to any) bool {
	version, _ := entry["version"].(string)
	if version == "" {
		return false
	}
	return remake(entry, to)
}

// remake gives an object the form of a struct. Members of a wrong type make it fail, null ones do not count.
func remake(entry wire.Object, to any) bool {
	if plain, ok := to.(*Entity); ok {
		// Only what is read, so that a strange member elsewhere does no harm.
		entry = pick(entry, "id", "version", "spec", "schema", "config")
		to = plain
	}
	text, err := json.Marshal(entry)
	if err != nil {
		return false
	}
	return json.NewDecoder(bytes.NewReader(text)).Decode(to) == nil
}

func pick(entry wire.Object, names ...string) wire.Object {
	out := wire.Object{}
	for _, name := range names {
		if value := entry[name]; value != nil {
			out[name] = value
		}
	}
	return out
}

func list(value any) []any {
	out, _ := value.([]any)
	return out
}

// texts reads a text or a list of texts.
func texts(value any) []string {
	if one, ok := value.(string); ok {
		return []string{one}
	}
	var out []string
	for _, element := range list(value) {
		if one, ok := element.(string); ok {
			out = append(out, one)
		}
	}
	return out
}
