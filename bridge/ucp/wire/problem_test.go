package wire_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/ucp/internal/schematest"
	"github.com/strabo-engine/strabo/bridge/ucp/wire"
)

const outOfStock = `{"ucp":{"status":"error"},"messages":[{"type":"error","code":"out_of_stock","content":"None left.","severity":"unrecoverable"}],
  "continue_url":"https://shop.example/next"}`

func TestProblemsAreAnsweredAsTheReleaseSays(t *testing.T) {
	for _, test := range []struct {
		name        string
		release     wire.Release
		status      int
		model, want string
		wantStatus  int
	}{
		{
			"a business outcome is 200 in 2026-04-08", wire.April2026, 200, outOfStock,
			`{"ucp":{"version":"2026-04-08","status":"error"},"messages":[{"type":"error","code":"out_of_stock","content":"None left.","severity":"unrecoverable"}],"continue_url":"https://shop.example/next"}`,
			200,
		},
		{
			"and a status before", wire.January11, 200, outOfStock,
			`{"detail":"None left.","code":"OUT_OF_STOCK","status":"error","messages":[{"type":"error","code":"out_of_stock","content":"None left.","severity":"requires_buyer_input"}],"continue_url":"https://shop.example/next"}`,
			400,
		},
		{
			"no payment", wire.January23, 200,
			`{"ucp":{"status":"error"},"messages":[{"type":"error","code":"payment_failed","content":"No.","severity":"recoverable"}]}`,
			`{"detail":"No.","code":"PAYMENT_FAILED","status":"error","messages":[{"type":"error","code":"payment_failed","content":"No.","severity":"recoverable"}]}`,
			402,
		},
		{
			"a protocol error is code and content", wire.April2026, 422, `{"code":"version_unsupported","content":"Not that one."}`,
			`{"code":"version_unsupported","content":"Not that one."}`, 422,
		},
		{
			"and has both forms before", wire.January11, 422, `{"code":"invalid","content":"No line items."}`,
			`{"detail":"No line items.","code":"INVALID","status":"error","messages":[{"type":"error","code":"invalid","content":"No line items.","severity":"recoverable"}]}`,
			422,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			status, got, err := test.release.EncodeResponse(wire.Exchange{Operation: wire.CreateCheckout}, test.status, decode(t, test.model))
			require.NoError(t, err)
			require.Equal(t, test.wantStatus, status)
			require.Empty(t, cmp.Diff(decode(t, test.want), got))
			if test.release == wire.April2026 && status == 200 {
				valid := schemas(t, test.release, schematest.Response)
				valid.Check(t, "schemas/shopping/types/error_response.json", plain(t, got))
			}
		})
	}
}

func TestProblemsAreUnderstood(t *testing.T) {
	for _, test := range []struct {
		name          string
		release       wire.Release
		status        int
		body          string
		business      bool
		code, content string
	}{
		{"the Python server", wire.January11, 402, `{"detail":"Payment Failed","code":"INSUFFICIENT_FUNDS"}`, true, "insufficient_funds", "Payment Failed"},
		{"the Node server", wire.January11, 404, `{"error":"Order not found"}`, true, "not_found", "Order not found"},
		{"a reused key", wire.January11, 409, `{"detail":"Idempotency key reused with different parameters"}`, false, "conflict", "Idempotency key reused with different parameters"},
		{
			"a version", wire.January11, 400, `{"detail":{"status":"error","errors":[{"code":"VERSION_UNSUPPORTED","message":"Too new.","severity":"critical"}]}}`,
			false, "version_unsupported", "Too new.",
		},
		{"a schema", wire.January11, 422, `{"detail":[{"loc":["body"],"msg":"Field required"}]}`, false, "http_unprocessable_entity", "Unprocessable Entity"},
		{"nothing at all", wire.January11, 500, `{}`, false, "http_internal_server_error", "Internal Server Error"},
		{"what the specification says", wire.January23, 400, `{"messages":[{"type":"error","code":"out_of_stock","content":"None left.","severity":"recoverable"}]}`, true, "out_of_stock", "None left."},
		{"a redirect", wire.January11, 302, `{}`, false, "http_found", "Found"},
		{"every status in 2026-04-08", wire.April2026, 404, `{"code":"not_found","content":"No."}`, false, "not_found", "No."},
		{"an unknown status", wire.January11, 799, `{}`, false, "http_status", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			status, got, err := test.release.DecodeResponse(wire.Exchange{Operation: wire.CompleteCheckout}, test.status, decode(t, test.body))
			require.NoError(t, err)
			if !test.business {
				require.Equal(t, test.status, status)
				require.Equal(t, test.code, got["code"])
				require.Equal(t, test.content, got["content"])
				return
			}
			require.Equal(t, 200, status)
			require.Equal(t, "error", got["ucp"].(wire.Object)["status"])
			message := got["messages"].([]any)[0].(wire.Object)
			require.Equal(t, test.code, message["code"])
			require.Equal(t, test.content, message["content"])
		})
	}
}

