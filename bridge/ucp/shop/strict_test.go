package shop_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/bridge/ucp/internal/schematest"
	"github.com/strabo-engine/strabo/bridge/ucp/model"
	"github.com/strabo-engine/strabo/bridge/ucp/shop"
)

// openStrict opens a shop in all releases, over HTTP, with changed options.
func openStrict(t *testing.T, changes ...configure) *front {
	t.Helper()
	b, agents := newTown(t).open(t, changes...), newAgency(t)
	return &front{allReleases(t, b, nil), t, agents}
}

// messages gives the messages of an answer, each as type, code, path and severity.
func (s spoken) messages() []string {
	var body struct {
		Messages []model.Message `json:"messages"`
	}
	if json.Unmarshal([]byte(s.raw), &body) != nil {
		return []string{"unreadable: " + s.raw}
	}
	said := []string{}
	for _, m := range body.Messages {
		said = append(said, strings.TrimSpace(fmt.Sprintln(m.Type, m.Code, m.Path, m.Severity)))
	}
	return said
}

// What a checkout cannot hold is refused in words. Before, the shop could not write its answer down, and who had asked for
// it waited in vain.
func TestTooMuchIsRefused(t *testing.T) {
	f := openStrict(t, func(_ *shop.Options, o *ucp.InboundOptions) { o.BodyLimit = 1 << 20 })
	many := func(count int, element string) string {
		return "[" + strings.TrimSuffix(strings.Repeat(element+",", count), ",") + "]"
	}
	line := `{"item":{"id":"wick-cotton"},"quantity":1}`
	for name, test := range map[string]struct{ body, path string }{
		"lines":        {`{"line_items":` + many(501, line) + `}`, "$.line_items"},
		"codes":        {`{"line_items":[` + line + `],"discounts":{"codes":` + many(101, `"KEEPER10"`) + `}}`, "$.discounts.codes"},
		"claims":       {`{"line_items":[` + line + `],"context":{"eligibility":` + many(101, `"com.example.gold"`) + `}}`, "$.context.eligibility"},
		"destinations": {`{"line_items":[` + line + `],"fulfillment":{"methods":[{"destinations":` + many(101, `{}`) + `}]}}`, "$.fulfillment.methods[0].destinations"},
	} {
		t.Run(name, func(t *testing.T) {
			got := f.say("POST", "/checkout-sessions", test.body)
			require.Equal(t, http.StatusUnprocessableEntity, got.status, got.raw)
			require.Equal(t, []string{"error invalid_request " + test.path + " recoverable"}, got.messages())
		})
	}
	long := `{"line_items":[{"id":"` + strings.Repeat("x", 100_000) + `","item":{"id":"wick-cotton"},"quantity":1}],
	  "fulfillment":{"methods":[{"destinations":[{"id":"d","address_country":"GR"}],"selected_destination_id":"d"}]}}`
	refused := f.say("POST", "/checkout-sessions", long)
	require.Equal(t, http.StatusBadRequest, refused.status, refused.raw)
	require.Contains(t, refused.raw, "more than one checkout can hold")
	at := "/checkout-sessions/" + f.say("POST", "/checkout-sessions", oneLamp).id()
	refused = f.say("PUT", at, long)
	require.Equal(t, http.StatusBadRequest, refused.status, refused.raw)
	require.Contains(t, f.say("GET", at, "").raw, `"oil-lamp"`, "it is as before")
	require.Equal(t, 200, f.say("PUT", at, ready).status)
}

