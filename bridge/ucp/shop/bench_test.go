package shop_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// The benchmarks measure one kind of request each, over HTTP, against a shop with its log in files. The allocations and
// the processor time are those of the shop and of a client that does little else than write and read.

const benchmarkItem = "wick-cotton"

// line is a connection to a shop, for one request at a time.
type line struct {
	conn   net.Conn
	reader *bufio.Reader
}

func dial(t testing.TB, url string) *line {
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	require.NoError(t, err)
	return &line{conn, bufio.NewReader(conn)}
}

// ask makes a request, with the key if there is one, and gives the body of the answer.
func (l *line) ask(method, path, key, body string) (status int, answer []byte, err error) {
	request := method + " " + path + " HTTP/1.1\r\nHost: shop\r\nUCP-Agent: profile=\"\"\r\n"
	if key != "" {
		request += "Idempotency-Key: " + key + "\r\n"
	}
	if body != "" {
		request += fmt.Sprintf("Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	if _, err := io.WriteString(l.conn, request+"\r\n"+body); err != nil {
		return 0, nil, err
	}
	response, err := http.ReadResponse(l.reader, nil)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	answer, err = io.ReadAll(response.Body)
	return response.StatusCode, answer, err
}

// market is a shop under a benchmark.
type market struct {
	*branch
	made atomic.Int64
}

func newMarket(b *testing.B) *market {
	to := newTown(b)
	to.data.Pieces[benchmarkItem], to.alone = 1<<40, true
	return &market{branch: to.open(b)}
}

// ids creates so many checkouts.
func (m *market) ids(b *testing.B, many int) []string {
	ids := make([]string, many)
	var next atomic.Int64
	var working sync.WaitGroup
	for range 16 {
		working.Go(func() {
			for n := int(next.Add(1)) - 1; n < many; n = int(next.Add(1)) - 1 {
				a, err := m.try("POST", "/checkout-sessions", wants(benchmarkItem, 1))
				if err == nil && a.status == http.StatusCreated {
					ids[n] = a.id()
				}
			}
		})
	}
	working.Wait()
	require.NotContains(b, ids, "")
	return ids
}

// measure makes requests, 16 at once, each with a key of its own.
func (m *market) measure(b *testing.B, status int, request func(n int) (method, path, body string)) {
	var next atomic.Int64
	b.ReportAllocs()
	b.SetParallelism(8)
	b.ResetTimer()
	used := processorTime()
	b.RunParallel(func(p *testing.PB) {
		l := dial(b, m.url)
		defer l.conn.Close()
		for p.Next() {
			n := int(next.Add(1)) - 1
			method, path, body := request(n)
			got, answer, err := l.ask(method, path, fmt.Sprintf("%s-%d", b.Name(), m.made.Add(1)), body)
			if err != nil || got != status {
				b.Errorf("%s %s: %d %s %v", method, path, got, answer, err)
				return
			}
		}
	})
	b.ReportMetric(float64((processorTime()-used).Microseconds())/float64(b.N), "cpu-µs/op")
}

func BenchmarkCreate(b *testing.B) {
	body := wants(benchmarkItem, 1)
	newMarket(b).measure(b, http.StatusCreated, func(int) (string, string, string) { return "POST", "/checkout-sessions", body })
}

func BenchmarkGet(b *testing.B) {
	m := newMarket(b)
	ids := m.ids(b, 64)
	m.measure(b, http.StatusOK, func(n int) (string, string, string) {
		return "GET", "/checkout-sessions/" + ids[n%len(ids)], ""
	})
}

func BenchmarkUpdate(b *testing.B) {
	m := newMarket(b)
	ids := m.ids(b, max(64, b.N/16))
	body := `{"currency": "EUR", "payment": {}, "line_items": [{"item": {"id": "` + benchmarkItem + `"}, "quantity": 2}]}`
	m.measure(b, http.StatusOK, func(n int) (string, string, string) {
		return "PUT", "/checkout-sessions/" + ids[n%len(ids)], body
	})
}

func BenchmarkComplete(b *testing.B) {
	m := newMarket(b)
	ids := m.ids(b, b.N)
	body := paying("success_token")
	m.measure(b, http.StatusOK, func(n int) (string, string, string) {
		return "POST", "/checkout-sessions/" + ids[n] + "/complete", body
	})
}

// BenchmarkExpire ends checkouts that nobody has paid.
func BenchmarkExpire(b *testing.B) {
	m := newMarket(b)
	m.ids(b, b.N)
	b.ReportAllocs()
	b.ResetTimer()
	used := processorTime()
	m.expire(b, later())
	b.ReportMetric(float64((processorTime()-used).Microseconds())/float64(b.N), "cpu-µs/op")
}
