// Package ucp speaks UCP, the Universal Commerce Protocol, so that parties that know nothing of the engine take part in its
// protocols: releases 2026-01-11, 2026-01-23 and 2026-04-08, over REST and MCP.
//
// Outbound, a remote shop plays the Business: [Discover] reads what a shop says of itself and [NewOutbound] makes a bridge
// to it, by the mappings that ship for the protocols simple-ucp and ucp-incremental. What is left open is decided by
// [Choices]. Both public sample shops differ from the spec and from each other, so everything is read tolerantly, and
// nothing is believed that is not said. docs/examples/shopper is a whole platform.
//
// Inbound, a remote platform plays the Platform: [NewInbound] makes an HTTP handler that speaks to it as a shop, in
// 2026-01-11, and [Releases] puts the other releases in front of it. docs/examples/teashop is a whole shop.
//
// # What a platform binds
//
// Values are those of UCP 2026-04-08, whatever release the shop speaks. In Create:
//
//	line_items   [{"item": {"id": "tea"}, "quantity": 2}]
//	buyer        {"email": "ada@example.com", "full_name": "Ada"}, or null
//	fulfillment  in simple-ucp a [Wish], which the bridge brings about in as many requests as the shop needs; in
//	             ucp-incremental the fulfillment object of the request, since there each request is an action; null for
//	             nothing to be delivered
//
// The payment of simple-ucp's Complete is one payment instrument:
//
//	handler_id   the payment handler, one of [Business.Handlers]
//	token        what pays, which becomes {"type": "token", "token": ...}; or credential, for what else the handler takes
//	brand        such as "Visa", and
//	last_digits  such as "4242", both required of the type card
//	type         "card" if it is left out
//	id           "instrument" if it is left out
//
// Other members are passed on. The credential of ucp-incremental's Complete is {"payment": {"instruments": [...]}} with
// instruments of the same form. What lacks is found out before anything is sent, and answered by Declined.
//
// The package must not know of any one executor. Start reading at [NewOutbound] or [NewInbound].
package ucp
