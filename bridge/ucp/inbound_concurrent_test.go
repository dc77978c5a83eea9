package ucp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/syncserver"
)

// rounds is how often a race is run: it has no one outcome, and each must be sound.
const rounds = 25

// executors are the ways to finalise that every race is run under.
var executors = map[string][]syncserver.Option{
	"immediate": nil,
	"batch":     {syncserver.WithBatch(time.Millisecond, 3)},
}

// together runs requests at the same time and gives their answers in order.
func together(requests ...func() response) []response {
	answers := make([]response, len(requests))
	begin := make(chan struct{})
	var all sync.WaitGroup
	for i, request := range requests {
		all.Go(func() {
			<-begin
			answers[i] = request()
		})
	}
	close(begin)
	all.Wait()
	return answers
}

func statuses(answers []response) []int {
	var all []int
	for _, a := range answers {
		all = append(all, a.status)
	}
	slices.Sort(all)
	return all
}

// settle waits until nothing moves any more in the bubble, and no window of a batch is open.
func settle() {
	time.Sleep(time.Second)
	synctest.Wait()
}

// requireNothingLeft checks in the records, once nothing moves any more, that of the enactments of a checkout all have
// ended but as many as may be open, and that none has two ends.
func (s *system) requireNothingLeft(t *testing.T, id string, open int) {
	t.Helper()
	settle()
	ends := make(map[string][]string)
	for line := range strings.Lines(s.records.String()) {
		var record struct {
			Kind, Action string
			Enactment    struct{ CID string }
		}
		require.NoError(t, json.Unmarshal([]byte(line), &record))
		if record.Kind != "happened" || !strings.HasPrefix(record.Enactment.CID, id) {
			continue
		}
		switch record.Action {
		case "Create":
			ends[record.Enactment.CID] = []string{}
		case "Completed", "Cancelled", "Declined", "Refused":
			ends[record.Enactment.CID] = append(ends[record.Enactment.CID], record.Action)
		}
	}
	for cid, of := range ends {
		require.LessOrEqual(t, len(of), 1, cid)
		if len(of) == 0 {
			open--
		}
	}
	require.Zero(t, open, "%v", ends)
}

func TestInboundFourPaymentsOneOrder(t *testing.T) {
	for name, options := range executors {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSystem(t, nil, options...)
				for round := range rounds {
					id := s.ready(t)
					var requests []func() response
					for i := range 4 {
						requests = append(requests, func() response {
							return s.ask("POST", "/checkout-sessions/"+id+"/complete", paying(goodToken), "Idempotency-Key", fmt.Sprintf("%s-%d", id, i))
						})
					}
					require.Equal(t, []int{200, 409, 409, 409}, statuses(together(requests...)))
					s.requireNothingLeft(t, id, 0)
					require.EqualValues(t, round+1, s.stall.orders.Load())
				}
			})
		})
	}
}

func TestInboundFourPaymentsOneKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSystem(t, nil)
		for round := range rounds {
			id := s.ready(t)
			pay := func() response {
				return s.ask("POST", "/checkout-sessions/"+id+"/complete", paying(goodToken), "Idempotency-Key", id)
			}
			answers := append(together(pay, pay, pay, pay), pay())
			for _, a := range answers {
				require.Equal(t, http.StatusOK, a.status, a.raw)
				require.Equal(t, answers[0].raw, a.raw)
			}
			settle()
			require.EqualValues(t, round+1, s.stall.orders.Load())
		}
	})
}

func TestInboundPaymentAgainstCancellation(t *testing.T) {
	for name, options := range executors {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSystem(t, nil, options...)
				for range rounds {
					id := s.ready(t)
					path := "/checkout-sessions/" + id
					before := s.stall.orders.Load()
					answers := together(
						func() response { return s.ask("POST", path+"/complete", paying(goodToken)) },
						func() response { return s.ask("POST", path+"/cancel", "") },
					)
					require.Equal(t, []int{200, 409}, statuses(answers), "%s\n%s", answers[0].raw, answers[1].raw)
					end := s.ask("GET", path, "").state()
					settle()
					if answers[0].status == http.StatusOK {
						require.Equal(t, "completed", end)
						require.Equal(t, before+1, s.stall.orders.Load())
					} else {
						require.Equal(t, "canceled", end)
						require.Equal(t, before, s.stall.orders.Load())
					}
					s.requireNothingLeft(t, id, 0)
				}
			})
		})
	}
}

func TestInboundPaymentAgainstChange(t *testing.T) {
	for name, options := range executors {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSystem(t, nil, options...)
				for range rounds {
					id := s.ready(t)
					path := "/checkout-sessions/" + id
					before := s.stall.orders.Load()
					answers := together(
						func() response { return s.ask("POST", path+"/complete", paying(goodToken)) },
						func() response {
							return s.ask("PUT", path, `{"line_items": [{"item": {"id": "ink"}, "quantity": 1}]}`)
						},
					)
					end := s.ask("GET", path, "")
					settle()
					paid, changed := answers[0].status, answers[1].status
					switch {
					case paid == 200 && changed == 409: // The payment was first.
						require.Equal(t, "completed", end.state())
						require.EqualValues(t, 150, end.total("total"))
					case paid == 409 && changed == 200: // The change was first, while the payment was under way.
						require.Equal(t, "ready_for_complete", end.state())
						require.EqualValues(t, 300, end.total("total"))
					case paid == 200 && changed == 200: // The change was over when the payment began, and was paid for.
						require.Equal(t, "completed", end.state())
						require.EqualValues(t, 300, end.total("total"))
					default:
						require.Fail(t, "no order of events", "%s\n%s", answers[0].raw, answers[1].raw)
					}
					orders := int64(0)
					if end.state() == "completed" {
						orders = 1
					}
					require.Equal(t, before+orders, s.stall.orders.Load())
					s.requireNothingLeft(t, id, 1-int(orders))
				}
			})
		})
	}
}

func TestInboundChangeAgainstChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSystem(t, nil)
		for range rounds {
			id := s.ready(t)
			path := "/checkout-sessions/" + id
			change := func(quantity int) func() response {
				return func() response {
					return s.ask("PUT", path, fmt.Sprintf(`{"line_items": [{"item": {"id": "pen"}, "quantity": %d}]}`, quantity))
				}
			}
			answers := together(change(2), change(3), change(4))
			require.Equal(t, []int{200, 200, 200}, statuses(answers))
			end := s.ask("GET", path, "")
			require.Contains(t, []string{answers[0].raw, answers[1].raw, answers[2].raw}, end.raw)
			s.requireNothingLeft(t, id, 1)
		}
	})
}

// gate holds up answers to one action of the Platform until it is opened.
type gate struct {
	action string
	open   chan struct{}
}

func newGate(action string) *gate { return &gate{action: action, open: make(chan struct{})} }

func (g *gate) hold(ctx context.Context, action string) {
	if action != g.action {
		return
	}
	select {
	case <-g.open:
	case <-ctx.Done():
	}
}

// later runs a request and gives a way to wait for its answer.
func later(request func() response) (answer func() response) {
	answered := make(chan response, 1)
	go func() { answered <- request() }()
	return func() response { return <-answered }
}

// TestInboundPaidWhileTheChangeIsPriced: the payment is first, and the enactment that the change created is cancelled.
func TestInboundPaidWhileTheChangeIsPriced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pricing := newGate("Create")
		s := newSystem(t, func(st *stall, _ *ucp.InboundOptions) {
			created := 0
			st.hold = func(ctx context.Context, action string) {
				if action == "Create" {
					if created++; created == 1 {
						return
					}
				}
				pricing.hold(ctx, action)
			}
		})
		id := s.ready(t)
		path := "/checkout-sessions/" + id
		change := later(func() response {
			return s.ask("PUT", path, `{"line_items": [{"item": {"id": "ink"}, "quantity": 1}]}`)
		})
		synctest.Wait()
		require.Equal(t, "ready_for_complete", s.ask("GET", path, "").state())
		require.Equal(t, http.StatusOK, s.ask("POST", path+"/complete", paying(goodToken)).status)
		close(pricing.open)
		lost := change()
		require.Equal(t, http.StatusConflict, lost.status, lost.raw)
		require.EqualValues(t, 150, s.ask("GET", path, "").total("total"))
		s.requireNothingLeft(t, id, 0)
	})
}

// TestInboundPaymentMeetsAChangeUnderWay: the cancellation that the change needs is first, so the payment is refused.
func TestInboundPaymentMeetsAChangeUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cancelling := newGate("Cancel")
		s := newSystem(t, func(st *stall, _ *ucp.InboundOptions) { st.hold = cancelling.hold })
		id := s.ready(t)
		path := "/checkout-sessions/" + id
		change := later(func() response {
			return s.ask("PUT", path, `{"line_items": [{"item": {"id": "ink"}, "quantity": 1}]}`)
		})
		synctest.Wait()
		require.Equal(t, "incomplete", s.ask("GET", path, "").state())
		lost := s.ask("POST", path+"/complete", paying(goodToken))
		require.Equal(t, http.StatusConflict, lost.status, lost.raw)
		require.Contains(t, lost.raw, `"code":"blocked"`)
		close(cancelling.open)
		require.Equal(t, http.StatusOK, change().status)
		require.EqualValues(t, 300, s.ask("GET", path, "").total("total"))
		require.Zero(t, s.stall.orders.Load())
		s.requireNothingLeft(t, id, 1)
	})
}

// TestInboundCancelledWhileThePaymentIsTaken: once the payment is with the Business, a change is refused at once, and a
// cancellation waits and is too late.
func TestInboundCancelledWhileThePaymentIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		taking := newGate("Complete")
		s := newSystem(t, func(st *stall, _ *ucp.InboundOptions) { st.hold = taking.hold })
		id := s.ready(t)
		path := "/checkout-sessions/" + id
		payment := later(func() response { return s.ask("POST", path+"/complete", paying(goodToken)) })
		synctest.Wait()
		require.Equal(t, "complete_in_progress", s.ask("GET", path, "").state())
		change := s.ask("PUT", path, `{"line_items": [{"item": {"id": "ink"}, "quantity": 1}]}`)
		require.Equal(t, http.StatusConflict, change.status, change.raw)
		again := s.ask("POST", path+"/complete", paying(goodToken))
		require.Equal(t, http.StatusConflict, again.status, again.raw)
		require.Contains(t, again.raw, `"code":"already_happened"`)
		cancellation := later(func() response { return s.ask("POST", path+"/cancel", "") })
		synctest.Wait()
		close(taking.open)
		require.Equal(t, http.StatusOK, payment().status)
		require.Equal(t, http.StatusConflict, cancellation().status)
		s.requireNothingLeft(t, id, 0)
	})
}
