package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/user"

	"github.com/strabo-engine/strabo/bridge/acc"
	"github.com/strabo-engine/strabo/bridge/approval"
	"github.com/strabo-engine/strabo/bridge/audit"
	"github.com/strabo-engine/strabo/bridge/policy"
	"github.com/strabo-engine/strabo/bridge/ucp"
)

// buyPolicy is under what a purchase is made, beside the contracts.
type buyPolicy struct {
	policy    *policy.Policy // nil for the contracts as they are
	approvals policy.Approver
	audit     audit.Sink
	hasher    *audit.Hasher
}

// policy opens what the flags name. Call done when the purchase is over.
func (c *buyCommand) policy(s *streams) (p buyPolicy, done func(), err error) {
	var open []func() error
	finish := func() {
		for _, end := range open {
			if err := end(); err != nil {
				fmt.Fprintf(s.err, "strabo: %v\n", err)
			}
		}
	}
	defer func() {
		if err != nil {
			finish()
		}
	}()
	if c.Policy != "" {
		if p.policy, err = c.runtime(); err != nil {
			return p, nil, err
		}
		if p.policy.AuditRequired() && c.Audit == "" {
			return p, nil, fmt.Errorf("--policy %s requires an audit: --audit is needed", c.Policy)
		}
	}
	if kept := cmp.Or(c.Audit, c.Ask); kept != "" {
		if p.hasher, err = audit.LoadHasher(kept + ".key"); err != nil {
			return p, nil, fmt.Errorf("--audit, --ask: %w", err)
		}
	}
	p.audit = audit.SinkFunc(func(context.Context, audit.Record) error { return nil })
	if c.Audit != "" {
		file, err := audit.OpenFile(c.Audit, audit.FileOptions{})
		if err != nil {
			return p, nil, fmt.Errorf("--audit: %w", err)
		}
		open = append(open, file.Close)
		p.audit = audit.Require(file)
	}
	p.approvals = policy.StandingGrant{By: c.subject(), Reason: "the command strabo buy" + c.bound()}
	if c.Ask != "" {
		store, err := approval.OpenFileStore(c.Ask, approval.FileOptions{})
		if err != nil {
			return p, nil, fmt.Errorf("--ask: %w", err)
		}
		open = append(open, store.Close)
		p.approvals = store
		p.audit = audit.All(p.audit, audit.SinkFunc(func(_ context.Context, r audit.Record) error {
			if r.Kind == audit.ApprovalRequested {
				fmt.Fprintf(s.err, "strabo: waiting until somebody agrees to pay: strabo approvals ls --dir %s\n", c.Ask)
			}
			return nil
		}))
	}
	return p, finish, nil
}

// runtime gives the contracts of a UCP shop, tightened by a runtime.yaml.
func (c *buyCommand) runtime() (*policy.Policy, error) {
	text, err := os.ReadFile(c.Policy)
	if err != nil {
		return nil, fmt.Errorf("--policy: %w", err)
	}
	runtime, found := acc.ParseRuntime(text)
	if found.HasErrors() {
		return nil, &policy.RuntimeError{File: c.Policy, Diagnostics: found}
	}
	contracts, err := ucp.Contracts()
	if err != nil {
		return nil, err
	}
	return policy.New(contracts, policy.Options{Runtime: runtime, RuntimeName: c.Policy})
}

// subject is for whom is bought: whoever runs the command.
func (*buyCommand) subject() string {
	if who, err := user.Current(); err == nil && who.Username != "" {
		return "local:" + who.Username
	}
	return fmt.Sprintf("local:%d", os.Getuid())
}

// bound says up to which total the command agrees to pay.
func (c *buyCommand) bound() string {
	if c.Max == nil {
		return ""
	}
	return fmt.Sprintf(" --max %d", *c.Max)
}
