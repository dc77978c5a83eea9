//go:build otlp

package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// exportTime is how long the last spans may take to be exported.
const exportTime = 5 * time.Second

// tracing gives a provider that exports by OTLP over HTTP to where the variables of OpenTelemetry say; none if they say
// nothing. Stop exports what is left.
func tracing(ctx context.Context, log *slog.Logger) (provider trace.TracerProvider, stop func(), err error) {
	if os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") == "" && os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") == "" {
		return nil, func() {}, nil
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("traces: %w", err)
	}
	about, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "strabo")),
		resource.WithFromEnv(), resource.WithTelemetrySDK()) // what the environment says counts
	if err != nil {
		return nil, nil, fmt.Errorf("traces: %w", err)
	}
	p := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))
	return p, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), exportTime)
		defer cancel()
		if err := p.Shutdown(ctx); err != nil {
			log.Warn("the last traces were not exported", "error", err)
		}
	}, nil
}
