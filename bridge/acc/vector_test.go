package acc_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/strabo-engine/strabo/bridge/acc"
)

// requireVector runs one vector.
func requireVector(t *testing.T, v vector) {
	declaration, diagnostics := acc.ParseDeclaration(v.Input.Declaration)
	got := map[string]any{}
	switch v.Kind {
	case "declaration":
		got["valid"] = declaration != nil
		require.Equal(t, declaration == nil, diagnostics.HasErrors())
		if declaration == nil {
			got["diagnostic"] = string(diagnostics[0].Code)
		}
	case "exposure":
		contract := declaration.Contract(v.Input.HTTPMethod)
		got["exposed"] = contract.Exposed(v.Input.ScopeAllowed, v.Input.TrustedSubject)
	case "approval":
		input, err := acc.NewInput(v.Input.ParameterSchema)
		require.NoError(t, err)
		required := declaration.Approval.Required
		gate, faults := input.Gate(required != nil && *required, declaration.Approval.When)
		require.Empty(t, faults)
		got["decision"] = string(gate.Decide(v.Input.Args).Outcome)
	case "risk-default":
		got["effective_risk"] = string(declaration.Contract(v.Input.HTTPMethod).Risk.Value)
	case "audit-hint":
		got["audit_sensitive"] = declaration.Contract(v.Input.HTTPMethod).AuditSensitive.Value
	case "execution":
		require.NotNil(t, declaration, "%v", diagnostics)
		got = execution(declaration.Contract(v.Input.HTTPMethod))
	case "merge":
		require.NotNil(t, declaration, "%v", diagnostics)
		deadline := acc.NoDeadline
		if v.Input.DeadlineMS != nil {
			deadline = time.Duration(*v.Input.DeadlineMS) * time.Millisecond
		}
		merged, err := acc.Merge(declaration.Contract(v.Input.HTTPMethod), v.Input.Local.policy(), deadline)
		if err != nil {
			got["load_error"] = errorName(err)
			break
		}
		got = execution(merged)
	default:
		t.Fatalf("there is no kind %s", v.Kind)
	}
	// What a vector does not mention is not compared, but for what is never mentioned in vain.
	var want map[string]any
	require.NoError(t, json.Unmarshal(v.Expected, &want))
	require.NotEmpty(t, want)
	text, err := json.Marshal(got)
	require.NoError(t, err)
	var all map[string]any
	require.NoError(t, json.Unmarshal(text, &all))
	for name := range all {
		if _, mentioned := want[name]; !mentioned && name != "load_error" && name != "diagnostic" {
			delete(all, name)
		}
	}
	require.Empty(t, cmp.Diff(want, all), v.Assertion)
}

func execution(c acc.Contract) map[string]any {
	limits := []map[string]any{}
	for _, limit := range c.Limits {
		limits = append(limits, map[string]any{
			"count": limit.Value.Count, "window_ms": limit.Value.Window.Milliseconds(), "dimension": limit.Value.Dimension,
		})
	}
	return map[string]any{
		"enabled": c.Enabled.Value, "effective_risk": c.Risk.Value, "subject_required": c.SubjectRequired.Value,
		"approval_required": c.ApprovalRequired.Value, "audit_sensitive": c.AuditSensitive.Value,
		"readonly": c.Readonly.Value, "idempotent": c.Idempotent.Value, "timeout_ms": c.Timeout.Value.Milliseconds(),
		"timeout_origin": c.Timeout.Origin, "rate_limits": limits, "retry": c.Retry.Value,
	}
}

func errorName(err error) string {
	switch {
	case errors.Is(err, acc.ErrDeadlinePassed):
		return "deadline_passed"
	case errors.Is(err, acc.ErrLooser):
		return "looser"
	case errors.Is(err, acc.ErrNoDimension):
		return "no_dimension"
	case errors.Is(err, acc.ErrInvalidPolicy):
		return "invalid_policy"
	}
	return err.Error()
}

// localPolicy is a local policy as the vectors write it.
type localPolicy struct {
	Expose           *bool         `json:"expose"`
	Risk             acc.RiskLevel `json:"risk"`
	SubjectRequired  *bool         `json:"subject_required"`
	ApprovalRequired *bool         `json:"approval_required"`
	AuditSensitive   *bool         `json:"audit_sensitive"`
	Readonly         *bool         `json:"readonly"`
	Idempotent       *bool         `json:"idempotent"`
	TimeoutMS        int64         `json:"timeout_ms"`
	DefaultTimeoutMS int64         `json:"default_timeout_ms"`
	Dimension        acc.Dimension `json:"dimension"`
	Limits           []struct {
		Count     int64         `json:"count"`
		WindowMS  int64         `json:"window_ms"`
		Dimension acc.Dimension `json:"dimension"`
	} `json:"limits"`
	Retry *bool `json:"retry"`
	Key   bool  `json:"key"`
}

func (l *localPolicy) policy() acc.LocalPolicy {
	if l == nil {
		return acc.LocalPolicy{}
	}
	policy := acc.LocalPolicy{
		Expose: l.Expose, Risk: l.Risk, SubjectRequired: l.SubjectRequired, ApprovalRequired: l.ApprovalRequired,
		AuditSensitive: l.AuditSensitive, Readonly: l.Readonly, Idempotent: l.Idempotent, Dimension: l.Dimension,
		Timeout: time.Duration(l.TimeoutMS) * time.Millisecond, DefaultTimeout: time.Duration(l.DefaultTimeoutMS) * time.Millisecond,
		Retry: l.Retry, Key: l.Key,
	}
	for _, limit := range l.Limits {
		policy.Limits = append(policy.Limits, acc.Limit{
			RateLimit: acc.RateLimit{Count: limit.Count, Window: time.Duration(limit.WindowMS) * time.Millisecond},
			Dimension: limit.Dimension,
		})
	}
	return policy
}

// TestExecutionVectors runs our vectors for what the public ones leave out: execution hints and merging.
func TestExecutionVectors(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "execution-vectors.json"))
	require.NoError(t, err)
	var all vectors
	require.NoError(t, json.Unmarshal(text, &all))
	require.GreaterOrEqual(t, len(all.Vectors), 40)
	seen := make(map[string]bool)
	for _, v := range all.Vectors {
		require.False(t, seen[v.ID], "%s stands twice", v.ID)
		seen[v.ID] = true
		t.Run(v.ID, func(t *testing.T) { requireVector(t, v) })
	}
}

// govern puts a contract on every operation of an OpenAPI document, and gives it as YAML.
func govern(t *testing.T, text []byte) []byte {
	var document map[string]any
	require.NoError(t, yaml.Unmarshal(text, &document))
	paths, _ := document["paths"].(map[string]any)
	for _, item := range paths {
		for method, operation := range item.(map[string]any) {
			if operation, ok := operation.(map[string]any); ok && method != "parameters" {
				operation[acc.Extension] = map[string]any{"version": 1, "enabled": true, "scope": "test." + method}
			}
		}
	}
	out, err := yaml.Marshal(document)
	require.NoError(t, err)
	return out
}
