// Package webhook receives what businesses of UCP tell a platform of its orders (UCP, order, events): it verifies who
// says it, whether that business has the order at all, and whether it was said before or is outdated by now.
//
// A webhook is the order as it is, not what has changed, so of two the newer one counts, in whatever order they arrive.
// Since 2026-04-08 it is signed as an HTTP message, in 2026-01-23 by a detached signature, and the public servers of
// 2026-01-11 do not sign at all; what is not signed is taken only where that is configured.
//
// Start reading at [New].
package webhook
