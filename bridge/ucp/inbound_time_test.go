package ucp_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/ucp"
)

// TestInboundBusinessIsSilent: a request that is not answered in time says so, the checkout shows what is known, and
// the same request repeated learns the outcome.
func TestInboundBusinessIsSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		taking := newGate("Complete")
		s := newSystem(t, func(st *stall, _ *ucp.InboundOptions) { st.hold = taking.hold })
		path := "/checkout-sessions/" + s.ready(t)
		pay := func() response {
			return s.ask("POST", path+"/complete", paying(goodToken), "Idempotency-Key", "k1")
		}
		began := time.Now()
		silent := pay()
		require.Equal(t, http.StatusServiceUnavailable, silent.status, silent.raw)
		require.Equal(t, "NO_ANSWER_YET", silent.code())
		require.NotEmpty(t, silent.header.Get("Retry-After"))
		require.Equal(t, ucp.DefaultAnswerTimeout, time.Since(began))

		shown := s.ask("GET", path, "")
		require.Equal(t, "complete_in_progress", shown.state())
		requireSchema(t, checkoutSchema, shown.raw)

		close(taking.open)
		synctest.Wait()
		require.Equal(t, "completed", s.ask("GET", path, "").state())
		again := pay()
		require.Equal(t, http.StatusOK, again.status, again.raw)
		require.Equal(t, "completed", again.state())
		require.EqualValues(t, 1, s.stall.orders.Load())
	})
}

// TestInboundPlatformHangsUp: who waits with the same key takes over when the first request is given up.
func TestInboundPlatformHangsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		taking := newGate("Complete")
		s := newSystem(t, func(st *stall, _ *ucp.InboundOptions) { st.hold = taking.hold })
		path := "/checkout-sessions/" + s.ready(t)
		pay := func(ctx context.Context) func() response {
			return later(func() response {
				return askIn(ctx, s.inbound, "POST", path+"/complete", paying(goodToken), "Idempotency-Key", "k1")
			})
		}
		ctx, hangUp := context.WithCancel(t.Context())
		first := pay(ctx)
		synctest.Wait()
		second := pay(t.Context())
		synctest.Wait()
		hangUp()
		require.Equal(t, http.StatusServiceUnavailable, first().status)
		synctest.Wait()
		close(taking.open)
		require.Equal(t, http.StatusOK, second().status)
		require.EqualValues(t, 1, s.stall.orders.Load())
	})
}

func TestInboundCreateIsAnsweredLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pricing := newGate("Create")
		s := newSystem(t, func(st *stall, _ *ucp.InboundOptions) { st.hold = pricing.hold })
		create := func(headers ...string) response {
			return s.ask("POST", "/checkout-sessions", onePen+","+shipped+"}", headers...)
		}
		require.Equal(t, http.StatusServiceUnavailable, create("Idempotency-Key", "k1").status)
		require.Equal(t, http.StatusServiceUnavailable, create().status)
		close(pricing.open)
		synctest.Wait()
		// With the key the checkout is found again. Without, nobody can ever ask for it, so it was cancelled.
		created := create("Idempotency-Key", "k1")
		require.Equal(t, http.StatusCreated, created.status, created.raw)
		s.requireNothingLeft(t, created.id(), 1)
		s.requireNothingLeft(t, "chk_", 1)
	})
}

func TestInboundCreateIsRefusedLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pricing := newGate("Create")
		s := newSystem(t, func(st *stall, _ *ucp.InboundOptions) { st.hold = pricing.hold; st.pens.Store(0) })
		create := func() response {
			return s.ask("POST", "/checkout-sessions", onePen+"}", "Idempotency-Key", "k1")
		}
		require.Equal(t, http.StatusServiceUnavailable, create().status)
		close(pricing.open)
		synctest.Wait()
		refused := create()
		require.Equal(t, http.StatusBadRequest, refused.status, refused.raw)
		require.Equal(t, "OUT_OF_STOCK", refused.code())
		require.Equal(t, refused.raw, create().raw)
	})
}

// TestInboundManyRefusals: what never was a checkout takes no place from those that are.
func TestInboundManyRefusals(t *testing.T) {
	s := newSystem(t, func(_ *stall, o *ucp.InboundOptions) { o.Checkouts = 3 })
	open := s.ready(t)
	paid := s.ready(t)
	require.Equal(t, http.StatusOK, s.ask("POST", "/checkout-sessions/"+paid+"/complete", paying(goodToken)).status)
	s.stall.pens.Store(0)
	for range 100 {
		require.Equal(t, http.StatusBadRequest, s.ask("POST", "/checkout-sessions", onePen+"}").status)
	}
	require.Equal(t, http.StatusOK, s.ask("GET", "/checkout-sessions/"+open, "").status)
	require.Equal(t, http.StatusOK, s.ask("GET", "/checkout-sessions/"+paid, "").status)
}

func TestInboundChangeIsAnsweredLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cancelling := newGate("Cancel")
		s := newSystem(t, func(st *stall, _ *ucp.InboundOptions) { st.hold = cancelling.hold })
		path := "/checkout-sessions/" + s.ready(t)
		silent := s.ask("PUT", path, `{"line_items": [{"item": {"id": "ink"}, "quantity": 1}]}`, "Idempotency-Key", "k1")
		require.Equal(t, http.StatusServiceUnavailable, silent.status, silent.raw)
		require.Equal(t, "incomplete", s.ask("GET", path, "").state())
		close(cancelling.open)
		synctest.Wait()
		require.EqualValues(t, 300, s.ask("GET", path, "").total("total"))
		again := s.ask("PUT", path, `{"line_items": [{"item": {"id": "ink"}, "quantity": 1}]}`, "Idempotency-Key", "k1")
		require.Equal(t, http.StatusOK, again.status, again.raw)
	})
}

func TestInboundIdempotencyKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSystem(t, func(_ *stall, o *ucp.InboundOptions) { o.Remembered = 4 })
		create := func(key, body string) response {
			return s.ask("POST", "/checkout-sessions", body, "Idempotency-Key", key)
		}
		first := create("k1", onePen+"}")
		require.Equal(t, http.StatusCreated, first.status)
		again := create("k1", onePen+"}")
		require.Equal(t, http.StatusCreated, again.status)
		require.Equal(t, first.raw, again.raw)

		// Another body, another operation, another checkout.
		require.Equal(t, "IDEMPOTENCY_CONFLICT", create("k1", onePen+" }").code())
		other := create("k2", onePen+"}")
		require.NotEqual(t, first.id(), other.id())
		cancel := func(id string) response {
			return s.ask("POST", "/checkout-sessions/"+id+"/cancel", "", "Idempotency-Key", "k3")
		}
		require.Equal(t, http.StatusConflict, s.ask("POST", "/checkout-sessions/"+other.id()+"/cancel", "", "Idempotency-Key", "k1").status)
		canceled := cancel(first.id())
		require.Equal(t, http.StatusOK, canceled.status)
		require.Equal(t, canceled.raw, cancel(first.id()).raw)
		conflict := cancel(other.id())
		require.Equal(t, http.StatusConflict, conflict.status)
		require.Equal(t, "IDEMPOTENCY_CONFLICT", conflict.code())
		require.Equal(t, "incomplete", s.ask("GET", "/checkout-sessions/"+other.id(), "").state())

		// A refusal is repeated too, though it would be accepted by now.
		s.stall.pens.Store(0)
		refused := create("k4", onePen+"}")
		require.Equal(t, http.StatusBadRequest, refused.status)
		s.stall.pens.Store(5)
		require.Equal(t, refused.raw, create("k4", onePen+"}").raw)

		// Kept are four keys; the oldest makes place.
		require.Equal(t, http.StatusCreated, create("k5", onePen+"}").status)
		fresh := create("k1", onePen+"}")
		require.Equal(t, http.StatusCreated, fresh.status)
		require.NotEqual(t, first.id(), fresh.id())

		time.Sleep(ucp.DefaultRememberedFor)
		require.NotEqual(t, fresh.id(), create("k1", onePen+"}").id())
	})
}

func TestInboundPlaceForCheckouts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSystem(t, func(_ *stall, o *ucp.InboundOptions) { o.Checkouts = 2 })
		first, second := s.ready(t), s.ready(t)
		full := s.ask("POST", "/checkout-sessions", onePen+"}")
		require.Equal(t, http.StatusServiceUnavailable, full.status)
		require.Equal(t, "TOO_MANY_CHECKOUTS", full.code())

		// One that ended makes place.
		require.Equal(t, http.StatusOK, s.ask("POST", "/checkout-sessions/"+second+"/complete", paying(goodToken)).status)
		third := s.ready(t)
		require.Equal(t, http.StatusNotFound, s.ask("GET", "/checkout-sessions/"+second, "").status)
		require.Equal(t, http.StatusOK, s.ask("GET", "/checkout-sessions/"+first, "").status)

		// So does one that nobody has asked for in six hours, and it is cancelled.
		time.Sleep(5 * time.Hour)
		require.Equal(t, http.StatusOK, s.ask("GET", "/checkout-sessions/"+first, "").status)
		time.Sleep(5 * time.Hour)
		s.ready(t)
		require.Equal(t, http.StatusNotFound, s.ask("GET", "/checkout-sessions/"+third, "").status)
		require.Equal(t, http.StatusOK, s.ask("GET", "/checkout-sessions/"+first, "").status)
		synctest.Wait()
		s.requireNothingLeft(t, third, 0)
	})
}

// TestInboundStartedAnew: a bridge that starts on an executor that has a history finds the open and the paid checkouts
// again, and puts right what another left over.
func TestInboundStartedAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cancelling := newGate("Cancel")
		s := newSystem(t, func(st *stall, _ *ucp.InboundOptions) { st.hold = cancelling.hold })
		open, paid, changed := s.ready(t), s.ready(t), s.ready(t)
		require.Equal(t, http.StatusOK, s.ask("POST", "/checkout-sessions/"+paid+"/complete", paying(goodToken)).status)
		wanted := `{"line_items": [{"item": {"id": "ink"}, "quantity": 1}]}`
		require.Equal(t, http.StatusServiceUnavailable, s.ask("PUT", "/checkout-sessions/"+changed, wanted).status)
		shown := s.ask("GET", "/checkout-sessions/"+open, "").raw
		s.stopBridge()

		close(cancelling.open)
		s.startBridge(t)
		synctest.Wait()
		require.Equal(t, shown, s.ask("GET", "/checkout-sessions/"+open, "").raw)
		require.Equal(t, "completed", s.ask("GET", "/checkout-sessions/"+paid, "").state())
		require.EqualValues(t, 300, s.ask("GET", "/checkout-sessions/"+changed, "").total("total"))
		require.Equal(t, http.StatusOK, s.ask("POST", "/checkout-sessions/"+open+"/complete", paying(goodToken)).status)
		require.Equal(t, http.StatusOK, s.ask("POST", "/checkout-sessions/"+changed+"/complete", paying(goodToken)).status)
	})
}
