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

	"github.com/strabo-engine/strabo/bridge/keyvalue"
	"github.com/strabo-engine/strabo/bridge/keyvalue/natskv"
	"github.com/strabo-engine/strabo/bridge/ucp/shop"
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
		out := strabo(t, exitFine, append(append([]string{"enactments", "prune", "ucp-incremental", "--system", "shop", "--json", "--force"}, where...), more...)...)
		var found []syncserver.Prunable
		for line := range strings.Lines(out) {
			var p syncserver.Prunable
			require.NoError(t, json.Unmarshal([]byte(line), &p))
			found = append(found, p)
		}
		return found
	}
	told := startBuy(t, "--business", other.URL, "--item", "oil-lamp", "--webhooks", "127.0.0.1:0", "--look", "0")
	followed := orderForm.FindString(told.says(" placed"))

	conn, err := nats.Connect(server.NATS)
	require.NoError(t, err)
	defer conn.Close()
	require.Empty(t, prune("--older", "720h"))
	needed(t, conn, paid.ID, left.ID, prune)
	ended := prune("--older", "0s")
	require.Len(t, ended, 2)
	for _, p := range ended {
		require.Empty(t, p.Kept)
	}
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

// needed checks that checkouts are kept that the shop has not settled: as where a process has died after a sale, or with
// goods in hand.
func needed(t *testing.T, conn *nats.Conn, paid, open string, prune func(...string) []syncserver.Prunable) {
	t.Helper()
	ctx := t.Context()
	store, err := natskv.Find(ctx, conn, "shop-shop")
	require.NoError(t, err)
	kept := func(id string) syncserver.Kept {
		t.Helper()
		for _, p := range prune("--older", "0s", "--open", "--dry-run") {
			if strings.Contains(string(p.Enactment), id) {
				return p.Kept
			}
		}
		require.Fail(t, "it is not old enough", id)
		return ""
	}
	require.Empty(t, kept(paid))
	require.Empty(t, kept(open))
	var order keyvalue.Entry
	for entry, err := range store.List(ctx, "order.") {
		require.NoError(t, err)
		if strings.Contains(string(entry.Value), paid) { // Nobody is told of it, so it does not change.
			order = entry
		}
	}
	require.NoError(t, store.Delete(ctx, order.Name, order.Revision))
	require.Equal(t, keptOrder, kept(paid))
	_, err = store.Put(ctx, order.Name, order.Value, 0)
	require.NoError(t, err)
	stock := shop.NewStock(store, map[string]int64{"wick-cotton": 200})
	token, err := stock.Take(ctx, open+".1", map[string]int64{"wick-cotton": 2})
	require.NoError(t, err)
	require.Equal(t, keptHold, kept(open))
	require.NoError(t, stock.GiveBack(ctx, open+".1", token, []string{"wick-cotton"}))
	require.Empty(t, kept(open))
	require.Empty(t, kept(paid))
}
