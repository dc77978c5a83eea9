//go:build !otlp

package main

import (
	"context"
	"log/slog"
	"os"

	"go.opentelemetry.io/otel/trace"
)

// tracing gives no provider: the exporter makes the program a fifth larger, so it is in only with the build
// tag otlp.
func tracing(_ context.Context, log *slog.Logger) (provider trace.TracerProvider, stop func(), err error) {
	for _, name := range []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"} {
		if os.Getenv(name) != "" {
			log.Warn("no traces are exported: this program was built without -tags otlp", "variable", name)
		}
	}
	return nil, func() {}, nil
}
