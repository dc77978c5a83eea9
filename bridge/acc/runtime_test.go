package acc_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/acc"
	"github.com/strabo-engine/strabo/langshaw"
)

const governedDocument = `openapi: 3.1.0
paths:
  /orders/{id}:
    parameters:
      - {name: id, in: path, required: true, schema: {type: string}}
    get:
      operationId: order_get
      x-agent-capability: {version: 1, enabled: true, scope: order.read, execution: {readonly: true, idempotent: true}}
    delete:
      operationId: order_cancel
      x-agent-capability: {version: 1, enabled: false, scope: order.cancel}
    post:
      operationId: order_refund
      requestBody:
        required: true
        content: {application/json: {schema: {type: object, properties: {amount: {type: number}, reason: {type: string}}}}}
      x-agent-capability:
        version: 1
        enabled: true
        scope: order.refund
        risk: {level: high}
        subject: {required: true}
        approval: {when: [{param: amount, op: ">", value: 1000}]}
        audit: {sensitive: true}
        execution: {idempotent: true, timeout_ms: 10000, rate_limit: {count: 30, window: 1m}}
`

// governedBy reads both and gives the operations by their ids.
func governedBy(t testing.TB, runtime string) (map[string]*acc.Governed, acc.Diagnostics) {
	t.Helper()
	document, found := acc.Parse([]byte(governedDocument))
	require.Empty(t, found)
	r, found := acc.ParseRuntime([]byte(runtime))
	if r == nil {
		require.True(t, found.HasErrors())
		return nil, found
	}
	list, found := r.Govern(acc.NamedDocument{Name: "shop.yaml", Document: document})
	byID := make(map[string]*acc.Governed)
	for _, g := range list {
		byID[g.ID] = g
	}
	return byID, found
}

func TestRuntime(t *testing.T) {
	governed, found := governedBy(t, `version: 1
defaults:
  timeout: 20s
  retries: {attempts: 4, budget: {ratio: 0.5}, backoff: {first: 100ms}}
  rate_limit: {dimension: subject, on_exceed: queue, max_wait: 2s, shared: true}
  idempotency: {header: Idempotency-Key, expires: 24h}
  breaker: {failures: 3}
  audit: {required: true}
  approval: {expires: 30m}
operations:
  order_get:
    enabled: false
    risk: {level: medium}
    retries: {attempts: 1}
    idempotency: null
  POST /orders/{id}:
    timeout: 5s
    approval: {when: [{param: reason, op: "==", value: other, label: Odd}]}
    rate_limit: {count: 5, window: 1s, count_retries: false}
    audit: {redact: [payment.token]}
`)
	require.Empty(t, found)

	refund := governed["order_refund"]
	require.Equal(t, acc.CallPolicy{
		Retries:     acc.Retries{Attempts: 4, Ratio: 0.5, Reserve: 10, First: 100 * time.Millisecond, Longest: 5 * time.Second},
		Limits:      acc.LimitPolicy{OnExceed: acc.QueueExceeding, MaxWait: 2 * time.Second, Shared: true},
		Idempotency: &acc.Idempotency{Header: "Idempotency-Key", Expires: 24 * time.Hour},
		Breaker:     &acc.Breaker{Failures: 3, Cooldown: 30 * time.Second}, ApprovalExpires: 30 * time.Minute,
		AuditRequired: true, Redact: []string{"payment.token"}, Places: refund.Policy.Places,
	}, refund.Policy)
	require.Equal(t, langshaw.Position{Line: 4, Column: 13, Offset: 48}, refund.Policy.Places["retries.attempts"].Start, "of the default")
	require.Equal(t, 17, refund.Policy.Places["timeout"].Start.Line, "of the operation")
	require.Equal(t, 5*time.Second, refund.Merged.Timeout.Value)
	require.Equal(t, acc.Local, refund.Merged.Timeout.Origin)
	require.Equal(t, 17, refund.Merged.Timeout.Span.Start.Line)
	require.True(t, refund.Merged.Retry.Value)
	require.Equal(t, 4, refund.Merged.Retry.Span.Start.Line)
	require.Equal(t, []string{"30/1m per subject", "5/1s per subject"}, []string{refund.Merged.Limits[0].Value.String(), refund.Merged.Limits[1].Value.String()})
	require.Equal(t, 19, refund.Merged.Limits[1].Span.Start.Line)
	require.Equal(t, acc.ApprovalRequired, refund.Approval.Decide(arguments(t, `{"id":"1","amount":2000,"reason":"x"}`)).Outcome, "declared")
	require.Equal(t, acc.ApprovalRequired, refund.Approval.Decide(arguments(t, `{"id":"1","amount":1,"reason":"other"}`)).Outcome, "local")
	require.Equal(t, acc.Allow, refund.Approval.Decide(arguments(t, `{"id":"1","amount":1,"reason":"x"}`)).Outcome)

	get := governed["order_get"]
	require.False(t, get.Merged.Enabled.Value)
	require.Equal(t, acc.MediumRisk, get.Merged.Risk.Value)
	require.Equal(t, 13, get.Merged.Risk.Span.Start.Line)
	require.Equal(t, 20*time.Second, get.Merged.Timeout.Value, "the default is for what is not declared")
	require.False(t, get.Merged.Retry.Value)
	require.Nil(t, get.Policy.Idempotency)

	cancel := governed["order_cancel"]
	require.False(t, cancel.Merged.Retry.Value, "retries by default are for what is idempotent")
}

