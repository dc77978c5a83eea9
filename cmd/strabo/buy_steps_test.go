package main

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const escalation = `,"continue_url":"https://shop.example/c/chk1","messages":[{"type":"error","code":"sign_in","severity":"requires_buyer_input","content":"Sign in first."}]`

// TestBuyHandsOff: what needs the buyer is printed with where to go on, and the order that they place there ends the
// purchase. Nothing is paid by the command.
func TestBuyHandsOff(t *testing.T) {
	t.Parallel()
	var looks atomic.Int32
	shop := openPaperShop(t, nil)
	shop.answer = func(operation string, w http.ResponseWriter, r *http.Request) bool {
		status, more := "requires_escalation", escalation
		if operation == "get" && looks.Add(1) > 3 {
			status, more = "completed", paperOrder
		}
		if operation == "create" {
			w.WriteHeader(http.StatusCreated)
		}
		fmt.Fprint(w, shop.checkout(status, more))
		return true
	}
	code, out, err := runStrabo("", shop.buy()...)
	require.Equal(t, exitFine, code, err)
	require.Equal(t, "Order O1 placed at the shop: http://shop.example/o1\n", out)
	require.Contains(t, err, "strabo: the shop needs you: go on at https://shop.example/c/chk1\n  Sign in first.\n")
	require.Empty(t, shop.keys("complete"))
	require.Empty(t, shop.keys("cancel"))
}

// TestBuyHandsOffAndGoesOn: the buyer takes longer than the command, which says so and goes on when it is run again.
func TestBuyHandsOffAndGoesOn(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long")
	}
	t.Parallel()
	journal := filepath.Join(t.TempDir(), "journal")
	shop := openPaperShop(t, nil)
	var bought atomic.Bool
	shop.answer = func(operation string, w http.ResponseWriter, _ *http.Request) bool {
		if bought.Load() {
			fmt.Fprint(w, shop.checkout("completed", paperOrder))
		} else {
			fmt.Fprint(w, shop.checkout("requires_escalation", escalation))
		}
		return true
	}
	code, out, err := runStrabo("", shop.buy("--journal", journal, "--timeout", "2s", "--json")...)
	require.Equal(t, exitNo, code)
	require.Contains(t, err, "run the same command again to go on with it")
	last := lastRecord(t, out)
	require.Equal(t, "HandOff", last["action"])
	require.Equal(t, "unknown", last["order"], "the buyer may have bought by now")
	bought.Store(true)
	code, out, err = runStrabo("", shop.buy("--journal", journal)...)
	require.Equal(t, exitFine, code, err)
	require.Equal(t, "Order O1 placed at the shop: http://shop.example/o1\n", out)
	require.Len(t, shop.keys("create"), 1)
	require.Empty(t, shop.keys("complete"))
}

// TestBuyPaysAfterAChallenge: what the buyer's bank wants to have confirmed is handed off, and the payment made anew once
// that is done: with a key of its own, and for one order.
func TestBuyPaysAfterAChallenge(t *testing.T) {
	t.Parallel()
	var paid, looks atomic.Int32
	shop := openPaperShop(t, nil)
	shop.answer = func(operation string, w http.ResponseWriter, _ *http.Request) bool {
		challenged := paid.Load() == 1
		switch {
		case operation == "complete" && paid.Add(1) == 1, operation == "get" && challenged && looks.Add(1) <= 2:
			fmt.Fprint(w, shop.checkout("requires_escalation", `,"continue_url":"https://bank.example/challenge","messages":[{"type":"error","code":"requires_3ds","severity":"requires_buyer_input","content":"Your bank asks."}]`))
			return true
		}
		return false
	}
	code, out, err := runStrabo("", shop.buy()...)
	require.Equal(t, exitFine, code, err)
	require.Equal(t, "Order O1 placed, 35.00 USD: http://shop.example/o1\n", out)
	require.Contains(t, err, "strabo: the shop needs you: go on at https://bank.example/challenge\n  Your bank asks.\n")
	keys := shop.keys("complete")
	require.Len(t, keys, 2)
	require.NotEqual(t, keys[0], keys[1])
}

