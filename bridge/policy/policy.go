package policy

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/strabo-engine/strabo/bridge/acc"
)

// OnExceed says what becomes of a call that a limit does not admit at once.
type OnExceed string

// What becomes of a call over its limit.
const (
	// Reject: it does not leave.
	Reject OnExceed = "reject"
	// Queue: it waits for its turn, [Local.MaxWait] at most.
	Queue OnExceed = "queue"
)

// Defaults of [Local].
const (
	// DefaultBudgetRatio is how many retries each call earns.
	DefaultBudgetRatio = 0.2
	// DefaultBudgetReserve is how many retries an operation has at first, and saves up to.
	DefaultBudgetReserve = 10
	// DefaultKeyLifetime is how long a remote party remembers an idempotency key: UCP asks for 24 hours at least.
	DefaultKeyLifetime = 24 * time.Hour
	// DefaultApprovalLifetime is how long a question waits for somebody to agree.
	DefaultApprovalLifetime = 24 * time.Hour
	// longestWait bounds MaxWait: who waits longer is better refused.
	longestWait = 10 * time.Minute
)

// Local is what the operator wants of one operation. Its zero value leaves everything as it is declared.
type Local struct {
	acc.LocalPolicy
	// OnExceed is Reject if it is empty. MaxWait bounds the time in a queue, at most ten minutes; a queue needs it.
	OnExceed OnExceed
	MaxWait  time.Duration
	// RetriesNotCounted keeps what is sent again out of the limits.
	RetriesNotCounted bool
	// Attempts is how often the same request may be sent at most, the first time included; 0 leaves that to the bridge.
	Attempts int
	// BudgetRatio is how many retries each first call earns, BudgetReserve how many may be saved; 0 for the defaults.
	BudgetRatio   float64
	BudgetReserve int
	// KeyLifetime is how long the remote party remembers an idempotency key; after that nothing is sent again by itself.
	KeyLifetime time.Duration
	// ApprovalLifetime is how long somebody may take to agree.
	ApprovalLifetime time.Duration
}

func (l Local) orDefault() Local {
	if l.OnExceed == "" {
		l.OnExceed = Reject
	}
	if l.BudgetRatio == 0 {
		l.BudgetRatio = DefaultBudgetRatio
	}
	if l.BudgetReserve == 0 {
		l.BudgetReserve = DefaultBudgetReserve
	}
	if l.KeyLifetime == 0 {
		l.KeyLifetime = DefaultKeyLifetime
	}
	if l.ApprovalLifetime == 0 {
		l.ApprovalLifetime = DefaultApprovalLifetime
	}
	return l
}

func (l Local) check() error {
	switch {
	case l.OnExceed != Reject && l.OnExceed != Queue:
		return fmt.Errorf("%w: on exceed %q: reject or queue is needed", acc.ErrInvalidPolicy, l.OnExceed)
	case l.OnExceed == Queue && (l.MaxWait <= 0 || l.MaxWait > longestWait):
		return fmt.Errorf("%w: a queue needs a longest wait, up to %s", acc.ErrInvalidPolicy, longestWait)
	case l.Attempts < 0, l.BudgetRatio < 0, l.BudgetRatio > 1, l.BudgetReserve < 0, l.KeyLifetime < 0, l.ApprovalLifetime < 0:
		return fmt.Errorf("%w: attempts, budget and lifetimes must not be negative, and no call earns more than one retry", acc.ErrInvalidPolicy)
	}
	return nil
}

// Options configure a [Policy]. Every field may be left out.
type Options struct {
	// Local is what the operator wants, by operation. A name that is not declared is an error.
	Local map[string]Local
	// Default holds for operations that Local does not name.
	Default Local
	// Runtime is a runtime.yaml, called RuntimeName in errors, in place of Local, Default and Breaker.
	Runtime     *acc.Runtime
	RuntimeName string
	// Buckets count the calls of limits; by default in this process alone.
	Buckets Buckets
	// Breaker says when a target is left alone.
	Breaker BreakerOptions
}

// Policy holds what is declared of operations, tightened by what the operator wants, and the state of their limits,
// budgets and breakers. Bridges that call the same operations in one process should share one. It is safe for
// concurrent use.
type Policy struct {
	contracts *Contracts
	options   Options
	breakers  *breakers

	mu         sync.Mutex
	operations map[string]*Operation
}

