package syncserver

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/internal/stream"
	"github.com/strabo-engine/strabo/syncserver/internal/wire"
)

var (
	_ adapter.Lister = (*Attendance)(nil)
	_ adapter.Lister = (*Local)(nil)
)

// Began implements [adapter.Lister]: it reads the log. What is answered by a replica that is behind is left to the next time.
func (a *Attendance) Began(ctx context.Context, after string) iter.Seq2[adapter.Beginning, error] {
	return func(yield func(adapter.Beginning, error) bool) {
		s := a.server
		log, err := a.logName(ctx)
		if err == nil {
			reader := stream.Reader{Conn: s.conn, Stream: s.subjects.LogStream()}
			err = reader.Read(ctx, s.subjects.Logs(), placeIn(log, after)+1, func(m stream.Message) (bool, error) {
				key, at, begins := wire.Beginning(m.Data)
				return !begins || yield(adapter.Beginning{Key: key, At: at, Place: placeOf(log, m.Sequence)}, nil), nil
			})
		}
		if errors.Is(err, stream.ErrUnavailable) {
			err = fmt.Errorf("%w: %w", adapter.ErrUnavailable, err)
		}
		if err != nil {
			yield(adapter.Beginning{}, fmt.Errorf("syncserver: what began: %w", err))
		}
	}
}

// logName tells the log from one that was there before, or has been restored: by when its stream was made.
func (a *Attendance) logName(ctx context.Context) (string, error) {
	a.mu.Lock()
	name, closed := a.log, a.closed
	a.mu.Unlock()
	if closed {
		return "", adapter.ErrClosed
	}
	if name != "" {
		return name, nil
	}
	js, err := jetstream.New(a.server.conn)
	if err != nil {
		return "", err
	}
	log, err := js.Stream(ctx, a.server.subjects.LogStream())
	if err != nil {
		return "", fmt.Errorf("%w: %w", stream.ErrUnavailable, err)
	}
	name = strconv.FormatInt(log.CachedInfo().Created.UnixNano(), 36)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.log = name
	return name, nil
}

// Began implements [adapter.Lister].
func (l *Local) Began(ctx context.Context, after string) iter.Seq2[adapter.Beginning, error] {
	return func(yield func(adapter.Beginning, error) bool) {
		l.mu.Lock()
		begun := l.begun // only ever appended to
		l.mu.Unlock()
		for n := placeIn(l.name, after); n < uint64(len(begun)); n++ {
			if ctx.Err() != nil {
				yield(adapter.Beginning{}, fmt.Errorf("syncserver: what began: %w", context.Cause(ctx)))
				return
			}
			entries := begun[n].read()
			if len(entries) == 0 || // it is just being written
				!yield(adapter.Beginning{Key: begun[n].key, At: entries[0].at, Place: placeOf(l.name, n+1)}, nil) {
				return
			}
		}
	}
}

// placeOf and placeIn write and read the place of an enactment in a log: its number. One in another log is 0.
func placeOf(log string, n uint64) string { return log + "." + strconv.FormatUint(n, 10) }

func placeIn(log, place string) uint64 {
	text, ok := strings.CutPrefix(place, log+".")
	n, err := strconv.ParseUint(text, 10, 64)
	if !ok || err != nil {
		return 0
	}
	return n
}
