package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/bridge/keyvalue"
)

// often is what an environment variable says, or how often something is done where it says nothing.
func often(t *testing.T, variable string, otherwise int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err, variable)
	return n
}

// wicks is how many wicks the shop of crowds has.
const wicks = 50_000

// wickShop writes the data of a shop of wicks.
func wickShop(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"products.csv":       "id,title,price\nwick-cotton,Wick,350\n",
		"inventory.csv":      fmt.Sprintf("product_id,quantity\nwick-cotton,%d\n", wicks),
		"shipping_rates.csv": "id,country_code,service_level,price,title\npost,default,standard,500,Post\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

// listener is a platform that is told of orders. Now and then it does not want to hear.
type listener struct {
	server *httptest.Server
	mu     sync.Mutex
	heard  map[string][]string // the events of each order
}

func newListener(t *testing.T, refuses float64) *listener {
	l := &listener{heard: make(map[string][]string)}
	l.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/profile" {
			fmt.Fprintf(w, `{"ucp": {"version": "2026-01-11", "capabilities": [{"name": "dev.ucp.shopping.order", "version": "2026-01-11", "config": {"webhook_url": "%s/told"}}]}}`, l.server.URL)
			return
		}
		var event struct {
			Type  string `json:"event_type"`
			Order struct {
				ID string `json:"id"`
			} `json:"order"`
		}
		text, err := io.ReadAll(r.Body)
		if err != nil || json.Unmarshal(text, &event) != nil || rand.Float64() < refuses {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.heard[event.Order.ID] = append(l.heard[event.Order.ID], event.Type)
	}))
	t.Cleanup(l.server.Close)
	return l
}

// crowd is many clients of shops, who do everything with checkouts that can be done, several with each.
type crowd struct {
	storm
	chronicle
	agent   string // the UCP-Agent header
	client  http.Client
	patient time.Duration // how long a request is repeated

	failures sync.Map // of how often, by what a request was told instead of an answer
	longest  atomic.Int64
}

func newCrowd(l *listener) *crowd {
	c := &crowd{patient: time.Minute}
	c.start = time.Now()
	c.agent = fmt.Sprintf(`profile="%s/profile"`, l.server.URL)
	c.client = http.Client{Timeout: 40 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	return c
}

// once makes a request once, at one of the shops.
func (c *crowd) once(method, path, body, key string) (shopAnswer, error) {
	c.storm.mu.Lock()
	url := c.urls[rand.IntN(len(c.urls))]
	c.storm.mu.Unlock()
	request, err := http.NewRequest(method, url+path, strings.NewReader(body))
	if err != nil {
		return shopAnswer{}, err
	}
	request.Header.Set("UCP-Agent", c.agent)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		request.Header.Set("Idempotency-Key", key)
	}
	return answerOf(&c.client, request)
}

// insist repeats a request until it is answered.
func (c *crowd) insist(t *testing.T, method, path, body, key string) shopAnswer {
	t.Helper()
	for deadline := time.Now().Add(c.patient); ; {
		a, err := c.once(method, path, body, key)
		if err == nil && a.status < 500 {
			return a
		}
		require.True(t, time.Now().Before(deadline), "%s %s: %d %s %v", method, path, a.status, a.raw, err)
	}
}

// ask repeats a request until it is answered, and writes it down.
func (c *crowd) ask(r *shopRequest) shopAnswer {
	r.begun = time.Since(c.start)
	for deadline := time.Now().Add(c.patient); time.Now().Before(deadline); r.again = true {
		begun := time.Now()
		a, err := c.once(r.method, r.path, r.body, r.key)
		if took := time.Since(begun).Milliseconds(); took > c.longest.Load() {
			c.longest.Store(took)
		}
		if err == nil && a.status < 500 {
			r.answer, r.answered = a, true
			break
		}
		count, _ := c.failures.LoadOrStore(a.status, new(atomic.Int64))
		count.(*atomic.Int64).Add(1)
		r.answer = a
		if err != nil {
			r.answer.raw = err.Error()
		}
		time.Sleep(time.Millisecond) // Not to hammer at a port that nobody listens on.
	}
	r.ended = time.Since(c.start)
	c.add(r)
	return r.answer
}

func wants(quantity int) string {
	return strings.Replace(wantsAWick, `"quantity": 1`, fmt.Sprintf(`"quantity": %d`, quantity), 1)
}

