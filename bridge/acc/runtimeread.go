package acc

import (
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/strabo-engine/strabo/langshaw"
)

// Codes of errors in a runtime.yaml: nothing in it is used.
const (
	// CodeInvalidRuntime: a field does not exist, or its value has no meaning.
	CodeInvalidRuntime langshaw.Code = "invalid-runtime"
	// CodeLooserThanDeclared: the operator wants something looser than the contract.
	CodeLooserThanDeclared langshaw.Code = "looser-than-declared"
	// CodeUnknownOperation: there is no operation of this name with a contract that can be used.
	CodeUnknownOperation langshaw.Code = "unknown-operation"
	// CodeLimitUndetermined: the contract has a limit, and it is not said per what it counts.
	CodeLimitUndetermined langshaw.Code = "limit-undetermined"
)

// Codes of warnings about a runtime.yaml.
const (
	// CodeRetryWithoutKey: retries are wanted, but nothing says how a repetition is recognised, so that there are none.
	CodeRetryWithoutKey langshaw.Code = "retry-without-key"
)

const (
	mostAttempts   = 100
	mostFailures   = 1_000_000
	mostReserve    = 1_000_000
	longestWait    = 10 * time.Minute
	longestExpiry  = 366 * 24 * time.Hour
	longestNote    = 300
	mostRedactions = 1000
	longestPointer = 300
)

// headerName is what a header may be called (RFC 9110, token).
var headerName = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$")

// runtimeReader reads a runtime.yaml with the means that read contracts.
type runtimeReader struct {
	*declarationReader
	entry *runtimeEntry
}

// ParseRuntime reads a runtime.yaml, as YAML or JSON. Unknown fields are errors, since a misspelt field protects nobody.
// With any error the runtime is nil. Whether it fits contracts, [Runtime.Govern] tells. Like [Parse] it does no I/O,
// does not panic, and bounds what it does by [MaximumText].
func ParseRuntime(text []byte) (*Runtime, Diagnostics) {
	r := &report{}
	root := readText(text, r)
	if root == nil {
		return nil, r.list
	}
	read := &runtimeReader{declarationReader: &declarationReader{report: r, declaration: &Declaration{places: map[string]langshaw.Span{}}, code: CodeInvalidRuntime}}
	runtime := read.document(root)
	if sorted(r.list).HasErrors() {
		return nil, r.list
	}
	return runtime, r.list
}

func (r *runtimeReader) document(n *node) *Runtime {
	runtime := &Runtime{defaults: newEntry("", langshaw.Span{})}
	version := false
	r.take(n, "", map[string]func(*node){
		"version": func(n *node) {
			version = true
			if value, _, _ := r.integer(n, "version"); value != RuntimeVersion && n.kind == numberNode {
				r.invalid(n, "version %s is not supported: %d is", describe(n), RuntimeVersion)
			}
		},
		"defaults": func(n *node) { r.read(&runtime.defaults, n) },
		"operations": func(n *node) {
			if n.kind != objectNode {
				r.invalid(n, "operations must be an object of names, and is %s", describe(n))
				return
			}
			for _, m := range n.members {
				entry := newEntry(m.name, r.places.span(m.start, m.end))
				r.read(&entry, m.value)
				runtime.operations = append(runtime.operations, entry)
			}
		},
	})
	if n.kind == objectNode && !version {
		r.invalid(n, "there is no version: write version: %d", RuntimeVersion)
	}
	return runtime
}

func newEntry(name string, span langshaw.Span) runtimeEntry {
	e := runtimeEntry{name: name, span: span}
	e.policy.Places = make(map[string]langshaw.Span)
	return e
}

// take reads an object with a fixed set of members: each is handed to its function, every other is an error. Where a
// member stands is noted under its dotted name.
func (r *runtimeReader) take(n *node, path string, by map[string]func(*node)) {
	if n.kind != objectNode {
		what := path
		if what == "" {
			what = "what is said"
		}
		r.invalid(n, "%s must be an object, and is %s", what, describe(n))
		return
	}
	for _, m := range n.members {
		name := m.name
		if path != "" {
			name = path + "." + m.name
		}
		read, ok := by[m.name]
		if !ok {
			r.failed = true
			known := slices.Sorted(maps.Keys(by))
			r.add(Diagnostic{
				Code: CodeInvalidRuntime, Severity: langshaw.Error, Span: r.places.span(m.start, m.end),
				Suggestion: langshaw.Nearest(m.name, known),
				Message:    "there is no field " + shorten(name) + ": there are " + strings.Join(known, ", "),
			})
			continue
		}
		if r.entry != nil {
			r.entry.policy.Places[name] = r.places.span(m.start, m.end)
		}
		read(m.value)
	}
}

