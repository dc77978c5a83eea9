package shop_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/guard"
	"github.com/strabo-engine/strabo/bridge/keyvalue"
	"github.com/strabo-engine/strabo/bridge/ucp"
	"github.com/strabo-engine/strabo/bridge/ucp/profiles"
	"github.com/strabo-engine/strabo/bridge/ucp/wire"
)

// published are profiles without a network.
type published map[string]string

// Check implements [profiles.Source].
func (published) Check(text string) (*url.URL, error) { return url.Parse(text) }

// Get implements [profiles.Source].
func (p published) Get(_ context.Context, text, _ string) (*guard.Response, error) {
	if said, ok := p[text]; ok {
		return &guard.Response{Status: http.StatusOK, Header: http.Header{}, Body: []byte(said)}, nil
	}
	return &guard.Response{Status: http.StatusNotFound, Header: http.Header{}}, nil
}

// FuzzRequests sends whole requests to a shop in all releases. Whatever they are, they are answered with JSON, never by a
// failure of the shop.
func FuzzRequests(f *testing.F) {
	sites := published{}
	for _, release := range wire.Releases() {
		p, err := ucp.PlatformProfile(release, "")
		require.NoError(f, err)
		text, err := p.Encode()
		require.NoError(f, err)
		sites["https://p.example/"+string(release)] = string(text)
	}
	s := newStall(f)
	f.Cleanup(s.stop)
	fetcher, err := profiles.New(profiles.Options{Source: sites, Rate: 1e9, Burst: 1 << 30})
	require.NoError(f, err)
	shop, err := ucp.Releases(s.inbound, ucp.ReleasesOptions{
		Platforms: fetcher, Store: keyvalue.NewMemory(ucp.KeysRemembered), Name: "lamps", Version: "1",
		Logger: slog.New(slog.NewTextHandler(&s.log, &slog.HandlerOptions{Level: slog.LevelError})),
	})
	require.NoError(f, err)
	seed := func(method, path, agent, key, body string) {
		f.Add(method + " " + path + " HTTP/1.1\r\nHost: lamps.example\r\nUCP-Agent: " + agent + "\r\nIdempotency-Key: " + key +
			"\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: " +
			strconv.Itoa(len(body)) + "\r\n\r\n" + body)
	}
	april := `profile="https://p.example/2026-04-08"`
	seed("GET", "/.well-known/ucp", "", "", "")
	seed("GET", aprilPath+"/.well-known/ucp", `x`, "", "")
	seed("POST", aprilPath+"/checkout-sessions", april, "k1", ready)
	seed("POST", aprilPath+"/checkout-sessions", april+`;version="2030-01-01"`, "k1", oneLamp)
	seed("POST", "/ucp/2026-01-23/checkout-sessions", `profile="https://p.example/2026-01-23"`, "k1", ready)
	seed("PUT", aprilPath+"/checkout-sessions/chk_x", april, "k2", ready)
	seed("POST", aprilPath+"/checkout-sessions/chk_x/complete", april, "k3", payment)
	seed("POST", aprilPath+"/checkout-sessions/chk_x/cancel", april, "k4", "")
	seed("HEAD", aprilPath+"/orders/%2e%2e%2f", april, "", "")
	seed("POST", aprilPath+"/mcp", april, "k5", rpc("create_checkout", `{"ucp-agent":{"profile":"https://p.example/2026-04-08"}}`, `,"checkout":`+oneLamp))
	seed("POST", aprilPath+"/mcp", "", "", `{"jsonrpc":"2.0","id":1,"method":"create_checkout","params":{"_meta":{"ucp":{"profile":"https://p.example/2026-04-08"}},"line_items":[]}}`)
	seed("POST", aprilPath+"/mcp", "", "", `[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]`)
	seed("POST", "/checkout-sessions", "", "k6", wants("oil-lamp", 1))
	f.Fuzz(func(t *testing.T, text string) {
		request, err := http.ReadRequest(bufio.NewReader(strings.NewReader(text)))
		if err != nil {
			return
		}
		request.RemoteAddr = "192.0.2.1:1"
		answer := httptest.NewRecorder()
		shop.ServeHTTP(answer, request)
		require.Less(t, answer.Code, 500, "%s\n%s", answer.Body, s.log.String())
		said, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		if strings.HasPrefix(answer.Header().Get("Content-Type"), "application/json") && len(said) > 0 {
			require.True(t, json.Valid(said), string(said))
		}
	})
}
