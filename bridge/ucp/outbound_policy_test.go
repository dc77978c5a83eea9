package ucp_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/acc"
	"github.com/strabo-engine/strabo/bridge/audit"
	"github.com/strabo-engine/strabo/bridge/policy"
	"github.com/strabo-engine/strabo/bridge/ucp"
)

// TestOutboundContracts: what the shipped mapping calls is declared as UCP means it.
func TestOutboundContracts(t *testing.T) {
	contracts, err := ucp.Contracts()
	require.NoError(t, err)
	p, err := policy.New(contracts, policy.Options{})
	require.NoError(t, err)
	for name, want := range map[string]struct {
		risk                        acc.RiskLevel
		readonly, subject, approval bool
	}{
		"checkout_create":   {risk: acc.MediumRisk},
		"checkout_get":      {risk: acc.LowRisk, readonly: true},
		"order_get":         {risk: acc.LowRisk, readonly: true},
		"checkout_update":   {risk: acc.MediumRisk},
		"checkout_cancel":   {risk: acc.MediumRisk},
		"checkout_complete": {risk: acc.HighRisk, subject: true, approval: true},
	} {
		o, err := p.Operation(name)
		require.NoError(t, err)
		assert.Equal(t, want.risk, o.Contract.Risk.Value, name)
		assert.Equal(t, want.readonly, o.Contract.Readonly.Value, name)
		assert.True(t, o.Contract.Idempotent.Value, name)
		assert.Equal(t, want.subject, o.Contract.SubjectRequired.Value, name)
		assert.Equal(t, want.approval, o.Contract.ApprovalRequired.Value, name)
		assert.Equal(t, want.approval, o.Contract.AuditSensitive.Value, name)
	}
}

// TestOutboundPaysOnlyAsDeclared: without somebody to act for, and somebody who has agreed, no payment leaves.
func TestOutboundPaysOnlyAsDeclared(t *testing.T) {
	for name, test := range map[string]struct {
		change    func(*ucp.OutboundOptions)
		why, code string
	}{
		"for nobody":        {func(o *ucp.OutboundOptions) { o.Principal = nil }, "needs a trusted subject", policy.CodeNoSubject},
		"with nobody asked": {func(o *ucp.OutboundOptions) { o.Approvals = nil }, "not approved: there is nobody to ask", policy.CodeNotApproved},
		"under a policy that switches it off": {func(o *ucp.OutboundOptions) {
			contracts, err := ucp.Contracts()
			require.NoError(t, err)
			o.Policy, err = policy.New(contracts, policy.Options{Local: map[string]policy.Local{
				"checkout_complete": {LocalPolicy: acc.LocalPolicy{Expose: new(bool)}},
			}})
			require.NoError(t, err)
		}, "not enabled", policy.CodeDisabled},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t, true)
			m := openMarket(t, s.server.URL, test.change)
			m.complete(m.created(nil), card("google_pay", "x"))
			decline := text(t, m.expect("Declined"), "decline")
			assert.Contains(t, decline, test.why)
			assert.Contains(t, decline, `"code":"`+test.code+`"`)
			assert.Empty(t, s.of("POST complete"))
			records := m.called()
			last := records[len(records)-1]
			assert.Equal(t, audit.Denied, last.Kind)
			assert.Equal(t, "checkout.complete", last.Scope)
		})
	}
}

// TestOutboundComesAgainWhenAsked: a shop that is busy is asked again, with the same key, and pays once.
func TestOutboundComesAgainWhenAsked(t *testing.T) {
	for _, status := range []int{429, 503} {
		s := newShop(t, true)
		m := openMarket(t, s.server.URL)
		created := m.created(nil)
		busy := true
		s.set(func(s *shop) {
			s.inject = func(a asked) http.HandlerFunc {
				if a.line != "POST complete" || !busy {
					return nil
				}
				busy = false
				return func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Retry-After", "0")
					w.WriteHeader(status)
				}
			}
		})
		m.complete(created, card("google_pay", "x"))
		m.expect("Completed")
		tries := s.of("POST complete")
		require.Len(t, tries, 2)
		assert.Equal(t, tries[0].header.Get("Idempotency-Key"), tries[1].header.Get("Idempotency-Key"))
		assert.Equal(t, string(tries[0].body), string(tries[1].body))
	}
}
