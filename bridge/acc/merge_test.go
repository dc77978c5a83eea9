package acc_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/strabo-engine/strabo/bridge/acc"
)

func optional(t *rapid.T, name string) *bool {
	return rapid.SampledFrom([]*bool{nil, new(false), new(true)}).Draw(t, name)
}

var (
	drawRisk   = rapid.SampledFrom([]acc.RiskLevel{acc.LowRisk, acc.MediumRisk, acc.HighRisk})
	riskRank   = map[acc.RiskLevel]int{acc.LowRisk: 0, acc.MediumRisk: 1, acc.HighRisk: 2}
	dimensions = rapid.SampledFrom([]acc.Dimension{acc.PerOperation, acc.PerAgent, acc.PerSubject, acc.PerTenant})
)

func drawLimit(t *rapid.T, name string) acc.RateLimit {
	return acc.RateLimit{
		Count:  rapid.OneOf(rapid.Int64Range(1, 20), rapid.Int64Range(1, math.MaxInt64)).Draw(t, name+" count"),
		Window: time.Duration(rapid.OneOf(rapid.Int64Range(1, 20), rapid.Int64Range(1, 9_223_372_036)).Draw(t, name+" window")) * time.Second,
	}
}

func drawDeclaration(t *rapid.T) *acc.Declaration {
	d := &acc.Declaration{
		Enabled: rapid.Bool().Draw(t, "enabled"), Scope: "a.b",
		SubjectRequired: optional(t, "subject"), AuditSensitive: optional(t, "sensitive"),
		Approval: acc.ApprovalDeclaration{Required: optional(t, "approval")},
		Execution: acc.ExecutionDeclaration{
			Readonly: optional(t, "readonly"), Idempotent: optional(t, "idempotent"),
			Timeout: time.Duration(rapid.Int64Range(0, 600_000).Draw(t, "timeout")) * time.Millisecond,
		},
	}
	if rapid.Bool().Draw(t, "has risk") {
		d.RiskLevel = drawRisk.Draw(t, "risk")
	}
	if rapid.Bool().Draw(t, "has limit") {
		d.Execution.RateLimit = new(drawLimit(t, "declared"))
	}
	if rapid.Bool().Draw(t, "has condition") {
		d.Approval.When = []acc.Condition{{Param: "amount", Op: acc.Exists}}
	}
	return d
}

// drawLocal draws policies of which many are as tight as the contract, so that merging is reached.
func drawLocal(t *rapid.T, c acc.Contract) acc.LocalPolicy {
	tight := rapid.Bool().Draw(t, "tight")
	l := acc.LocalPolicy{
		Expose: optional(t, "expose"), SubjectRequired: optional(t, "local subject"), ApprovalRequired: optional(t, "local approval"),
		AuditSensitive: optional(t, "local sensitive"), Readonly: optional(t, "local readonly"), Idempotent: optional(t, "local idempotent"),
		Timeout:        time.Duration(rapid.Int64Range(-1, 700_000).Draw(t, "local timeout")) * time.Millisecond,
		DefaultTimeout: time.Duration(rapid.Int64Range(0, 700_000).Draw(t, "default timeout")) * time.Millisecond,
		Dimension:      dimensions.Draw(t, "dimension"), Retry: optional(t, "retry"), Key: rapid.Bool().Draw(t, "key"),
	}
	if rapid.Bool().Draw(t, "has local risk") {
		l.Risk = drawRisk.Draw(t, "local risk")
	}
	for range rapid.IntRange(0, 2).Draw(t, "limits") {
		l.Limits = append(l.Limits, acc.Limit{RateLimit: drawLimit(t, "local"), Dimension: dimensions.Draw(t, "local dimension")})
	}
	if tight {
		l.Expose = new(false)
		l.SubjectRequired, l.ApprovalRequired, l.AuditSensitive = new(true), new(true), new(true)
		l.Readonly, l.Risk = nil, acc.HighRisk
		l.Idempotent = nil
		if !c.Idempotent.Value {
			l.Retry = nil
		}
		l.Timeout = 0
		if c.Timeout.Value > 0 {
			l.Timeout = time.Duration(rapid.Int64Range(1, int64(c.Timeout.Value)).Draw(t, "tight timeout"))
		}
	}
	return l
}

func isTrue(b *bool) bool  { return b != nil && *b }
func isFalse(b *bool) bool { return b != nil && !*b }

