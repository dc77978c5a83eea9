package shop_test

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkCreate creates checkouts through the whole shop but for the network.
func BenchmarkCreate(b *testing.B) {
	at := newTown(b).open(b)
	body := wants("wick-cotton", 1)
	run := strconv.FormatInt(time.Now().UnixNano(), 36)
	b.ReportAllocs()
	b.SetParallelism(16)
	b.RunParallel(func(p *testing.PB) {
		for n := 0; p.Next(); n++ {
			request := httptest.NewRequest("POST", "/checkout-sessions", strings.NewReader(body))
			request.Header.Set("Content-Type", "application/json")
			request.Header.Set("Idempotency-Key", run+strconv.Itoa(n)+strconv.FormatInt(time.Now().UnixNano(), 36))
			recorder := httptest.NewRecorder()
			at.inside.ServeHTTP(recorder, request)
			require.Equal(b, http.StatusCreated, recorder.Code)
		}
	})
}
