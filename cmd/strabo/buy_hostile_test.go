package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// paperShop is a shop that says what it is told to say.
type paperShop struct {
	url string
	// currency, totals and lines are what its checkouts say.
	currency, totals, lines string
	// extensions are what it has beside checkouts, such as discount.
	extensions []string
	// answer, if it gives true, answers instead of the shop; operation is create, update, complete, cancel or get.
	answer func(operation string, w http.ResponseWriter, r *http.Request) bool

	mu     sync.Mutex
	asked  []string
	bodies []string
}

const paperOrder = `,"order":{"id":"O1","permalink_url":"http://shop.example/o1"}`

func openPaperShop(t *testing.T, configure func(*paperShop)) *paperShop {
	t.Helper()
	s := &paperShop{
		currency: "USD", totals: `[{"type":"subtotal","amount":3500},{"type":"total","amount":3500}]`,
		lines: `[{"id":"l1","item":{"id":"x","title":"X","price":3500},"quantity":1,"totals":[{"type":"subtotal","amount":3500},{"type":"total","amount":3500}]}]`,
	}
	if configure != nil {
		configure(s)
	}
	server := httptest.NewUnstartedServer(s)
	s.url = "http://" + server.Listener.Addr().String()
	server.Start()
	t.Cleanup(server.Close)
	return s
}

func (s *paperShop) checkout(status, more string) string {
	return fmt.Sprintf(`{"ucp":{"version":"2026-01-11","capabilities":[]},"id":"chk1","status":%q,"currency":%q,"line_items":%s,"totals":%s,"links":[],"payment":{"handlers":[]}%s}`,
		status, s.currency, s.lines, s.totals, more)
}

func (s *paperShop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("Content-Type", "application/json")
	operation := "get"
	switch {
	case r.URL.Path == "/.well-known/ucp":
		more := ""
		for _, name := range s.extensions {
			more += fmt.Sprintf(`, {"name": "dev.ucp.shopping.%s", "version": "2026-01-11", "extends": "dev.ucp.shopping.checkout"}`, name)
		}
		fmt.Fprintf(w, `{"ucp": {"version": "2026-01-11", "services": {"dev.ucp.shopping": {"version": "2026-01-11", "rest": {"endpoint": %q}}},
		  "capabilities": [{"name": "dev.ucp.shopping.checkout", "version": "2026-01-11"}%s]}, "payment": {"handlers": [{"id": "handler"}]}}`, s.url, more)
		return
	case strings.HasSuffix(r.URL.Path, "/complete"):
		operation = "complete"
	case strings.HasSuffix(r.URL.Path, "/cancel"):
		operation = "cancel"
	case r.Method == http.MethodPost:
		operation = "create"
	case r.Method == http.MethodPut:
		operation = "update"
	}
	s.mu.Lock()
	s.asked = append(s.asked, operation+" "+r.Header.Get("Idempotency-Key"))
	s.bodies = append(s.bodies, string(body))
	s.mu.Unlock()
	if s.answer != nil && s.answer(operation, w, r) {
		return
	}
	switch operation {
	case "create":
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, s.checkout("ready_for_complete", ""))
	case "complete":
		fmt.Fprint(w, s.checkout("completed", paperOrder))
	case "cancel":
		fmt.Fprint(w, s.checkout("canceled", ""))
	default:
		fmt.Fprint(w, s.checkout("ready_for_complete", ""))
	}
}

// keys lists the idempotency keys with which an operation was asked for.
func (s *paperShop) keys(operation string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var keys []string
	for _, asked := range s.asked {
		if key, ok := strings.CutPrefix(asked, operation+" "); ok {
			keys = append(keys, key)
		}
	}
	return keys
}

func (s *paperShop) buy(arguments ...string) []string {
	return append([]string{"buy", "--business", s.url, "--item", "x", "--no-delivery", "--timeout", "1m", "--pay", "handler:SECRETTOKEN123"}, arguments...)
}

