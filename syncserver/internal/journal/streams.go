package journal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/internal/pause"
	"github.com/strabo-engine/strabo/syncserver/internal/wire"
)

// Layout says how the streams of a system are kept.
type Layout struct {
	Subjects wire.Subjects
	Rules    *enactment.Rules
	Replicas int
	// Memory keeps everything in the memory of the NATS servers.
	Memory bool
	// Batch makes the stream of arrivals too; Retention is how long an attempt may wait there.
	Batch     bool
	Retention time.Duration
}

// What a stream says of the system that it belongs to.
const (
	metadataHash     = "strabo-protocol-hash"
	metadataProtocol = "strabo-protocol"
)

// MismatchError says that a stream belongs to another protocol, or another version of it.
type MismatchError struct {
	// Stream is its name.
	Stream string
	// Protocol and Hash are what it holds.
	Protocol, Hash string
	// Want is the hash of the rules that were to be used.
	Want string
}

// Error says what is there and what was expected.
func (e *MismatchError) Error() string {
	return fmt.Sprintf("stream %s holds protocol %q with hash %s, and the protocol given has hash %s: "+
		"give that protocol, or serve it under another system name", e.Stream, e.Protocol, e.Hash, e.Want)
}

// Open makes the streams of a system where they are missing. A stream that is there stays as it is. The error is a
// [*MismatchError] when it belongs to other rules.
func Open(ctx context.Context, js jetstream.JetStream, l Layout) error {
	if err := open(ctx, js, l, jetstream.StreamConfig{
		Name: l.Subjects.LogStream(), Subjects: []string{l.Subjects.Logs()}, AllowDirect: true, AllowMsgTTL: true,
		DenyDelete: true, AllowRollup: true, Description: "what happened in every enactment, and recent refusals",
	}); err != nil {
		return err
	}
	for _, config := range l.others() {
		if err := open(ctx, js, l, config); err != nil {
			return err
		}
	}
	return nil
}

func (l Layout) others() []jetstream.StreamConfig {
	configs := []jetstream.StreamConfig{
		{
			Name: l.Subjects.SnapshotStream(), Subjects: []string{l.Subjects.Snapshots()}, AllowDirect: true,
			MaxMsgsPerSubject: 1, Description: "snapshots of long enactments; a cache",
		},
		{
			Name: l.Subjects.PositionStream(), Subjects: []string{l.Subjects.Positions()}, AllowDirect: true,
			MaxMsgsPerSubject: 1, Description: "who has which enactment, and how far it is handled",
		},
		{
			Name: l.Subjects.LeaseStream(), Subjects: []string{l.Subjects.Leases()}, AllowDirect: true,
			MaxMsgsPerSubject: 1, MaxAge: 24 * time.Hour,
			Description: "who is alive",
		},
	}
	if l.Batch {
		configs = append(configs, jetstream.StreamConfig{
			Name: l.Subjects.ArrivalStream(), Subjects: []string{l.Subjects.Arrivals()}, AllowDirect: true,
			MaxAge: l.Retention, Description: "attempts in the order of their arrival",
		})
	}
	return configs
}

func open(ctx context.Context, js jetstream.JetStream, l Layout, config jetstream.StreamConfig) error {
	hash := l.Rules.Hash()
	config.Replicas = max(l.Replicas, 1)
	if l.Memory {
		config.Storage = jetstream.MemoryStorage
	}
	config.Metadata = map[string]string{metadataHash: hash, metadataProtocol: l.Rules.Protocol().Name()}
	for {
		err := Check(ctx, js, config.Name, l.Rules)
		if !errors.Is(err, jetstream.ErrStreamNotFound) {
			return err
		}
		_, err = js.CreateStream(ctx, config)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, jetstream.ErrStreamNameAlreadyInUse): // another server was faster
		case gathering(err):
			if pause.For(ctx, gatherPause) != nil {
				return fmt.Errorf("journal: create stream %s: %w", config.Name, err)
			}
		default:
			return fmt.Errorf("journal: create stream %s: %w", config.Name, err)
		}
	}
}

// gatherPause is how long a cluster is left alone that cannot place a stream.
const gatherPause = 100 * time.Millisecond

// gathering tells whether a cluster could not place a stream since not all of its servers are there: when it starts they
// find each other only little by little. One that never has as many servers as replicas are wanted says the same.
func gathering(err error) bool {
	const noSuitablePeers = 10005
	var api *jetstream.APIError
	return errors.As(err, &api) && api.ErrorCode == noSuitablePeers
}

// Check checks that a stream is there and belongs to the rules. The error is a [*MismatchError] if it does not, and
// jetstream.ErrStreamNotFound if there is none.
func Check(ctx context.Context, js jetstream.JetStream, name string, rules *enactment.Rules) error {
	existing, err := js.Stream(ctx, name)
	if err != nil {
		return fmt.Errorf("look for stream %s: %w", name, err)
	}
	if has := existing.CachedInfo().Config.Metadata; has[metadataHash] != rules.Hash() {
		return &MismatchError{Stream: name, Protocol: has[metadataProtocol], Hash: has[metadataHash], Want: rules.Hash()}
	}
	return nil
}
