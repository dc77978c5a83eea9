package syncserver_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/strabo-engine/strabo/enactment"
	. "github.com/strabo-engine/strabo/internal/played"
	"github.com/strabo-engine/strabo/syncserver"
	"github.com/strabo-engine/strabo/syncserver/embedded"
	. "github.com/strabo-engine/strabo/syncserver/internal/conformance"
)

// traced is spans in one line each, those that ended first first: name, kind, attributes, and the names of the parent and
// of those that they are linked to.
func traced(spans []sdktrace.ReadOnlySpan) []string {
	names := make(map[trace.SpanID]string)
	for _, s := range spans {
		names[s.SpanContext().SpanID()] = s.Name()
	}
	var lines []string
	for _, s := range spans {
		line := s.Name() + " " + s.SpanKind().String()
		for _, a := range s.Attributes() {
			line += " " + strings.TrimPrefix(string(a.Key), "strabo.") + "=" + a.Value.String()
		}
		if parent, ok := names[s.Parent().SpanID()]; ok {
			line += " in " + parent
		}
		for _, link := range s.Links() {
			line += " linked to " + names[link.SpanContext.SpanID()]
		}
		lines = append(lines, line)
	}
	return lines
}

func TestTraces(t *testing.T) {
	t.Parallel()
	const (
		root    = "root internal"
		attempt = "strabo.attempt client protocol=Purchase action=RFQ outcome=accepted in root"
		decide  = "strabo.decide server protocol=Purchase action=RFQ outcome=accepted in "
		written = "strabo.append producer protocol=Purchase action=RFQ outcome=appended in strabo.decide"
	)
	for _, test := range []struct {
		name                         string
		inProcess, byClient, byAgent bool // where there are spans, besides the server
		batch                        time.Duration
		want                         []string
	}{
		{name: "all over NATS", byClient: true, byAgent: true, want: []string{written, decide + "strabo.attempt", attempt, root}},
		{name: "all in one process", inProcess: true, byClient: true, byAgent: true, want: []string{written, decide + "strabo.attempt", attempt, root}},
		{name: "no client's over NATS", byAgent: true, want: []string{written, decide + "root", root}},
		{name: "no client's in one process", inProcess: true, byAgent: true, want: []string{written, decide + "root", root}},
		{name: "the server's alone", want: []string{written, strings.TrimSuffix(decide, " in ")}},
		{
			name: "batch", byClient: true, byAgent: true, batch: time.Millisecond,
			want: []string{
				strings.TrimSuffix(written, " in strabo.decide") + " linked to strabo.judge",
				"strabo.judge consumer protocol=Purchase action=RFQ outcome=accepted in strabo.decide",
				decide + "strabo.attempt", attempt, root,
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			recorder := tracetest.NewSpanRecorder()
			provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))
			rules := Rules(t, Purchase)
			s := store(t, embedded.Options{})
			server := serve(t, s, rules, syncserver.ServerConfig{Tracer: provider, Window: test.batch})
			config := syncserver.ClientConfig{Logger: quiet()}
			if test.byClient {
				config.Tracer = provider
			}
			c, err := syncserver.NewClient(connect(t, s), rules, config)
			require.NoError(t, err)
			t.Cleanup(c.Close)
			if test.inProcess {
				c = server.Client(config)
				t.Cleanup(c.Close)
			}
			ctx, end := t.Context(), func() {}
			if test.byAgent {
				var span trace.Span
				ctx, span = provider.Tracer("agent").Start(ctx, "root")
				end = func() { span.End() }
			}
			outcome, err := c.Attempt(ctx, Attempt(Buyer, "RFQ", "private", "item", "fig"))
			require.NoError(t, err)
			require.NoError(t, outcome.Err())
			end()
			// The answer of a server that is elsewhere comes after its spans have ended.
			require.Equal(t, test.want, traced(recorder.Ended()))
			if test.byAgent {
				ended := recorder.Ended()
				for _, span := range ended {
					if span.Name() == "strabo.append" && test.batch > 0 {
						require.False(t, span.Parent().IsValid(), "it is made for whoever is in the window")
						continue
					}
					require.Equal(t, ended[len(ended)-1].SpanContext().TraceID(), span.SpanContext().TraceID())
				}
			}
		})
	}
}

