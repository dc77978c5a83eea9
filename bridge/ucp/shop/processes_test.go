package shop_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/ucp/shop"
)

// What was answered at one process is known to every request that arrives later, at whatever process: a client that
// speaks to a shop behind a balancer sees one shop.

// apart are two processes of a shop that both know a checkout, and its path.
func apart(t *testing.T) (first, second *branch, path string) {
	to := newTown(t)
	first, second = to.open(t), to.open(t)
	id := first.create("wick-cotton", 1).id()
	require.Equal(t, "ready_for_complete", second.get(id).state())
	return first, second, "/checkout-sessions/" + id
}

func TestAPaymentKnowsTheChangeAtAnotherProcess(t *testing.T) {
	first, second, path := apart(t)
	for pieces := 2; pieces < 5; pieces++ {
		changed := first.ask("PUT", path, wants("wick-cotton", pieces))
		require.Equal(t, http.StatusOK, changed.status, changed.raw)
		first, second = second, first
	}
	paid := first.ask("POST", path+"/complete", paying(shop.TokenPays))
	require.Equal(t, http.StatusOK, paid.status, paid.raw)
	require.EqualValues(t, 4*350, paid.total("subtotal"), "of the first, before the last change")
	again := second.ask("POST", path+"/complete", paying(shop.TokenPays))
	require.Equal(t, http.StatusConflict, again.status, again.raw)
	require.Contains(t, again.raw, "has been completed")
}

func TestAPaymentOfTheLatestTag(t *testing.T) {
	first, second, path := apart(t)
	changed := first.ask("PUT", path, wants("wick-cotton", 2))
	require.Equal(t, http.StatusOK, changed.status, changed.raw)
	paid := second.ask("POST", path+"/complete", paying(shop.TokenPays), "If-Match", changed.etag)
	require.Equal(t, http.StatusOK, paid.status, paid.raw)
	require.EqualValues(t, 2*350, paid.total("subtotal"))
}

func TestChangesOneAfterTheOtherAtTwoProcesses(t *testing.T) {
	first, second, path := apart(t)
	tag := ""
	for n := range 6 {
		headers := []string{}
		if n%3 == 2 {
			headers = []string{"If-Match", tag}
		}
		changed := first.ask("PUT", path, fmt.Sprintf(`{"buyer": {"email": "%d@example.com"}}`, n), headers...)
		require.Equal(t, http.StatusOK, changed.status, changed.raw)
		require.Contains(t, changed.raw, fmt.Sprintf("%d@example.com", n))
		shown := second.ask("GET", path, "")
		require.Equal(t, changed.raw, shown.raw)
		require.Equal(t, changed.etag, shown.etag)
		tag = changed.etag
		first, second = second, first
	}
}

func TestACancellationKnowsWhatHappenedAtAnotherProcess(t *testing.T) {
	first, second, path := apart(t)
	changed := first.ask("PUT", path, wants("wick-cotton", 2))
	require.Equal(t, http.StatusOK, changed.status, changed.raw)
	stale := second.ask("POST", path+"/cancel", "", "If-Match", `"1-ready_for_complete"`)
	require.Equal(t, http.StatusPreconditionFailed, stale.status, stale.raw)
	cancelled := second.ask("POST", path+"/cancel", "", "If-Match", changed.etag)
	require.Equal(t, http.StatusOK, cancelled.status, cancelled.raw)
	late := first.ask("POST", path+"/complete", paying(shop.TokenPays))
	require.Equal(t, http.StatusConflict, late.status, late.raw)
	require.Contains(t, late.raw, "has been canceled")

	first, second, path = apart(t)
	paid := first.ask("POST", path+"/complete", paying(shop.TokenPays))
	require.Equal(t, http.StatusOK, paid.status, paid.raw)
	cancelled = second.ask("POST", path+"/cancel", "")
	require.Equal(t, http.StatusConflict, cancelled.status, cancelled.raw)
	require.Contains(t, cancelled.raw, "has been completed")
}

// TestAChangeMergesWithTheLatest: what a PUT leaves out is what the last change asked for, not what this process knew.
func TestAChangeMergesWithTheLatest(t *testing.T) {
	first, second, path := apart(t)
	changed := first.ask("PUT", path, `{"buyer": {"email": "ada@example.com"}}`)
	require.Equal(t, http.StatusOK, changed.status, changed.raw)
	changed = second.ask("PUT", path, `{"line_items": [{"item": {"id": "wick-cotton"}, "quantity": 2}]}`)
	require.Equal(t, http.StatusOK, changed.status, changed.raw)
	require.Contains(t, changed.raw, "ada@example.com")
}