// replying answers one operation with a status and a body.
func replying(on string, status int, body string) func(string, http.ResponseWriter, *http.Request) bool {
	return func(operation string, w http.ResponseWriter, _ *http.Request) bool {
		if operation != on {
			return false
		}
		w.WriteHeader(status)
		fmt.Fprint(w, body)
		return true
	}
}

// TestBuyCancelsABadBill: what is not what was agreed to is never paid.
func TestBuyCancelsABadBill(t *testing.T) {
	for name, test := range map[string]struct {
		configure func(*paperShop)
		says      string
	}{
		"wrapped": {func(s *paperShop) {
			s.totals = `[{"type":"subtotal","amount":9223372036854775807},{"type":"fee","amount":9223372036854775807},{"type":"fee","amount":102},{"type":"total","amount":100}]`
		}, "Cancelled: the totals do not add up: the amount of subtotal is no whole number of at most 2^53-1.\n"},
		"broken": {func(s *paperShop) { s.totals = `[{"type":"subtotal","amount":35.5},{"type":"total","amount":35.5}]` }, "Cancelled: the totals do not add up: the amount of subtotal is no whole number of at most 2^53-1.\n"},
	} {
		t.Run(name, func(t *testing.T) {
			shop := openPaperShop(t, test.configure)
			code, out, err := runStrabo("", shop.buy()...)
			require.Equal(t, exitNo, code, err)
			require.Equal(t, test.says, out)
			require.Empty(t, shop.keys("complete"))
			require.Len(t, shop.keys("cancel"), 1)
		})
	}
	shop := openPaperShop(t, func(s *paperShop) { s.currency = "KWD" })
	code, out, _ := runStrabo("", shop.buy()...)
	require.Equal(t, exitNo, code)
	require.Equal(t, "Cancelled: the shop's checkout is in \"KWD\", not in USD.\n", out)
	require.Empty(t, shop.keys("complete"))
	_, out, _ = runStrabo("", shop.buy("--currency", "kwd")...)
	require.Equal(t, "Order O1 placed, 3.500 KWD: http://shop.example/o1\n", out)
	_, out, _ = runStrabo("", shop.buy("--currency", "KWD", "--max", "3499")...)
	require.Equal(t, "Cancelled: the total is 3.500 KWD, more than 3.499 KWD.\n", out)
}