// TestMergeIsNeverLooser: whatever is merged, no field of the result is looser than either side says.
func TestMergeIsNeverLooser(t *testing.T) {
	merged, refused := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		declaration := drawDeclaration(t)
		declared := declaration.Contract(rapid.SampledFrom([]string{"GET", "POST", ""}).Draw(t, "method"))
		local := drawLocal(t, declared)
		deadline := rapid.OneOf(rapid.Just(acc.NoDeadline), rapid.Map(rapid.Int64Range(1, 700_000), func(ms int64) time.Duration {
			return time.Duration(ms) * time.Millisecond
		})).Draw(t, "deadline")
		limits := len(declared.Limits)
		result, err := acc.Merge(declared, local, deadline)
		require.Len(t, declared.Limits, limits, "the contract given was changed")
		if err != nil {
			refused++
			require.Zero(t, result)
			return
		}
		merged++

		require.True(t, declared.Enabled.Value || !result.Enabled.Value)
		require.False(t, isFalse(local.Expose) && result.Enabled.Value)
		require.True(t, result.SubjectRequired.Value || !declared.SubjectRequired.Value && !isTrue(local.SubjectRequired))
		require.True(t, result.ApprovalRequired.Value || !declared.ApprovalRequired.Value && !isTrue(local.ApprovalRequired))
		require.Len(t, result.When, len(declared.When)+len(local.When))
		require.True(t, result.AuditSensitive.Value || !declared.AuditSensitive.Value && !isTrue(local.AuditSensitive))
		require.GreaterOrEqual(t, riskRank[result.Risk.Value], riskRank[declared.Risk.Value])
		require.GreaterOrEqual(t, riskRank[result.Risk.Value], riskRank[local.Risk])
		require.False(t, result.Readonly.Value && (!declared.Readonly.Value || isFalse(local.Readonly)))
		require.False(t, result.Idempotent.Value && (!declared.Idempotent.Value || isFalse(local.Idempotent)))
		require.Positive(t, result.Timeout.Value)
		require.LessOrEqual(t, result.Timeout.Value, deadline)
		if declared.Timeout.Value > 0 {
			require.LessOrEqual(t, result.Timeout.Value, declared.Timeout.Value)
		}
		if local.Timeout > 0 {
			require.LessOrEqual(t, result.Timeout.Value, local.Timeout)
		}
		var admitting []acc.RateLimit
		for _, limit := range result.Limits {
			require.True(t, acc.KnownDimension(limit.Value.Dimension))
			admitting = append(admitting, limit.Value.RateLimit)
		}
		for _, limit := range declared.Limits {
			require.Contains(t, admitting, limit.Value.RateLimit)
		}
		for _, limit := range local.Limits {
			require.Contains(t, admitting, limit.RateLimit)
		}
		require.False(t, result.Retry.Value && !(isTrue(local.Retry) && declared.Idempotent.Value && result.Idempotent.Value))
		require.False(t, result.Retry.Value && !result.Readonly.Value && !local.Key)

		// What is merged is a contract: with a policy that wants nothing more it stays as it is.
		again, err := acc.Merge(result, acc.LocalPolicy{Retry: local.Retry, Key: local.Key}, deadline)
		require.NoError(t, err)
		require.Equal(t, values(result), values(again))
	})
	t.Logf("%d merged, %d refused", merged, refused)
	require.Positive(t, merged)
	require.Positive(t, refused)
}

func values(c acc.Contract) []any {
	return []any{
		c.Enabled.Value, c.Risk.Value, c.SubjectRequired.Value, c.ApprovalRequired.Value, c.AuditSensitive.Value,
		c.Readonly.Value, c.Idempotent.Value, c.Timeout.Value, c.Limits, c.When, c.Retry.Value,
	}
}

// TestMergeReportsAll: every field that is looser is reported.
func TestMergeReportsAll(t *testing.T) {
	d := &acc.Declaration{
		RiskLevel: acc.HighRisk, SubjectRequired: new(true), AuditSensitive: new(true), Approval: acc.ApprovalDeclaration{Required: new(true)},
		Execution: acc.ExecutionDeclaration{Timeout: time.Second, RateLimit: &acc.RateLimit{Count: 1, Window: time.Minute}},
	}
	_, err := acc.Merge(d.Contract("GET"), acc.LocalPolicy{
		Expose: new(true), Risk: acc.LowRisk, SubjectRequired: new(false), ApprovalRequired: new(false), AuditSensitive: new(false),
		Readonly: new(true), Idempotent: new(true), Timeout: time.Minute, Retry: new(true),
	}, acc.NoDeadline)
	require.ErrorIs(t, err, acc.ErrLooser)
	require.ErrorIs(t, err, acc.ErrNoDimension)
	for _, field := range []string{
		"enabled", "risk.level", "subject.required", "approval.required", "audit.sensitive", "execution.readonly",
		"execution.idempotent", "execution.timeout_ms", "execution.rate_limit", "retry",
	} {
		require.ErrorContains(t, err, "local policy of "+field+":")
	}
	var first *acc.PolicyError
	require.ErrorAs(t, err, &first)
	require.Equal(t, "enabled", first.Field)
}

func TestWindowsAreWrittenAsRead(t *testing.T) {
	for window, text := range map[time.Duration]string{
		time.Second: "1s", 90 * time.Second: "90s", time.Minute: "1m", 90 * time.Minute: "90m", 24 * time.Hour: "1d", 36 * time.Hour: "36h",
	} {
		require.Equal(t, text, acc.FormatWindow(window))
	}
}
