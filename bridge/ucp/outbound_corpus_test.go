package ucp_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/bridge/ucp/internal/schematest"
	"github.com/strabo-engine/strabo/bridge/ucp/model"
	"github.com/strabo-engine/strabo/bridge/ucp/wire"
)

// outboundCorpus is the folder with public schemas and recorded exchanges.
func outboundCorpus(t *testing.T) string { t.Helper(); return schematest.Corpus(t, 2) }

// recordedCheckout is a checkout of the model as far as the outbound side reads it.
type recordedCheckout struct {
	ID          string
	Status      string
	Totals      []model.Total
	Fulfillment model.Fulfillment
	Order       *struct{ ID string }
}

func TestOutboundReadsEveryRecordedCheckoutAndOrder(t *testing.T) {
	for name, exchanges := range schematest.Recordings(t, outboundCorpus(t)) {
		t.Run(name, func(t *testing.T) {
			checkouts, completed, orders := 0, 0, 0
			read := func(operation wire.Operation, body []byte, into any) {
				said, err := wire.Decode(body)
				require.NoError(t, err)
				_, raised, err := wire.January11.DecodeResponse(wire.Exchange{Operation: operation}, http.StatusOK, said)
				require.NoError(t, err)
				text, err := wire.Encode(raised)
				require.NoError(t, err)
				require.NoError(t, json.Unmarshal(text, into), "%s", text)
			}
			for _, r := range exchanges {
				path := r.Request.Path + r.Request.URL
				switch {
				case r.Response.Status >= 300:
				case strings.Contains(path, "/checkout-sessions"):
					var c recordedCheckout
					read(wire.GetCheckout, r.Response.Body, &c)
					assert.NotEmpty(t, c.ID)
					assert.NotEmpty(t, c.Status)
					assert.NotEmpty(t, c.Totals)
					assert.Equal(t, c.Status == "completed", c.Order != nil && c.Order.ID != "", "an order if and only if completed")
					for _, m := range c.Fulfillment.Methods {
						for _, d := range m.Destinations {
							assert.NotEmpty(t, d.AddressCountry)
						}
						for _, g := range m.Groups {
							for _, o := range g.Options {
								assert.True(t, slices.ContainsFunc(o.Totals, func(total model.Total) bool { return total.Type == "total" }))
							}
						}
					}
					checkouts++
					if c.Order != nil {
						completed++
					}
				case strings.Contains(path, "/orders/"):
					var o model.Order
					read(wire.GetOrder, r.Response.Body, &o)
					assert.NotEmpty(t, o.ID)
					assert.NotEmpty(t, o.CheckoutID)
					orders++
				}
			}
			assert.NotZero(t, checkouts)
			assert.NotZero(t, completed)
			t.Logf("%d checkouts, %d of them completed, %d orders", checkouts, completed, orders)
		})
	}
}

func TestDiscoversTheRecordedShops(t *testing.T) {
	for name, exchanges := range schematest.Recordings(t, outboundCorpus(t)) {
		for _, r := range exchanges {
			if !strings.HasSuffix(r.Request.Path+r.Request.URL, "/.well-known/ucp") {
				continue
			}
			t.Run(name, func(t *testing.T) {
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					_, _ = w.Write(r.Response.Body)
				}))
				defer server.Close()
				b, err := ucp.Discover(t.Context(), server.Client(), server.URL)
				require.NoError(t, err)
				assert.NotEmpty(t, b.Handlers)
				assert.False(t, strings.HasSuffix(b.Endpoint, "/"))
			})
			break
		}
	}
}

// requestSchemas compiles the public schemas as they hold for the requests of an operation: what a request leaves out
// or may leave out is not required (the annotation ucp_request).
func requestSchemas(t *testing.T, operation string) *jsonschema.Compiler {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	folder := filepath.Join(outboundCorpus(t), "v2026-01-11", "schemas")
	require.NoError(t, filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".json" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		forRequest(schema, operation)
		within, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		return compiler.AddResource("https://ucp.dev/schemas/"+filepath.ToSlash(within), schema)
	}))
	return compiler
}

func forRequest(schema any, operation string) {
	switch schema := schema.(type) {
	case []any:
		for _, s := range schema {
			forRequest(s, operation)
		}
	case doc:
		required, _ := schema["required"].([]any)
		properties, _ := schema["properties"].(doc)
		for name, property := range properties {
			annotated, _ := property.(doc)
			say := annotated["ucp_request"]
			if by, ok := say.(doc); ok {
				say = by[operation]
			}
			switch say {
			case "omit", "optional":
				required = slices.DeleteFunc(required, func(r any) bool { return r == name })
			case "required":
				if !slices.Contains(required, any(name)) {
					required = append(required, name)
				}
			}
		}
		if required != nil {
			schema["required"] = required
		}
		for _, s := range schema {
			forRequest(s, operation)
		}
	}
}

func TestOutboundRequestsFitThePublicSchemas(t *testing.T) {
	schemas := map[string]*jsonschema.Schema{}
	for line, from := range map[string][2]string{
		"POST":          {"create", "https://ucp.dev/schemas/shopping/fulfillment.json#/$defs/checkout"},
		"PUT":           {"update", "https://ucp.dev/schemas/shopping/fulfillment.json#/$defs/checkout"},
		"POST complete": {"complete", "https://ucp.dev/schemas/shopping/payment_data.json"},
	} {
		schema, err := requestSchemas(t, from[0]).Compile(from[1])
		require.NoError(t, err)
		schemas[line] = schema
	}
	austin := doc{"street_address": "9 New Rd", "address_locality": "Austin", "address_country": "US"}
	address := doc{"street_address": "1 A St", "address_country": "US", "postal_code": "94000"}
	payments := []doc{
		card("google_pay", "x"),
		{
			"id": "instr_1", "handler_id": "google_pay", "type": "card", "brand": "Visa", "last_digits": "1234",
			"credential": doc{"type": "token", "token": "x"}, "billing_address": address, "expiry_month": 12, "rich_card_art": nil,
		},
	}
	checked := make(map[string]int)
	onBothShops(t, func(t *testing.T, s *shop) {
		for i, wish := range []any{nil, doc{}, doc{"destination": austin}, doc{"option": "cheapest", "destination": austin}} {
			for _, buyer := range []any{nil, doc{"email": "john.doe@example.com", "full_name": "John Doe"}} {
				m := openMarket(t, s.server.URL)
				m.attempt("Create", adapter.Values{"line_items": items("pot_ceramic"), "buyer": buyer, "fulfillment": wish})
				created := receive(m, m.observed)
				if created.Action == "Refused" {
					continue // nowhere to deliver
				}
				m.complete(created, payments[i%2])
				m.expect("Completed")
			}
		}
		for _, a := range s.requests() {
			schema := schemas[a.line]
			if schema == nil {
				assert.Empty(t, a.body)
				continue
			}
			body, err := jsonschema.UnmarshalJSON(bytes.NewReader(a.body))
			require.NoError(t, err)
			require.NoError(t, schema.Validate(body), "%s %s", a.line, a.body)
			checked[a.line]++
		}
	})
	t.Logf("checked: %v", checked)
	assert.Len(t, checked, 3)
}
