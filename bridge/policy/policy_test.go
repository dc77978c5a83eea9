package policy_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/acc"
	"github.com/strabo-engine/strabo/bridge/audit"
	"github.com/strabo-engine/strabo/bridge/policy"
	"github.com/strabo-engine/strabo/enactment"
)

// document is one with an operation for each contract, named a, b, ...
func document(contracts ...string) policy.File {
	text := "openapi: 3.1.0\ninfo: {title: t, version: '1'}\npaths:\n"
	for i, contract := range contracts {
		text += fmt.Sprintf(`  /%[1]c:
    post:
      operationId: %[1]c
      requestBody: {content: {application/json: {schema: {type: object, properties: {amount: {type: number}}}}}}
      responses: {"200": {description: ok}}
      x-agent-capability: {version: 1, enabled: true, scope: %[1]c%[2]s}
`, 'a'+i, contract)
	}
	return policy.File{Name: "test.yaml", Text: []byte(text)}
}

func contracts(t testing.TB, declared ...string) *policy.Contracts {
	t.Helper()
	c, err := policy.ReadContracts(document(declared...))
	require.NoError(t, err)
	return c
}

// operation gives the operation a, with its contract and what is wanted locally.
func operation(t testing.TB, contract string, local policy.Local) *policy.Operation {
	t.Helper()
	p, err := policy.New(contracts(t, contract), policy.Options{Default: local})
	require.NoError(t, err)
	o, err := p.Operation("a")
	require.NoError(t, err)
	return o
}

const (
	keyedWrite = `, execution: {idempotent: true}`
	read       = `, execution: {readonly: true, idempotent: true}`
)

func TestPermit(t *testing.T) {
	ada := policy.Principal{Subject: "ada"}
	t.Run("disabled locally", func(t *testing.T) {
		_, err := operation(t, ``, policy.Local{LocalPolicy: acc.LocalPolicy{Expose: new(bool)}}).Permit(ada, nil)
		require.ErrorIs(t, err, policy.ErrDisabled)
	})
	t.Run("subject", func(t *testing.T) {
		o := operation(t, `, subject: {required: true}`, policy.Local{})
		_, err := o.Permit(policy.Principal{Agent: "a", Tenant: "t"}, enactment.Values{"subject": enactment.MustValue("ada")})
		require.ErrorIs(t, err, policy.ErrNoSubject, "an argument names nobody who is trusted")
		_, err = o.Permit(ada, nil)
		require.NoError(t, err)
	})
	t.Run("arguments", func(t *testing.T) {
		_, err := operation(t, ``, policy.Local{}).Permit(ada, enactment.Values{"amount": enactment.MustValue("secret words")})
		require.ErrorIs(t, err, policy.ErrInvalidArguments)
		require.NotContains(t, err.Error(), "secret words")
	})
	t.Run("approval", func(t *testing.T) {
		o := operation(t, `, approval: {prompt: "Sure?", when: [{param: amount, op: ">", value: 10, label: Much}]}`, policy.Local{})
		q, err := o.Permit(ada, enactment.Values{"amount": enactment.MustValue(10)})
		require.NoError(t, err)
		require.Nil(t, q)
		q, err = o.Permit(ada, enactment.Values{"amount": enactment.MustValue(11)})
		require.NoError(t, err)
		require.Equal(t, &policy.Question{Labels: []string{"Much"}, Prompt: "Sure?", Lifetime: policy.DefaultApprovalLifetime}, q)
		_, err = o.Permit(ada, nil)
		require.ErrorIs(t, err, policy.ErrInvalidArguments, "a condition that cannot be judged lets nothing through")
	})
	t.Run("approval of every call, wanted locally", func(t *testing.T) {
		wanted := true
		o := operation(t, ``, policy.Local{LocalPolicy: acc.LocalPolicy{ApprovalRequired: &wanted}})
		q, err := o.Permit(ada, nil)
		require.NoError(t, err)
		require.Equal(t, []string{"every call of a"}, q.Labels)
		require.Equal(t, "local", o.Sources()["approval.required"])
	})
}

