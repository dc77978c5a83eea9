package policy_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/acc"
	"github.com/strabo-engine/strabo/bridge/policy"
	"github.com/strabo-engine/strabo/enactment"
)

const runtimeContracts = `openapi: 3.1.0
paths:
  /refunds:
    post:
      operationId: refund
      requestBody: {required: true, content: {application/json: {schema: {type: object, properties: {amount: {type: number}}}}}}
      x-agent-capability:
        version: 1
        enabled: true
        scope: refund.create
        execution: {idempotent: true, timeout_ms: 10000, rate_limit: {count: 30, window: 1m}}
`

func withRuntime(t *testing.T, text string, change ...func(*policy.Options)) (*policy.Policy, error) {
	t.Helper()
	contracts, err := policy.ReadContracts(policy.File{Name: "shop.yaml", Text: []byte(runtimeContracts)})
	require.NoError(t, err)
	runtime, found := acc.ParseRuntime([]byte(text))
	require.Empty(t, found)
	options := policy.Options{Runtime: runtime, RuntimeName: "runtime.yaml"}
	for _, change := range change {
		change(&options)
	}
	return policy.New(contracts, options)
}

func TestRuntime(t *testing.T) {
	p, err := withRuntime(t, `version: 1
defaults:
  rate_limit: {dimension: subject}
  retries: {attempts: 2, backoff: {first: 1s}}
  idempotency: {header: Idempotency-Key}
  audit: {required: true, redact: [card.number]}
operations:
  refund:
    timeout: 5s
    approval: {expires: 30m, when: [{param: amount, op: ">", value: 100, label: Large}]}
`)
	require.NoError(t, err)
	require.True(t, p.AuditRequired())
	first, longest := p.Backoff()
	require.Equal(t, []time.Duration{time.Second, 5 * time.Second}, []time.Duration{first, longest})
	refund, err := p.Operation("refund")
	require.NoError(t, err)
	require.Equal(t, 5*time.Second, refund.Contract.Timeout.Value)
	require.True(t, refund.Contract.Retry.Value)
	require.Equal(t, "local runtime.yaml:9:5", refund.Sources()["execution.timeout_ms"])
	require.Equal(t, "local runtime.yaml:4:3", refund.Sources()["retry"])
	require.Equal(t, "declared shop.yaml:11:21", refund.Sources()["execution.idempotent"])
	require.Equal(t, "default", refund.Sources()["subject.required"])
	question, err := refund.Permit(policy.Principal{}, values(t, `{"amount":101}`))
	require.NoError(t, err)
	require.Equal(t, &policy.Question{Labels: []string{"Large"}, Lifetime: 30 * time.Minute}, question)
	question, err = refund.Permit(policy.Principal{}, values(t, `{"amount":100}`))
	require.NoError(t, err)
	require.Nil(t, question)
	wait, err := refund.MayRetry(policy.Retry{
		Class: policy.Busy, Keyed: true, SameBytes: true, Attempts: 1, Most: 5, Opened: time.Now(), Now: time.Now(), Deadline: time.Now().Add(time.Hour), Wait: 1,
	})
	require.NoError(t, err)
	require.EqualValues(t, 1, wait)
	_, err = refund.MayRetry(policy.Retry{
		Class: policy.Busy, Keyed: true, SameBytes: true, Attempts: 2, Most: 5, Opened: time.Now(), Now: time.Now(), Deadline: time.Now().Add(time.Hour),
	})
	require.ErrorIs(t, err, policy.ErrSpent)

	require.JSONEq(t, `{"card":{"number":"***","kind":"x"},"big":12345678901234567890}`,
		refund.Shown(`{"card":{"number":{"a":[1]},"kind":"x"},"big":12345678901234567890}`))
	require.JSONEq(t, `[{"card":[{"number":"***"},{}]}]`, refund.Shown(`[{"card":[{"number":1},{}]}]`), "however deep in lists")
	require.Equal(t, "***", refund.Shown("number=4711"), "nobody can tell what is in it")
	require.Empty(t, refund.Shown(""))
}

func TestRuntimeThatDoesNotFit(t *testing.T) {
	_, err := withRuntime(t, "version: 1\ndefaults: {rate_limit: {dimension: agent}}\noperations:\n  refund: {timeout: 20s, risk: {level: low}}\n")
	var refused *policy.RuntimeError
	require.ErrorAs(t, err, &refused)
	require.Len(t, refused.Diagnostics, 2)
	require.ErrorContains(t, err, "runtime.yaml:4:12: error[looser-than-declared]: POST /refunds: timeout 20s is looser than the contract, which says 10s (shop.yaml:11:39)")
	_, err = withRuntime(t, "version: 1\n")
	require.ErrorContains(t, err, "limit-undetermined")
	const shared = "version: 1\ndefaults: {rate_limit: {dimension: agent, shared: true}}\n"
	_, err = withRuntime(t, shared)
	require.ErrorContains(t, err, "nothing that processes share")
	_, err = withRuntime(t, shared, func(o *policy.Options) { o.Default = policy.Local{Attempts: 1} })
	require.ErrorContains(t, err, "said twice")
}

func values(t *testing.T, text string) enactment.Values {
	t.Helper()
	values, err := enactment.ParseValues([]byte(text))
	require.NoError(t, err)
	return values
}

// TestShownURL: what must not be written down must not be in a URL either.
func TestShownURL(t *testing.T) {
	const declared = `openapi: 3.1.0
paths:
  /guests/{guest}/stays/{stay}:
    get:
      operationId: stay
      parameters:
        - {name: guest, in: path, required: true, schema: {type: string}}
        - {name: stay, in: path, required: true, schema: {type: string}}
      x-agent-capability: {version: 1, enabled: true, scope: s, audit: {sensitive: %s}}
`
	shown := func(sensitive, redact, address string) string {
		contracts, err := policy.ReadContracts(policy.File{Name: "shop.yaml", Text: []byte(strings.ReplaceAll(declared, "%s", sensitive))})
		require.NoError(t, err)
		runtime, found := acc.ParseRuntime([]byte("version: 1\ndefaults: {audit: {redact: [" + redact + "]}}\n"))
		require.Empty(t, found)
		p, err := policy.New(contracts, policy.Options{Runtime: runtime})
		require.NoError(t, err)
		o, err := p.Operation("stay")
		require.NoError(t, err)
		return o.ShownURL(address)
	}
	const address = "https://h.example/v1/guests/ann/stays/7?card=4711&n=1&%63ard=4712&flag"
	require.Equal(t, "https://h.example/v1/guests/***/stays/7?card=***&n=1&%63ard=***&flag", shown("false", "guest, card", address))
	require.Equal(t, "https://h.example/v1/guests/ann/stays/7?card=***&n=***&%63ard=***&flag", shown("true", "other", address))
	require.Equal(t, address, shown("false", "other", address))
	require.Equal(t, "https://h.example/v1/guests/***/stays/7", shown("true", "guest", "https://h.example/v1/guests/ann/stays/7"))
}
