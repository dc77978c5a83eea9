package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"
)

// What follows checks what a shop has answered without the shop's help: what a checkout is, as its client sees it, is
// written down here once more, by hand, as a model for a linearizability checker.

// shopRequest is one request, which was repeated with its key until it was answered.
type shopRequest struct {
	checkout           string // its number, not its id
	operation          string
	quantity           int // of a create or an update
	key                string
	path, body, method string

	begun, ended time.Duration
	answer       shopAnswer
	answered     bool // else nobody knows what became of it
	again        bool // it was asked more than once
}

// sessionState is a checkout in the model.
type sessionState struct {
	there    bool
	quantity int
	end      string // completed or canceled
}

// told is what an answer says of the checkout.
type told struct {
	there    bool
	quantity int
	status   string
}

func tellsOf(a shopAnswer) (told, error) {
	var body struct {
		Status    string `json:"status"`
		LineItems []struct {
			Quantity int `json:"quantity"`
		} `json:"line_items"`
	}
	if err := json.Unmarshal([]byte(a.raw), &body); err != nil {
		return told{}, err
	}
	if len(body.LineItems) != 1 {
		return told{}, nil
	}
	return told{true, body.LineItems[0].Quantity, body.Status}, nil
}

// follow gives the states that a request may lead to, and those in which it may be answered as it was; none: it cannot be
// so.
func (s sessionState) follow(r *shopRequest) []any {
	after, effective := s, false
	switch r.operation {
	case "create":
		after, effective = sessionState{there: true, quantity: r.quantity}, !s.there
	case "update":
		after.quantity, effective = r.quantity, s.there && s.end == ""
	case "complete":
		after.end, effective = "completed", s.there && s.end == ""
	case "cancel":
		after.end, effective = "canceled", s.there && s.end == ""
	}
	if !r.answered { // It may have happened, at any time or never.
		if effective {
			return []any{s, after}
		}
		return []any{s}
	}
	says, err := tellsOf(r.answer)
	switch {
	case err != nil:
		return nil
	case r.answer.status == http.StatusOK || r.answer.status == http.StatusCreated:
		if r.operation != "get" && !effective || !says.there || says.quantity != after.quantity {
			return nil
		}
		if (says.status == "completed" || says.status == "canceled" || after.end != "") && says.status != after.end {
			return nil
		}
		return []any{after}
	case r.answer.status == http.StatusConflict:
		for _, end := range []string{"completed", "canceled"} {
			if strings.Contains(r.answer.Detail, "has been "+end) && s.end != end {
				return nil
			}
		}
		return []any{s}
	}
	return nil
}

// checkoutModel is what a client may believe of checkouts, each by itself.
func checkoutModel() porcupine.Model {
	model := porcupine.NondeterministicModel{
		Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
			apart := make(map[string][]porcupine.Operation)
			for _, o := range history {
				of := o.Input.(*shopRequest).checkout
				apart[of] = append(apart[of], o)
			}
			all := make([][]porcupine.Operation, 0, len(apart))
			for _, part := range apart {
				all = append(all, part)
			}
			return all
		},
		Init: func() []any { return []any{sessionState{}} },
		Step: func(state, input, _ any) []any { return state.(sessionState).follow(input.(*shopRequest)) },
		DescribeOperation: func(input, _ any) string {
			r := input.(*shopRequest)
			return fmt.Sprintf("%s %d: %d %s %s", r.operation, r.quantity, r.answer.status, r.answer.Status, r.answer.Detail)
		},
	}
	return model.ToModel()
}

// chronicle is what many clients have asked for.
type chronicle struct {
	start time.Time
	mu    sync.Mutex
	all   []*shopRequest
}

func (c *chronicle) add(r *shopRequest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, r)
}

// disturbed tells whether others were at a checkout while a request was under way.
func (r *shopRequest) disturbed(others []*shopRequest) bool {
	return slices.ContainsFunc(others, func(o *shopRequest) bool {
		return o != r && o.operation != "get" && o.begun <= r.ended && (r.begun <= o.ended || !o.answered)
	})
}