// TestBuyUnknown: what nobody can tell is told with all that helps to find out.
func TestBuyUnknown(t *testing.T) {
	t.Parallel()
	t.Run("paid, perhaps", func(t *testing.T) {
		t.Parallel()
		shop := openPaperShop(t, func(s *paperShop) { s.answer = replying("complete", 500, `{"detail":"boom SECRETTOKEN123"}`) })
		code, out, err := runStrabo("", shop.buy("--json", "--timeout", "4s")...)
		require.Equal(t, exitNo, code)
		for _, says := range []string{
			"strabo: nobody can tell whether there is an order: ", " what became of Complete (step pay)",
			"checkout chk1: " + shop.url + "/checkout-sessions/chk1\n", "idempotency key of complete: " + shop.keys("complete")[0],
			`the shop answered: 500 {"detail":"boom [secret]"} (to POST `, "ask the shop before buying again",
		} {
			require.Contains(t, err, says)
		}
		require.NotContains(t, out+err, "SECRETTOKEN123")
		last := lastRecord(t, out)
		require.Equal(t, map[string]any{
			"kind": "unknown", "order": "unknown", "action": "Complete", "step": "pay", "checkout": "chk1", "url": shop.url + "/checkout-sessions/chk1",
			"key": shop.keys("complete")[0], "status": 500.0, "said": `{"detail":"boom [secret]"}`,
		}, without(last, "enactment", "asked", "detail", "found"))
	})
	t.Run("never paid", func(t *testing.T) {
		t.Parallel()
		shop := openPaperShop(t, func(s *paperShop) { s.answer = replying("create", 500, `{"detail":"boom"}`) })
		code, out, err := runStrabo("", shop.buy("--json")...)
		require.Equal(t, exitNo, code)
		require.Contains(t, err, "strabo: no order: nothing was paid, but ")
		require.Contains(t, err, "the shop has given no id for the checkout\n")
		require.Contains(t, err, "idempotency key of create: "+shop.keys("create")[0])
		require.Contains(t, err, `the shop answered: 500 {"detail":"boom"}`)
		require.Equal(t, "none", lastRecord(t, out)["order"])
	})
	t.Run("diverged", func(t *testing.T) {
		shop := openPaperShop(t, nil)
		shop.answer = func(operation string, w http.ResponseWriter, r *http.Request) bool {
			return operation == "get" && replying("get", 200, shop.checkout("completed", paperOrder))(operation, w, r)
		}
		code, out, err := runStrabo("", shop.buy("--json")...)
		require.Equal(t, exitNo, code)
		require.Contains(t, err, "strabo: nobody can tell whether there is an order: the shop did what was not to be expected of Complete")
		last := lastRecord(t, out)
		require.Equal(t, "diverged", last["kind"])
		require.Equal(t, "unknown", last["order"])
	})
	t.Run("no time", func(t *testing.T) {
		t.Parallel()
		var shop *paperShop
		stop := make(chan struct{})
		shop = openPaperShop(t, func(s *paperShop) {
			s.answer = func(operation string, _ http.ResponseWriter, _ *http.Request) bool {
				if operation == "complete" {
					<-stop
				}
				return operation == "complete"
			}
		})
		defer close(stop)
		code, _, err := runStrabo("", shop.buy("--timeout", "4s")...)
		require.Equal(t, exitNo, code)
		require.Contains(t, err, "nobody can tell whether there is an order: ")
		require.Contains(t, err, " what became of Complete (step pay)")
		require.Contains(t, err, "the shop did not answer: ")
	})
}

func lastRecord(t *testing.T, out string) map[string]any {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(out), "\n")
	var record map[string]any
	require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &record))
	return record
}

func without(record map[string]any, names ...string) map[string]any {
	for _, name := range names {
		delete(record, name)
	}
	return record
}

// TestBuyCannotPrint: an order that was placed is told, and is no wrong use.
func TestBuyCannotPrint(t *testing.T) {
	for _, arguments := range [][]string{nil, {"--json"}} {
		shop := openPaperShop(t, nil)
		var stderr strings.Builder
		full := writerFunc(func([]byte) (int, error) { return 0, errors.New("the disk is full") })
		require.Equal(t, exitFine, run(shop.buy(arguments...), strings.NewReader(""), full, &stderr))
		require.Contains(t, stderr.String(), "the disk is full\nOrder O1 placed, 35.00 USD: http://shop.example/o1\n")
	}
}

// TestBuyShortensWhatTheShopSays, which may be very long.
func TestBuyShortensWhatTheShopSays(t *testing.T) {
	shop := openPaperShop(t, nil)
	shop.answer = replying("complete", 200, shop.checkout("completed", `,"order":{"id":"`+strings.Repeat("x", 900_000)+`","permalink_url":"https://y`+strings.Repeat("y", 900_000)+`"}`))
	code, out, _ := runStrabo("", shop.buy()...)
	require.Equal(t, exitFine, code)
	require.Less(t, len(out), 1000)
	require.Contains(t, out, "xxx... placed, 35.00 USD: https://yyy")
}

