package shop_test

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/bridge/ucp/shop"
)

// exchange is a request and its answer, as they were recorded.
type exchange struct {
	Request struct {
		Method, Path string
		Headers      map[string]string
		Body         json.RawMessage
	}
	Response struct {
		Status int
		Body   json.RawMessage
	}
}

// flowers opens a stall with the data of the public samples.
func flowers(t *testing.T) *stall {
	dir := corpus("ucp", "flower_shop")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("the published data are not there: ", err)
	}
	data, err := shop.ReadData(os.DirFS(dir))
	require.NoError(t, err)
	return newStall(t, func(o *shop.Options, in *ucp.InboundOptions) {
		o.Currency, o.Catalogue, o.Shipping, o.Discounts = "USD", data, data, data
		o.Stock, o.Customers = shop.NewStock(in.Store, data.Pieces), shop.NewCustomers(in.Store, data.Addresses)
		in.SimulationSecret = recordedSecret
	})
}

// recordedSecret is the one with which the public suite was run.
const recordedSecret = "super-secret-sim-key"

// TestRecordedRequests makes the requests of the public sample client and of a whole run of the conformance suite again,
// as they were recorded with the public Python shop, with this shop's ids in place of the recorded ones: they are
// answered with the same status.
func TestRecordedRequests(t *testing.T) {
	for _, file := range []string{"client-vs-python.jsonl", "conformance-vs-python.jsonl"} {
		t.Run(file, func(t *testing.T) {
			recorded, err := os.Open(corpus("ucp", "traces", file))
			if err != nil {
				t.Skip("the recorded exchanges are not there: ", err)
			}
			defer recorded.Close()
			s := flowers(t)
			defer s.stop()
			ours := make(map[string]string) // ids by the recorded ones
			scanner := bufio.NewScanner(recorded)
			scanner.Buffer(nil, 4<<20)
			for scanner.Scan() {
				var e exchange
				require.NoError(t, json.Unmarshal(scanner.Bytes(), &e))
				a := s.again(t, e, ours)
				require.Equal(t, e.Response.Status, a.status, "%s %s %s\n%s\n%s", e.Request.Method, e.Request.Path, e.Request.Body, e.Response.Body, a.raw)
				var said any
				if json.Unmarshal(e.Response.Body, &said) == nil {
					translate(said, map[string]any(a.body), ours)
				}
			}
			require.NoError(t, scanner.Err())
			require.Empty(t, s.log.String())
		})
	}
}

// again makes a recorded request.
func (s *stall) again(t *testing.T, e exchange, ours map[string]string) answer {
	var pairs []string
	for theirs, mine := range ours {
		pairs = append(pairs, theirs, mine)
	}
	ids := strings.NewReplacer(pairs...)
	body := string(e.Request.Body)
	if e.Request.Path != "/checkout-sessions" { // The id in there is the platform's own idea.
		body = ids.Replace(body)
	}
	if body == "null" {
		body = ""
	}
	var headers []string
	for name, value := range e.Request.Headers {
		switch strings.ToLower(name) {
		case "ucp-agent", "request-signature", "idempotency-key", "request-id", "simulation-secret":
			headers = append(headers, name, value)
		}
	}
	return s.ask(t, e.Request.Method, ids.Replace(strings.ReplaceAll(e.Request.Path, "//", "/")), body, headers...)
}

// translate notes which ids stand in the same places.
func translate(theirs, mine any, ours map[string]string) {
	switch theirs := theirs.(type) {
	case map[string]any:
		other, ok := mine.(map[string]any)
		if !ok {
			return
		}
		for name, value := range theirs {
			text, isText := value.(string)
			own, isOwn := other[name].(string)
			if name == "id" && isText && isOwn && len(text) >= 32 {
				ours[text] = own
				continue
			}
			translate(value, other[name], ours)
		}
	case []any:
		other, ok := mine.([]any)
		for i := range theirs {
			if ok && i < len(other) {
				translate(theirs[i], other[i], ours)
			}
		}
	}
}
