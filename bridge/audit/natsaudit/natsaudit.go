// Package natsaudit keeps the records of an audit in a NATS stream, for bridges on several machines. It is the one
// package about audits that knows NATS. Start reading at [Open].
package natsaudit

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/strabo-engine/strabo/bridge/audit"
)

// DefaultStream is the name of the stream where [Options] name none, DefaultSubject what its subjects begin with.
const (
	DefaultStream  = "STRABO-AUDIT"
	DefaultSubject = "strabo.audit"
)

// Options configure a [Stream]. The zero value is fine. All but the names count when the stream is made.
type Options struct {
	// Stream is the name of the stream, Subject what its subjects begin with: a record has Subject and its kind, such as
	// strabo.audit.first_call.
	Stream, Subject string
	// MaxAge and MaxBytes say when the oldest records are removed; never if 0.
	MaxAge   time.Duration
	MaxBytes int64
	// Replicas is how many servers keep the stream; 1 if 0.
	Replicas int
}

// Stream is an [audit.Sink] in a NATS stream. No message of it can be deleted or purged by a client, only by the limits
// of the stream, and by who may delete the stream. A record is as safe as NATS keeps an acknowledged message.
type Stream struct {
	js      jetstream.JetStream
	stream  jetstream.Stream
	subject string
}

func (o Options) orDefault() Options {
	if o.Stream == "" {
		o.Stream = DefaultStream
	}
	if o.Subject == "" {
		o.Subject = DefaultSubject
	}
	return o
}

// Open opens the stream, and makes it if there is none. The connection is the caller's. It blocks until NATS has answered
// or ctx ends; the error says that NATS cannot be reached or refuses it.
func Open(ctx context.Context, conn *nats.Conn, options Options) (*Stream, error) {
	options = options.orDefault()
	s, err := Find(ctx, conn, options)
	if !errors.Is(err, jetstream.ErrStreamNotFound) {
		return s, err
	}
	js, err := jetstream.New(conn)
	if err != nil {
		return nil, fmt.Errorf("natsaudit: %w", err)
	}
	stream, err := js.CreateStream(ctx, jetstream.StreamConfig{
		Name: options.Stream, Description: "what bridges did and did not do", Subjects: []string{options.Subject + ".>"},
		Storage: jetstream.FileStorage, MaxAge: options.MaxAge, MaxBytes: options.MaxBytes, Replicas: max(options.Replicas, 1),
		DenyDelete: true, DenyPurge: true,
	})
	switch {
	case errors.Is(err, jetstream.ErrStreamNameAlreadyInUse): // Another has just made it.
		return Find(ctx, conn, options)
	case err != nil:
		return nil, fmt.Errorf("natsaudit: stream %s: %w", options.Stream, err)
	}
	return &Stream{js: js, stream: stream, subject: options.Subject}, nil
}

// Find opens a stream that is there; the error is [jetstream.ErrStreamNotFound] if there is none. Its subjects begin with
// what it was made with, whatever the options say.
func Find(ctx context.Context, conn *nats.Conn, options Options) (*Stream, error) {
	options = options.orDefault()
	js, err := jetstream.New(conn)
	if err != nil {
		return nil, fmt.Errorf("natsaudit: %w", err)
	}
	stream, err := js.Stream(ctx, options.Stream)
	if err != nil {
		return nil, fmt.Errorf("natsaudit: stream %s: %w", options.Stream, err)
	}
	for _, subject := range stream.CachedInfo().Config.Subjects {
		if before, ok := strings.CutSuffix(subject, ".>"); ok {
			return &Stream{js: js, stream: stream, subject: before}, nil
		}
	}
	return nil, fmt.Errorf("natsaudit: stream %s is not that of an audit", options.Stream)
}

// publishTimeout bounds a record where the context has no deadline.
const publishTimeout = 5 * time.Second

// Record implements [audit.Sink]. It waits until NATS has acknowledged the record, at most 5 seconds. After an error
// the record may have been kept nevertheless; written again, it is there twice.
func (s *Stream) Record(ctx context.Context, r audit.Record) error {
	line, err := audit.Encode(r)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, publishTimeout)
	defer cancel()
	if _, err := s.js.Publish(ctx, s.subject+"."+string(r.Kind), line); err != nil {
		return fmt.Errorf("natsaudit: %w", err)
	}
	return nil
}

// Read gives the records that a filter chooses, as they were recorded. With follow it goes on with what is recorded
// meanwhile, until the context ends. What is no record is given as an [*audit.DamagedError], whose line is the sequence
// of the message, and reading goes on; any other error is the last that is given.
func (s *Stream) Read(ctx context.Context, filter audit.Filter, follow bool) iter.Seq2[audit.Record, error] {
	return func(yield func(audit.Record, error) bool) {
		if err := s.read(ctx, filter, follow, yield); err != nil {
			yield(audit.Record{}, err)
		}
	}
}

func (s *Stream) read(ctx context.Context, filter audit.Filter, follow bool, yield func(audit.Record, error) bool) error {
	info, err := s.stream.Info(ctx)
	if err != nil {
		return fmt.Errorf("natsaudit: %w", err)
	}
	last := info.State.LastSeq
	config := jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverAllPolicy}
	for _, kind := range filter.Kinds {
		config.FilterSubjects = append(config.FilterSubjects, s.subject+"."+string(kind))
	}
	if !filter.Since.IsZero() {
		// A record is written when the call has ended, so after its time, but not by the same clock.
		since := filter.Since.Add(-time.Hour)
		config.DeliverPolicy, config.OptStartTime = jetstream.DeliverByStartTimePolicy, &since
	}
	consumer, err := s.stream.OrderedConsumer(ctx, config)
	if err != nil {
		return fmt.Errorf("natsaudit: %w", err)
	}
	if !follow {
		about, err := consumer.Info(ctx)
		if err != nil {
			return fmt.Errorf("natsaudit: %w", err)
		}
		if about.NumPending == 0 {
			return nil
		}
	}
	messages, err := consumer.Messages()
	if err != nil {
		return fmt.Errorf("natsaudit: %w", err)
	}
	defer messages.Stop()
	for {
		message, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return fmt.Errorf("natsaudit: %w", err)
		}
		about, err := message.Metadata()
		if err != nil {
			return fmt.Errorf("natsaudit: %w", err)
		}
		if !follow && about.Sequence.Stream > last {
			return nil
		}
		r, err := audit.Decode(message.Data())
		switch {
		case err != nil:
			err = &audit.DamagedError{File: info.Config.Name, Line: int(about.Sequence.Stream), Err: err}
			if !yield(audit.Record{}, err) {
				return nil
			}
		case filter.Chooses(r) && !yield(r, nil):
			return nil
		}
		if !follow && (about.NumPending == 0 || about.Sequence.Stream == last) {
			return nil
		}
	}
}
