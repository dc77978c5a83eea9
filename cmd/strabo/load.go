package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/strabo-engine/strabo/bridge"
	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/bridge/ucp/mcp"
	"github.com/strabo-engine/strabo/bridge/ucp/negotiation"
	"github.com/strabo-engine/strabo/bridge/ucp/wire"
)

type loadCommand struct {
	URLs      []string      `arg:"" name:"url" help:"Shops, where they answer to /.well-known/ucp."`
	Workers   int           `default:"16" help:"How many requests are under way at once: ${default}."`
	Duration  time.Duration `default:"5s" help:"How long each operation is measured: ${default}."`
	Requests  int           `default:"1000000" help:"How often each operation is asked for at the most."`
	Item      string        `default:"pot_ceramic" help:"What is bought: ${default}."`
	Option    string        `default:"std-ship" help:"How it is sent: ${default}."`
	Orders    int           `default:"1500" help:"How many checkouts are completed at the most; there must be so much in stock: ${default}."`
	Transport string        `default:"rest" enum:"rest,mcp" help:"How the shops are called: rest, or mcp where they have it; by default ${default}."`
	JSON      bool          `name:"json" help:"Print one JSON record a line for each shop and operation."`
}

// Help is shown by strabo load --help.
func (loadCommand) Help() string {
	return `Measures shops that speak UCP 2026-01-11, over REST or MCP, one after the other: creates checkouts, gets them, updates and completes ` +
		`them, each operation by itself, and prints for each how many requests were answered a second and how long that took. ` +
		`An answer that is not a success counts as failed and not as answered.

Exit status: 0 when every shop was measured, 1 when requests failed, 2 when a shop could not be reached.`
}

func (loadCommand) examples() string {
	return `  strabo load http://localhost:8182
  strabo load --transport mcp http://localhost:8182
  strabo load --workers 32 --duration 10s http://localhost:8301 http://localhost:8182 http://localhost:3000
`
}

// loadRecord is what one operation at one shop came to.
type loadRecord struct {
	URL       string  `json:"url"`
	Operation string  `json:"operation"`
	Requests  int     `json:"requests"`
	Failed    int     `json:"failed"`
	Seconds   float64 `json:"seconds"`
	PerSecond float64 `json:"requests_per_second"`
	P50       float64 `json:"p50_ms"`
	P95       float64 `json:"p95_ms"`
	P99       float64 `json:"p99_ms"`
	Slowest   float64 `json:"slowest_ms"`
	// Failure is what the first request that failed was answered.
	Failure string `json:"failure,omitempty"`
}

// Run measures and tells.
func (c *loadCommand) Run(ctx context.Context, s *streams) error {
	if c.Workers < 1 || c.Requests < 1 || c.Duration <= 0 {
		return errors.New("--workers, --requests and --duration must be positive")
	}
	var all []loadRecord
	var unreached error // What was measured before is told all the same.
	failed := false
	for _, url := range c.URLs {
		records, err := c.measure(ctx, url)
		if err != nil {
			unreached = fmt.Errorf("%s: %w", url, err)
			break
		}
		for _, r := range records {
			failed = failed || r.Failed > 0
			if c.JSON {
				if err := printLine(s, r); err != nil {
					return err
				}
			}
		}
		all = append(all, records...)
	}
	if !c.JSON && len(all) > 0 {
		if err := tellLoad(s.out, all); err != nil {
			return err
		}
	}
	if unreached != nil {
		return unreached
	}
	if failed {
		return errNo
	}
	return nil
}

func tellLoad(w io.Writer, records []loadRecord) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "shop\toperation\trequests\tfailed\ta second\tp50 ms\tp95 ms\tp99 ms\tslowest ms\t")
	for _, r := range records {
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%.0f\t%.2f\t%.2f\t%.2f\t%.2f\t\n",
			r.URL, r.Operation, r.Requests, r.Failed, r.PerSecond, r.P50, r.P95, r.P99, r.Slowest)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, r := range records {
		if r.Failure != "" {
			if _, err := fmt.Fprintf(w, "%s, %s: %s\n", r.URL, r.Operation, r.Failure); err != nil {
				return err
			}
		}
	}
	return nil
}

// loadSession is a checkout that was created.
type loadSession struct {
	ID        string `json:"id"`
	LineItems []struct {
		ID string `json:"id"`
	} `json:"line_items"`
}

// load makes requests of one shop.
type load struct {
	command  *loadCommand
	endpoint *url.URL
	tools    *mcp.Caller // nil where the shop is called over REST
	wanted   []byte      // the body that creates a checkout

	mu       sync.Mutex
	sessions []loadSession
}

// loadRequest makes the nth request of one kind.
type loadRequest func(ctx context.Context, c loadClient, n int) error

