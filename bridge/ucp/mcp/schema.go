package mcp

import (
	"encoding/json"

	"github.com/strabo-engine/strabo/bridge/ucp/wire"
)

// schemas is where UCP publishes the schemas of a release. What tools take and give is described by them; it is not
// repeated here, nor referred to by $ref, since a client would have to fetch it before its first call.
func schemas(release wire.Release) string {
	return "https://ucp.dev/" + string(release) + "/schemas/shopping/"
}

// schema is what a tool takes.
func (o operation) schema(release wire.Release) json.RawMessage {
	required := []string{"meta"}
	properties := map[string]any{"meta": map[string]any{
		"type": "object", "required": []string{"ucp-agent"},
		"properties": map[string]any{
			"ucp-agent": map[string]any{
				"type": "object", "required": []string{"profile"},
				"properties": map[string]any{"profile": map[string]any{"type": "string", "format": "uri"}},
			},
			"idempotency-key": map[string]any{"type": "string"},
		},
	}}
	if o.key {
		properties["meta"].(map[string]any)["required"] = []string{"ucp-agent", "idempotency-key"}
	}
	if o.identified {
		required = append(required, "id")
		properties["id"] = map[string]any{"type": "string"}
	}
	if o.payload != "" {
		required = append(required, o.payload)
		properties[o.payload] = map[string]any{
			"type": "object", "description": "A request of " + schemas(release) + "checkout.json, and of extensions that are active.",
		}
	}
	return encoded(map[string]any{"type": "object", "properties": properties, "required": required})
}

// resultSchema is what a tool gives (UCP 2026-04-08, overview, MCP: response format).
func (o operation) resultSchema(release wire.Release) json.RawMessage {
	of := "checkout.json"
	if o.tool == wire.GetOrder {
		of = "order.json"
	}
	text := "What " + schemas(release) + of + " says."
	if release == wire.April2026 {
		text += " Where there is none, what " + schemas(release) + "types/error_response.json says."
	}
	return encoded(map[string]any{
		"type": "object", "description": text, "required": []string{"ucp"},
		"properties": map[string]any{
			"ucp":      map[string]any{"type": "object", "required": []string{"version"}},
			"id":       map[string]any{"type": "string"},
			"status":   map[string]any{"type": "string"},
			"messages": map[string]any{"type": "array", "items": map[string]any{"type": "object"}},
		},
	})
}

func encoded(schema map[string]any) json.RawMessage {
	text, _ := json.Marshal(schema) // Of strings, lists and maps it never fails.
	return text
}