// visit does something with one checkout: several clients change, pay, cancel and look at it at the same time.
func (c *crowd) visit(n int) {
	name := strconv.Itoa(n)
	first := 1 + rand.IntN(3)
	created := c.ask(&shopRequest{
		checkout: name, operation: "create", quantity: first, method: "POST", path: "/checkout-sessions", body: wants(first), key: "create-" + name,
	})
	if created.status != http.StatusCreated {
		return
	}
	path := "/checkout-sessions/" + created.ID
	var together sync.WaitGroup
	for client := range 2 {
		together.Go(func() {
			for step := range 1 + rand.IntN(3) {
				key := fmt.Sprintf("%s-%d-%d", name, client, step)
				r := &shopRequest{checkout: name, path: path, key: key, method: "POST"}
				switch dice := rand.IntN(10); {
				case dice < 4:
					r.operation, r.method, r.quantity = "update", "PUT", 1+rand.IntN(5)
					r.body = wants(r.quantity)
				case dice < 7:
					r.operation, r.body = "complete", pays
					r.path += "/complete"
				case dice < 8:
					r.operation = "cancel"
					r.path += "/cancel"
				default:
					r.operation, r.method, r.key = "get", "GET", ""
				}
				c.ask(r)
			}
		})
	}
	together.Wait()
	c.ask(&shopRequest{checkout: name, operation: "get", method: "GET", path: path})
	c.count.Add(1)
}

// bring has clients come until told to stop, and waits until the last has gone.
func (c *crowd) bring(clients int) (stop func()) {
	done := make(chan struct{})
	var running sync.WaitGroup
	var mu sync.Mutex
	next := 0
	for range clients {
		running.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				mu.Lock()
				next++
				n := next
				mu.Unlock()
				c.visit(n)
			}
		})
	}
	return func() {
		close(done)
		running.Wait()
	}
}

// settled checks all that must hold once the crowd has gone and shops are open.
func (c *crowd) settled(t *testing.T, l *listener) {
	t.Helper()
	c.check(t)
	ordered, orders := 0, make(map[string]int)
	for _, r := range c.all {
		require.True(t, r.answered, "%s %s was never answered: %d %s", r.method, r.path, r.answer.status, r.answer.raw)
		if r.operation == "complete" && r.answer.status == http.StatusOK {
			says, err := tellsOf(r.answer)
			require.NoError(t, err)
			require.NotContains(t, orders, r.answer.Order.ID, "an order is there twice")
			orders[r.answer.Order.ID] = says.quantity
			ordered += says.quantity
		}
	}
	// A checkout may have been paid although the request was told otherwise: busy, since another payment was under way.
	for _, r := range c.all {
		now, err := tellsOf(r.answer)
		if r.operation == "get" && err == nil && now.status == "completed" {
			require.Contains(t, orders, r.answer.Order.ID, "an order that nobody was told of")
		}
		if r.key != "" && (r.answer.status == http.StatusOK || r.answer.status == http.StatusCreated) {
			again := c.insist(t, r.method, r.path, r.body, r.key)
			require.Equal(t, r.answer, again, "a replay of %s %s, begun at %v, ended at %v, repeated %v", r.operation, r.path, r.begun, r.ended, r.again)
		}
	}
	for id, quantity := range orders {
		order := c.insist(t, "GET", "/orders/"+id, "", "")
		require.Equal(t, http.StatusOK, order.status, order.raw)
		require.Contains(t, order.raw, fmt.Sprintf(`"quantity":{"total":%d,`, quantity))
	}
	// What a process says of the stock may be a little behind what another one has sold; and what a process had on hold
	// for nobody when it died is given back after some minutes.
	var left string
	require.Eventually(t, func() bool {
		refused, err := c.once("POST", "/checkout-sessions", wants(10_000_000), "")
		found := regexp.MustCompile(`: (\d+) left`).FindStringSubmatch(refused.Detail)
		if err == nil && found != nil {
			left = found[1]
		}
		return left == strconv.Itoa(wicks-ordered)
	}, 5*time.Minute, 50*time.Millisecond, "%d of %d wicks were ordered", ordered, wicks)
	require.Eventually(t, func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		for id := range orders {
			if len(l.heard[id]) == 0 {
				return false
			}
		}
		return true
	}, 2*time.Minute, 50*time.Millisecond, "the platform was not told of all orders")
	l.mu.Lock()
	defer l.mu.Unlock()
	require.Len(t, l.heard, len(orders), "the platform was told of orders that nobody has placed")
	t.Logf("%d requests, %d checkouts, %d orders of %d wicks", len(c.all), c.count.Load(), len(orders), ordered)
}