func TestRuntimeRefuses(t *testing.T) {
	const dimension = "defaults: {rate_limit: {dimension: agent}}\n"
	tests := map[string]struct {
		text string // after the version
		code langshaw.Code
		at   string
		want string
	}{
		"not an object":              {"operations: []", acc.CodeInvalidRuntime, "2:13", "operations must be an object"},
		"an unknown field":           {"operations: {order_get: {timout: 1s}}", acc.CodeInvalidRuntime, "2:26", "there is no field timout"},
		"an unknown field within":    {"defaults: {retries: {attemps: 1}}", acc.CodeInvalidRuntime, "2:22", "retries.attemps"},
		"an unknown condition field": {"operations: {order_get: {approval: {when: [{param: a, op: exists, lable: x}]}}}", acc.CodeInvalidRuntime, "2:67", "lable"},
		"an unknown operation":       {dimension + "operations: {order_gte: {}}", acc.CodeUnknownOperation, "3:14", "order_gte"},
		"twice":                      {dimension + "operations: {order_get: {}, 'GET /orders/{id}': {}}", acc.CodeInvalidRuntime, "3:29", "named twice"},
		"a time without unit":        {"defaults: {timeout: 20}", acc.CodeInvalidRuntime, "2:21", "with its unit"},
		"a time too long":            {"defaults: {timeout: 11m}", acc.CodeInvalidRuntime, "2:21", "10m0s"},
		"a negative time":            {"defaults: {timeout: -1s}", acc.CodeInvalidRuntime, "2:21", "must be"},
		"no attempts":                {"defaults: {retries: {attempts: 0}}", acc.CodeInvalidRuntime, "2:32", "1 to 100"},
		"half an attempt":            {"defaults: {retries: {attempts: 1.5}}", acc.CodeInvalidRuntime, "2:32", "integer"},
		"a whole budget":             {"defaults: {retries: {budget: {ratio: 1.5}}}", acc.CodeInvalidRuntime, "2:38", "from 0 to 1"},
		"a breaker of one":           {dimension + "operations: {order_get: {breaker: {failures: 1}}}", acc.CodeInvalidRuntime, "3:35", "among the defaults"},
		"half a limit":               {"defaults: {rate_limit: {count: 3}}", acc.CodeInvalidRuntime, "2:24", "both count and window"},
		"an unknown dimension":       {"defaults: {rate_limit: {dimension: route}}", acc.CodeInvalidRuntime, "2:36", "operation, agent, subject or tenant"},
		"an unknown on_exceed":       {"defaults: {rate_limit: {on_exceed: drop}}", acc.CodeInvalidRuntime, "2:36", "reject or queue"},
		"a queue without bound":      {"defaults: {rate_limit: {dimension: agent, on_exceed: queue}}", acc.CodeInvalidRuntime, "2:43", "max_wait"},
		"a key nowhere":              {"defaults: {idempotency: {expires: 1h}}", acc.CodeInvalidRuntime, "2:25", "either a header"},
		"native without a note":      {"defaults: {idempotency: {native: true}}", acc.CodeInvalidRuntime, "2:25", "needs a note"},
		"no header":                  {"defaults: {idempotency: {header: \"a: b\"}}", acc.CodeInvalidRuntime, "2:34", "name of a header"},
		"a bad path":                 {"defaults: {audit: {redact: [a..b]}}", acc.CodeInvalidRuntime, "2:29", "dotted path"},
		"loosening by default":       {"defaults: {enabled: true}", acc.CodeInvalidRuntime, "2:21", "can only be false"},
		"risk by default":            {"defaults: {risk: {level: low}}", acc.CodeInvalidRuntime, "2:26", "no meaning among the defaults"},
		"no dimension":               {"operations: {}", acc.CodeLimitUndetermined, "1:1", "shop.yaml:25:58"},
		"a limit without dimension":  {"operations: {order_get: {rate_limit: {count: 1, window: 1s}}, order_refund: {rate_limit: {dimension: agent}}}", acc.CodeLimitUndetermined, "2:26", "count counts"},

		"a longer timeout":    {dimension + "operations: {order_refund: {timeout: 11s}}", acc.CodeLooserThanDeclared, "3:29", "timeout 11s is looser than the contract, which says 10s (shop.yaml:25:39)"},
		"a lower risk":        {dimension + "operations: {order_refund: {risk: {level: low}}}", acc.CodeLooserThanDeclared, "3:36", "shop.yaml:21:16"},
		"enabling":            {dimension + "operations: {order_cancel: {enabled: true}}", acc.CodeLooserThanDeclared, "3:29", "shop.yaml:11:40"},
		"no subject":          {dimension + "operations: {order_refund: {subject: {required: false}}}", acc.CodeLooserThanDeclared, "3:39", "shop.yaml:22:19"},
		"nothing sensitive":   {dimension + "operations: {order_refund: {audit: {sensitive: false}}}", acc.CodeLooserThanDeclared, "3:37", "shop.yaml:24:17"},
		"a looser limit":      {dimension + "operations: {order_refund: {rate_limit: {count: 31, window: 1m}}}", acc.CodeLooserThanDeclared, "3:29", "31/1m per agent"},
		"a promise made":      {dimension + "operations: {order_cancel: {idempotent: true}}", acc.CodeLooserThanDeclared, "3:29", "idempotent true"},
		"retries of a change": {dimension + "operations: {order_cancel: {retries: {attempts: 2}}}", acc.CodeLooserThanDeclared, "3:29", "not idempotent (shop.yaml:11:7)"},

		"a condition of nothing": {dimension + "operations: {order_refund: {approval: {when: [{param: amuont, op: exists}]}}}", acc.CodeUnknownInput, "3:55", "POST /orders/{id}: "},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			governed, found := governedBy(t, "version: 1\n"+test.text)
			require.Empty(t, governed)
			require.Len(t, found, 1, "%v", found)
			require.Equal(t, test.code, found[0].Code)
			require.Equal(t, test.at, fmt.Sprintf("%d:%d", found[0].Start.Line, found[0].Start.Column))
			require.Contains(t, found[0].Message, test.want)
			require.Equal(t, langshaw.Error, found[0].Severity)
		})
	}
	for text, want := range map[string]string{"": "empty", "a: 1": "there is no field a", "version: 2": "not supported", "defaults: {}": "no version", "[": "neither JSON nor YAML"} {
		_, found := governedBy(t, text)
		require.Contains(t, found[0].Message, want, text)
	}
}

