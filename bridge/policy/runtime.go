package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/strabo-engine/strabo/bridge/acc"
	"github.com/strabo-engine/strabo/langshaw"
)

// RuntimeError says that a runtime.yaml does not fit the contracts.
type RuntimeError struct {
	// File is what the runtime is called, Diagnostics what is wrong, at places in it.
	File        string
	Diagnostics acc.Diagnostics
}

// Error gives every error, one a line.
func (e *RuntimeError) Error() string {
	text := "policy: the runtime does not fit the contracts"
	for _, d := range e.Diagnostics {
		if d.Severity == langshaw.Error {
			text += fmt.Sprintf("\n%s:%s", e.File, d)
		}
	}
	return text
}

// govern merges the contracts with the runtime, if there is one, and takes what holds for all operations from it.
func (o *Options) govern(contracts *Contracts) (map[*acc.Operation]*acc.Governed, error) {
	if o.Runtime == nil {
		return nil, nil
	}
	if len(o.Local) > 0 || !reflect.ValueOf(o.Default).IsZero() || o.Breaker != (BreakerOptions{}) {
		return nil, errors.New("policy: local policy is said twice: by a runtime, and by options")
	}
	list, found := o.Runtime.Govern(contracts.documents...)
	if found.HasErrors() {
		return nil, &RuntimeError{File: o.RuntimeName, Diagnostics: found}
	}
	_, calls := o.Runtime.Default(acc.Contract{})
	if calls.Breaker != nil {
		o.Breaker = BreakerOptions{Failures: calls.Breaker.Failures, Rest: calls.Breaker.Cooldown}
	}
	governed := make(map[*acc.Operation]*acc.Governed)
	for _, g := range list {
		if _, alone := o.Buckets.(*LocalBuckets); alone && g.Policy.Limits.Shared {
			return nil, fmt.Errorf("policy: %s: limits are to be shared, and there is nothing that processes share", o.RuntimeName)
		}
		governed[g.Operation] = g
	}
	return governed, nil
}

// localOf gives what a runtime wants as options want it.
func localOf(l acc.LocalPolicy, p acc.CallPolicy) Local {
	local := Local{
		LocalPolicy: l, OnExceed: OnExceed(p.Limits.OnExceed), MaxWait: p.Limits.MaxWait, RetriesNotCounted: !p.Limits.CountRetries,
		Attempts: p.Retries.Attempts, BudgetRatio: p.Retries.Ratio, BudgetReserve: p.Retries.Reserve, ApprovalLifetime: p.ApprovalExpires,
	}
	if p.Idempotency != nil {
		local.KeyLifetime = p.Idempotency.Expires
	}
	return local.orDefault()
}

// governed makes what holds for an operation that is governed by a runtime.
func (p *Policy) governed(name string, g *acc.Governed) *Operation {
	local := localOf(g.Local, g.Policy)
	o := &Operation{
		Name: name, Contract: g.Merged, declared: g.Operation, gate: g.Approval, local: local, policy: p,
		budget: newBudget(local.BudgetRatio, local.BudgetReserve), sources: sourcesOf(g.Merged), redact: g.Policy.Redact,
	}
	inFile(o.sources, g.Merged, g.Document, p.options.RuntimeName)
	return o
}

// inFile adds the names of files to where values come from.
func inFile(sources map[string]string, c acc.Contract, document, runtime string) {
	for field, source := range sources {
		for origin, file := range map[acc.Origin]string{acc.Declared: document, acc.Local: runtime} {
			if place, ok := strings.CutPrefix(source, string(origin)+" "); ok {
				sources[field] = fmt.Sprintf("%s %s:%s", origin, file, place)
			}
		}
	}
}

// AuditRequired tells whether the runtime forbids a call to leave unless the audit has it first.
func (p *Policy) AuditRequired() bool {
	if p.options.Runtime == nil {
		return false
	}
	_, calls := p.options.Runtime.Default(acc.Contract{})
	return calls.AuditRequired
}

// Backoff gives the first and the longest wait between the attempts of a request; 0 where nothing is said.
func (p *Policy) Backoff() (first, longest time.Duration) {
	if p.options.Runtime == nil {
		return 0, 0
	}
	_, calls := p.options.Runtime.Default(acc.Contract{})
	return calls.Retries.First, calls.Retries.Longest
}

// redacted stands in the place of what is not written down.
const redacted = "***"

// Shown gives what may be written down of a body, as JSON: without the members that the runtime names, however deep in
// lists they are. What is no JSON is left out altogether where any are named, since nobody can tell what is in it.
func (o *Operation) Shown(body string) string {
	if len(o.redact) == 0 || body == "" {
		return body
	}
	decoder := json.NewDecoder(strings.NewReader(body))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil || decoder.More() {
		return redacted
	}
	for _, path := range o.redact {
		mask(value, strings.Split(path, "."))
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return redacted
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// ShownURL gives what may be written down of a URL: without the parameters, in its path and query, that the runtime
// names. Of an operation whose audit is sensitive it has no values in its query at all.
func (o *Operation) ShownURL(address string) string {
	path, query, _ := strings.Cut(address, "?")
	sensitive := o.Contract.AuditSensitive.Value
	if query != "" && (sensitive || len(o.redact) > 0) {
		pairs := strings.Split(query, "&")
		for i, pair := range pairs {
			name, _, valued := strings.Cut(pair, "=")
			plain, err := url.QueryUnescape(name)
			if valued && (sensitive || err != nil || slices.Contains(o.redact, plain)) {
				pairs[i] = name + "=" + redacted
			}
		}
		query = strings.Join(pairs, "&")
	}
	if o.declared != nil && len(o.redact) > 0 {
		// The path of the service as a whole may stand before it.
		template, segments := strings.Split(o.declared.Reference.Path, "/"), strings.Split(path, "/")
		for i, segment := range template {
			at := len(segments) - len(template) + i
			name, isParameter := strings.CutPrefix(segment, "{")
			if isParameter && at >= 0 && slices.Contains(o.redact, strings.TrimSuffix(name, "}")) {
				segments[at] = redacted
			}
		}
		path = strings.Join(segments, "/")
	}
	if query != "" {
		return path + "?" + query
	}
	return path
}

// mask puts the mark in the place of the member at a path.
func mask(value any, path []string) {
	switch value := value.(type) {
	case []any:
		for _, element := range value {
			mask(element, path)
		}
	case map[string]any:
		member, ok := value[path[0]]
		switch {
		case !ok:
		case len(path) == 1:
			value[path[0]] = redacted
		default:
			mask(member, path[1:])
		}
	}
}