// TestTracesOfOneWindow has agents of two traces meet in a window: each trace tells what became of its own attempt, and
// the one write is linked to both.
func TestTracesOfOneWindow(t *testing.T) {
	t.Parallel()
	recorder := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))
	rules := Rules(t, Purchase)
	s := store(t, embedded.Options{})
	serve(t, s, rules, syncserver.ServerConfig{Tracer: provider, Window: time.Minute, WindowCount: 2})
	c := client(t, connect(t, s), rules)
	codes, failures := make([]string, 2), make([]error, 2)
	traces := make([]trace.TraceID, 2)
	var agents sync.WaitGroup
	for i := range 2 {
		agents.Go(func() {
			ctx, span := provider.Tracer("agent").Start(t.Context(), "root")
			defer span.End()
			traces[i] = span.SpanContext().TraceID()
			a := Attempt(Buyer, "RFQ", "1", "item", "fig")
			a.ID = fmt.Sprint(i)
			outcome, err := c.Attempt(ctx, a)
			codes[i], failures[i] = "accepted", err
			if outcome.Rejection != nil {
				codes[i] = string(outcome.Rejection.Code)
			}
		})
	}
	agents.Wait()
	require.NoError(t, errors.Join(failures...))
	require.ElementsMatch(t, []string{"accepted", "already_happened"}, codes)
	judged := make(map[trace.TraceID]string)
	var writes []sdktrace.ReadOnlySpan
	for _, span := range recorder.Ended() {
		switch span.Name() {
		case "strabo.judge":
			for _, a := range span.Attributes() {
				if a.Key == "strabo.outcome" {
					judged[span.SpanContext().TraceID()] = a.Value.AsString()
				}
			}
		case "strabo.append":
			writes = append(writes, span)
		}
	}
	require.Equal(t, map[trace.TraceID]string{traces[0]: codes[0], traces[1]: codes[1]}, judged)
	require.Len(t, writes, 1)
	var linked []trace.TraceID
	for _, link := range writes[0].Links() {
		linked = append(linked, link.SpanContext.TraceID())
	}
	require.ElementsMatch(t, traces, linked)
}

// TestTracesTellNoValues looks at what is told of refusals, of what was made up, and of what stays unknown.
func TestTracesTellNoValues(t *testing.T) {
	t.Parallel()
	recorder := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))
	rules := Rules(t, Purchase)
	s := store(t, embedded.Options{})
	config := syncserver.ClientConfig{Tracer: provider, Logger: quiet()}
	c, err := syncserver.NewClient(connect(t, s), rules, config)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err = c.Attempt(ctx, Attempt(Buyer, "RFQ", "private", "item", "private"))
	require.ErrorIs(t, err, context.DeadlineExceeded, "there is no server yet")
	serve(t, s, rules, syncserver.ServerConfig{Tracer: provider})
	require.Equal(t, enactment.NotEnabled, Refused(t, c, Attempt(Seller, "Stop", "private")))
	require.Equal(t, enactment.UnknownAction, Refused(t, c, Attempt(Seller, "private", "private")))
	lines := traced(recorder.Ended())
	require.NotContains(t, fmt.Sprint(lines), "private")
	require.Equal(t, []string{
		"strabo.attempt client protocol=Purchase action=RFQ outcome=failed",
		"strabo.append producer protocol=Purchase action=Stop outcome=appended in strabo.decide",
		"strabo.decide server protocol=Purchase action=Stop outcome=not_enabled in strabo.attempt",
		"strabo.attempt client protocol=Purchase action=Stop outcome=not_enabled",
		"strabo.decide server protocol=Purchase outcome=unknown_action in strabo.attempt",
		"strabo.attempt client protocol=Purchase outcome=unknown_action",
	}, lines)
}

// TestTracesNeedRoom has attempts that fill a message, so that there is no room for a header: they are answered without.
func TestTracesNeedRoom(t *testing.T) {
	t.Parallel()
	rules := Rules(t, Purchase)
	s := store(t, embedded.Options{})
	serve(t, s, rules, syncserver.ServerConfig{})
	config := syncserver.ClientConfig{Tracer: sdktrace.NewTracerProvider(), Logger: quiet()}
	c, err := syncserver.NewClient(connect(t, s), rules, config)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	for size := embedded.DefaultMaxPayload - 360; size < embedded.DefaultMaxPayload; size += 40 {
		require.Equal(t, enactment.Malformed, Refused(t, c, Attempt(Buyer, "RFQ", "1", "item", strings.Repeat("x", size))))
	}
}