// What a platform says of the buyer is shown again, so it has to be what the schema says.
func TestBuyers(t *testing.T) {
	f := openStrict(t)
	valid := schematest.Load(t, schematest.Corpus(t, 3), "2026-01-11", schematest.Response)
	for buyer, want := range map[string]string{
		`{"email":7}`:                     "$.buyer.email",
		`{"first_name":[]}`:               "$.buyer.first_name",
		`{"consent":[]}`:                  "$.buyer.consent",
		`{"consent":{"marketing":"yes"}}`: "$.buyer.consent.marketing",
		`{"consent":{"marketing":1}}`:     "$.buyer.consent.marketing",
		`{"email":"a@b.example","first_name":null,"consent":{"marketing":true,"analytics":null}}`: "",
		`{"email":"a@b.example","nickname":"Ada"}`:                                                "",
		`null`: "",
	} {
		got := f.say("POST", "/checkout-sessions", `{"line_items":[{"item":{"id":"oil-lamp"},"quantity":1}],"buyer":`+buyer+`}`)
		if want != "" {
			require.Equal(t, http.StatusUnprocessableEntity, got.status, "%s: %s", buyer, got.raw)
			require.Equal(t, []string{"error invalid_request " + want + " recoverable"}, got.messages(), buyer)
			continue
		}
		require.Equal(t, 201, got.status, "%s: %s", buyer, got.raw)
		require.NotContains(t, got.raw, "null", buyer)
		valid.Check(t, "schemas/shopping/buyer_consent.json#/$defs/checkout", []byte(got.raw))
	}
}

// Headers that say something about the checkout are heeded, and those that could be understood in two ways are refused.
func TestConditions(t *testing.T) {
	f := openStrict(t)
	created := f.say("POST", "/checkout-sessions", ready)
	at, tag := "/checkout-sessions/"+created.id(), created.header.Get("ETag")
	for header, want := range map[string]int{
		tag: 200, "*": 200, `"other", ` + tag: 200, " " + tag + " ": 200,
		"W/" + tag: 412, // If-Match compares strongly.
		`"other"`:  412, "other": 412, strings.Trim(tag, `"`): 412,
	} {
		require.Equal(t, want, f.say("GET", at, "", "If-Match", header).status, header)
	}
	for header, want := range map[string]int{tag: 304, "W/" + tag: 304, "*": 304, `"other", ` + tag: 304, `"other"`: 200} {
		got := f.say("GET", at, "", "If-None-Match", header)
		require.Equal(t, want, got.status, header)
		require.Equal(t, want == 304, got.raw == "", header)
		require.Equal(t, tag, got.header.Get("ETag"))
	}
	with := func(change func(http.Header)) int {
		r, err := http.NewRequestWithContext(t.Context(), "PUT", f.URL+at, strings.NewReader(ready))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/json")
		change(r.Header)
		response, err := f.Client().Do(r)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		return response.StatusCode
	}
	require.Equal(t, 412, with(func(h http.Header) { h["If-Match"] = []string{""} }), "no tag is none that matches")
	require.Equal(t, 200, with(func(h http.Header) { h["If-Match"] = []string{`"other"`, tag} }))
	require.Equal(t, 400, with(func(h http.Header) { h["Idempotency-Key"] = []string{"one", "two"} }))
	require.Equal(t, 415, with(func(h http.Header) { h.Set("Content-Encoding", "gzip") }))
	require.Equal(t, 200, with(func(h http.Header) { h.Set("Content-Encoding", "identity") }))
}

