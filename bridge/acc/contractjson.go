package acc

import (
	"bytes"
	"encoding/json"

	"github.com/strabo-engine/strabo/langshaw"
)

// limitJSON is a limit as a program reads it.
type limitJSON struct {
	Count     int64     `json:"count"`
	Window    string    `json:"window"`
	Dimension Dimension `json:"dimension,omitempty"`
}

// MarshalJSON gives an object of which each member has value, origin and, where it is declared, span. Times are
// milliseconds, and windows are as contracts write them. The names of members are stable.
func (c Contract) MarshalJSON() ([]byte, error) {
	limits := make([]Setting[limitJSON], len(c.Limits))
	for i, limit := range c.Limits {
		limits[i] = Setting[limitJSON]{
			Value:  limitJSON{Count: limit.Value.Count, Window: FormatWindow(limit.Value.Window), Dimension: limit.Value.Dimension},
			Origin: limit.Origin, Span: limit.Span,
		}
	}
	var timeout Setting[*int64]
	timeout.Origin, timeout.Span = c.Timeout.Origin, c.Timeout.Span
	if c.Timeout.Value > 0 {
		timeout.Value = new(c.Timeout.Value.Milliseconds())
	}
	when := c.When
	if when == nil {
		when = []Setting[Condition]{}
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(struct {
		Enabled          Setting[bool]        `json:"enabled"`
		Scope            Setting[string]      `json:"scope"`
		Risk             Setting[RiskLevel]   `json:"risk"`
		SubjectRequired  Setting[bool]        `json:"subject_required"`
		ApprovalRequired Setting[bool]        `json:"approval_required"`
		Prompt           string               `json:"approval_prompt,omitempty"`
		When             []Setting[Condition] `json:"approval_when"`
		AuditSensitive   Setting[bool]        `json:"audit_sensitive"`
		Readonly         Setting[bool]        `json:"readonly"`
		Idempotent       Setting[bool]        `json:"idempotent"`
		Timeout          Setting[*int64]      `json:"timeout_ms"`
		Limits           []Setting[limitJSON] `json:"rate_limits"`
		Retry            Setting[bool]        `json:"retry"`
	}{
		c.Enabled, c.Scope, c.Risk, c.SubjectRequired, c.ApprovalRequired, c.Prompt, when, c.AuditSensitive,
		c.Readonly, c.Idempotent, timeout, limits, c.Retry,
	})
	return bytes.TrimSpace(out.Bytes()), err
}

// MarshalJSON gives an object. Times are milliseconds. The names of members are stable.
func (p CallPolicy) MarshalJSON() ([]byte, error) {
	type retries struct {
		Attempts int     `json:"attempts"`
		Ratio    float64 `json:"budget_ratio"`
		Reserve  int     `json:"budget_reserve"`
		First    int64   `json:"backoff_first_ms"`
		Longest  int64   `json:"backoff_longest_ms"`
	}
	type limits struct {
		OnExceed     OnExceed `json:"on_exceed"`
		MaxWait      int64    `json:"max_wait_ms"`
		CountRetries bool     `json:"count_retries"`
		Shared       bool     `json:"shared"`
	}
	type idempotency struct {
		Header  string `json:"header,omitempty"`
		Native  bool   `json:"native"`
		Note    string `json:"note,omitempty"`
		Expires int64  `json:"expires_ms"`
	}
	type breaker struct {
		Failures int   `json:"failures"`
		Cooldown int64 `json:"cooldown_ms"`
	}
	result := struct {
		Retries         retries                  `json:"retries"`
		Limits          limits                   `json:"limits"`
		Idempotency     *idempotency             `json:"idempotency,omitempty"`
		Breaker         *breaker                 `json:"breaker,omitempty"`
		ApprovalExpires int64                    `json:"approval_expires_ms"`
		AuditRequired   bool                     `json:"audit_required"`
		Redact          []string                 `json:"redact,omitempty"`
		Places          map[string]langshaw.Span `json:"places"`
	}{
		Retries: retries{
			p.Retries.Attempts, p.Retries.Ratio, p.Retries.Reserve, p.Retries.First.Milliseconds(), p.Retries.Longest.Milliseconds(),
		},
		Limits:          limits{p.Limits.OnExceed, p.Limits.MaxWait.Milliseconds(), p.Limits.CountRetries, p.Limits.Shared},
		ApprovalExpires: p.ApprovalExpires.Milliseconds(), AuditRequired: p.AuditRequired, Redact: p.Redact, Places: p.Places,
	}
	if i := p.Idempotency; i != nil {
		result.Idempotency = &idempotency{i.Header, i.Native, i.Note, i.Expires.Milliseconds()}
	}
	if b := p.Breaker; b != nil {
		result.Breaker = &breaker{b.Failures, b.Cooldown.Milliseconds()}
	}
	return json.Marshal(result)
}
