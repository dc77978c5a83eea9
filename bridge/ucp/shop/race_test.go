package shop_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/keyvalue"
	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/bridge/ucp/shop"
)

// atOnce does something several times at the same time and gives what each came to.
func atOnce(t *testing.T, times int, do func(n int) (answer, error)) []answer {
	t.Helper()
	answers, failures := make([]answer, times), make([]error, times)
	var start, done sync.WaitGroup
	start.Add(1)
	for n := range times {
		done.Go(func() {
			start.Wait()
			answers[n], failures[n] = do(n)
		})
	}
	start.Done()
	done.Wait()
	for _, err := range failures {
		require.NoError(t, err)
	}
	return answers
}

// count counts answers by status.
func count(answers []answer) map[int]int {
	counted := make(map[int]int)
	for _, a := range answers {
		counted[a.status]++
	}
	return counted
}

// TestFourCompletesWithFourKeys place one order, also through two processes.
func TestFourCompletesWithFourKeys(t *testing.T) {
	to := newTown(t)
	branches := []*branch{to.open(t), to.open(t)}
	for round := range 8 {
		id := branches[0].create("wick-cotton", 1).id()
		answers := atOnce(t, 4, func(n int) (answer, error) {
			return branches[n%2].try("POST", "/checkout-sessions/"+id+"/complete", paying("success_token"), "Idempotency-Key", fmt.Sprint(round, "-", n))
		})
		require.Equal(t, map[int]int{200: 1, 409: 3}, count(answers), "%v", answers)
		for _, b := range branches {
			require.Equal(t, "completed", b.get(id).state())
			b.leaves(t, "wick-cotton", 200, int64(200-round-1))
		}
	}
	require.Empty(t, branches[0].log.String()+branches[1].log.String())
}

// TestFourCompletesWithOneKey are one request, and get one answer.
func TestFourCompletesWithOneKey(t *testing.T) {
	to := newTown(t)
	branches := []*branch{to.open(t), to.open(t)}
	id := branches[0].create("wick-cotton", 1).id()
	answers := atOnce(t, 4, func(n int) (answer, error) {
		return branches[n%2].try("POST", "/checkout-sessions/"+id+"/complete", paying("success_token"), "Idempotency-Key", "k")
	})
	require.Equal(t, map[int]int{200: 4}, count(answers), "%v", answers)
	for _, a := range answers {
		require.Equal(t, answers[0].raw, a.raw)
	}
	branches[0].leaves(t, "wick-cotton", 200, 199)
}

// TestOneKeyAcrossSessions is a conflict, and the other session stays as it was.
func TestOneKeyAcrossSessions(t *testing.T) {
	to := newTown(t)
	first, second := to.open(t), to.open(t)
	a, b := first.create("wick-cotton", 1, "Idempotency-Key", "a").id(), first.create("wick-cotton", 1, "Idempotency-Key", "b").id()
	require.NotEqual(t, a, b)
	require.Equal(t, http.StatusOK, first.complete(a, "success_token", "Idempotency-Key", "pay").status)
	for _, at := range []*branch{first, second} {
		conflict := at.complete(b, "success_token", "Idempotency-Key", "pay")
		require.Equal(t, http.StatusConflict, conflict.status)
		require.Equal(t, "IDEMPOTENCY_CONFLICT", conflict.code())
		require.Equal(t, "ready_for_complete", at.get(b).state())
		for _, other := range [][2]string{
			{"POST", "/checkout-sessions/" + b + "/cancel"}, {"PUT", "/checkout-sessions/" + b}, {"POST", "/checkout-sessions"},
		} {
			body := wants("wick-cotton", 2)
			if other[0] == "POST" && other[1] != "/checkout-sessions" {
				body = ""
			}
			conflict := at.ask(other[0], other[1], body, "Idempotency-Key", "pay")
			require.Equal(t, "IDEMPOTENCY_CONFLICT", conflict.code(), "%v %s", other, conflict.raw)
		}
		// A key of a create stands for that create.
		require.Equal(t, "IDEMPOTENCY_CONFLICT", at.complete(b, "success_token", "Idempotency-Key", "a").code())
		require.Equal(t, "IDEMPOTENCY_CONFLICT", at.ask("POST", "/checkout-sessions", wants("wick-cotton", 3), "Idempotency-Key", "a").code())
	}
	require.Equal(t, "ready_for_complete", first.get(b).state())

	// Two sessions at the same time.
	for round := range 8 {
		ids := []string{first.create("wick-cotton", 1).id(), first.create("wick-cotton", 1).id()}
		answers := atOnce(t, 2, func(n int) (answer, error) {
			return []*branch{first, second}[n].try("POST", "/checkout-sessions/"+ids[n]+"/cancel", "", "Idempotency-Key", fmt.Sprint("both", round))
		})
		require.Equal(t, map[int]int{200: 1, 409: 1}, count(answers), "%v", answers)
		for n, a := range answers {
			require.Equal(t, a.status == 200, first.get(ids[n]).state() == "canceled")
		}
	}
}

