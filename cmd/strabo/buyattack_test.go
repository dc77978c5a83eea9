package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/ucp/wire"
)

// attackShop is a shop of any release over any transport, whose answers are twisted.
type attackShop struct {
	release   wire.Release
	transport string
	// twist changes a checkout on its way out, or gives what is said instead of it, as JSON; asked is what was asked for so far,
	// this time included, by the names create, update, get, complete and cancel.
	twist func(s *attackShop, operation string, checkout map[string]any) (instead string)

	url   string
	mu    sync.Mutex
	asked map[string]int
}

func openAttackShop(t *testing.T, s *attackShop) *attackShop {
	t.Helper()
	s.asked = make(map[string]int)
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func (s *attackShop) count(operation string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[operation]
}

func (s *attackShop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	version := map[string]any{"version": string(s.release)}
	if r.URL.Path == "/.well-known/ucp" {
		endpoint := map[string]any{"version": string(s.release), "transport": s.transport, "endpoint": s.url}
		said := map[string]any{
			"version": string(s.release), "services": map[string]any{"dev.ucp.shopping": []any{endpoint}},
			"capabilities": map[string]any{"dev.ucp.shopping.checkout": []any{version}},
		}
		if s.release == wire.January11 {
			said["services"] = map[string]any{"dev.ucp.shopping": map[string]any{"version": string(s.release), s.transport: endpoint}}
			said["capabilities"] = []any{map[string]any{"name": "dev.ucp.shopping.checkout", "version": string(s.release)}}
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"ucp": said})
		return
	}
	operation := "create"
	var message struct {
		ID     json.RawMessage
		Method string
		Params struct{ Name string }
	}
	switch {
	case s.transport == "mcp":
		_ = json.NewDecoder(r.Body).Decode(&message)
		name := message.Params.Name
		if name == "" {
			name = message.Method
		}
		operation = strings.TrimSuffix(name, "_checkout")
		if name == "initialize" {
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}`, message.ID)
			return
		}
	case r.Method == http.MethodGet:
		operation = "get"
	case r.Method == http.MethodPut:
		operation = "update"
	case !strings.HasSuffix(r.URL.Path, "/checkout-sessions"):
		operation = r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	}
	s.asked[operation]++
	said := s.says(operation)
	switch {
	case s.transport == "rest":
		if operation == "create" {
			w.WriteHeader(http.StatusCreated)
		}
		fmt.Fprint(w, said)
	case s.release == wire.January11:
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, message.ID, said)
	default:
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"structuredContent":%s}}`, message.ID, said)
	}
}

