package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/segmentio/encoding/json"

	"github.com/strabo-engine/strabo/bridge/ucp/mcp"
)

// load makes requests of one shop.
type load struct {
	command  *loadCommand
	endpoint *url.URL
	tools    *mcp.Caller // nil where the shop is called over REST
	wanted   []byte      // the body that creates a checkout

	mu       sync.Mutex
	sessions []loadSession
}

// loadSession is a checkout that was created.
type loadSession struct{ id, path, line string }

// loadRequest makes the nth request of one kind.
type loadRequest func(ctx context.Context, c loadClient, n int) error

// loadAnswer is what is looked at in an answer: enough to tell that it is about what was asked, and that it was done.
type loadAnswer struct {
	ID        string      `json:"id"`
	Status    string      `json:"status"`
	LineItems [1]loadLine `json:"line_items"`
	Buyer     loadBuyer   `json:"buyer"`
}

type loadLine struct {
	ID       string   `json:"id"`
	Item     loadItem `json:"item"`
	Quantity int      `json:"quantity"`
}

type loadItem struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

type loadBuyer struct {
	FirstName string `json:"first_name"`
}

// read reads an answer. What it gives is part of it, so it is good until the next.
func (l *load) read(answer []byte) (a loadAnswer, err error) {
	if _, err := json.Parse(answer, &a, json.ZeroCopy|json.DontMatchCaseInsensitiveStructFields); err != nil {
		return a, fmt.Errorf("the answer is no checkout: %w", err)
	}
	line := &a.LineItems[0]
	switch {
	case a.ID == "":
		return a, errors.New("the answer is no checkout: it has no id")
	case line.ID == "" || line.Item.ID != l.command.Item || line.Quantity != 1:
		return a, fmt.Errorf("the answer is not a checkout of one %s", l.command.Item)
	}
	return a, nil
}

// checkout is a body that both public samples and the specification understand, ready to be paid.
func (l *load) checkout() map[string]any {
	return map[string]any{
		"currency": "USD", "payment": map[string]any{},
		"line_items": []any{map[string]any{"item": map[string]any{"id": l.command.Item, "title": l.command.Item}, "quantity": 1}},
		"fulfillment": map[string]any{"methods": []any{map[string]any{
			"type": "shipping", "selected_destination_id": "dest_1",
			"destinations": []any{map[string]any{"id": "dest_1", "address_country": "US"}},
			"groups":       []any{map[string]any{"selected_option_id": l.command.Option}},
		}}},
	}
}

const loadPath = "/checkout-sessions"

func (l *load) create(ctx context.Context, c loadClient, _ int) error {
	answer, err := c.ask(ctx, http.MethodPost, loadPath, l.wanted)
	if err != nil {
		return err
	}
	a, err := l.read(answer)
	if err != nil {
		return fmt.Errorf("POST %s: %w", loadPath, err)
	}
	s := loadSession{id: strings.Clone(a.ID), path: loadPath + "/" + url.PathEscape(a.ID), line: strings.Clone(a.LineItems[0].ID)}
	l.mu.Lock()
	l.sessions = append(l.sessions, s)
	l.mu.Unlock()
	return nil
}

func (l *load) session(n int) *loadSession { return &l.sessions[n%len(l.sessions)] }

// about makes a request about a checkout, and reads the answer if it is about that.
func (l *load) about(ctx context.Context, c loadClient, s *loadSession, method, path string, body []byte) (loadAnswer, error) {
	answer, err := c.ask(ctx, method, path, body)
	if err != nil {
		return loadAnswer{}, err
	}
	a, err := l.read(answer)
	if err == nil && a.ID != s.id {
		err = fmt.Errorf("the answer is about %.100q", a.ID)
	}
	if err != nil {
		err = fmt.Errorf("%s %s: %w", method, path, err)
	}
	return a, err
}

func (l *load) get(ctx context.Context, c loadClient, n int) error {
	s := l.session(n)
	_, err := l.about(ctx, c, s, http.MethodGet, s.path, nil)
	return err
}

// update gives the checkout another buyer.
func (l *load) update(ctx context.Context, c loadClient, n int) error {
	s := l.session(n)
	buyer := loadBuyer{"Buyer " + strconv.Itoa(n)}
	body, err := json.Marshal(struct {
		ID        string     `json:"id"`
		Currency  string     `json:"currency"`
		Payment   struct{}   `json:"payment"`
		Buyer     loadBuyer  `json:"buyer"`
		LineItems []loadLine `json:"line_items"`
	}{ID: s.id, Currency: "USD", Buyer: buyer, LineItems: []loadLine{{s.line, loadItem{l.command.Item, l.command.Item}, 1}}})
	if err != nil {
		return err
	}
	a, err := l.about(ctx, c, s, http.MethodPut, s.path, body)
	if err == nil && a.Buyer != buyer {
		err = fmt.Errorf("PUT %s: the answer has the buyer %.100q instead of %q", s.path, a.Buyer.FirstName, buyer.FirstName)
	}
	return err
}

var loadPayment = []byte(`{"payment_data":{"id":"instr_1","handler_id":"google_pay","type":"card","brand":"Visa","last_digits":"1234",` +
	`"credential":{"type":"token","token":"success_token"}},"risk_signals":{}}`)

func (l *load) complete(ctx context.Context, c loadClient, n int) error {
	s := l.session(n)
	path := s.path + "/complete"
	a, err := l.about(ctx, c, s, http.MethodPost, path, loadPayment)
	if err == nil && a.Status != "completed" {
		err = fmt.Errorf("POST %s: the checkout is %.100q", path, a.Status)
	}
	return err
}