// TestAFailedPaymentKeepsItsKey: the key stands for the payment that failed, and another payment needs another key.
func TestAFailedPaymentKeepsItsKey(t *testing.T) {
	to := newTown(t)
	b := to.open(t)
	id := b.create("wick-cotton", 2).id()
	failed := b.complete(id, "fail_token", "Idempotency-Key", "k")
	require.Equal(t, http.StatusPaymentRequired, failed.status, failed.raw)
	require.Equal(t, "INSUFFICIENT_FUNDS", failed.code())
	require.EqualValues(t, 200, b.left(t, "wick-cotton", 200), "what was on hold is given back")
	other := b.complete(id, "success_token", "Idempotency-Key", "k")
	require.Equal(t, http.StatusConflict, other.status)
	require.Equal(t, "IDEMPOTENCY_CONFLICT", other.code())
	require.Equal(t, failed.raw, b.complete(id, "fail_token", "Idempotency-Key", "k").raw)
	require.Equal(t, http.StatusForbidden, b.complete(id, "fraud_token").status)
	require.Equal(t, http.StatusPaymentRequired, b.complete(id, "any").status)
	paid := b.complete(id, "success_token", "Idempotency-Key", "k2")
	require.Equal(t, http.StatusOK, paid.status, paid.raw)
	require.EqualValues(t, 198, b.left(t, "wick-cotton", 200))
	require.Empty(t, b.log.String())
}

// TestReplays: a request that is repeated is answered with the same bytes, whatever has happened since, by another
// process, and after a restart.
func TestReplays(t *testing.T) {
	to := newTown(t)
	first := to.open(t)
	body := wants("wick-cotton", 1)
	created := first.ask("POST", "/checkout-sessions", body, "Idempotency-Key", "create")
	path := "/checkout-sessions/" + created.id()
	change := `{"line_items": [{"item": {"id": "wick-cotton"}, "quantity": 3}]}`
	changed := first.ask("PUT", path, change, "Idempotency-Key", "change")
	require.Equal(t, http.StatusOK, changed.status, changed.raw)
	require.EqualValues(t, 3*350, changed.total("total"))
	refused := first.ask("PUT", path, `{"line_items": [{"item": {"id": "wick-cotton"}, "quantity": 300}]}`, "Idempotency-Key", "refused")
	require.Equal(t, http.StatusBadRequest, refused.status, refused.raw)
	declined := first.complete(created.id(), "fail_token", "Idempotency-Key", "declined")
	paid := first.complete(created.id(), "success_token", "Idempotency-Key", "pay")
	require.Equal(t, http.StatusOK, paid.status, paid.raw)
	cancel := first.ask("POST", path+"/cancel", "", "Idempotency-Key", "cancel")
	require.Equal(t, http.StatusConflict, cancel.status)

	again := func(b *branch) {
		require.Equal(t, created, b.ask("POST", "/checkout-sessions", body, "Idempotency-Key", "create"))
		require.Equal(t, changed, b.ask("PUT", path, change, "Idempotency-Key", "change"))
		require.Equal(t, refused, b.ask("PUT", path, `{"line_items": [{"item": {"id": "wick-cotton"}, "quantity": 300}]}`, "Idempotency-Key", "refused"))
		require.Equal(t, declined, b.complete(created.id(), "fail_token", "Idempotency-Key", "declined"))
		require.Equal(t, paid, b.complete(created.id(), "success_token", "Idempotency-Key", "pay"))
		require.Equal(t, cancel, b.ask("POST", path+"/cancel", "", "Idempotency-Key", "cancel"))
	}
	again(first)
	again(to.open(t))
	first.close()
	again(to.open(t))
	to.open(t).leaves(t, "wick-cotton", 200, 197)
}