func (s *attackShop) says(operation string) string {
	status := "ready_for_complete"
	switch {
	case s.asked["cancel"] > 0:
		status = "canceled"
	case s.asked["complete"] > 0:
		status = "completed"
	}
	ucp := map[string]any{"version": string(s.release), "capabilities": map[string]any{}}
	if s.release == wire.January11 {
		ucp["capabilities"] = []any{}
	}
	checkout := map[string]any{
		"ucp": ucp, "id": "chk1", "status": status, "currency": "USD", "links": []any{}, "totals": totalsOf(1000),
		"line_items": []any{map[string]any{
			"id": "l1", "item": map[string]any{"id": "x", "title": "X", "price": 1000}, "quantity": 1, "totals": totalsOf(1000),
		}},
	}
	if status == "completed" {
		checkout["order"] = map[string]any{"id": "O1", "permalink_url": "https://shop.example/o1"}
	}
	if instead := s.twist(s, operation, checkout); instead != "" {
		return instead
	}
	text, err := json.Marshal(checkout)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// discount is an amount that lowers a total, as the release has it.
func (s *attackShop) discount(amount int) map[string]any {
	if s.release == wire.April2026 {
		amount = -amount
	}
	return map[string]any{"type": "discount", "amount": amount}
}

func totalsOf(amount any, more ...any) []any {
	return append(append([]any{map[string]any{"type": "subtotal", "amount": amount}}, more...), map[string]any{"type": "total", "amount": amount})
}

// escalating has a checkout handed off to a page, until it is cancelled.
func escalating(page any) func(*attackShop, string, map[string]any) string {
	return func(_ *attackShop, operation string, checkout map[string]any) string {
		if operation != "cancel" {
			maps.Copy(checkout, map[string]any{"status": "requires_escalation", "continue_url": page, "messages": []any{
				map[string]any{"type": "error", "code": "c", "severity": "requires_buyer_input", "content": "Sign in."},
			}})
		}
		return ""
	}
}

// saying changes members of a checkout in answers to some operations.
func saying(operations string, members map[string]any) func(*attackShop, string, map[string]any) string {
	return func(_ *attackShop, operation string, checkout map[string]any) string {
		if strings.Contains(operations, operation) {
			maps.Copy(checkout, members)
		}
		return ""
	}
}

// TestBuyUnderAttack: whatever a shop answers, in each release over each transport, nothing is paid that was not looked at,
// nobody is sent where they should not go, and it is said what has become of it. Each attack is made in one way, and in all of
// them where STRABO_TEST_KILLS asks for heavy tests.
func TestBuyUnderAttack(t *testing.T) {
	t.Parallel()
	type message = map[string]any
	warnings := make([]any, 101)
	for i := range warnings {
		warnings[i] = message{"type": "warning", "code": "w", "content": fmt.Sprintf("Warning %d.", i)}
	}
	for i, test := range []struct {
		name  string
		twist func(*attackShop, string, map[string]any) string
		code  int
		says  string // on either stream
		paid  int    // payments that were sent
	}{
		{"none", saying("", nil), exitFine, "Order O1 placed, 10.00 USD: https://shop.example/o1\n", 1},
		{"another currency at the last look", saying("get", message{"currency": "JPY"}), exitNo, `Cancelled: the shop's checkout is in "JPY", not in USD.`, 0},
		{"another currency with the order", saying("complete", message{"currency": "JPY"}), exitNo, "there is an order, but not as it was agreed to: ", 1},
		{"another checkout", saying("get", message{"id": "chk2"}), exitNo, "strabo: no order: nothing was paid", 0},
		{"another checkout with the order", saying("complete", message{"id": "chk2"}), exitFine, "Order O1 placed", 1},
		{"a total that wraps", saying("create get", message{"totals": totalsOf(int64(1<<63 - 1))}), exitNo, "Cancelled: the totals do not add up", 0},
		{"another total", saying("create get", message{"totals": totalsOf(1000, message{"type": "fee", "amount": 1})}), exitNo, "Cancelled: the totals do not add up", 0},
		{"a total of nothing", saying("create get", message{"totals": totalsOf(-1000)}), exitNo, "Cancelled: the totals do not add up", 0},
		{"a total below zero", func(s *attackShop, _ string, checkout map[string]any) string {
			checkout["totals"] = []any{message{"type": "subtotal", "amount": 1000}, s.discount(3000), message{"type": "total", "amount": -2000}}
			return ""
		}, exitNo, "Cancelled: the total is -20.00 USD: the shop would owe it", 0},
		{"two totals at once", func(_ *attackShop, operation string, checkout map[string]any) string {
			text, err := json.Marshal(checkout)
			if err != nil || operation != "get" {
				return ""
			}
			return `{"totals":[],` + string(text[1:])
		}, exitNo, "strabo: no order: nothing was paid", 0},
		{"no page", escalating("javascript:alert(1)"), exitNo, "Cancelled: Sign in.", 0},
		{"a page of http", escalating("http://shop.example/c"), exitNo, "Cancelled: Sign in.", 0},
		{"a page that cannot be shown", escalating("https://shop.example/" + strings.Repeat("a", 2048)), exitNo, "Cancelled: Sign in.", 0},
		{"more than can be shown", saying("create get", message{"messages": warnings}), exitNo, "Cancelled: the shop has 101 warnings, more than can be shown.", 0},
		{"an id that is no segment", saying("create", message{"id": "../../admin"}), exitNo, "checkout_id_invalid", 0},
		{"an id that never ends", saying("create", message{"id": strings.Repeat("a", 1025)}), exitNo, "checkout_id_invalid", 0},
		{"a link that is none", saying("complete", message{"order": message{"id": "O1", "permalink_url": "javascript:alert(1)"}}), exitFine, "Order O1 placed, 10.00 USD\n", 1},
		{"an order without an id", saying("complete", message{"order": message{"id": ""}}), exitFine, "Order placed, to which the shop has given no id, 10.00 USD\n", 1},
		{"at work, not at work, done", func(s *attackShop, operation string, checkout map[string]any) string {
			delete(checkout, "order")
			switch looks := s.asked["get"]; {
			case s.asked["complete"] == 0:
			case operation == "complete":
				checkout["status"] = "complete_in_progress"
			case looks == 2:
				checkout["status"] = "complete_in_progress"
			default:
				checkout["status"], checkout["order"] = "completed", message{"id": "O1"}
			}
			return ""
		}, exitFine, "Order O1 placed", 1},
		{"at work, then given up", func(s *attackShop, operation string, checkout map[string]any) string {
			delete(checkout, "order")
			if s.asked["complete"] > 0 {
				checkout["status"] = map[bool]string{true: "complete_in_progress", false: "canceled"}[operation == "complete"]
			}
			return ""
		}, exitNo, "The checkout is over: the shop has given it up", 1},
		{"what nobody can mend", saying("create get", message{"continue_url": "https://shop.example/", "messages": []any{
			message{"type": "error", "code": "c", "severity": "unrecoverable", "content": "No."},
		}}), exitNo, "No.", 0},
	} {
		ways := [][2]string{}
		for _, release := range wire.Releases() {
			ways = append(ways, [2]string{string(release), "rest"}, [2]string{string(release), "mcp"})
		}
		if os.Getenv("STRABO_TEST_KILLS") == "" {
			ways = [][2]string{ways[i%len(ways)]}
		}
		for _, way := range ways {
			t.Run(strings.Join([]string{test.name, way[0], way[1]}, " "), func(t *testing.T) {
				t.Parallel()
				shop := openAttackShop(t, &attackShop{release: wire.Release(way[0]), transport: way[1], twist: test.twist})
				code, out, err := runStrabo("", "buy", "--business", shop.url, "--item", "x", "--no-delivery", "--pay", "h:SECRETTOKEN123",
					"--timeout", "1m", "--profile", "https://me.example/{release}", "--release", way[0], "--transport", way[1])
				require.Equal(t, test.code, code, out+err)
				require.Contains(t, out+err, test.says)
				require.Equal(t, test.paid, shop.count("complete"), out+err)
				require.NotContains(t, out+err, "javascript:")
				require.NotContains(t, out+err, "SECRETTOKEN123")
			})
		}
	}
}
