package wire

import (
	"fmt"
	"slices"
)

// Release is a release of UCP by its date, such as "2026-04-08".
type Release string

// The releases of UCP that have been cut. The draft after [April2026] is read as that.
const (
	January11 Release = "2026-01-11"
	January23 Release = "2026-01-23"
	April2026 Release = "2026-04-08"
)

// Newest is the release of the model.
const Newest = April2026

// Releases gives the releases that can be spoken, newest first.
func Releases() []Release { return []Release{April2026, January23, January11} }

// Known tells whether the release can be spoken.
func (r Release) Known() bool { return slices.Contains(Releases(), r) }

// before tells whether the release is older than another; dates in this form are ordered as text.
func (r Release) before(other Release) bool { return r < other }

// UnknownReleaseError says that a release cannot be spoken.
type UnknownReleaseError struct{ Release string }

// Error names it.
func (e *UnknownReleaseError) Error() string {
	return fmt.Sprintf("ucp: release %q is none of %v", e.Release, Releases())
}

// Operation is an operation of the shopping service (UCP, checkout and order capabilities).
type Operation string

// The operations that are translated.
const (
	CreateCheckout   Operation = "create_checkout"
	GetCheckout      Operation = "get_checkout"
	UpdateCheckout   Operation = "update_checkout"
	CompleteCheckout Operation = "complete_checkout"
	CancelCheckout   Operation = "cancel_checkout"
	GetOrder         Operation = "get_order"
)

// Exchange is what a message belongs to: what a release wants in a message though the model has it elsewhere.
type Exchange struct {
	Operation Operation
	// Checkout is the id of the checkout, which requests repeat before 2026-04-08; empty for [CreateCheckout].
	Checkout string
	// Currency is the currency of the checkout, an ISO 4217 code, which requests carry in 2026-01-11, where context.currency
	// does not say it, and orders do not carry before 2026-04-08.
	Currency string
	// Draft tells that the business speaks the draft after 2026-04-08, which has other consents and destinations in
	// requests. Answers of it are understood in any case.
	Draft bool
}

// Object is a JSON object as [Decode] gives it: numbers are [encoding/json.Number].
type Object = map[string]any