// read reads what is said of one operation, or of all.
func (r *runtimeReader) read(e *runtimeEntry, n *node) {
	r.entry = e
	defer func() { r.entry = nil }()
	local := &e.local
	r.take(n, "", map[string]func(*node){
		"enabled": func(n *node) { local.Expose = r.tightening(n, "enabled", false) },
		"risk": func(n *node) {
			r.take(n, "risk", map[string]func(*node){"level": func(n *node) {
				local.Risk = r.riskLevel(n)
				r.notByDefault(n, "risk.level")
			}})
		},
		"subject": func(n *node) {
			r.take(n, "subject", map[string]func(*node){
				"required": func(n *node) { local.SubjectRequired = r.tightening(n, "subject.required", true) },
			})
		},
		"approval": r.approvals,
		"audit":    r.audit,
		"readonly": func(n *node) { local.Readonly = r.tightening(n, "readonly", false) },
		"idempotent": func(n *node) {
			local.Idempotent = r.tightening(n, "idempotent", false)
		},
		"timeout":     func(n *node) { local.Timeout = r.duration(n, "timeout", time.Millisecond, MaximumTimeout) },
		"retries":     r.retries,
		"rate_limit":  r.limits,
		"idempotency": r.idempotency,
		"breaker":     r.breaker,
	})
}

// tightening reads a boolean. By default only the value that tightens has a meaning, since the other would be looser
// than some contract.
func (r *runtimeReader) tightening(n *node, path string, tight bool) *bool {
	value := r.boolean(n, path)
	if value != nil && *value != tight && r.entry.name == "" {
		r.invalid(n, "among the defaults %s can only be %t: say anything else of an operation", path, tight)
	}
	return value
}

func (r *runtimeReader) notByDefault(n *node, path string) {
	if r.entry.name == "" {
		r.invalid(n, "%s has no meaning among the defaults: say it of an operation", path)
	}
}

// onlyByDefault refuses what is said of one operation and holds for all.
func (r *runtimeReader) onlyByDefault(n *node, path string) {
	if r.entry.name != "" {
		r.invalid(n, "%s holds for all operations: say it among the defaults", path)
	}
}

func (r *runtimeReader) approvals(n *node) {
	e := r.entry
	r.take(n, "approval", map[string]func(*node){
		"required": func(n *node) { e.local.ApprovalRequired = r.tightening(n, "approval.required", true) },
		"expires": func(n *node) {
			e.policy.ApprovalExpires = r.duration(n, "approval.expires", time.Second, longestExpiry)
		},
		"when": func(n *node) {
			r.notByDefault(n, "approval.when")
			for i, item := range r.list(n, "approval.when") {
				if condition, ok := r.condition(item, i); ok {
					e.local.When = append(e.local.When, condition)
				}
			}
			for _, unknown := range r.declaration.Unknown {
				r.failed = true
				r.add(Diagnostic{
					Code: CodeInvalidRuntime, Severity: langshaw.Error, Span: unknown.Span,
					Message: "there is no field " + shorten(unknown.Path),
				})
			}
			r.declaration.Unknown = nil
		},
	})
}

func (r *runtimeReader) audit(n *node) {
	e := r.entry
	r.take(n, "audit", map[string]func(*node){
		"sensitive": func(n *node) { e.local.AuditSensitive = r.tightening(n, "audit.sensitive", true) },
		"required": func(n *node) {
			r.onlyByDefault(n, "audit.required")
			if value := r.boolean(n, "audit.required"); value != nil {
				e.policy.AuditRequired = *value
			}
		},
		"redact": func(n *node) {
			list := r.list(n, "audit.redact")
			if len(list) > mostRedactions {
				r.invalid(n, "audit.redact may have %d paths", mostRedactions)
				return
			}
			for _, item := range list {
				path := r.text(item, "audit.redact", 1, longestPointer)
				if slices.Contains(strings.Split(path, "."), "") {
					r.invalid(item, "audit.redact: %s is no dotted path of names", describe(item))
				}
				e.policy.Redact = append(e.policy.Redact, path)
			}
		},
	})
}

func (r *runtimeReader) retries(n *node) {
	retries := &r.entry.policy.Retries
	r.take(n, "retries", map[string]func(*node){
		"attempts": func(n *node) { retries.Attempts = r.number(n, "retries.attempts", mostAttempts) },
		"budget": func(n *node) {
			r.take(n, "retries.budget", map[string]func(*node){
				"ratio":   func(n *node) { retries.Ratio = r.ratio(n, "retries.budget.ratio") },
				"reserve": func(n *node) { retries.Reserve = r.number(n, "retries.budget.reserve", mostReserve) },
			})
		},
		"backoff": func(n *node) {
			r.onlyByDefault(n, "retries.backoff")
			r.take(n, "retries.backoff", map[string]func(*node){
				"first": func(n *node) { retries.First = r.duration(n, "retries.backoff.first", time.Millisecond, longestWait) },
				"longest": func(n *node) {
					retries.Longest = r.duration(n, "retries.backoff.longest", time.Millisecond, longestWait)
				},
			})
		},
	})
}

