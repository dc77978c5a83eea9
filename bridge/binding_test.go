package bridge_test

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge"
	"github.com/strabo-engine/strabo/bridge/audit"
	"github.com/strabo-engine/strabo/bridge/policy"
)

// bindingVector is a request of a mapping, what is declared of the operation that it names, and what comes of it.
type bindingVector struct {
	Name       string
	Declared   string
	Parameters []any
	PathType   string `json:"path_type"`
	Body       map[string]any
	Contract   map[string]any
	Request    string
	Operation  *string
	Headers    map[string]string
	Sends      map[string]any
	// Expect is fault (the mapping is refused when it is loaded), denied (the call does not leave), asked (somebody has
	// to agree first) or called; Says is a part of why.
	Expect, Says string
}

// document is the OpenAPI document with the declaration.
func (v bindingVector) document(t *testing.T) string {
	t.Helper()
	method, path, _ := strings.Cut(v.Declared, " ")
	contract := map[string]any{"version": 1, "enabled": true, "scope": "hold"}
	for name, value := range v.Contract {
		contract[name] = value
	}
	parameters := append([]any{}, v.Parameters...)
	if strings.Contains(path, "{") {
		name := path[strings.Index(path, "{")+1 : strings.Index(path, "}")]
		kind := v.PathType
		if kind == "" {
			kind = "string"
		}
		parameters = append(parameters, map[string]any{"name": name, "in": "path", "required": true, "schema": map[string]any{"type": kind}})
	}
	operation := map[string]any{"operationId": "hold", "parameters": parameters, "x-agent-capability": contract}
	if v.Body != nil {
		operation["requestBody"] = map[string]any{"required": true, "content": map[string]any{"application/json": map[string]any{"schema": v.Body}}}
	}
	other := map[string]any{"operationId": "other", "x-agent-capability": map[string]any{"version": 1, "enabled": true, "scope": "other"}}
	return quoted(map[string]any{
		"openapi": "3.1.0", "info": map[string]any{"title": "t", "version": "1"},
		"paths": map[string]any{path: map[string]any{strings.ToLower(method): operation}, "/other": map[string]any{"post": other}},
	})
}

// mapping is a mapping with the request; JSON is YAML.
func (v bindingVector) mapping() string {
	method, path, _ := strings.Cut(v.Request, " ")
	request := map[string]any{"method": method, "path": path, "operation": "hold"}
	switch {
	case v.Operation == nil:
	case *v.Operation == "":
		delete(request, "operation")
	default:
		request["operation"] = *v.Operation
	}
	if v.Headers != nil {
		request["headers"] = v.Headers
	}
	if v.Sends != nil {
		request["body"] = v.Sends
	}
	return quoted(map[string]any{
		"protocol": "Booking", "role": "Hotel",
		"actions": map[string]any{"Ask": []any{map[string]any{
			"step": "hold", "request": request,
			"unmade":  map[string]any{"attempt": map[string]any{"Full": map[string]any{"why": "$.none"}}},
			"answers": []any{map[string]any{"attempt": map[string]any{"Full": map[string]any{"why": "called"}}}},
		}}},
	})
}

// TestContractBinding holds the binding of contracts to the requests of a mapping against its vectors.
func TestContractBinding(t *testing.T) {
	text, err := os.ReadFile("testdata/binding-vectors.json")
	require.NoError(t, err)
	var vectors []bindingVector
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(&vectors))
	for _, v := range vectors {
		t.Run(v.Name, func(t *testing.T) {
			s := newStage(t)
			contracts, err := policy.ReadContracts(policy.File{Name: "c.yaml", Text: []byte(v.document(t))})
			require.NoError(t, err)
			p, err := policy.New(contracts, policy.Options{})
			require.NoError(t, err)
			s.mapping, err = bridge.Load("m.yaml", []byte(v.mapping()), s.rules, nil)
			require.NoError(t, err)
			called := 0
			options := bridge.Options{
				BaseURL: "http://hotel.example", Policy: p, Logger: s.logger(), Audit: s, Approvals: policy.StandingGrant{By: "ben"},
				Caller: scripted(func(context.Context, bridge.Request) (bridge.Response, error) {
					called++
					return bridge.Response{Status: 200}, nil
				}),
			}
			b, err := bridge.New(s.rules, s.exec, s.mapping, options)
			if v.Expect == "fault" {
				var faults bridge.Faults
				require.ErrorAs(t, err, &faults)
				require.ErrorContains(t, err, v.Says)
				require.Positive(t, faults[0].Line)
				return
			}
			require.NoError(t, err)
			s.background(b.Run)
			s.attempt("Ask", map[string]any{"rid": "r1", "room": 7, "guest": "Ann"})
			why := s.value(s.expect("Full"), "why")
			asked := slices.ContainsFunc(s.called(), func(r audit.Record) bool { return r.Kind == audit.ApprovalDecided })
			switch v.Expect {
			case "called":
				assert.Equal(t, `"called"`, why)
				assert.False(t, asked)
			case "asked":
				assert.Equal(t, `"called"`, why)
				assert.True(t, asked)
			case "denied":
				assert.Contains(t, why, v.Says)
				assert.Zero(t, called)
			default:
				t.Fatal(v.Expect)
			}
		})
	}
}

// TestMappingAndContractMustAgree: a mapping may not promise more than the contract.
func TestMappingAndContractMustAgree(t *testing.T) {
	for name, test := range map[string]struct{ before, after, says string }{
		"a repetition of what is not idempotent": {"idempotent: true, timeout_ms: 30000", "idempotent: false", "retry: same-key of step reserve: reserve is not declared idempotent"},
		"a status query that waits":              {"readonly: true, idempotent: true}", "readonly: true, idempotent: true}\n        approval: {required: true}", "a status query cannot wait until somebody agrees"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGoverning(t)
			g.edit(&g.contracts, test.before, test.after)
			p, err := g.newPolicy()
			require.NoError(t, err)
			g.stage.mapping, err = bridge.Load("governed.yaml", []byte(g.mapping), g.rules, nil)
			require.NoError(t, err)
			_, err = bridge.New(g.rules, g.exec, g.stage.mapping, bridge.Options{BaseURL: g.shop.url, Policy: p})
			require.ErrorContains(t, err, test.says)
			require.ErrorContains(t, err, "governed.yaml:")
		})
	}
	t.Run("no contracts at all", func(t *testing.T) {
		g := newGoverning(t)
		mapping, err := bridge.Load("governed.yaml", []byte(g.mapping), g.rules, nil)
		require.NoError(t, err)
		_, err = bridge.New(g.rules, g.exec, mapping, bridge.Options{BaseURL: g.shop.url})
		require.ErrorContains(t, err, "operation reserve is not declared")
	})
}