// Messages say what is wrong by UCP's codes, and where.
func TestMessages(t *testing.T) {
	f := openStrict(t)
	const line = `"line_items":[{"item":{"id":"oil-lamp"},"quantity":1}]`
	for name, test := range map[string]struct {
		rest string
		want []string
	}{
		"nothing selected": {``, []string{"error missing $.fulfillment recoverable"}},
		"no destination": {
			`,"fulfillment":{"methods":[{"type":"shipping","destinations":[{"id":"d","address_country":"GR"}]}]}`,
			[]string{"error missing $.fulfillment.methods[0].selected_destination_id recoverable"},
		},
		"no option": {
			`,"fulfillment":{"methods":[{"type":"shipping","destinations":[{"id":"d","address_country":"GR"}],"selected_destination_id":"d"}]}`,
			[]string{"error missing $.fulfillment.methods[0].groups[0].selected_option_id recoverable"},
		},
		"no country": {
			`,"fulfillment":{"methods":[{"type":"shipping","destinations":[{"id":"c"},{"id":"d"}],"selected_destination_id":"d"}]}`,
			[]string{"error missing $.fulfillment.methods[0].destinations[1].address_country recoverable"},
		},
		"codes": {
			`,"discounts":{"codes":["KEEPER10","NONE","keeper10","KEEPER10"]}`,
			[]string{
				"error missing $.fulfillment recoverable", "warning discount_code_invalid $.discounts.codes[1]",
				"warning discount_code_already_applied $.discounts.codes[2]", "warning discount_code_already_applied $.discounts.codes[3]",
			},
		},
		"claims": {
			`,"context":{"eligibility":["com.example.gold"]}`,
			[]string{"error missing $.fulfillment recoverable", "warning eligibility_not_accepted $.context.eligibility[0]"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := f.say("POST", "/checkout-sessions", "{"+line+test.rest+"}")
			require.Equal(t, 201, got.status, got.raw)
			require.Equal(t, test.want, got.messages(), got.raw)
		})
	}
	for name, test := range map[string]struct{ body, want string }{
		"two destinations of one id": {
			"{" + line + `,"fulfillment":{"methods":[{"destinations":[{"id":"d"},{"id":"e"},{"id":"d"}]}]}}`, "$.fulfillment.methods[0].destinations[2].id",
		},
		"a parent that is not there": {`{"line_items":[{"id":"a","parent_id":"b","item":{"id":"oil-lamp"},"quantity":1}]}`, "$.line_items[0].parent_id"},
		"its own parent":             {`{"line_items":[{"id":"a","parent_id":"a","item":{"id":"oil-lamp"},"quantity":1}]}`, "$.line_items[0].parent_id"},
		"parents of each other": {
			`{"line_items":[{"item":{"id":"oil-lamp"},"quantity":1},{"id":"a","parent_id":"b","item":{"id":"oil-lamp"},"quantity":1},` +
				`{"id":"b","parent_id":"a","item":{"id":"wick-cotton"},"quantity":1}]}`, "$.line_items[1].parent_id",
		},
		"below parents of each other": {
			`{"line_items":[{"id":"c","parent_id":"a","item":{"id":"oil-lamp"},"quantity":1},{"id":"a","parent_id":"b","item":{"id":"oil-lamp"},"quantity":1},` +
				`{"id":"b","parent_id":"a","item":{"id":"wick-cotton"},"quantity":1}]}`, "$.line_items[0].parent_id",
		},
		"a currency that is a number": {"{" + line + `,"currency":5}`, "$.currency"},
		"a currency that is a list":   {"{" + line + `,"currency":["EUR"]}`, "$.currency"},
		"a context of numbers":        {"{" + line + `,"context":{"currency":5}}`, "$.context.currency"},
		"a country that is none":      {"{" + line + `,"context":{"address_country":["GR"]}}`, "$.context.address_country"},
	} {
		t.Run(name, func(t *testing.T) {
			got := f.say("POST", "/checkout-sessions", test.body)
			require.Equal(t, http.StatusUnprocessableEntity, got.status, got.raw)
			require.Equal(t, []string{"error invalid_request " + test.want + " recoverable"}, got.messages())
		})
	}
}

// Lines below lines are shown as they were asked for, as far as they can be laid out.
func TestParents(t *testing.T) {
	f := openStrict(t)
	got := f.say("POST", "/checkout-sessions", `{"line_items":[{"id":"c","parent_id":"b","item":{"id":"oil-lamp"},"quantity":1},
	  {"id":"b","parent_id":"a","item":{"id":"wick-cotton"},"quantity":1},{"id":"a","item":{"id":"wick-cotton"},"quantity":1}]}`)
	require.Equal(t, 201, got.status, got.raw)
	for i, parent := range []any{"b", "a", nil} {
		require.Equal(t, parent, got.body["line_items"].([]any)[i].(map[string]any)["parent_id"], got.raw)
	}
}

