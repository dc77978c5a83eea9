package acc

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"time"
)

// NoDeadline is the deadline of a call that is part of nothing that has one.
const NoDeadline = time.Duration(math.MaxInt64)

// Errors of [Merge], which a [PolicyError] wraps, but for the last.
var (
	// ErrLooser: the operator wants something looser than it is declared.
	ErrLooser = errors.New("looser than the contract")
	// ErrNoDimension: it is not said per what a limit counts.
	ErrNoDimension = errors.New("the limit has no dimension")
	// ErrInvalidPolicy: a value has no meaning.
	ErrInvalidPolicy = errors.New("not a value of this field")
	// ErrDeadlinePassed: no time is left for the call.
	ErrDeadlinePassed = errors.New("acc: the deadline has passed")
)

// PolicyError says which field of a local policy cannot be used, and why.
type PolicyError struct {
	// Field is the dotted name of the contract's field, or that of the policy where the contract has none.
	Field string
	// Declared and Local are the values that do not go together, as they may be shown.
	Declared, Local string
	// Reason is ErrLooser, ErrNoDimension or ErrInvalidPolicy.
	Reason error
}

// Error says it in one line.
func (e *PolicyError) Error() string {
	text := "acc: local policy of " + e.Field + ": " + e.Reason.Error()
	if e.Declared != "" || e.Local != "" {
		text += fmt.Sprintf(" (declared %s, local %s)", e.Declared, e.Local)
	}
	return text
}

// Unwrap gives the reason.
func (e *PolicyError) Unwrap() error { return e.Reason }

// Merge gives what holds for a call: the contract as it is declared, tightened by what the operator wants and by the
// time that is left until the deadline ([NoDeadline] if there is none).
//
//   - An operation is exposed if both agree.
//   - Subject, approval and keeping things out of the audit are needed if either asks; conditions of both count.
//   - Risk is the higher of the two.
//   - The timeout is the shortest of the three.
//   - Every limit of either must admit a call.
//   - Promises (readonly, idempotent) hold if they are declared and the operator relies on them.
//   - A call may be sent again by itself if that is permitted, the operation is idempotent, and it changes nothing or a
//     repetition is recognised. When that is sensible is for the caller to judge.
//
// What the operator wants looser than it is declared is an error, never silently ignored: errors.Is gives [ErrLooser],
// and errors.As a [*PolicyError]. All errors are reported, joined, and the contract is then not to be used. To find them
// when a policy is loaded, merge with NoDeadline. [ErrDeadlinePassed] depends on the moment only.
func Merge(contract Contract, local LocalPolicy, deadline time.Duration) (Contract, error) {
	m := &merger{Contract: contract, local: local}
	m.When, m.Limits = slices.Clone(contract.When), slices.Clone(contract.Limits)
	m.and("enabled", &m.Enabled, local.Expose)
	m.risk()
	m.or("subject.required", &m.SubjectRequired, local.SubjectRequired)
	m.or("approval.required", &m.ApprovalRequired, local.ApprovalRequired)
	for _, condition := range local.When {
		m.When = append(m.When, Setting[Condition]{Value: condition, Origin: Local})
	}
	m.or("audit.sensitive", &m.AuditSensitive, local.AuditSensitive)
	m.and("execution.readonly", &m.Readonly, local.Readonly)
	m.and("execution.idempotent", &m.Idempotent, local.Idempotent)
	m.timeout()
	m.limits()
	m.retry()
	if deadline < m.Timeout.Value {
		m.Timeout = Setting[time.Duration]{Value: deadline, Origin: Remaining}
	}
	if len(m.errors) > 0 {
		return Contract{}, errors.Join(m.errors...)
	}
	if deadline <= 0 {
		return Contract{}, ErrDeadlinePassed
	}
	return m.Contract, nil
}

// merger merges into a copy of the contract.
type merger struct {
	Contract
	local  LocalPolicy
	errors []error
}

func (m *merger) refuse(field string, reason error, declared, local any) {
	e := &PolicyError{Field: field, Reason: reason}
	if declared != nil || local != nil {
		e.Declared, e.Local = fmt.Sprint(declared), fmt.Sprint(local)
	}
	m.errors = append(m.errors, e)
}

// and merges a value of which true is the looser.
func (m *merger) and(field string, declared *Setting[bool], local *bool) {
	switch {
	case local == nil || *local == declared.Value:
	case *local:
		m.refuse(field, ErrLooser, declared.Value, *local)
	default:
		*declared = Setting[bool]{Value: false, Origin: Local}
	}
}

// or merges a value of which false is the looser.
func (m *merger) or(field string, declared *Setting[bool], local *bool) {
	switch {
	case local == nil || *local == declared.Value:
	case !*local:
		m.refuse(field, ErrLooser, declared.Value, *local)
	default:
		*declared = Setting[bool]{Value: true, Origin: Local}
	}
}