// TestRetriesNeedARecognisedRepetition is item 3 of the checklist: what changes something is sent again only where it is
// said how the other end recognises that.
func TestRetriesNeedARecognisedRepetition(t *testing.T) {
	const text = "version: 1\ndefaults: {rate_limit: {dimension: agent}, retries: {attempts: 2}%s}"
	governed, found := governedBy(t, fmt.Sprintf(text, ""))
	require.Len(t, found, 1)
	require.Equal(t, acc.CodeRetryWithoutKey, found[0].Code)
	require.Equal(t, langshaw.Warning, found[0].Severity)
	require.False(t, governed["order_refund"].Merged.Retry.Value)
	require.True(t, governed["order_get"].Merged.Retry.Value, "it changes nothing")
	governed, found = governedBy(t, fmt.Sprintf(text, ", idempotency: {native: true, note: refunds carry their own number}"))
	require.Empty(t, found)
	require.True(t, governed["order_refund"].Merged.Retry.Value)
}

// FuzzParseRuntime looks for text that panics, and for a runtime that loosens a contract.
func FuzzParseRuntime(f *testing.F) {
	f.Add([]byte("version: 1\ndefaults: {timeout: 20s, rate_limit: {dimension: agent}}\noperations: {order_refund: {timeout: 5s}}"))
	f.Add([]byte("version: 1\noperations: {order_get: {approval: {when: [{param: id, op: '==', value: x}]}}}"))
	f.Add([]byte(`{"version": 1, "operations": {"order_cancel": {"enabled": true, "retries": {}}}}`))
	f.Add([]byte("a: &a {b: *a}"))
	document, _ := acc.Parse([]byte(governedDocument))
	f.Fuzz(func(t *testing.T, text []byte) {
		runtime, found := acc.ParseRuntime(text)
		require.Equal(t, runtime == nil, found.HasErrors())
		if runtime == nil {
			return
		}
		governed, found := runtime.Govern(acc.NamedDocument{Name: "shop.yaml", Document: document})
		require.Equal(t, governed == nil, found.HasErrors())
		for _, g := range governed {
			declared := g.Contract()
			require.True(t, declared.Enabled.Value || !g.Merged.Enabled.Value)
			require.True(t, g.Merged.SubjectRequired.Value || !declared.SubjectRequired.Value)
			require.True(t, g.Merged.AuditSensitive.Value || !declared.AuditSensitive.Value)
			require.True(t, declared.Timeout.Value == 0 || g.Merged.Timeout.Value <= declared.Timeout.Value)
			require.GreaterOrEqual(t, len(g.Merged.Limits), len(declared.Limits))
			require.GreaterOrEqual(t, len(g.Merged.When), len(declared.When))
			require.True(t, g.Merged.Idempotent.Value || !g.Merged.Retry.Value)
			require.NotNil(t, g.Approval)
		}
	})
}

// TestRuntimeOfTheDocumentation reads the runtime.yaml of docs/acc.md.
func TestRuntimeOfTheDocumentation(t *testing.T) {
	page, err := os.ReadFile("../../docs/acc.md")
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(page), "```yaml\nversion: 1\n")
	require.True(t, found)
	text, _, _ := strings.Cut(rest, "```")
	governed, diagnostics := governedBy(t, "version: 1\n"+strings.Replace(text, "refund_create:", "order_refund:", 1))
	require.Empty(t, diagnostics)
	require.Equal(t, 10*time.Minute, governed["order_refund"].Policy.ApprovalExpires)
}
