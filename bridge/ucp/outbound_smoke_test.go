package ucp_test

import (
	"context"
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/bridge"
	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/protocols"
	"github.com/strabo-engine/strabo/syncserver"
)

func TestSmoke(t *testing.T) {
	url := os.Getenv("STRABO_UCP_NODE")
	if url == "" {
		t.Skip("none")
	}
	rules, err := protocols.Load("simple-ucp")
	require.NoError(t, err)
	exec := syncserver.NewLocal(rules)
	defer exec.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	b, err := ucp.Discover(ctx, nil, url)
	require.NoError(t, err)
	t.Logf("%+v", b)
	o, err := ucp.NewOutbound(rules, exec, b, ucp.OutboundOptions{
		Audit: func(c bridge.Call) { x, _ := json.Marshal(c); t.Log(string(x)) },
	})
	require.NoError(t, err)
	run, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan error, 1)
	go func() { done <- o.Run(run) }()
	p, err := adapter.New(rules, "Platform", exec)
	require.NoError(t, err)
	for _, a := range []string{"Created", "Refused", "Completed", "Declined", "Cancelled"} {
		p.OnObservation(a, func(ctx context.Context, o adapter.Observation) error {
			for n, v := range o.Values() {
				t.Log(a, n, v)
			}
			if a == "Created" {
				tot, _ := o.Value("totals")
				id, _ := o.Value("id")
				return p.Attempt(ctx, "Complete", adapter.Values{"cid": "c1", "id": id, "totals": tot, "payment": map[string]any{
					"handler_id": "google_pay", "token": "tok_secret_12345", "brand": "Visa", "last_digits": "1234",
				}}).Err(ctx)
			}
			stop()
			return nil
		})
	}
	pd := make(chan error, 1)
	go func() { pd <- p.Run(run) }()
	require.NoError(t, p.Attempt(ctx, "Create", adapter.Values{
		"cid": "c1", "line_items": []any{map[string]any{"item": map[string]any{"id": "pot_ceramic"}, "quantity": 2}},
		"buyer":       map[string]any{"email": "john.doe@example.com"},
		"fulfillment": map[string]any{"option": "cheapest"},
	}).Err(ctx))
	require.NoError(t, <-done)
	require.NoError(t, <-pd)
}
