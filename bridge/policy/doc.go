// Package policy decides about calls: whether one may leave at all, how long it is waited for, how often it may be sent,
// and whether it may be sent again. It knows the contracts of operations (package acc), what the operator wants of them,
// and the state that this needs: limits, retry budgets and circuit breakers. It makes no call itself: a bridge asks it
// before, between and after the attempts of an exchange.
//
// [ReadContracts] reads what is declared, [New] joins it with local policy and refuses whatever is looser, and
// [Policy.Operation] is what holds for one operation: [Operation.Permit] before a request is made, [Operation.Admit]
// before each attempt leaves, [Operation.MayRetry] after one that did not settle it.
//
// The package must not know HTTP beyond status codes, nor any mapping. docs/call-policy.md explains the rules.
package policy
