// Package tracing makes the OpenTelemetry spans of servers and clients, and carries their context in the headers of NATS
// messages (W3C Trace Context). Spans tell protocol, action and outcome, and never a value, an id or an enactment.
//
// Start reading at [Tracer.Start].
package tracing

import (
	"context"

	"github.com/nats-io/nats.go"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/strabo-engine/strabo/enactment"
)

// The attributes of spans.
const (
	Protocol = attribute.Key("strabo.protocol")
	Action   = attribute.Key("strabo.action")
	Outcome  = attribute.Key("strabo.outcome")
)

// Outcomes that are no code of refusal.
const (
	Accepted = "accepted"
	Failed   = "failed"   // it is unknown what became of it
	Appended = "appended" // of a write
	Conflict = "conflict" // of a write: another server was faster
)

// scope names who makes the spans.
const scope = "github.com/strabo-engine/strabo/syncserver"

// Tracer makes spans. The zero value makes none.
type Tracer struct {
	tracer trace.Tracer
	rules  *enactment.Rules
}

// New makes a tracer for a protocol; one that makes no spans if the provider is nil.
func New(provider trace.TracerProvider, rules *enactment.Rules) Tracer {
	if provider == nil {
		return Tracer{}
	}
	return Tracer{provider.Tracer(scope), rules}
}

// Start begins a span of an action, or of several if the name is empty. Whoever attempts may have made the name up: one
// that the protocol does not have is not told. The context is that of ctx where no spans are made, so that a trace goes
// through.
func (t Tracer) Start(ctx context.Context, span string, kind trace.SpanKind, action string) (context.Context, Span) {
	if t.tracer == nil {
		return ctx, Span{noop.Span{}}
	}
	attributes := []attribute.KeyValue{Protocol.String(t.rules.Protocol().Name())}
	if _, known := t.rules.Protocol().Action(action); known {
		attributes = append(attributes, Action.String(action))
	}
	options := []trace.SpanStartOption{trace.WithSpanKind(kind), trace.WithAttributes(attributes...)}
	if links, ok := ctx.Value(linksKey{}).([]trace.Link); ok {
		options = append(options, trace.WithLinks(links...))
	}
	ctx, began := t.tracer.Start(ctx, span, options...)
	return ctx, Span{began}
}

// On tells whether spans are made.
func (t Tracer) On() bool { return t.tracer != nil }

type linksKey struct{}

// WithLinks is ctx in which every span is linked to these: one that is begun for many belongs to the trace of none.
func WithLinks(ctx context.Context, spans []Span) context.Context {
	links := make([]trace.Link, 0, len(spans))
	for _, s := range spans {
		if c := s.SpanContext(); c.IsValid() {
			links = append(links, trace.Link{SpanContext: c})
		}
	}
	if len(links) == 0 {
		return ctx
	}
	return context.WithValue(ctx, linksKey{}, links)
}

const traceParent = "traceparent"

// Parent is the span of a context as text (W3C traceparent); empty if there is none.
func Parent(ctx context.Context) string {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return ""
	}
	header := make(nats.Header)
	propagation.TraceContext{}.Inject(ctx, carrier(header))
	return header.Get(traceParent)
}

// WithParent is ctx in the trace that such a text tells, if it does.
func WithParent(ctx context.Context, parent string) context.Context {
	if parent == "" {
		return ctx
	}
	return WithHeader(ctx, nats.Header{traceParent: []string{parent}})
}

// Span is one that was begun.
type Span struct{ trace.Span }

// Decided ends the span of an attempt. The error's text is not told.
func (s Span) Decided(o *enactment.Outcome, err error) {
	switch {
	case err != nil:
		s.Ended(Failed, true)
	case o.Rejection != nil:
		s.Ended(string(o.Rejection.Code), false)
	default:
		s.Ended(Accepted, false)
	}
}

// Ended ends the span with an outcome.
func (s Span) Ended(outcome string, failed bool) {
	if s.IsRecording() {
		s.SetAttributes(Outcome.String(outcome))
		if failed {
			s.SetStatus(codes.Error, "the outcome is unknown")
		}
	}
	s.End()
}

// Header is what carries the context of a span; nil if there is none, or if there is no room for it in a message of the
// limit, 0 for none, beside as many bytes as said.
func Header(ctx context.Context, beside int, limit int64) nats.Header {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return nil
	}
	header := make(nats.Header)
	propagation.TraceContext{}.Inject(ctx, carrier(header))
	size := beside + len("NATS/1.0\r\n\r\n")
	for name, values := range header {
		size += len(name) + len(": \r\n") + len(values[0])
	}
	if limit > 0 && int64(size) > limit {
		return nil
	}
	return header
}

// WithHeader is ctx in the trace that a header carries, if it does.
func WithHeader(ctx context.Context, header nats.Header) context.Context {
	if len(header) == 0 {
		return ctx
	}
	return propagation.TraceContext{}.Extract(ctx, carrier(header))
}

// carrier lets a propagator read and write a header. Names are taken as they are, in lower case, as NATS does.
type carrier nats.Header

func (c carrier) Get(name string) string { return nats.Header(c).Get(name) }

func (c carrier) Set(name, value string) { nats.Header(c).Set(name, value) }

func (c carrier) Keys() []string {
	names := make([]string, 0, len(c))
	for name := range c {
		names = append(names, name)
	}
	return names
}