// Prices are in the shop's currency, which the answer says; who has named another one is told besides.
func TestAnotherCurrency(t *testing.T) {
	f := openStrict(t)
	const warning = "warning currency_not_available "
	in := func(currency string) string {
		return strings.Replace(oneLamp, "{", `{"currency":`+currency+`,`, 1)
	}
	for currency, warned := range map[string]bool{`"EUR"`: false, `"eur"`: false, `null`: false, `""`: false, `"USD"`: true, `"XXX"`: true} {
		key := "key of " + currency
		created := f.say("POST", "/checkout-sessions", in(currency), "Idempotency-Key", key)
		require.Equal(t, 201, created.status, created.raw)
		require.Equal(t, "EUR", created.body["currency"])
		require.Equal(t, warned, strings.Contains(created.raw, "currency_not_available"), created.raw)
		require.Equal(t, created.raw, f.say("POST", "/checkout-sessions", in(currency), "Idempotency-Key", key).raw)
		at := "/checkout-sessions/" + created.id()
		updated := f.say("PUT", at, in(currency))
		require.Equal(t, 200, updated.status, updated.raw)
		require.Equal(t, warned, strings.Contains(updated.raw, "currency_not_available"), updated.raw)
		if warned {
			require.Contains(t, created.messages(), warning+"$.currency")
		}
		require.NotContains(t, f.say("GET", at, "").raw, "currency_not_available", "it is about the request")
	}
	at := "/checkout-sessions/" + f.say("POST", "/checkout-sessions", in(`"USD"`)).id()
	require.Equal(t, 422, f.say("PUT", at, in(`7`)).status)

	valid := schematest.Load(t, schematest.Corpus(t, 3), "2026-04-08", schematest.Response)
	for currency, warned := range map[string]bool{`"EUR"`: false, `"USD"`: true} {
		got := f.say("POST", aprilPath+"/checkout-sessions", strings.Replace(oneLamp, "{", `{"context":{"currency":`+currency+`},`, 1))
		require.Equal(t, 201, got.status, got.raw)
		require.Equal(t, warned, slices.Contains(got.messages(), warning+"$.context.currency"), got.raw)
		valid.Check(t, "schemas/shopping/checkout.json", []byte(got.raw))
	}
}

// nowhere is a carrier that sends to no country.
type nowhere struct{ shop.Shipping }

func (nowhere) Options(context.Context, model.Destination, []model.LineItem, int64) ([]shop.ShippingOption, error) {
	return nil, nil
}

func TestUndeliverable(t *testing.T) {
	f := openStrict(t, func(o *shop.Options, _ *ucp.InboundOptions) { o.Shipping = nowhere{} })
	got := f.say("POST", "/checkout-sessions", ready)
	require.Equal(t, "incomplete", got.body["status"], got.raw)
	require.Equal(t, []string{"error address_undeliverable $.fulfillment.methods[0].destinations[0] recoverable"}, got.messages())
}

// A buyer can go on by hand as long as there is something to go on with.
func TestContinuing(t *testing.T) {
	f := openStrict(t, func(o *shop.Options, _ *ucp.InboundOptions) { o.ContinueURL = "https://lamps.example/checkout/" })
	for _, body := range []string{oneLamp, ready} {
		created := f.say("POST", "/checkout-sessions", body)
		require.Equal(t, "https://lamps.example/checkout/"+created.id(), created.body["continue_url"], created.raw)
		require.Regexp(t, `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`, created.body["expires_at"])
		ended := f.say("POST", "/checkout-sessions/"+created.id()+"/cancel", "")
		require.Equal(t, "canceled", ended.body["status"], ended.raw)
		require.NotContains(t, ended.body, "continue_url")
	}
	for _, at := range []string{"http://lamps.example/", "/checkout/", "https:///x", "%"} {
		_, err := shop.New(shop.Options{ContinueURL: at})
		require.ErrorContains(t, err, "not absolute and https", at)
	}
}