func TestAnUnknownReleaseIsNotSpoken(t *testing.T) {
	var unknown *wire.UnknownReleaseError
	_, err := wire.Release("2020-01-01").EncodeRequest(wire.Exchange{Operation: wire.CreateCheckout}, wire.Object{})
	require.ErrorAs(t, err, &unknown)
	_, err = wire.Release("").DecodeRequest(wire.Exchange{}, nil)
	require.ErrorAs(t, err, &unknown)
	_, _, err = wire.Release("").EncodeResponse(wire.Exchange{}, 200, nil)
	require.ErrorAs(t, err, &unknown)
	_, _, err = wire.Release("").DecodeResponse(wire.Exchange{}, 200, nil)
	require.ErrorAs(t, err, &unknown)
	_, err = wire.April2026.EncodeRequest(wire.Exchange{Operation: "steal"}, wire.Object{})
	require.ErrorContains(t, err, "no operation")
}

func TestDecodeTakesOneObject(t *testing.T) {
	for _, text := range []string{``, `null`, `[]`, `7`, `{} {}`, `{`, `{"a":}`} {
		_, err := wire.Decode([]byte(text))
		require.ErrorIs(t, err, wire.ErrNotObject, text)
	}
	got, err := wire.Decode([]byte(` {"a": 10000000000000000001.50} `))
	require.NoError(t, err)
	text, err := wire.Encode(got)
	require.NoError(t, err)
	require.Equal(t, `{"a":10000000000000000001.50}`, string(text))
}

func TestTheSameModelIsTheSameBytes(t *testing.T) {
	model := decode(t, checkout)
	var first []byte
	for range 20 {
		_, body, err := wire.January11.EncodeResponse(wire.Exchange{Operation: wire.GetCheckout}, 200, model)
		require.NoError(t, err)
		text, err := wire.Encode(body)
		require.NoError(t, err)
		if first == nil {
			first = text
		}
		require.Equal(t, string(first), string(text))
	}
	require.Empty(t, cmp.Diff(decode(t, checkout), model), "the model was changed")
}

// Whatever a peer sends, it is read or refused, in every release and direction; and what it means is kept when it is
// said again in the newest release.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{checkout, order, request, complete, outOfStock, `{"line_items":[null,7],"totals":{},"payment":[]}`} {
		f.Add([]byte(seed), uint8(0), 200)
	}
	operations := []wire.Operation{
		wire.CreateCheckout, wire.GetCheckout, wire.UpdateCheckout, wire.CompleteCheckout, wire.CancelCheckout, wire.GetOrder,
	}
	f.Fuzz(func(t *testing.T, text []byte, which uint8, status int) {
		object, err := wire.Decode(text)
		if err != nil {
			return
		}
		x := wire.Exchange{Operation: operations[int(which)%len(operations)], Checkout: "c", Currency: "EUR"}
		for _, release := range wire.Releases() {
			got, err := release.DecodeRequest(x, object)
			require.NoError(t, err)
			_, err = release.EncodeRequest(x, got)
			require.NoError(t, err)
			status, got, err := release.DecodeResponse(x, status, object)
			require.NoError(t, err)
			_, _, err = wire.April2026.EncodeResponse(x, status, got)
			require.NoError(t, err)
			_, err = release.EncodeOrder(object)
			require.NoError(t, err)
			order, err := release.DecodeOrder(x, object)
			require.NoError(t, err)
			_, err = wire.Encode(order)
			require.NoError(t, err)
		}
	})
}

func BenchmarkResponse(b *testing.B) {
	model, err := wire.Decode([]byte(checkout))
	require.NoError(b, err)
	x := wire.Exchange{Operation: wire.GetCheckout}
	for _, release := range wire.Releases() {
		b.Run("encode/"+string(release), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, body, _ := release.EncodeResponse(x, 200, model)
				_, _ = wire.Encode(body)
			}
		})
	}
}
