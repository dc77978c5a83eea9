package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// selling is a strabo shop in a process of its own.
type selling struct {
	cmd *exec.Cmd
	log bytes.Buffer
	URL string `json:"url"`
}

func startShop(t *testing.T, arguments ...string) *selling {
	t.Helper()
	return startShopBy(t, exec.Command("strabo", append([]string{"shop", "--listen", "127.0.0.1:0"}, arguments...)...))
}

// startShopBy starts a shop by a command, which says what it says as it opens.
func startShopBy(t *testing.T, command *exec.Cmd) *selling {
	t.Helper()
	s := &selling{cmd: command}
	s.cmd.Stderr = &s.log
	out, err := s.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, s.cmd.Start())
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		_ = s.cmd.Wait()
		require.FailNow(t, "it does not open", s.log.String())
	}
	require.NoError(t, json.Unmarshal(line, s))
	t.Cleanup(s.kill)
	return s
}

// kill ends the process without giving it a chance to do anything.
func (s *selling) kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// shopAnswer is what a shop said.
type shopAnswer struct {
	status int
	raw    string
	ID     string `json:"id"`
	Status string `json:"status"`
	Detail string `json:"detail"`
	Order  struct {
		ID string `json:"id"`
	} `json:"order"`
}

func askShop(method, url, body, key string) (shopAnswer, error) {
	request, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return shopAnswer{}, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Idempotency-Key", key)
	return answerOf(http.DefaultClient, request)
}

// answerOf makes a request and reads its answer.
func answerOf(client *http.Client, request *http.Request) (shopAnswer, error) {
	response, err := client.Do(request)
	if err != nil {
		return shopAnswer{}, err
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		return shopAnswer{}, err
	}
	a := shopAnswer{status: response.StatusCode, raw: string(raw)}
	return a, json.Unmarshal(raw, &a)
}

const (
	wantsAWick = `{"currency": "USD", "payment": {}, "line_items": [{"item": {"id": "wick-cotton"}, "quantity": 1}], "fulfillment": {"methods": [
	  {"type": "shipping", "selected_destination_id": "d", "destinations": [{"id": "d", "address_country": "GR"}], "groups": [{"selected_option_id": "post"}]}]}}`
	pays = `{"payment_data": {"id": "i", "handler_id": "mock_payment_handler", "type": "card", "credential": {"type": "token", "token": "success_token"}}}`
)

// storm is many buyers, who repeat what was not answered, at whatever shop is open.
type storm struct {
	mu    sync.Mutex
	urls  []string
	count atomic.Int64
}

func (s *storm) move(urls ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.urls = urls
}

// until repeats a request, with its key, until it is answered.
func (s *storm) until(n int, method, path, body, key string) (shopAnswer, error) {
	deadline := time.Now().Add(time.Minute)
	for try := 0; ; try++ {
		s.mu.Lock()
		url := s.urls[(n+try)%len(s.urls)]
		s.mu.Unlock()
		a, err := askShop(method, url+path, body, key)
		if err == nil && a.status < 500 {
			return a, nil
		}
		if time.Now().After(deadline) {
			return a, fmt.Errorf("%s %s: %d %s %w", method, path, a.status, a.raw, err)
		}
		time.Sleep(time.Millisecond) // Not to hammer at a port that nobody listens on.
	}
}

// buy makes one purchase.
func (s *storm) buy(n int) (shopAnswer, error) {
	created, err := s.until(n, "POST", "/checkout-sessions", wantsAWick, fmt.Sprint("create-", n))
	if err != nil || created.status != http.StatusCreated {
		return created, err
	}
	defer s.count.Add(1)
	return s.until(n+1, "POST", "/checkout-sessions/"+created.ID+"/complete", pays, fmt.Sprint("pay-", n))
}

