package ucp_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOutboundBelievesOneThing: an answer that says two things, or more than any checkout, says nothing. What has become of
// the payment is asked for, and the shop that goes on so is not believed at all.
func TestOutboundBelievesOneThing(t *testing.T) {
	twice := func(member string) func(http.ResponseWriter, *http.Request) {
		return answering(200, `{`+member+`"id":"chk_1","status":"completed","order":{"id":"ord_1"},"line_items":[],"totals":[{"type":"total","amount":2}]}`)
	}
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		why    string
	}{
		"a status":         {twice(`"status":"canceled",`), `it has the member "status" twice`},
		"in an order":      {twice(`"order":{"id":"ord_1","id":"ord_2"},`), `it has the member "id" twice`},
		"in an array":      {twice(`"x":[{"a":1},{"a":1,"b":{},"a":2}],`), `it has the member "a" twice`},
		"another spelling": {twice(`"st\u0061tus":"canceled",`), `it has the member "status" twice`},
		"very much":        {twice(fmt.Sprintf(`"messages":[%s{}],`, strings.Repeat("{},", 50_000))), "it has more than 50000 values"},
	} {
		t.Run(name, func(t *testing.T) {
			shop := newAprilShop(t)
			m := openApril(t, shop)
			m.opens(ada, "Offered")
			shop.mu.Lock()
			shop.script["POST /chk_1/complete"] = []http.HandlerFunc{test.answer}
			shop.mu.Unlock()
			m.pays(1)
			// Nothing has become of it at this shop, so it is asked for again, under its key.
			require.Contains(t, text(t, m.expect("Completed"), "order"), `"ord_1"`)
			require.Equal(t, 2, shop.count("POST /chk_1/complete"))
			require.Contains(t, m.told(), strings.ReplaceAll(test.why, `"`, `\"`))
		})
	}
}
