package acc

import (
	"bytes"
	"encoding/json"
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