// TestShopKilledInAStorm kills a shop, and the NATS with it where it is inside, while many buy. Every purchase comes to
// an end, and none is lost or there twice.
func TestShopKilledInAStorm(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long")
	}
	dir := t.TempDir()
	nats := startServing(t, "purchase", "--store", filepath.Join(dir, "nats"), "--listen", "127.0.0.1:0")
	beside := []string{"--nats", nats.NATS, "--keys", filepath.Join(dir, "keys")}
	for name, test := range map[string]struct {
		arguments []string
		others    int
	}{
		"alone":  {[]string{"--store", filepath.Join(dir, "shop")}, 0},
		"of two": {beside, 1},
	} {
		t.Run(name, func(t *testing.T) {
			kills := 1
			if text := os.Getenv("STRABO_TEST_KILLS"); text != "" {
				var err error
				kills, err = strconv.Atoi(text)
				require.NoError(t, err)
			}
			const buyers = 12
			s := &storm{}
			var urls []string
			for range test.others {
				urls = append(urls, startShop(t, test.arguments...).URL)
			}
			victim := startShop(t, test.arguments...)
			s.move(append(urls, victim.URL)...)
			done := make(chan struct{})
			bought := make(map[int]shopAnswer)
			var mu sync.Mutex
			var buying sync.WaitGroup
			var next atomic.Int64
			for range buyers {
				buying.Go(func() {
					for {
						select {
						case <-done:
							return
						default:
						}
						n := int(next.Add(1))
						if n > 150 {
							return
						}
						a, err := s.buy(n)
						if err != nil {
							t.Error(err)
							return
						}
						mu.Lock()
						bought[n] = a
						mu.Unlock()
					}
				})
			}
			for kill := range kills {
				require.Eventually(t, func() bool { return s.count.Load() >= int64(10*(kill+1)) || next.Load() > 150 }, time.Minute, time.Millisecond)
				victim.kill()
				victim = startShop(t, test.arguments...)
				s.move(append(urls, victim.URL)...)
			}
			require.Eventually(t, func() bool { return s.count.Load() >= int64(10*(kills+1)) || next.Load() > 150 }, time.Minute, time.Millisecond)
			close(done)
			buying.Wait()

			orders := make(map[string]bool)
			for n, a := range bought {
				require.Equal(t, http.StatusOK, a.status, a.raw)
				require.Equal(t, "completed", a.Status)
				require.False(t, orders[a.Order.ID], "an order is there twice")
				orders[a.Order.ID] = true
				now, err := askShop("GET", victim.URL+"/checkout-sessions/"+a.ID, "", "")
				require.NoError(t, err)
				require.Equal(t, a.Order, now.Order)
				again, err := askShop("POST", victim.URL+"/checkout-sessions/"+a.ID+"/complete", pays, fmt.Sprint("pay-", n))
				require.NoError(t, err)
				require.Equal(t, a.raw, again.raw)
				order, err := askShop("GET", victim.URL+"/orders/"+a.Order.ID, "", "")
				require.NoError(t, err)
				require.Equal(t, http.StatusOK, order.status, order.raw)
			}
			tooMany := strings.Replace(wantsAWick, `"quantity": 1`, `"quantity": 1000`, 1)
			// What a process says of the stock may be a little behind what another one has sold; and what a process had on
			// hold for nobody when it died is given back after some minutes.
			var left string
			require.Eventually(t, func() bool {
				refused, err := askShop("POST", victim.URL+"/checkout-sessions", tooMany, "")
				found := regexp.MustCompile(`: (\d+) left`).FindStringSubmatch(refused.Detail)
				if err == nil && found != nil {
					left = found[1]
				}
				return left == strconv.Itoa(200-len(bought))
			}, 5*time.Minute, 50*time.Millisecond, "%d of 200 wicks were bought", len(bought))
			require.NoError(t, victim.cmd.Process.Signal(syscall.SIGTERM))
			require.NoError(t, victim.cmd.Wait(), victim.log.String())
		})
	}
}

// TestShopStops at once, also if somebody holds a connection on which nothing was asked for.
func TestShopStops(t *testing.T) {
	s := startShop(t, "--durability", "none")
	connection, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	require.NoError(t, err)
	defer connection.Close()
	get(t, s.URL+"/.well-known/ucp")
	require.NoError(t, s.cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, s.cmd.Wait(), s.log.String())
	require.NotContains(t, s.log.String(), "cut off")
}

