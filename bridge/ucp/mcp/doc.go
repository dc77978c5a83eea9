// Package mcp carries UCP's checkout and order operations over MCP, the Model Context Protocol (UCP 2026-01-23 and
// 2026-04-08, checkout MCP binding), and over the plain JSON-RPC of release 2026-01-11.
//
// It translates between tools and the REST operations and nothing else, so that one bridge, with one mapping and one
// policy, serves both transports: [NewHandler] puts tools in front of a business's REST handler, and [NewCaller] makes
// tool calls of the requests of a platform's bridge. What a message means is the same on both.
//
// The package must not know of protocols, executors or shops. Start reading at [NewHandler] or [NewCaller].
package mcp