// TestUpdateAgainstComplete: they have one order of events, whoever is told no has changed nothing, and what is paid is
// what was agreed to.
func TestUpdateAgainstComplete(t *testing.T) {
	to := newTown(t)
	branches := []*branch{to.open(t), to.open(t)}
	seen := make(map[[2]int]int)
	for range 24 {
		created := branches[0].create("wick-cotton", 1)
		path := "/checkout-sessions/" + created.id()
		answers := atOnce(t, 2, func(n int) (answer, error) {
			if n == 0 {
				return branches[0].try("PUT", path, `{"line_items": [{"item": {"id": "wick-cotton"}, "quantity": 2}]}`)
			}
			return branches[1].try("POST", path+"/complete", paying("success_token"), "If-Match", created.etag)
		})
		update, complete := answers[0], answers[1]
		seen[[2]int{update.status, complete.status}]++
		now := branches[0].get(created.id())
		switch [2]int{update.status, complete.status} {
		case [2]int{200, 409}, [2]int{200, 412}:
			require.Equal(t, "ready_for_complete", now.state())
			require.EqualValues(t, 700, now.total("total"))
		case [2]int{409, 200}:
			require.Equal(t, "completed", now.state())
			require.EqualValues(t, 350, now.total("total"))
			require.EqualValues(t, 350, complete.total("total"))
		default:
			require.Fail(t, "not one order of events", "%d and %d\n%s\n%s", update.status, complete.status, update.raw, complete.raw)
		}
	}
	t.Log(seen)
}

// TestUpdatesAtOnce: each is taken over, one after the other.
func TestUpdatesAtOnce(t *testing.T) {
	to := newTown(t)
	branches := []*branch{to.open(t), to.open(t)}
	created := branches[0].create("wick-cotton", 1)
	path := "/checkout-sessions/" + created.id()
	answers := atOnce(t, 6, func(n int) (answer, error) {
		return branches[n%2].try("PUT", path, fmt.Sprintf(`{"buyer": {"email": "%d@example.com"}}`, n))
	})
	require.Equal(t, map[int]int{200: 6}, count(answers), "%v", answers)
	etags := make(map[string]bool)
	for n, a := range answers {
		etags[a.etag] = true
		require.Contains(t, a.raw, fmt.Sprintf("%d@example.com", n), "each is told of its own")
	}
	require.Len(t, etags, 6)
	require.Equal(t, `"7-ready_for_complete"`, branches[0].get(created.id()).etag)
}

// TestCancelAgainstComplete: a checkout ends in exactly one way, both are told which, and the stock agrees.
func TestCancelAgainstComplete(t *testing.T) {
	to := newTown(t)
	branches := []*branch{to.open(t), to.open(t)}
	sold := 0
	seen := make(map[string]int)
	for range 24 {
		id := branches[0].create("wick-cotton", 1).id()
		answers := atOnce(t, 2, func(n int) (answer, error) {
			if n == 0 {
				return branches[0].try("POST", "/checkout-sessions/"+id+"/cancel", "")
			}
			return branches[1].try("POST", "/checkout-sessions/"+id+"/complete", paying("success_token"))
		})
		require.Equal(t, map[int]int{200: 1, 409: 1}, count(answers), "%v", answers)
		state := "canceled"
		if answers[1].status == 200 {
			state = "completed"
			sold++
		}
		seen[state]++
		for _, b := range branches {
			now := b.get(id)
			require.Equal(t, state, now.state())
			require.Equal(t, state == "completed", now.order() != "")
			b.leaves(t, "wick-cotton", 200, int64(200-sold))
		}
	}
	t.Log(seen)
}

