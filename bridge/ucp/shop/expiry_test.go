package shop_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/bridge/keyvalue"
	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/bridge/ucp/model"
	"github.com/strabo-engine/strabo/bridge/ucp/shop"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/protocols"
	"github.com/strabo-engine/strabo/syncserver"
)

// later is when all that was created now has expired.
func later() time.Time { return time.Now().Add(7 * time.Hour) }

// expire has a branch look for what has expired by then.
func (b *branch) expire(t testing.TB, now time.Time) {
	t.Helper()
	require.NoError(t, b.sells.Expire(t.Context(), b.agent, b.attendance, now))
}

// expiries is how many checkouts there are: more where STRABO_TEST_EXPIRIES says so.
func expiries(t testing.TB, few int) int {
	t.Helper()
	text := os.Getenv("STRABO_TEST_EXPIRIES")
	if text == "" {
		return few
	}
	many, err := strconv.Atoi(text)
	require.NoError(t, err)
	return many
}

// happened lists the actions of a checkout, in order.
func (b *branch) happened(t testing.TB, id string) (actions []string) {
	t.Helper()
	visit, err := b.attendance.Visit(t.Context(), b.agent.Identity(), enactment.Key(`{"cid":"`+id+`"}`), adapter.Latest)
	require.NoError(t, err)
	defer visit.Close(false)
	for _, i := range visit.Instances() {
		actions = append(actions, i.Action)
	}
	return actions
}

// TestExpiryByItself: what nobody asks for expires within a minute of its time, and not before.
func TestExpiryByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules, err := protocols.Load("ucp-incremental",
			enactment.WithParties("Business", "shop"), enactment.WithParties("Platform", "web"))
		require.NoError(t, err)
		local := syncserver.NewLocal(rules)
		defer local.Close()
		data, err := shop.ReadData(shop.Lamps())
		require.NoError(t, err)
		sells, err := shop.Open(data, keyvalue.NewMemory(0), shop.Terms{Currency: "EUR", OrderURL: "https://lamps.example/orders/"}, nil)
		require.NoError(t, err)
		agent, err := sells.Agent(rules, local)
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { require.NoError(t, agent.Run(ctx)) })
		running.Go(func() { require.NoError(t, sells.Run(ctx, agent, local)) })
		defer running.Wait()
		defer stop()
		platform, err := adapter.New(rules, "Platform", local)
		require.NoError(t, err)
		create := func(cid string) (until time.Time) {
			t.Helper()
			wish := []map[string]any{{"item": map[string]any{"id": "wick-cotton"}, "quantity": 1}}
			require.NoError(t, platform.Attempt(ctx, "Create", adapter.Values{
				"cid": cid, "rev": 0, "profile": nil, "line_items": wish, "buyer": nil, "fulfillment": nil, "discounts": nil,
				"instruments": nil, "context": nil,
			}).Err(ctx))
			synctest.Wait()
			standing := model.StandingOf(instances(local, cid))
			require.NotNil(t, standing.Statement)
			return standing.Expires()
		}
		expired := func(cid string) bool {
			synctest.Wait()
			standing := model.StandingOf(instances(local, cid))
			return standing.Expired != nil
		}
		first := create("chk_1")
		time.Sleep(time.Hour)
		second := create("chk_2")
		require.NoError(t, platform.Attempt(ctx, "Cancel", adapter.Values{"cid": "chk_2"}).Err(ctx))
		third := create("chk_3")
		time.Sleep(time.Until(first) - time.Millisecond)
		require.False(t, expired("chk_1"))
		time.Sleep(time.Minute)
		require.True(t, expired("chk_1"))
		require.Len(t, local.History(`{"cid":"chk_1"}`), 3)
		time.Sleep(time.Until(third) - time.Millisecond)
		require.False(t, expired("chk_3"))
		time.Sleep(time.Minute)
		require.True(t, expired("chk_3"))
		require.False(t, expired("chk_2"), "it was cancelled")
		require.Less(t, second, time.Now())
		before := len(local.History(`{"cid":"chk_2"}`))
		time.Sleep(time.Hour)
		require.Len(t, local.History(`{"cid":"chk_2"}`), before)
	})
}

