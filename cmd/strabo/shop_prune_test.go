package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/syncserver"
)

// TestShopPruned removes checkouts under two processes of one shop, of which either has one in memory.
func TestShopPruned(t *testing.T) {
	dir := t.TempDir()
	server := startServing(t, "purchase", "--store", filepath.Join(dir, "nats"), "--listen", "127.0.0.1:0")
	where := []string{"--nats", server.NATS, "--keys", filepath.Join(dir, "keys")}
	sells := append([]string{"--simulation-secret", "s", "--local-webhooks"}, where...)
	one, other := startShop(t, sells...), startShop(t, sells...)
	ask := func(status int, method, url, body, key string) shopAnswer {
		t.Helper()
		a, err := askShop(method, url, body, key)
		require.NoError(t, err)
		require.Equal(t, status, a.status, a.raw)
		return a
	}
	paid := ask(201, "POST", one.URL+"/checkout-sessions", wantsAWick, "paid")
	order := ask(200, "POST", other.URL+"/checkout-sessions/"+paid.ID+"/complete", pays, "pay").Order.ID
	left := ask(201, "POST", other.URL+"/checkout-sessions", wantsAWick, "left")
	ask(200, "GET", one.URL+"/checkout-sessions/"+left.ID, "", "")

	prune := func(more ...string) []syncserver.Prunable {
		t.Helper()
		out := strabo(t, exitFine, append(append([]string{"enactments", "prune", "ucp-incremental", "--system", "shop", "--json"}, where...), more...)...)
		var found []syncserver.Prunable
		for line := range strings.Lines(out) {
			var p syncserver.Prunable
			require.NoError(t, json.Unmarshal([]byte(line), &p))
			require.Empty(t, p.Kept)
			found = append(found, p)
		}
		return found
	}
	told := startBuy(t, "--business", other.URL, "--item", "oil-lamp", "--webhooks", "127.0.0.1:0", "--look", "0")
	followed := orderForm.FindString(told.says(" placed"))

	require.Empty(t, prune("--older", "720h"))
	require.Len(t, prune("--older", "0s"), 2)
	// What becomes of an order is told as ever, by the process that the platform knows by its URL.
	changeOrder(t, "POST", other.URL+"/testing/simulate-shipping/"+followed, "")
	require.Contains(t, told.says("shipped"), "SIMULATED")
	require.NoError(t, told.cmd.Process.Signal(os.Interrupt))
	require.NoError(t, told.cmd.Wait())
	for _, shop := range []*selling{one, other} {
		ask(404, "GET", shop.URL+"/checkout-sessions/"+paid.ID, "", "")
		ask(200, "GET", shop.URL+"/checkout-sessions/"+left.ID, "", "")
	}
	require.Len(t, prune("--older", "0s", "--open"), 1)
	for _, shop := range []*selling{one, other} {
		ask(404, "GET", shop.URL+"/checkout-sessions/"+left.ID, "", "")
		ask(404, "PUT", shop.URL+"/checkout-sessions/"+left.ID, wantsAWick, "late "+shop.URL)
		require.Contains(t, ask(200, "GET", shop.URL+"/orders/"+order, "", "").raw, paid.ID)
	}
	// A key stands for what it stood for, also when its answer is kept no more.
	require.Equal(t, paid.raw, ask(201, "POST", other.URL+"/checkout-sessions", wantsAWick, "paid").raw)
	conn, err := nats.Connect(server.NATS)
	require.NoError(t, err)
	defer conn.Close()
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	answers, err := js.Stream(t.Context(), "KV_shop-keys")
	require.NoError(t, err)
	require.NoError(t, answers.Purge(t.Context()))
	ask(409, "POST", one.URL+"/checkout-sessions", wantsAWick, "paid")

	one.kill()
	one = startShop(t, sells...)
	ask(404, "GET", one.URL+"/checkout-sessions/"+paid.ID, "", "")
	ask(409, "POST", one.URL+"/checkout-sessions", wantsAWick, "paid")
	require.Contains(t, ask(200, "GET", one.URL+"/orders/"+order, "", "").raw, paid.ID)
}