// TestBuyGoesOnAfterACrash: the process is killed while the shop has its payment; the same command goes on with the same
// checkout and keys, pays once, and ends the same way ever after.
func TestBuyGoesOnAfterACrash(t *testing.T) {
	t.Parallel()
	program, err := os.Executable()
	require.NoError(t, err)
	journal := filepath.Join(t.TempDir(), "journal")
	paying, hold := make(chan struct{}, 1), make(chan struct{})
	var shop *paperShop
	crashed := false
	shop = openPaperShop(t, func(s *paperShop) {
		s.answer = func(operation string, w http.ResponseWriter, r *http.Request) bool {
			if operation == "get" && crashed {
				return replying("get", 200, shop.checkout("completed", paperOrder))(operation, w, r)
			}
			if operation != "complete" {
				return false
			}
			paying <- struct{}{}
			<-hold
			return true
		}
	})
	first := &exec.Cmd{Path: program, Args: append([]string{"strabo"}, shop.buy("--journal", journal, "--timeout", "1m")...)}
	require.NoError(t, first.Start())
	<-paying
	require.NoError(t, first.Process.Kill())
	require.Error(t, first.Wait())
	close(hold)
	crashed = true

	for range 2 {
		code, out, stderr := runStrabo("", shop.buy("--journal", journal)...)
		require.Equal(t, exitFine, code, stderr)
		require.Equal(t, "Order O1 placed, 35.00 USD: http://shop.example/o1\n", out)
		require.Contains(t, stderr, "going on with the purchase order in "+journal)
		require.Len(t, shop.keys("create"), 1)
		require.Len(t, shop.keys("complete"), 1)
	}
	asked := len(shop.keys("get"))
	code, out, stderr := runStrabo("", shop.buy("--journal", journal, "--max", "0")...)
	require.Equal(t, exitFine, code, stderr)
	require.Equal(t, "Order O1 placed, 35.00 USD: http://shop.example/o1\n", out)
	require.Len(t, shop.keys("get"), asked)

	code, _, stderr = runStrabo("", shop.buy("--journal", journal, "--quantity", "2")...)
	require.Equal(t, exitWrongUse, code)
	require.Contains(t, stderr, "about something else: give another --order-id")
	code, _, stderr = runStrabo("", shop.buy("--journal", journal, "--order-id", "../x")...)
	require.Equal(t, exitWrongUse, code)
	require.Contains(t, stderr, "--order-id is")

	shop.answer = nil
	code, out, stderr = runStrabo("", shop.buy("--journal", journal, "--order-id", "another")...)
	require.Equal(t, exitFine, code, stderr)
	require.NotEmpty(t, out)
	require.Len(t, shop.keys("create"), 2)
	text, err := os.ReadFile(journal)
	require.NoError(t, err)
	require.NotContains(t, string(text), "SECRETTOKEN123")
}

// TestBuyGoesOnWithTheSameKey: if the shop knows nothing of a payment that was lost, it is sent again, the same.
func TestBuyGoesOnWithTheSameKey(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long")
	}
	t.Parallel()
	journal := filepath.Join(t.TempDir(), "journal")
	shop := openPaperShop(t, func(s *paperShop) { s.answer = replying("complete", 500, "{}") })
	code, _, stderr := runStrabo("", shop.buy("--journal", journal, "--timeout", "4s")...)
	require.Equal(t, exitNo, code)
	require.Contains(t, stderr, "run the same command again to go on with it")
	shop.answer = nil
	code, out, stderr := runStrabo("", shop.buy("--journal", journal, "--timeout", "1m")...)
	require.Equal(t, exitFine, code, stderr)
	require.Equal(t, "Order O1 placed, 35.00 USD: http://shop.example/o1\n", out)
	keys := shop.keys("complete")
	require.Greater(t, len(keys), 1)
	require.Len(t, slices.Compact(keys), 1, "every payment is the same one")
	require.Len(t, shop.keys("create"), 1)
}

// TestBuyPaysForNothingElse: a checkout about other goods than were asked for is not paid.
func TestBuyPaysForNothingElse(t *testing.T) {
	shop := openPaperShop(t, func(s *paperShop) {
		s.lines = strings.Replace(strings.ReplaceAll(s.lines, `"x"`, `"gold"`), `"quantity":1`, `"quantity":99`, 1)
	})
	code, out, err := runStrabo("", shop.buy()...)
	require.Equal(t, exitNo, code, out+err)
	require.Empty(t, shop.keys("complete"))
	require.NotContains(t, out, "placed")
}