// instances are those of a checkout.
func instances(local *syncserver.Local, cid string) func(func(enactment.Instance) bool) {
	return func(yield func(enactment.Instance) bool) {
		for _, f := range local.History(enactment.Key(`{"cid":"` + cid + `"}`)) {
			for _, i := range f.Instances {
				if !yield(i) {
					return
				}
			}
		}
	}
}

// TestExpiryOfMany at two processes at once: each expires once, those that are over for another reason stay as they are, and
// what is found again does nothing more.
func TestExpiryOfMany(t *testing.T) {
	to := newTown(t)
	branches := []*branch{to.open(t), to.open(t)}
	var ids []string
	for n := range expiries(t, 12) {
		ids = append(ids, branches[n%2].create("wick-cotton", 1).id())
	}
	paid, cancelled := branches[0].create("wick-cotton", 1).id(), branches[0].create("wick-cotton", 1).id()
	require.Equal(t, "completed", branches[1].complete(paid, shop.TokenPays).state())
	require.Equal(t, "canceled", branches[1].ask("POST", "/checkout-sessions/"+cancelled+"/cancel", "").state())
	branches[0].expire(t, time.Now())
	require.Equal(t, "ready_for_complete", branches[1].get(ids[0]).state(), "its time is not over")
	var looking sync.WaitGroup
	for _, b := range branches {
		looking.Go(func() { b.expire(t, later()) })
	}
	looking.Wait()
	branches[0].expire(t, later()) // Either may have left it to the other, which had come to its end.
	for _, id := range ids {
		require.Equal(t, []string{"Create", "Offered", "Expired"}, branches[0].happened(t, id))
		require.Equal(t, "canceled", branches[1].get(id).state())
	}
	require.Equal(t, []string{"Create", "Offered", "Complete", "Completed"}, branches[0].happened(t, paid))
	require.Equal(t, []string{"Create", "Offered", "Cancel", "Cancelled"}, branches[0].happened(t, cancelled))
	branches[0].leaves(t, "wick-cotton", 200, 199)
}

// meddling is an executor at which something else happens right before an attempt.
type meddling struct {
	*syncserver.Attendance
	before func(action string)
}

func (m *meddling) Attempt(ctx context.Context, attempt enactment.Attempt) (enactment.Outcome, error) {
	m.before(attempt.Action)
	return m.Attendance.Attempt(ctx, attempt)
}

// TestExpiryMeetsAPayment ends in one of both, whoever is first.
func TestExpiryMeetsAPayment(t *testing.T) {
	to := newTown(t)
	var meanwhile func()
	b := to.open(t, func(_ *shop.Options, io *ucp.InboundOptions) {
		io.Store = &forestalled{io.Store, func(name string) error {
			if before := meanwhile; before != nil && strings.HasPrefix(name, "outbox.") { // The payment is going to be attempted.
				meanwhile = nil
				before()
			}
			return nil
		}}
	})
	id := b.create("wick-cotton", 1).id()
	var paid answer
	executor := &meddling{b.attendance, func(action string) {
		if action == "Expired" {
			paid = b.complete(id, shop.TokenPays)
		}
	}}
	agent, err := b.sells.Agent(b.rules, executor)
	require.NoError(t, err)
	require.NoError(t, b.sells.Expire(t.Context(), agent, executor, later()))
	require.Equal(t, "completed", paid.state(), paid.raw)
	require.Equal(t, []string{"Create", "Offered", "Complete", "Completed"}, b.happened(t, id))

	id = b.create("wick-cotton", 1).id()
	meanwhile = func() { b.expire(t, later()) }
	late := b.complete(id, shop.TokenPays)
	require.Equal(t, http.StatusConflict, late.status, late.raw)
	require.Equal(t, []string{"Create", "Offered", "Expired"}, b.happened(t, id))
	require.Equal(t, int64(199), b.left(t, "wick-cotton", 200))
}