// ratio reads a number from 0 to 1.
func (r *runtimeReader) ratio(n *node, path string) float64 {
	value, err := strconv.ParseFloat(n.text, 64)
	if n.kind != numberNode || err != nil || value < 0 || value > 1 {
		r.invalid(n, "%s must be a number from 0 to 1, and is %s", path, describe(n))
		return 0
	}
	return value
}

func (r *runtimeReader) limits(n *node) {
	const path = "rate_limit"
	e := r.entry
	limits := &e.policy.Limits
	r.take(n, path, map[string]func(*node){
		"count":  func(n *node) { e.limit.Count = int64(r.number(n, path+".count", math.MaxInt32)) },
		"window": func(n *node) { e.limit.Window = r.window(n, path+".window") },
		"dimension": func(n *node) {
			e.local.Dimension = Dimension(n.text)
			if n.kind != textNode || !KnownDimension(e.local.Dimension) {
				r.invalid(n, "%s.dimension must be operation, agent, subject or tenant, and is %s", path, describe(n))
			}
		},
		"on_exceed": func(n *node) {
			limits.OnExceed = OnExceed(n.text)
			if n.kind != textNode || limits.OnExceed != RejectExceeding && limits.OnExceed != QueueExceeding {
				r.invalid(n, "%s.on_exceed must be reject or queue, and is %s", path, describe(n))
			}
		},
		"max_wait": func(n *node) { limits.MaxWait = r.duration(n, path+".max_wait", time.Millisecond, longestWait) },
		"count_retries": func(n *node) {
			if value := r.boolean(n, path+".count_retries"); value != nil {
				limits.CountRetries = *value
			}
		},
		"shared": func(n *node) {
			r.onlyByDefault(n, path+".shared")
			if value := r.boolean(n, path+".shared"); value != nil {
				limits.Shared = *value
			}
		},
	})
	if n.kind == objectNode && (n.member("count") == nil) != (n.member("window") == nil) {
		r.invalid(n, "%s needs both count and window, or neither", path)
	}
}

func (r *runtimeReader) idempotency(n *node) {
	if n.kind == nullNode && r.entry.name != "" {
		return // It takes back what is said by default.
	}
	i := &Idempotency{}
	r.entry.policy.Idempotency = i
	r.take(n, "idempotency", map[string]func(*node){
		"header": func(n *node) {
			if i.Header = r.text(n, "idempotency.header", 1, longestPointer); i.Header != "" && !headerName.MatchString(i.Header) {
				r.invalid(n, "idempotency.header must be the name of a header, and is %s", describe(n))
			}
		},
		"native": func(n *node) {
			if value := r.boolean(n, "idempotency.native"); value != nil {
				i.Native = *value
			}
		},
		"note":    func(n *node) { i.Note = r.text(n, "idempotency.note", 1, longestNote) },
		"expires": func(n *node) { i.Expires = r.duration(n, "idempotency.expires", time.Second, longestExpiry) },
	})
	switch {
	case n.kind != objectNode:
	case i.Native == (i.Header != ""):
		r.invalid(n, "idempotency needs either a header that carries the key, or native: true")
	case i.Native && i.Note == "":
		r.invalid(n, "idempotency that is native needs a note that says why no key is needed")
	}
}

func (r *runtimeReader) breaker(n *node) {
	r.onlyByDefault(n, "breaker")
	b := &Breaker{Failures: DefaultFailures, Cooldown: DefaultCooldown}
	r.entry.policy.Breaker = b
	r.take(n, "breaker", map[string]func(*node){
		"failures": func(n *node) { b.Failures = r.number(n, "breaker.failures", mostFailures) },
		"cooldown": func(n *node) { b.Cooldown = r.duration(n, "breaker.cooldown", time.Millisecond, longestWait) },
	})
}

// number reads an integer from 1.
func (r *runtimeReader) number(n *node, path string, most int) int {
	value, isInteger, fits := r.integer(n, path)
	if isInteger && (!fits || value < 1 || value > int64(most)) {
		r.invalid(n, "%s must be 1 to %d, and is %s", path, most, describe(n))
		return 1
	}
	return int(value)
}

// duration reads a length of time such as 1.5s, 200ms or 1h30m.
func (r *runtimeReader) duration(n *node, path string, least, most time.Duration) time.Duration {
	if n.kind != textNode {
		r.invalid(n, "%s must be a time with its unit, such as 200ms, 30s or 1h30m, and is %s", path, describe(n))
		return least
	}
	value, err := time.ParseDuration(n.text)
	switch {
	case err != nil:
		r.invalid(n, "%s must be a time with its unit, such as 200ms, 30s or 1h30m, and is %s", path, describe(n))
		return least
	case value < least || value > most:
		r.invalid(n, "%s must be %s to %s, and is %s", path, least, most, describe(n))
		return least
	}
	return value
}