// TestTwoHundredBuyers want what is there for forty of them: forty get it, and the stock is never below zero.
func TestTwoHundredBuyers(t *testing.T) {
	to := newTown(t)
	branches := []*branch{to.open(t), to.open(t)}
	ids := make([]string, 200)
	atOnce(t, len(ids), func(n int) (answer, error) {
		a, err := branches[n%2].insist("POST", "/checkout-sessions", wants("oil-lamp", 1), fmt.Sprint("create ", n))
		ids[n] = a.id()
		return a, err
	})
	answers := atOnce(t, len(ids), func(n int) (answer, error) {
		left := branches[n%2].left(t, "oil-lamp", 40)
		if left < 0 {
			return answer{}, fmt.Errorf("%d left", left)
		}
		return branches[n%2].insist("POST", "/checkout-sessions/"+ids[n]+"/complete", paying("success_token"), fmt.Sprint("pay ", n))
	})
	require.Equal(t, map[int]int{200: 40, 409: 160}, count(answers))
	for _, a := range answers {
		if a.status == 409 {
			require.Equal(t, "OUT_OF_STOCK", a.code(), a.raw)
		}
	}
	require.Zero(t, branches[0].left(t, "oil-lamp", 40))
	orders := 0
	for _, err := range branches[0].store.List(t.Context(), "order.") {
		require.NoError(t, err)
		orders++
	}
	require.Equal(t, 40, orders)
	gone := branches[0].ask("POST", "/checkout-sessions", wants("oil-lamp", 1))
	require.Equal(t, http.StatusBadRequest, gone.status)
	require.Contains(t, gone.raw, "Insufficient stock")
}

// TestExpiry: a checkout that was not paid in time is over, at whatever process it is asked for.
func TestExpiry(t *testing.T) {
	to := newTown(t)
	branches := []*branch{
		to.open(t, func(o *shop.Options, _ *ucp.InboundOptions) { o.Life = time.Nanosecond }), to.open(t),
	}
	for _, b := range branches {
		id := branches[0].create("wick-cotton", 1).id()
		require.Equal(t, "canceled", b.get(id).state())
		late := b.complete(id, "success_token")
		require.Equal(t, http.StatusConflict, late.status, late.raw)
		require.Equal(t, http.StatusConflict, b.ask("PUT", "/checkout-sessions/"+id, wants("wick-cotton", 2)).status)
	}
	id := branches[0].create("wick-cotton", 1).id()
	require.Equal(t, http.StatusConflict, branches[1].complete(id, "success_token").status)
	branches[0].leaves(t, "wick-cotton", 200, 200)
	require.Contains(t, branches[1].create("wick-cotton", 1).raw, `"expires_at"`)
}

// forestalled is a store in which something else happens right before a value is put, or it is not put at all.
type forestalled struct {
	keyvalue.Store
	before func(name string) error
}

func (m *forestalled) Put(ctx context.Context, name string, value []byte, revision uint64) (uint64, error) {
	if err := m.before(name); err != nil {
		return 0, err
	}
	return m.Store.Put(ctx, name, value, revision)
}

// TestALostPaymentIsRepeated: a payment that came second to a change at another process, which happened while it was under
// way, is told so, and the same request pays once it is repeated.
func TestALostPaymentIsRepeated(t *testing.T) {
	to := newTown(t)
	second := to.open(t)
	var change sync.Once
	var id string
	first := to.open(t, func(_ *shop.Options, io *ucp.InboundOptions) {
		io.Store = &forestalled{io.Store, func(name string) error {
			if strings.HasPrefix(name, "outbox.") { // The payment is going to be attempted.
				change.Do(func() {
					changed := second.ask("PUT", "/checkout-sessions/"+id, wants("wick-cotton", 4))
					require.Equal(t, http.StatusOK, changed.status, changed.raw)
				})
			}
			return nil
		}}
	})
	id = first.create("wick-cotton", 1).id()
	lost := first.complete(id, shop.TokenPays, "Idempotency-Key", "k")
	require.Equal(t, http.StatusConflict, lost.status, lost.raw)
	require.Contains(t, lost.raw, "was changed")
	paid := first.complete(id, shop.TokenPays, "Idempotency-Key", "k")
	require.Equal(t, http.StatusOK, paid.status, paid.raw)
	require.Equal(t, int64(4*350), paid.total("subtotal"))
	require.Equal(t, paid, first.complete(id, shop.TokenPays, "Idempotency-Key", "k"))
}