// TestExpiryRacesPayments: many payments at two processes while both look for what has expired. Every checkout has one end,
// and stock is gone for those alone that were paid.
func TestExpiryRacesPayments(t *testing.T) {
	to := newTown(t)
	branches := []*branch{to.open(t), to.open(t)}
	ids := make([]string, expiries(t, 12))
	for n := range ids {
		ids[n] = branches[n%2].create("wick-cotton", 1).id()
	}
	var racing sync.WaitGroup
	var bought atomic.Int64
	for n, id := range ids {
		racing.Go(func() {
			switch a := branches[n%2].complete(id, shop.TokenPays); a.status {
			case http.StatusOK:
				bought.Add(1)
			default:
				require.Equal(t, http.StatusConflict, a.status, a.raw)
			}
		})
	}
	for _, b := range branches {
		racing.Go(func() { b.expire(t, later()) })
	}
	racing.Wait()
	branches[0].expire(t, later().Add(time.Hour)) // also what was noted down
	completed := int64(0)
	for _, id := range ids {
		ends := 0
		for _, action := range branches[0].happened(t, id) {
			switch action {
			case "Completed":
				completed++
				ends++
			case "Expired":
				ends++
			}
		}
		require.Equal(t, 1, ends, id)
	}
	require.Equal(t, completed, bought.Load())
	branches[0].leaves(t, "wick-cotton", 200, 200-completed)
}

// unreadable is an executor with a checkout that cannot be read.
type unreadable struct {
	*syncserver.Attendance
	id string
}

func (u *unreadable) Visit(
	ctx context.Context, identity enactment.Identity, key enactment.Key, how adapter.Freshness,
) (adapter.Visit, error) {
	if strings.Contains(string(key), u.id) {
		return nil, errors.New("it cannot be read")
	}
	return u.Attendance.Visit(ctx, identity, key, how)
}

// TestExpiryOfWhatCannotBeEnded: it is looked at again, by whatever process, and what comes behind it does not wait.
func TestExpiryOfWhatCannotBeEnded(t *testing.T) {
	to := newTown(t)
	b, other := to.open(t), to.open(t)
	stuck, free := b.create("wick-cotton", 1).id(), b.create("wick-cotton", 1).id()
	unreadable := &unreadable{b.attendance, stuck}
	require.NoError(t, b.sells.Expire(t.Context(), b.agent, unreadable, later()))
	require.NotContains(t, b.happened(t, stuck), "Expired")
	require.Contains(t, b.happened(t, free), "Expired")
	other.expire(t, later().Add(time.Second))
	require.NotContains(t, b.happened(t, stuck), "Expired", "it is looked at again after a while")
	other.expire(t, later().Add(2*time.Minute))
	require.Contains(t, b.happened(t, stuck), "Expired")

	// One that lives longer than checkouts do is noted down until its time is over.
	long := to.open(t, func(o *shop.Options, _ *ucp.InboundOptions) { o.Life = 48 * time.Hour }).create("wick-cotton", 1).id()
	b.expire(t, later())
	require.NotContains(t, b.happened(t, long), "Expired")
	noted := 0
	for _, err := range b.store.List(t.Context(), "overdue.") {
		require.NoError(t, err)
		noted++
	}
	require.Equal(t, 1, noted)
	other.expire(t, time.Now().Add(49*time.Hour))
	require.Contains(t, b.happened(t, long), "Expired")
	for entry, err := range b.store.List(t.Context(), "overdue.") {
		require.Fail(t, "there is still a note", "%v %v", entry, err)
	}
}

// TestExpiryClaimed: while one process looks through checkouts no other does, but for one that has been silent for long.
func TestExpiryClaimed(t *testing.T) {
	to := newTown(t)
	b := to.open(t)
	id := b.create("wick-cotton", 1).id()
	claim := func(until time.Time) {
		t.Helper()
		require.NoError(t, keyvalue.Change(t.Context(), b.store, "expiry", func([]byte) ([]byte, error) {
			return fmt.Appendf(nil, `{"by": "another", "until": %q}`, until.Format(time.RFC3339)), nil
		}))
	}
	claim(time.Now().Add(time.Minute))
	b.expire(t, later())
	require.NotContains(t, b.happened(t, id), "Expired")
	claim(time.Now().Add(-time.Minute))
	b.expire(t, later())
	require.Contains(t, b.happened(t, id), "Expired")
}
