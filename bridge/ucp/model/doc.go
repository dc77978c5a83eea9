// Package model is what shops and bridges think in when they speak of UCP: checkouts, orders, and how an enactment of
// ucp-incremental stands. Its JSON is that of UCP 2026-04-08; what another release looks like is said by the wire forms
// of package ucp alone. It is pure: no I/O, no clock. Start reading at [Standing] and [Wish].
package model
