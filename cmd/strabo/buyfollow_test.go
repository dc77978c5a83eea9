package main

import (
	"bufio"
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// buying is a strabo buy in a process of its own.
type buying struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines *bufio.Scanner
	err   bytes.Buffer
}

func startBuy(t *testing.T, arguments ...string) *buying {
	t.Helper()
	b := &buying{t: t, cmd: exec.Command("strabo", append([]string{"buy", "--country", "GR", "--follow"}, arguments...)...)}
	b.cmd.Stderr = &b.err
	out, err := b.cmd.StdoutPipe()
	require.NoError(t, err)
	b.lines = bufio.NewScanner(out)
	b.lines.Buffer(nil, 1<<20)
	require.NoError(t, b.cmd.Start())
	t.Cleanup(func() { _ = b.cmd.Process.Kill(); _ = b.cmd.Wait() })
	return b
}

// says waits for the first line that has a text, and gives it.
func (b *buying) says(text string) string {
	b.t.Helper()
	for b.lines.Scan() {
		if strings.Contains(b.lines.Text(), text) {
			return b.lines.Text()
		}
	}
	_ = b.cmd.Wait()
	require.FailNow(b.t, "it does not say "+text, b.err.String())
	return ""
}

var orderForm = regexp.MustCompile(`order_[a-z0-9]+`)

// changeOrder does to an order what only tests do.
func changeOrder(t *testing.T, method, url, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Simulation-Secret", "s")
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusOK, response.StatusCode)
}

const delivered = `{"fulfillment": {"events": [
	  {"id": "e1", "type": "delivered", "occurred_at": "2026-11-30T12:00:00Z", "line_items": [{"id": "li_1", "quantity": 1}], "description": "at the\u001b[2J door"}]},
	"adjustments": [{"id": "a1", "type": "refund", "status": "completed", "occurred_at": "2026-11-30T12:00:00Z", "amount": 100, "description": "A scratch"}]}`

// TestBuyFollows: the shop tells what becomes of the order, and what it has not told is looked for.
func TestBuyFollows(t *testing.T) {
	next := filepath.Join(t.TempDir(), "next.pem")
	s := startShop(t, "--local-webhooks", "--simulation-secret", "s", "--publish-key", "shop-2="+next)
	_, err := os.Stat(next)
	require.NoError(t, err, "the next key is made")

	told := startBuy(t, "--business", s.URL, "--item", "oil-lamp", "--webhooks", "127.0.0.1:0", "--look", "0")
	order := orderForm.FindString(told.says(" placed, 14.25 USD"))
	changeOrder(t, "POST", s.URL+"/testing/simulate-shipping/"+order, "")
	require.Equal(t, "Order: shipped: 1 x Lamp Oil, 1 l, SIMULATED, https://example.com/track/SIMULATED", told.says("shipped"))
	require.NoError(t, told.cmd.Process.Signal(os.Interrupt))
	require.NoError(t, told.cmd.Wait(), "there is an order, whatever becomes of it: %s", told.err.String())
	require.NotContains(t, told.err.String(), "webhook", "all that the shop told was believed")

	journal := filepath.Join(t.TempDir(), "journal")
	looks := []string{"--business", s.URL, "--item", "oil-lamp", "--look", "20ms", "--journal", journal}
	first := startBuy(t, looks...)
	order = orderForm.FindString(first.says(" placed"))
	require.NoError(t, first.cmd.Process.Kill())
	_ = first.cmd.Wait()
	again := startBuy(t, append(looks, "--json")...)
	require.Contains(t, again.says(`"action":"Completed"`), order, "the same order, and no other")
	again.says(`"action":"OrderChanged"`)
	changeOrder(t, "PUT", s.URL+"/orders/"+order, delivered)
	line := again.says(`"action":"OrderChanged"`)
	require.Contains(t, line, `"type":"delivered"`)
	require.NotContains(t, line, "\x1b")
	for again.lines.Scan() {
	}
	require.NoError(t, again.cmd.Wait(), "all is delivered: %s", again.err.String())

	last := startBuy(t, looks...)
	last.says(order + " placed")
	require.Equal(t, "Order: delivered: 1 x Lamp Oil, 1 l, at the\uFFFD[2J door", last.says("delivered"))
	require.Equal(t, "Order: adjusted: refund, -1.00 USD, completed, A scratch", last.says("adjusted"))
	require.NoError(t, last.cmd.Wait())
}