// TestBuyGoesToPagesOnly: the buyer is sent to a page of the web and nowhere else; a refusal says where it goes on by hand.
func TestBuyGoesToPagesOnly(t *testing.T) {
	for _, address := range []string{"javascript:alert(1)", "shop.example/c", "https://ada:secret@shop.example/", "file:///etc/passwd"} {
		shop := openPaperShop(t, nil)
		shop.answer = func(operation string, w http.ResponseWriter, _ *http.Request) bool {
			if operation == "cancel" {
				return false
			}
			fmt.Fprint(w, shop.checkout("requires_escalation", fmt.Sprintf(`,"continue_url":%q,"messages":[{"type":"error","code":"sign_in","severity":"requires_buyer_input","content":"Sign in."}]`, address)))
			return true
		}
		code, out, err := runStrabo("", shop.buy()...)
		require.Equal(t, exitNo, code, err)
		require.Equal(t, "Cancelled: Sign in.\n", out)
		require.NotContains(t, err, address)
	}
	shop := openPaperShop(t, nil)
	shop.answer = replying("create", http.StatusBadRequest, `{"detail":"No lamps.","code":"OUT_OF_STOCK","continue_url":"https://shop.example/lamps"}`)
	code, out, err := runStrabo("", shop.buy()...)
	require.Equal(t, exitNo, code, err)
	require.Equal(t, "The shop refused: No lamps. (out_of_stock)\nBy hand it goes on at https://shop.example/lamps\n", out)
}

// TestBuyShowsDisclosures: what may not be hidden is shown, once, before anything is paid.
func TestBuyShowsDisclosures(t *testing.T) {
	shop := openPaperShop(t, nil)
	shop.answer = func(operation string, w http.ResponseWriter, _ *http.Request) bool {
		if operation != "create" && operation != "get" {
			return false
		}
		fmt.Fprint(w, shop.checkout("ready_for_complete", `,"messages":[{"type":"warning","code":"prop65","content":"Contains lead.","presentation":"disclosure"}]`))
		return true
	}
	code, out, err := runStrabo("", shop.buy()...)
	require.Equal(t, exitFine, code, err)
	require.Contains(t, out, "Order O1 placed")
	require.Equal(t, 1, strings.Count(err, "strabo: the shop has you know: Contains lead.\n"))
}

// TestBuyWhatCannotBeHad: what neither the command nor a buyer at the shop can mend ends the purchase, and leaves nothing
// open.
func TestBuyWhatCannotBeHad(t *testing.T) {
	for name, messages := range map[string]string{
		"nowhere to go on": `,"messages":[{"type":"error","code":"sign_in","severity":"requires_buyer_input","content":"No."}]`,
		"recoverable":      `,"messages":[{"type":"error","code":"address","severity":"recoverable","content":"No.","path":"$.buyer"}]`,
		"unrecoverable":    `,"continue_url":"https://shop.example/","messages":[{"type":"error","code":"gone","severity":"unrecoverable","content":"No."}]`,
	} {
		t.Run(name, func(t *testing.T) {
			shop := openPaperShop(t, nil)
			shop.answer = func(operation string, w http.ResponseWriter, _ *http.Request) bool {
				if operation == "cancel" {
					return false
				}
				fmt.Fprint(w, shop.checkout("incomplete", messages))
				return true
			}
			code, out, err := runStrabo("", shop.buy()...)
			require.Equal(t, exitNo, code, err)
			require.Equal(t, "Cancelled: No.\n", out)
			require.Empty(t, shop.keys("complete"))
			require.Len(t, shop.keys("cancel"), 1)
		})
	}
}

// TestBuyIsKilledAgainAndAgain: a purchase whose process is killed at each request in turn, before and after the shop has
// executed it, is one purchase: every request has its key, and there is one order.
func TestBuyIsKilledAgainAndAgain(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long")
	}
	t.Parallel()
	program, err := os.Executable()
	require.NoError(t, err)
	target, shop := lampShop(t)
	var requests, fatal atomic.Int32
	stopped := make(chan struct{}, 1)
	front := newFront(t, target, func(bool) bool {
		// Every request meets two points: before it is passed on, and before its answer is given back.
		if requests.Add(1) == fatal.Load() {
			stopped <- struct{}{}
			return false
		}
		return true
	})
	journal := filepath.Join(t.TempDir(), "journal")
	arguments := append([]string{
		"buy", "--business", front, "--item", "oil-lamp", "--currency", "EUR", "--journal", journal, "--timeout", "1m",
		"--pay", "mock_payment_handler:success_token",
	}, pharos...)
	kills := 0
	for at := int32(3); ; at += 3 { // The first two are those of discovery.
		requests.Store(0)
		fatal.Store(at)
		buying := &exec.Cmd{Path: program, Args: append([]string{"strabo"}, arguments...)}
		require.NoError(t, buying.Start())
		ended := make(chan error, 1)
		go func() { ended <- buying.Wait() }()
		select {
		case <-stopped:
			require.NoError(t, buying.Process.Kill())
			require.Error(t, <-ended)
			kills++
			continue
		case err := <-ended:
			require.NoError(t, err)
		case <-time.After(time.Minute):
			t.Fatal("nothing happens")
		}
		break
	}
	require.Greater(t, kills, 1)
	require.Equal(t, 1, shop.Orders())
	code, out, errs := runStrabo("", arguments...)
	require.Equal(t, exitFine, code, errs)
	require.Contains(t, out, "placed, 14.25 EUR")
	require.Equal(t, 1, shop.Orders())
}
