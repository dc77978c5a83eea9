package syncserver

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/strabo-engine/strabo/syncserver/internal/wire"
)

// Remove removes a system with everything that it holds, for good: its log too. No server may serve it. It needs the
// engine's own credentials. What is not there is no error.
func Remove(ctx context.Context, conn *nats.Conn, system string) error {
	subjects, err := wire.NewSubjects(system)
	if err != nil {
		return err
	}
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	var failures []error
	for _, name := range []string{
		subjects.ArrivalStream(), subjects.LeaseStream(), subjects.PositionStream(), subjects.SnapshotStream(), subjects.LogStream(),
	} {
		if err := js.DeleteStream(ctx, name); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
			failures = append(failures, fmt.Errorf("syncserver: remove stream %s: %w", name, err))
		}
	}
	return errors.Join(failures...)
}
