//go:build otlp

package main

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTracesAreExported(t *testing.T) {
	received := make(chan string, 16)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		received <- r.URL.Path + " " + string(body)
	}))
	defer collector.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
	provider, stop, err := tracing(t.Context(), slog.Default())
	require.NoError(t, err)
	_, span := provider.Tracer("test").Start(t.Context(), "strabo.decide")
	span.End()
	stop()
	told := <-received
	require.Contains(t, told, "/v1/traces ")
	require.Contains(t, told, "strabo.decide")
}
