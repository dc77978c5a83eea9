package bridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/bridge"
	"github.com/strabo-engine/strabo/protocols"
	"github.com/strabo-engine/strabo/syncserver"
)

const reservation = `Reservation
who Guest, Hotel
what id key, number or why
do
  Guest: Ask(id, room)
  Hotel: Booked(id, Ask, number)
  Hotel: Full(id, Ask, why)
sayso
  Guest: room
  Hotel: number, why
nono
  Booked Full
`

// The status query is what the bridge asks when the answer to a booking is lost: was it booked or not? If it was not, the
// same request may be sent again, since the service knows the key.
const reservationMapping = `
protocol: Reservation
role: Hotel
headers:
  Idempotency-Key: '{$.exchange.key}'
actions:
  Ask:
    - step: book
      request:
        method: POST
        path: /bookings
        body: {id: $.observed.id, room: $.observed.room}
      retry: same-key
      answers:
        - on: 201
          attempt: {Booked: {number: $.response.body.number}}
        - on: 409
          attempt: {Full: {why: $.response.body.error}}
      status:
        request: {method: GET, path: '/bookings/{$.observed.id}'}
        answers:
          - on: 200
            attempt: {Booked: {number: $.status.body.number}}
          - on: 404
            resend: true
`

// bookings is a service that knows nothing of protocols. It breaks the connection once, after it has booked.
type bookings struct {
	mu      sync.Mutex
	numbers map[string]int
	broken  bool
}

func (b *bookings) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var asked struct{ ID, Room string }
	if r.Method == http.MethodPost {
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			http.Error(w, "no booking", http.StatusBadRequest)
			return
		}
	} else {
		asked.ID = r.PathValue("id")
	}
	status := http.StatusOK
	switch _, known := b.numbers[asked.ID]; {
	case asked.Room == "suite":
		status = http.StatusConflict
	case r.Method == http.MethodPost && !known:
		status, b.numbers[asked.ID] = http.StatusCreated, len(b.numbers)+1
	case !known:
		status = http.StatusNotFound
	}
	fmt.Println(r.Method, r.URL.Path, status)
	if status == http.StatusCreated && !b.broken {
		b.broken = true
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"number": b.numbers[asked.ID], "error": "no suite is left"})
}

// A plain REST service plays the hotel. The answer to the first booking is lost on the way; the bridge does not guess, and
// does not book twice.
func Example() {
	rules, err := protocols.Compile([]byte(reservation), nil)
	if err != nil {
		log.Fatal(err)
	}
	mapping, err := bridge.Load("reservation.yaml", []byte(reservationMapping), rules, nil)
	if err != nil {
		log.Fatal(err)
	}
	service := &bookings{numbers: make(map[string]int)}
	mux := http.NewServeMux()
	mux.Handle("POST /bookings", service)
	mux.Handle("GET /bookings/{id}", service)
	server := httptest.NewServer(mux)
	defer server.Close()

	local := syncserver.NewLocal(rules)
	defer local.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	hotel, err := bridge.New(rules, local, mapping, bridge.Options{
		BaseURL: server.URL, Logger: slog.New(slog.DiscardHandler),
		OnUnknown:  func(u bridge.Unsettled) { fmt.Println("nobody knows what became of", u.Step, u.Detail) },
		OnDiverged: func(d bridge.Divergence) { fmt.Println("the service did what the protocol forbids:", d.Detail) },
	})
	if err != nil {
		log.Fatal(err)
	}
	guest, err := adapter.New(rules, "Guest", local)
	if err != nil {
		log.Fatal(err)
	}
	answered := make(chan string)
	for action, says := range map[string]string{"Booked": "number", "Full": "why"} {
		guest.OnObservation(action, func(_ context.Context, o adapter.Observation) error {
			value, _ := o.Value(says)
			answered <- fmt.Sprint(action, " ", value)
			return nil
		})
	}
	ran := make(chan error, 2)
	go func() { ran <- hotel.Run(ctx) }()
	go func() { ran <- guest.Run(ctx) }()
	for _, room := range []string{"single", "suite"} {
		if err := guest.Attempt(ctx, "Ask", adapter.Values{"id": "for-a-" + room, "room": room}).Err(ctx); err != nil {
			log.Fatal(err)
		}
		fmt.Println(<-answered)
	}
	cancel()
	if err := errors.Join(<-ran, <-ran); err != nil {
		log.Fatal(err)
	}
	// Output:
	// POST /bookings 201
	// GET /bookings/for-a-single 200
	// Booked 1
	// POST /bookings 409
	// Full "no suite is left"
}