// check holds the whole chronicle against the model. Who is told that others were at the checkout at the same time has to
// have met some: what was answered before, by whatever process, is known to all.
func (c *chronicle) check(t *testing.T) {
	t.Helper()
	end := time.Since(c.start)
	visitors := make(map[string][]*shopRequest)
	for _, r := range c.all {
		visitors[r.checkout] = append(visitors[r.checkout], r)
	}
	for _, r := range c.all {
		if r.answered && r.answer.status == http.StatusConflict && !strings.Contains(r.answer.Detail, "has been ") {
			require.True(t, r.disturbed(visitors[r.checkout]), "%s of %s, begun at %v, met nobody: %s", r.operation, r.checkout, r.begun, r.answer.raw)
		}
	}
	history := make([]porcupine.Operation, 0, len(c.all))
	for _, r := range c.all {
		returned := r.ended
		if !r.answered {
			returned = end
		}
		history = append(history, porcupine.Operation{Input: r, Output: r, Call: int64(r.begun), Return: int64(returned)})
	}
	model := checkoutModel()
	if porcupine.CheckOperations(model, history) {
		return
	}
	for _, part := range model.Partition(history) {
		if porcupine.CheckOperations(model, part) {
			continue
		}
		for _, o := range part {
			t.Logf("%12v %12v %s", time.Duration(o.Call), time.Duration(o.Return), model.DescribeOperation(o.Input, o.Output))
		}
		require.FailNow(t, "a checkout was answered as none can be")
	}
}

// TestCheckoutModel sees to it that the model has teeth.
func TestCheckoutModel(t *testing.T) {
	view := func(status, quantity int, state string) shopAnswer {
		return shopAnswer{status: status, Status: state, raw: fmt.Sprintf(`{"status": %q, "line_items": [{"quantity": %d}]}`, state, quantity)}
	}
	late := func(state string) shopAnswer {
		return shopAnswer{status: 409, raw: "{}", Detail: "The change is not possible any more: the checkout has been " + state + "."}
	}
	type step struct {
		operation   string
		quantity    int
		begun, done time.Duration
		answer      shopAnswer
	}
	created := step{"create", 1, 0, 1, view(201, 1, "ready_for_complete")}
	for name, test := range map[string]struct {
		steps []step
		sound bool
	}{
		"bought":                      {[]step{created, {"update", 2, 2, 3, view(200, 2, "ready_for_complete")}, {"complete", 0, 4, 5, view(200, 2, "completed")}}, true},
		"told an old state":           {[]step{created, {"update", 2, 2, 3, view(200, 2, "ready_for_complete")}, {"get", 0, 4, 5, view(200, 1, "ready_for_complete")}}, false},
		"an update was lost":          {[]step{created, {"update", 2, 2, 3, view(200, 2, "ready_for_complete")}, {"complete", 0, 4, 5, view(200, 1, "completed")}}, false},
		"canceled and completed":      {[]step{created, {"cancel", 0, 2, 6, view(200, 1, "canceled")}, {"complete", 0, 3, 5, view(200, 1, "completed")}}, false},
		"two completions":             {[]step{created, {"complete", 0, 2, 6, view(200, 1, "completed")}, {"complete", 0, 3, 5, view(200, 1, "completed")}}, false},
		"too late for what never was": {[]step{created, {"update", 2, 2, 3, late("canceled")}}, false},
		"one of a race":               {[]step{created, {"complete", 0, 2, 6, view(200, 1, "completed")}, {"cancel", 0, 3, 5, late("completed")}}, true},
		"reopened":                    {[]step{created, {"complete", 0, 2, 3, view(200, 1, "completed")}, {"get", 0, 4, 5, view(200, 1, "ready_for_complete")}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			var history []porcupine.Operation
			for _, s := range test.steps {
				r := &shopRequest{operation: s.operation, quantity: s.quantity, answer: s.answer, answered: true}
				history = append(history, porcupine.Operation{Input: r, Output: r, Call: int64(s.begun), Return: int64(s.done)})
			}
			require.Equal(t, test.sound, porcupine.CheckOperations(checkoutModel(), history))
		})
	}
}