// measure measures one shop.
func (c *loadCommand) measure(ctx context.Context, shop string) ([]loadRecord, error) {
	business, err := ucp.DiscoverOver(ctx, nil, shop, negotiation.Transport(c.Transport), wire.January11)
	if err != nil {
		return nil, err
	}
	l := &load{command: c}
	if l.endpoint, err = url.Parse(strings.TrimSuffix(business.Endpoint, "/")); err != nil {
		return nil, err
	}
	if business.Transport == negotiation.MCP {
		client := &http.Client{Transport: &http.Transport{MaxIdleConns: c.Workers, MaxIdleConnsPerHost: c.Workers}}
		defer client.CloseIdleConnections()
		l.tools = mcp.NewCaller(l.endpoint.String(), wire.January11, bridge.NewHTTPCaller(client, loadPatience, 0))
	}
	if l.wanted, err = json.Marshal(l.checkout()); err != nil {
		return nil, err
	}
	var records []loadRecord
	for _, operation := range []struct {
		name string
		most int
		do   loadRequest
	}{
		{"create", c.Requests, l.create}, {"get", c.Requests, l.get}, {"update", c.Requests, l.update}, {"complete", c.Orders, l.complete},
	} {
		if len(l.sessions) == 0 && operation.name != "create" {
			break
		}
		most := min(operation.most, c.Requests)
		if operation.name == "complete" {
			most = min(most, len(l.sessions))
		}
		r := l.run(ctx, operation.do, most)
		r.URL, r.Operation = shop, operation.name
		records = append(records, r)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	return records, nil
}

// run does an operation again and again, by as many workers as there are, and counts.
func (l *load) run(ctx context.Context, do loadRequest, most int) loadRecord {
	ctx, cancel := context.WithTimeout(ctx, l.command.Duration+time.Minute)
	defer cancel()
	end := time.Now().Add(l.command.Duration)
	var next atomic.Int64
	var mu sync.Mutex
	var took []time.Duration
	var record loadRecord
	var working sync.WaitGroup
	began := time.Now()
	for range l.command.Workers {
		working.Go(func() {
			var mine []time.Duration
			connection := l.connect()
			defer connection.close()
			for time.Now().Before(end) && ctx.Err() == nil {
				n := int(next.Add(1)) - 1
				if n >= most {
					break
				}
				began := time.Now()
				err := do(ctx, connection, n)
				if err == nil {
					mine = append(mine, time.Since(began))
					continue
				}
				mu.Lock()
				if record.Failed++; record.Failure == "" {
					record.Failure = err.Error()
				}
				mu.Unlock()
			}
			mu.Lock()
			took = append(took, mine...)
			mu.Unlock()
		})
	}
	working.Wait()
	seconds := time.Since(began).Seconds()
	slices.Sort(took)
	at := func(share float64) float64 {
		if len(took) == 0 {
			return 0
		}
		return float64(took[min(int(share*float64(len(took))), len(took)-1)].Microseconds()) / 1000
	}
	record.Requests, record.Seconds, record.PerSecond = len(took), seconds, float64(len(took))/seconds
	record.P50, record.P95, record.P99, record.Slowest = at(0.5), at(0.95), at(0.99), at(1)
	return record
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

func (l *load) create(ctx context.Context, c loadClient, _ int) error {
	answer, err := c.ask(ctx, http.MethodPost, "/checkout-sessions", l.wanted)
	if err != nil {
		return err
	}
	var s loadSession
	if err := json.Unmarshal(answer, &s); err != nil || s.ID == "" || len(s.LineItems) == 0 {
		return errors.Join(errors.New("POST /checkout-sessions: no checkout in the answer"), err)
	}
	l.mu.Lock()
	l.sessions = append(l.sessions, s)
	l.mu.Unlock()
	return nil
}

func (l *load) session(n int) *loadSession { return &l.sessions[n%len(l.sessions)] }

func (l *load) get(ctx context.Context, c loadClient, n int) error {
	_, err := c.ask(ctx, http.MethodGet, "/checkout-sessions/"+l.session(n).ID, nil)
	return err
}

func (l *load) update(ctx context.Context, c loadClient, n int) error {
	s := l.session(n)
	type item struct {
		ID    string `json:"id"`
		Title string `json:"title"`
	}
	type line struct {
		ID       string `json:"id"`
		Item     item   `json:"item"`
		Quantity int    `json:"quantity"`
	}
	body, err := json.Marshal(struct {
		ID        string   `json:"id"`
		Currency  string   `json:"currency"`
		Payment   struct{} `json:"payment"`
		LineItems []line   `json:"line_items"`
	}{ID: s.ID, Currency: "USD", LineItems: []line{{s.LineItems[0].ID, item{l.command.Item, l.command.Item}, 1}}})
	if err != nil {
		return err
	}
	_, err = c.ask(ctx, http.MethodPut, "/checkout-sessions/"+s.ID, body)
	return err
}

var loadPayment = []byte(`{"payment_data":{"id":"instr_1","handler_id":"google_pay","type":"card","brand":"Visa","last_digits":"1234",` +
	`"credential":{"type":"token","token":"success_token"}},"risk_signals":{}}`)

func (l *load) complete(ctx context.Context, c loadClient, n int) error {
	_, err := c.ask(ctx, http.MethodPost, "/checkout-sessions/"+l.session(n).ID+"/complete", loadPayment)
	return err
}