func TestNewRefuses(t *testing.T) {
	yes := true
	for name, test := range map[string]struct {
		contract string
		local    policy.Local
		want     error
	}{
		"a limit without a dimension": {`, execution: {rate_limit: {count: 1, window: 1m}}`, policy.Local{}, acc.ErrNoDimension},
		"a longer timeout":            {`, execution: {timeout_ms: 1000}`, policy.Local{LocalPolicy: acc.LocalPolicy{Timeout: time.Minute}}, acc.ErrLooser},
		"retries of what must not be": {``, policy.Local{LocalPolicy: acc.LocalPolicy{Retry: &yes}}, acc.ErrLooser},
		"a queue without an end":      {``, policy.Local{OnExceed: policy.Queue}, acc.ErrInvalidPolicy},
		"a queue that is too long":    {``, policy.Local{OnExceed: policy.Queue, MaxWait: time.Hour}, acc.ErrInvalidPolicy},
		"another way to exceed":       {``, policy.Local{OnExceed: "drop"}, acc.ErrInvalidPolicy},
		"attempts below none":         {``, policy.Local{Attempts: -1}, acc.ErrInvalidPolicy},
		"more retries than calls":     {``, policy.Local{BudgetRatio: 2}, acc.ErrInvalidPolicy},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := policy.New(contracts(t, test.contract), policy.Options{Local: map[string]policy.Local{"a": test.local}})
			require.ErrorIs(t, err, test.want)
			require.ErrorContains(t, err, "operation a")
		})
	}
	_, err := policy.New(contracts(t, ``), policy.Options{Local: map[string]policy.Local{"aa": {}}})
	require.ErrorIs(t, err, policy.ErrNoContract)
	_, err = policy.New(contracts(t, ``), policy.Options{Default: policy.Local{LocalPolicy: acc.LocalPolicy{When: []acc.Condition{{Param: "price", Op: acc.Exists}}}}})
	require.ErrorContains(t, err, "price")
}

func TestReadContractsFailsClosed(t *testing.T) {
	_, err := policy.ReadContracts(document(``), policy.File{Name: "other.yaml", Text: document(``).Text})
	require.ErrorContains(t, err, "operation a is declared in test.yaml and in other.yaml")
	_, err = policy.ReadContracts(policy.File{Name: "x", Text: []byte("nonsense")})
	require.ErrorContains(t, err, "x: ")
	c, err := policy.ReadContracts(document(``, `, risk: {level: none}`))
	require.NoError(t, err)
	p, err := policy.New(c, policy.Options{})
	require.NoError(t, err)
	_, err = p.Operation("b")
	require.ErrorIs(t, err, policy.ErrNoContract)
	require.ErrorContains(t, err, "test.yaml: ")
	_, err = p.Operation("c")
	require.ErrorIs(t, err, policy.ErrNoContract)
	require.True(t, p.Governs())
}

// TestUndeclared: the conservative fallback infers nothing.
func TestUndeclared(t *testing.T) {
	p, err := policy.New(nil, policy.Options{})
	require.NoError(t, err)
	require.False(t, p.Governs())
	o, err := p.Undeclared("P.a.s", false)
	require.NoError(t, err)
	assert.False(t, o.Contract.Readonly.Value)
	assert.False(t, o.Contract.Idempotent.Value)
	assert.Equal(t, acc.MediumRisk, o.Contract.Risk.Value)
	assert.Equal(t, acc.DefaultTimeout, o.Contract.Timeout.Value)
	again, err := p.Undeclared("P.a.s", false)
	require.NoError(t, err)
	assert.Same(t, o, again)
}

const limited = `, execution: {idempotent: true, rate_limit: {count: 2, window: 1m}}`

func TestBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, err := policy.New(nil, policy.Options{Breaker: policy.BreakerOptions{Failures: 2, Rest: time.Second}})
		require.NoError(t, err)
		call := func(target string, h policy.Health) error {
			done, err := p.Reach(target)
			if err == nil {
				done(h)
			}
			return err
		}
		require.NoError(t, call("a", policy.Failing))
		require.NoError(t, call("a", policy.Healthy))
		require.NoError(t, call("a", policy.Failing))
		require.NoError(t, call("a", policy.Unjudged))
		require.NoError(t, call("a", policy.Failing))
		var open *policy.OpenError
		require.ErrorAs(t, call("a", policy.Healthy), &open)
		require.Equal(t, "a", open.Target)
		require.NoError(t, call("b", policy.Healthy), "each target has its own")
		time.Sleep(time.Second + 1)
		require.NoError(t, call("a", policy.Failing), "one tries again")
		require.Error(t, call("a", policy.Healthy))
		time.Sleep(time.Second + 1)
		require.NoError(t, call("a", policy.Healthy))
		require.NoError(t, call("a", policy.Healthy))
	})
}

// BenchmarkPolicy is all that the policy does for a call that is made once: permit with a condition, limit, breaker, and
// what it would take to decide about a retry.
// BenchmarkPolicy measures what the policy adds to one call; with "audited", also the hashes and the record of the call
// as it is written, without the disk.
func BenchmarkPolicy(b *testing.B) {
	b.Run("decided", func(b *testing.B) { benchmarkPolicy(b, false) })
	b.Run("audited", func(b *testing.B) { benchmarkPolicy(b, true) })
}