// New makes a policy. What the operator wants looser than it is declared, a limit without a dimension, and a condition
// about what is no input are errors, all of them reported at once: see [acc.Merge]. Contracts may be nil, if nothing is
// declared: then [Policy.Undeclared] is all there is.
func New(contracts *Contracts, options Options) (*Policy, error) {
	if contracts == nil {
		contracts = &Contracts{}
	}
	if options.Buckets == nil {
		options.Buckets = NewLocalBuckets(0)
	}
	governed, err := options.govern(contracts)
	if err != nil {
		return nil, err
	}
	p := &Policy{
		contracts: contracts, options: options, breakers: newBreakers(options.Breaker), operations: make(map[string]*Operation),
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(options.Local)) {
		if _, err := contracts.find(name); err != nil {
			errs = append(errs, fmt.Errorf("local policy: %w", err))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(contracts.operations)) {
		if g := governed[contracts.operations[name]]; g != nil {
			p.operations[name] = p.governed(name, g)
			continue
		}
		operation, err := p.operation(name, contracts.operations[name])
		if err != nil {
			errs = append(errs, fmt.Errorf("policy: operation %s: %w", name, err))
			continue
		}
		p.operations[name] = operation
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return p, nil
}

// Governs tells whether anything is declared, so that what is not declared must not be called.
func (p *Policy) Governs() bool { return len(p.contracts.operations)+len(p.contracts.skipped) > 0 }

// Operation gives what holds for a declared operation; the error is [ErrNoContract].
func (p *Policy) Operation(name string) (*Operation, error) {
	declared, err := p.contracts.find(name)
	if err != nil {
		return nil, err
	}
	return p.operations[nameOf(declared.Reference)], nil
}

// Undeclared gives what holds where nothing is declared: the conservative fallback. The operation is of medium risk, it
// may change something whatever its method, and it is idempotent only if whoever wrote the mapping says so. The same
// name gives the same operation.
func (p *Policy) Undeclared(name string, idempotent bool) (*Operation, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := fmt.Sprintf("%s (undeclared, idempotent %t)", name, idempotent)
	if o, ok := p.operations[key]; ok {
		return o, nil
	}
	unset := acc.Setting[bool]{Origin: acc.Default}
	contract := acc.Contract{
		Enabled:  acc.Setting[bool]{Value: true, Origin: acc.Default},
		Scope:    acc.Setting[string]{Value: name, Origin: acc.Default},
		Risk:     acc.Setting[acc.RiskLevel]{Value: acc.MediumRisk, Origin: acc.Default},
		Readonly: unset, SubjectRequired: unset, ApprovalRequired: unset, AuditSensitive: unset,
		Idempotent: acc.Setting[bool]{Value: idempotent, Origin: acc.Default},
		Timeout:    acc.Setting[time.Duration]{Origin: acc.Default}, Retry: unset,
	}
	local, redact := p.options.Default, []string(nil)
	if p.options.Runtime != nil {
		wanted, calls := p.options.Runtime.Default(contract)
		local, redact = localOf(wanted, calls), calls.Redact
	}
	o, err := p.merged(name, contract, local)
	if err != nil {
		return nil, fmt.Errorf("policy: %s: %w", name, err)
	}
	if len(o.Contract.When) > 0 {
		return nil, fmt.Errorf("policy: %s: approval.when: no inputs are declared that a condition could be about", name)
	}
	o.redact = redact
	p.operations[key] = o
	return o, nil
}

// operation makes what holds for a declared operation.
func (p *Policy) operation(name string, declared *acc.Operation) (*Operation, error) {
	local, own := p.options.Local[name]
	if !own {
		local = p.options.Default
	}
	o, err := p.merged(name, declared.Contract(), local)
	if err != nil {
		return nil, err
	}
	o.declared = declared
	conditions := make([]acc.Condition, len(o.Contract.When))
	for i, condition := range o.Contract.When {
		conditions[i] = condition.Value
	}
	gate, diagnostics := declared.Input.Gate(o.Contract.ApprovalRequired.Value, conditions)
	if diagnostics.HasErrors() {
		return nil, fmt.Errorf("approval.when: %w", diagnostics)
	}
	o.gate = gate
	return o, nil
}

// merged joins a contract with local policy. Sending again needs the word of the mapping besides, so that here it is
// permitted wherever it may be: a readonly operation needs no key, and the key of another is for the bridge to see to.
func (p *Policy) merged(name string, contract acc.Contract, local Local) (*Operation, error) {
	local = local.orDefault()
	if err := local.check(); err != nil {
		return nil, err
	}
	if local.Retry == nil {
		allowed := contract.Idempotent.Value && (local.Idempotent == nil || *local.Idempotent)
		local.Retry = &allowed
	}
	local.Key = true
	effective, err := acc.Merge(contract, local.LocalPolicy, acc.NoDeadline)
	if err != nil {
		return nil, err
	}
	return &Operation{
		Name: name, Contract: effective, local: local, policy: p, sources: sourcesOf(effective),
		budget: newBudget(local.BudgetRatio, local.BudgetReserve),
	}, nil
}