// risk merges the risk. A promise that the operator does not rely on keeps no risk low.
func (m *merger) risk() {
	local := m.local.Risk
	switch {
	case local == "":
	case local.rank() > HighRisk.rank():
		m.refuse("risk.level", ErrInvalidPolicy, m.Risk.Value, local)
	case local.rank() < m.Risk.Value.rank():
		m.refuse("risk.level", ErrLooser, m.Risk.Value, local)
	case local != m.Risk.Value:
		m.Risk = Setting[RiskLevel]{Value: local, Origin: Local}
	}
	withdrawn := m.local.Readonly != nil && !*m.local.Readonly
	if withdrawn && m.Risk.Origin == Inferred {
		m.Risk = Setting[RiskLevel]{Value: MediumRisk, Origin: Local}
	}
}

func (m *merger) timeout() {
	const field = "execution.timeout_ms"
	local, declared := m.local.Timeout, m.Timeout.Value
	switch {
	case local < 0 || m.local.DefaultTimeout < 0:
		m.refuse(field, ErrInvalidPolicy, declared, min(local, m.local.DefaultTimeout))
	case local > 0 && declared > 0 && local > declared:
		m.refuse(field, ErrLooser, declared, local)
	case local > 0 && local != declared:
		m.Timeout = Setting[time.Duration]{Value: local, Origin: Local}
	case declared == 0 && m.local.DefaultTimeout > 0:
		m.Timeout = Setting[time.Duration]{Value: m.local.DefaultTimeout, Origin: Local}
	case declared == 0:
		m.Timeout = Setting[time.Duration]{Value: DefaultTimeout, Origin: Default}
	}
}

func (m *merger) limits() {
	const field = "execution.rate_limit"
	for i := range m.Limits {
		limit := &m.Limits[i]
		if limit.Value.Dimension != "" {
			continue
		}
		if !KnownDimension(m.local.Dimension) {
			m.refuse(field, ErrNoDimension, nil, nil)
			continue
		}
		limit.Value.Dimension = m.local.Dimension
	}
	declared := len(m.Limits)
	for _, local := range m.local.Limits {
		if local.Count < 1 || local.Window < time.Second || local.Window%time.Second != 0 || !KnownDimension(local.Dimension) {
			m.refuse(field, ErrInvalidPolicy, "", local)
			continue
		}
		for _, limit := range m.Limits[:declared] {
			if local.Dimension == limit.Value.Dimension && local.looserThan(limit.Value.RateLimit) {
				m.refuse(field, ErrLooser, limit.Value, local)
			}
		}
		m.Limits = append(m.Limits, Setting[Limit]{Value: local, Origin: Local})
	}
}

// looserThan tells whether a limit admits all that the other admits, and more: it has at least its rate and at least its
// count, and is not the same. Of two limits one of which has the higher rate and the other the higher count, neither is.
func (l RateLimit) looserThan(other RateLimit) bool {
	rate := l.compareRate(other)
	return rate >= 0 && l.Count >= other.Count && (rate > 0 || l.Count > other.Count)
}

// compareRate compares the calls per time of two limits, without overflow.
func (l RateLimit) compareRate(other RateLimit) int {
	high, low := bits.Mul64(uint64(l.Count), uint64(other.Window))
	otherHigh, otherLow := bits.Mul64(uint64(other.Count), uint64(l.Window))
	switch {
	case high != otherHigh:
		if high < otherHigh {
			return -1
		}
		return 1
	case low < otherLow:
		return -1
	case low > otherLow:
		return 1
	}
	return 0
}

// String gives a limit as count/window and the dimension.
func (l Limit) String() string {
	text := l.RateLimit.String()
	if l.Dimension != "" {
		text += " per " + string(l.Dimension)
	}
	return text
}

// String gives a limit as a contract writes it, such as 30/1m.
func (l RateLimit) String() string { return fmt.Sprintf("%d/%s", l.Count, FormatWindow(l.Window)) }

// FormatWindow gives a whole number of seconds as a contract writes it, in the largest unit that fits.
func FormatWindow(window time.Duration) string {
	for _, unit := range []byte{'d', 'h', 'm'} {
		if window > 0 && window%windowUnits[unit] == 0 {
			return fmt.Sprintf("%d%c", window/windowUnits[unit], unit)
		}
	}
	return fmt.Sprintf("%ds", window/time.Second)
}

// retry decides whether calls may be sent again, after the promises are merged.
func (m *merger) retry() {
	wanted := m.local.Retry
	if wanted == nil || !*wanted {
		m.Retry = Setting[bool]{Origin: Default}
		if wanted != nil {
			m.Retry.Origin = Local
		}
		return
	}
	if !m.Idempotent.Value {
		m.refuse("retry", ErrLooser, "not idempotent", "retry")
		return
	}
	m.Retry = Setting[bool]{Value: m.Readonly.Value || m.local.Key, Origin: Local}
}