// TestShopsKilled kills processes of one shop at random moments, STRABO_TEST_SHOP_KILLS times, while a crowd creates,
// changes, pays and cancels checkouts, several clients the same one. Whatever was answered is so, for everybody.
func TestShopsKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long")
	}
	t.Parallel()
	kills, refuses := often(t, "STRABO_TEST_SHOP_KILLS", 0), 0.0
	if kills > 0 {
		refuses = 0.2
	}
	dir := t.TempDir()
	nats := startServing(t, "purchase", "--store", filepath.Join(dir, "nats"), "--listen", "127.0.0.1:0")
	arguments := []string{"--nats", nats.NATS, "--keys", filepath.Join(dir, "keys"), "--data", wickShop(t), "--local-webhooks"}
	l := newListener(t, refuses)
	c := newCrowd(l)
	shops := make([]*selling, 2)
	open := func() {
		var urls []string
		for _, s := range shops {
			urls = append(urls, s.URL)
		}
		c.move(urls...)
	}
	for i := range shops {
		shops[i] = startShop(t, arguments...)
	}
	open()
	stop := c.bring(8)
	visited := func(most int) {
		enough := c.count.Load() + int64(rand.IntN(most))
		require.Eventually(t, func() bool { return c.count.Load() > enough }, time.Minute, time.Millisecond)
	}
	visited(20)
	for range kills {
		visited(20)
		victims := []int{rand.IntN(len(shops))}
		if rand.IntN(4) == 0 {
			victims = []int{0, 1}
		}
		for _, i := range victims {
			shops[i].kill()
		}
		for _, i := range victims {
			shops[i] = startShop(t, arguments...)
		}
		open()
	}
	stop()
	c.settled(t, l)
	for _, s := range shops {
		s.kill() // Nobody writes the log any more.
		require.Empty(t, s.errors())
	}
}

// errors gives what a process has logged as such, but for what it could not reach.
func (s *selling) errors() []string {
	all := regexp.MustCompile(`(?m)^.*"level":"ERROR".*$`).FindAllString(s.log.String(), -1)
	return slices.DeleteFunc(all, func(line string) bool {
		return strings.Contains(line, keyvalue.ErrUnavailable.Error()) || strings.Contains(line, adapter.ErrUnavailable.Error())
	})
}

// goroutines tells how many a process has, which ends by that.
func (s *selling) goroutines(t *testing.T) int {
	t.Helper()
	require.NoError(t, s.cmd.Process.Signal(syscall.SIGQUIT))
	_ = s.cmd.Wait()
	return len(regexp.MustCompile(`(?m)^goroutine \d+ `).FindAllString(s.log.String(), -1))
}

// TestShopCutOff has the NATS of a shop die, and the network to it break in several ways, while a crowd is there. Every
// request is answered in time, if only with 503; nothing is half done; and the shop goes on by itself.
func TestShopCutOff(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long")
	}
	t.Parallel()
	dir := t.TempDir()
	store := filepath.Join(dir, "nats")
	nats := startServing(t, "purchase", "--store", store, "--listen", "127.0.0.1:0")
	wire := newCable(t, strings.TrimPrefix(nats.NATS, "nats://"))
	arguments := []string{
		"--nats", "nats://" + wire.address(), "--keys", filepath.Join(dir, "keys"), "--data", wickShop(t), "--local-webhooks", "--answer-timeout", "2s",
	}
	l := newListener(t, 0)
	c := newCrowd(l)
	s := startShop(t, arguments...)
	c.move(s.URL)
	const few = 5
	stop := c.bring(4)
	// STRABO_TEST_SHOP_FAULTS is how many seconds each of them lasts; without it only the last is tried.
	long := time.Duration(often(t, "STRABO_TEST_SHOP_FAULTS", 0)) * time.Second
	faults := []struct {
		name         string
		begin, later func()
	}{
		{"cut", func() { wire.setCut(true) }, func() { wire.setCut(false) }},
		{"stalled", func() { wire.setStalled(true) }, func() { wire.setStalled(false) }},
		{"slow", func() { wire.setDelay(300 * time.Millisecond) }, func() { wire.setDelay(0) }},
		{"killed", func() { _ = nats.cmd.Process.Kill(); _ = nats.cmd.Wait() }, func() {
			nats = startServing(t, "purchase", "--store", store, "--listen", "127.0.0.1:0")
			wire.setTarget(strings.TrimPrefix(nats.NATS, "nats://"))
		}},
	}
	if long == 0 {
		faults = faults[len(faults)-1:]
	}
	for _, fault := range faults {
		before := c.count.Load()
		require.Eventually(t, func() bool { return c.count.Load() > before+few }, time.Minute, time.Millisecond, "it does not go on before %s", fault.name)
		c.longest.Store(0)
		fault.begin()
		time.Sleep(long)
		fault.later()
		healed := time.Now()
		before = c.count.Load()
		require.Eventually(t, func() bool { return c.count.Load() > before+few }, time.Minute, time.Millisecond, "it does not go on after %s", fault.name)
		t.Logf("%s: %d checkouts %v later; longest request %d ms", fault.name, few, time.Since(healed), c.longest.Load())
	}
	stop()
	c.failures.Range(func(status, count any) bool {
		t.Logf("%v: %d", status, count.(*atomic.Int64).Load())
		return true
	})
	c.settled(t, l)
	failed := s.errors()
	require.Empty(t, failed)
	require.Less(t, s.goroutines(t), 200, "some of those that have waited wait still")
}