// TestShopWithoutData sells lanterns to whoever comes, with the flags that there are.
func TestShopWithoutData(t *testing.T) {
	s := startShop(t, "--durability", "none", "--documents", t.TempDir(), "--public-url", "https://lamps.example",
		"--continue-url", "https://lamps.example/checkout/", "--link", "terms_of_service=https://lamps.example/terms?a=b",
		"--link", "privacy_policy=https://lamps.example/privacy")
	discovery := get(t, s.URL+"/.well-known/ucp")
	require.Contains(t, discovery, `"endpoint":"https://lamps.example"`)
	require.Contains(t, discovery, `"schema":"https://lamps.example/documents/schemas/shopping/checkout.json"`)
	require.Contains(t, get(t, s.URL+"/documents/specification/checkout"), "<html>")
	a, err := askShop("POST", s.URL+"/checkout-sessions", wantsAWick, "k")
	require.NoError(t, err)
	require.Equal(t, "ready_for_complete", a.Status, a.raw)
	require.Contains(t, a.raw, `"continue_url":"https://lamps.example/checkout/`+a.ID+`"`)
	require.Contains(t, a.raw, `"links":[{"type":"privacy_policy","url":"https://lamps.example/privacy"},{"type":"terms_of_service","url":"https://lamps.example/terms?a=b"}]`)
	paid, err := askShop("POST", s.URL+"/checkout-sessions/"+a.ID+"/complete", pays, "p")
	require.NoError(t, err)
	require.Equal(t, "completed", paid.Status, paid.raw)
	require.NoError(t, s.cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, s.cmd.Wait(), s.log.String()) // Nobody writes the log any more.
	require.NotContains(t, s.log.String(), "success_token")
}

func TestShopWrongUse(t *testing.T) {
	empty := t.TempDir()
	bad := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(bad, "products.csv"), []byte("id,title,price\na,A,dear\n"), 0o600))
	for name, test := range map[string]struct {
		arguments []string
		says      string
	}{
		"no data":      {[]string{"--data", empty}, "products.csv"},
		"bad data":     {[]string{"--data", bad}, `products.csv, line 2: price is "dear" and should be a whole number from 0 on`},
		"no keys":      {[]string{"--nats", startServing(t, "purchase", "--listen", "127.0.0.1:0").NATS}, "--keys"},
		"bad address":  {[]string{"--listen", "nowhere"}, "nowhere"},
		"bad URL":      {[]string{"--public-url", "shop"}, "not absolute"},
		"no https":     {[]string{"--continue-url", "http://lamps.example/"}, "not absolute and https"},
		"no link":      {[]string{"--link", "faq=here"}, "no absolute URL"},
		"unknown flag": {[]string{"--lantern"}, "--lantern"},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, err := runStrabo("", append([]string{"shop", "--listen", "127.0.0.1:0", "--durability", "none"}, test.arguments...)...)
			require.Equal(t, exitWrongUse, code)
			require.Empty(t, out)
			require.Contains(t, err, test.says)
		})
	}
}

// TestLoad measures a shop, in no time.
func TestLoad(t *testing.T) {
	s := startShop(t, "--durability", "none")
	out := strabo(t, exitFine, "load", s.URL, "--item", "wick-cotton", "--option", "post", "--requests", "20", "--orders", "10", "--workers", "2", "--json")
	operations := make(map[string]int)
	for line := range strings.Lines(out) {
		var record struct {
			Operation        string
			Requests, Failed int
		}
		require.NoError(t, json.Unmarshal([]byte(line), &record))
		require.Zero(t, record.Failed, line)
		operations[record.Operation] = record.Requests
	}
	require.Equal(t, map[string]int{"create": 20, "get": 20, "update": 20, "complete": 10}, operations)
	require.Contains(t, strabo(t, exitNo, "load", s.URL, "--requests", "2", "--item", "candle"), "Product candle not found")
	require.Contains(t, strabo(t, exitNo, "load", s.URL, "--requests", "2", "--item", "candle", "--transport", "mcp"), "Product candle not found")
	over := strabo(t, exitFine, "load", s.URL, "--item", "wick-cotton", "--option", "post", "--requests", "4", "--orders", "2", "--workers", "2", "--transport", "mcp", "--json")
	require.Equal(t, 4, strings.Count(over, `"failed":0`))
	strabo(t, exitWrongUse, "load", "http://127.0.0.1:1")
	strabo(t, exitWrongUse, "load", s.URL, "--workers", "0")
}
