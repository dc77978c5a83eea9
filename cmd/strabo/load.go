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
		`An answer that is not a success, or is not about what was asked for, or does not say that it was done, counts as failed ` +
		`and not as answered. "client µs" is the processor time that strabo load took itself for each request: on one ` +
		`machine the shop does not get it.

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
	// Processor is the processor time of strabo load itself for each request, failed ones too, in microseconds: what the
	// shop does not get if it is on the same machine. 0 where it is not known.
	Processor float64 `json:"client_processor_us"`
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
		err := c.measure(ctx, url, func(r loadRecord) error {
			all, failed = append(all, r), failed || r.Failed > 0
			if c.JSON {
				return printLine(s, r)
			}
			return nil
		})
		if err != nil {
			unreached = fmt.Errorf("%s: %w", url, err)
			break
		}
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
	fmt.Fprintln(table, "shop\toperation\trequests\tfailed\ta second\tp50 ms\tp95 ms\tp99 ms\tslowest ms\tclient µs\t")
	for _, r := range records {
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%.0f\t%.2f\t%.2f\t%.2f\t%.2f\t%.0f\t\n",
			r.URL, r.Operation, r.Requests, r.Failed, r.PerSecond, r.P50, r.P95, r.P99, r.Slowest, r.Processor)
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

// measure measures one shop, and tells of each operation when it is over.
func (c *loadCommand) measure(ctx context.Context, shop string, tell func(loadRecord) error) error {
	business, err := ucp.DiscoverOver(ctx, nil, shop, negotiation.Transport(c.Transport), wire.January11)
	if err != nil {
		return err
	}
	l := &load{command: c}
	if l.endpoint, err = url.Parse(strings.TrimSuffix(business.Endpoint, "/")); err != nil {
		return err
	}
	if business.Transport == negotiation.MCP {
		client := &http.Client{Transport: &http.Transport{MaxIdleConns: c.Workers, MaxIdleConnsPerHost: c.Workers}}
		defer client.CloseIdleConnections()
		l.tools = mcp.NewCaller(l.endpoint.String(), wire.January11, bridge.NewHTTPCaller(client, loadPatience, 0))
	}
	if l.wanted, err = json.Marshal(l.checkout()); err != nil {
		return err
	}
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
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		r.URL, r.Operation = shop, operation.name
		if err := tell(r); err != nil {
			return err
		}
	}
	return nil
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
	before, began := processorTime(), time.Now()
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
	seconds, spent := time.Since(began).Seconds(), processorTime()-before
	slices.Sort(took)
	at := func(share float64) float64 {
		if len(took) == 0 {
			return 0
		}
		return float64(took[min(int(share*float64(len(took))), len(took)-1)].Microseconds()) / 1000
	}
	record.Requests, record.Seconds, record.PerSecond = len(took), seconds, float64(len(took))/seconds
	record.P50, record.P95, record.P99, record.Slowest = at(0.5), at(0.95), at(0.99), at(1)
	if asked := len(took) + record.Failed; asked > 0 {
		record.Processor = float64(spent.Nanoseconds()) / 1000 / float64(asked)
	}
	return record
}
