package negotiation

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/strabo-engine/strabo/bridge/ucp/wire"
)

// Encode writes the profile in the form of its release, which has to be one of [wire.Releases]. The same profile is
// always the same bytes. Sources: UCP discovery/profile_schema.json of each release.
func (p *Profile) Encode() ([]byte, error) {
	release := wire.Release(p.Version)
	if !release.Known() {
		return nil, &wire.UnknownReleaseError{Release: p.Version}
	}
	out := wire.Object{}
	ucp := wire.Object{"version": p.Version}
	out["ucp"] = ucp
	if release == wire.January11 {
		ucp["services"] = p.legacyServices()
		ucp["capabilities"] = p.legacyCapabilities()
		out["payment"] = wire.Object{"handlers": p.legacyHandlers()}
	} else {
		ucp["services"], ucp["capabilities"], ucp["payment_handlers"] = p.Services, p.capabilities(), p.Handlers
		if p.Services == nil {
			ucp["services"] = wire.Object{}
		}
		if p.Handlers == nil {
			ucp["payment_handlers"] = wire.Object{}
		}
	}
	if len(p.SupportedVersions) > 0 && release == wire.April2026 {
		ucp["supported_versions"] = p.SupportedVersions
	}
	if len(p.Keys) > 0 {
		out["signing_keys"] = p.Keys
	}
	text, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("ucp: encode a profile: %w", err)
	}
	return text, nil
}

// capabilities writes one parent as a text, as every reader understands it.
func (p *Profile) capabilities() wire.Object {
	out := wire.Object{}
	for name, versions := range p.Capabilities {
		entries := []any{}
		for _, c := range versions {
			entry := entityObject(c.Entity)
			switch len(c.Extends) {
			case 0:
			case 1:
				entry["extends"] = c.Extends[0]
			default:
				entry["extends"] = c.Extends
			}
			entries = append(entries, entry)
		}
		out[name] = entries
	}
	return out
}

func entityObject(e Entity) wire.Object {
	out := wire.Object{"version": e.Version}
	for name, value := range map[string]string{"id": e.ID, "spec": e.Spec, "schema": e.Schema} {
		if value != "" {
			out[name] = value
		}
	}
	if len(e.Config) > 0 {
		out["config"] = e.Config
	}
	return out
}

func (p *Profile) legacyServices() wire.Object {
	out := wire.Object{}
	for name, bindings := range p.Services {
		service := wire.Object{}
		for _, s := range bindings {
			service["version"] = s.Version
			if s.Spec != "" {
				service["spec"] = s.Spec
			}
			binding := wire.Object{}
			if s.Schema != "" {
				binding["schema"] = s.Schema
			}
			if s.Endpoint != "" {
				binding["endpoint"] = s.Endpoint
			}
			service[string(s.Transport)] = binding
		}
		out[name] = service
	}
	return out
}

func (p *Profile) legacyCapabilities() []any {
	out := []any{}
	for _, name := range slices.Sorted(maps.Keys(p.Capabilities)) {
		for _, c := range p.Capabilities[name] {
			entry := entityObject(c.Entity)
			entry["name"] = name
			if len(c.Extends) > 0 { // Only one is possible.
				entry["extends"] = c.Extends[0]
			}
			out = append(out, entry)
		}
	}
	return out
}

func (p *Profile) legacyHandlers() []any {
	out := []any{}
	for _, name := range slices.Sorted(maps.Keys(p.Handlers)) {
		for _, h := range p.Handlers[name] {
			entry := entityObject(h.Entity)
			delete(entry, "schema")
			entry["name"], entry["config_schema"], entry["instrument_schemas"] = name, h.Schema, []any{}
			if entry["config"] == nil {
				entry["config"] = wire.Object{}
			}
			out = append(out, entry)
		}
	}
	return out
}