func benchmarkPolicy(b *testing.B, audited bool) {
	hasher := audit.NewHasher(nil)
	body := []byte(`{"line_items":[{"item":{"id":"pot_ceramic"},"quantity":2}],"note":"` + strings.Repeat("x", 400) + `"}`)
	declared := `, subject: {required: true}, approval: {when: [{param: amount, op: ">", value: 1000}]}, ` +
		`execution: {idempotent: true, timeout_ms: 1000, rate_limit: {count: 1000000000, window: 1s}}`
	p, err := policy.New(contracts(b, declared), policy.Options{Default: per(acc.PerSubject, policy.Local{BudgetRatio: 1})})
	require.NoError(b, err)
	o, err := p.Operation("a")
	require.NoError(b, err)
	who, arguments := policy.Principal{Subject: "ada"}, enactment.Values{"amount": enactment.MustValue(10)}
	retry := may(policy.Busy)
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		if question, err := o.Permit(who, arguments); err != nil || question != nil {
			b.Fatal(err)
		}
		if _, err := o.Admit(ctx, who, false); err != nil {
			b.Fatal(err)
		}
		done, err := p.Reach("https://shop.example")
		if err != nil {
			b.Fatal(err)
		}
		done(policy.Healthy)
		if _, err := o.MayRetry(retry); err != nil {
			b.Fatal(err)
		}
		if !audited {
			continue
		}
		if _, err := audit.Encode(audit.Record{
			At: retry.Now, Kind: audit.FirstCall, Enactment: `{"cid":"c1"}`, Action: "Complete", Step: "pay", Operation: o.Name,
			Scope: o.Contract.Scope.Value, Risk: string(o.Contract.Risk.Value), Subject: who.Subject, Method: "POST",
			URL: "https://shop.example/checkout-sessions/c1/complete", Attempt: 1, Status: 200, Latency: time.Millisecond,
			KeyHash: hasher.Key("1e7f1a3c-0c52-4b5c-9d0a-4f1a8f6b6a11"), BodyDigest: hasher.Request("POST", "https://shop.example/", body),
			Request: string(body), Response: string(body), Outcome: "known", Sources: o.Sources(),
		}); err != nil {
			b.Fatal(err)
		}
	}
}

// What the operator asks for holds also where nothing is declared; what cannot be judged there is refused.
func TestUndeclaredMayNeedAnApproval(t *testing.T) {
	yes := true
	p, err := policy.New(nil, policy.Options{Default: policy.Local{LocalPolicy: acc.LocalPolicy{ApprovalRequired: &yes}}})
	require.NoError(t, err)
	o, err := p.Undeclared("P.a.s", false)
	require.NoError(t, err)
	question, err := o.Permit(policy.Principal{}, nil)
	require.NoError(t, err)
	require.Equal(t, &policy.Question{Labels: []string{"every call of P.a.s"}, Lifetime: policy.DefaultApprovalLifetime}, question)

	p, err = policy.New(nil, policy.Options{Default: policy.Local{LocalPolicy: acc.LocalPolicy{When: []acc.Condition{{Param: "price", Op: acc.Exists}}}}})
	require.NoError(t, err)
	_, err = p.Undeclared("P.a.s", false)
	require.ErrorContains(t, err, "no inputs are declared")
}

// TestContractsReferToOthers: a document may refer to others of its folder, and of none without one.
func TestContractsReferToOthers(t *testing.T) {
	file := document(`, approval: {when: [{param: amount, op: ">", value: 10}]}`)
	file.Text = []byte(strings.ReplaceAll(string(file.Text), "{type: object, properties: {amount: {type: number}}}", "{$ref: 'refund.yaml'}"))
	file.Folder = fstest.MapFS{"refund.yaml": {Data: []byte("type: object\nproperties: {amount: {type: number}}\n")}}
	read := func() (*policy.Operation, error) {
		c, err := policy.ReadContracts(file)
		require.NoError(t, err)
		p, err := policy.New(c, policy.Options{})
		require.NoError(t, err)
		return p.Operation("a")
	}
	o, err := read()
	require.NoError(t, err)
	question, err := o.Permit(policy.Principal{}, values(t, `{"amount":11}`))
	require.NoError(t, err)
	require.NotNil(t, question)
	file.Folder = nil
	_, err = read()
	require.ErrorIs(t, err, policy.ErrNoContract)
}
