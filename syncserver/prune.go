package syncserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/internal/request"
	"github.com/strabo-engine/strabo/internal/stream"
	"github.com/strabo-engine/strabo/syncserver/internal/journal"
	"github.com/strabo-engine/strabo/syncserver/internal/wire"
)

// ErrNotRemovable says that a log was made by a version that let nothing be removed. A backup of it can be restored as one from which
// enactments can be removed.
var ErrNotRemovable = journal.ErrNotRemovable

// PruneConfig says what [Archive.Prune] removes. The zero value has it remove all that is complete and handled.
type PruneConfig struct {
	// Older is for how long nothing must have happened in an enactment, and nothing been refused: by the clocks of the
	// servers that judged. It should be longer than answers are kept, [ServerConfig.Retention].
	Older time.Duration
	// Open has enactments removed too that are not complete (semantics section 6).
	Open bool
	// Ignore are identities that are not waited for: whose agents only look and store no positions ([adapter.Follow]), or
	// will not come back.
	Ignore []enactment.Identity
	// Keep is asked about each enactment that would be removed, with what has happened in it, whether something else still
	// needs its log, and why; it is kept then. An error ends the run. Nil: nothing else does.
	Keep func(ctx context.Context, state *enactment.State) (Kept, error)
	// DryRun removes nothing.
	DryRun bool
}

// Prunable is an enactment that is old enough, and what became of it.
type Prunable struct {
	Enactment enactment.Key `json:"enactment"`
	// Sequence is that of the last finalisation.
	Sequence uint64    `json:"sequence"`
	Complete bool      `json:"complete"`
	Latest   time.Time `json:"latest"`
	// Kept says why it was not removed; it is empty for what was, or in a dry run would be.
	Kept Kept `json:"kept,omitempty"`
	// Behind is an identity that has not handled all of it, where that is why it is kept.
	Behind string `json:"behind,omitempty"`
}

// Kept is why an enactment that is old enough was not removed: one of these, or what [PruneConfig.Keep] has said.
type Kept string

const (
	// KeptUnhandled says that an agent has not handled all of it.
	KeptUnhandled Kept = "unhandled"
	// KeptChanged says that something has happened, or was refused, just now.
	KeptChanged Kept = "changed"
)

// pruneTimeout bounds one write.
const pruneTimeout = 10 * time.Second

// Prune removes enactments that have ended, and tells visit of each that is old enough; it ends early when visit says no. It
// may run beside servers, and beside another of its kind, and be killed at any moment and run again.
//
// What is removed is the log of the enactment, its snapshots, and how far agents have handled it. One short message stays
// for each in its place: by it servers know that the enactment is gone, whatever they have of it in memory. An attempt in
// it, late copy or new, is refused as [enactment.Expired] for good; one that is under way either comes first, and the
// enactment is kept, or is refused.
//
// An enactment is kept as long as an identity has not handled what it sees of it, as far as positions say
// ([adapter.Feed]). Identities of which there is no position at all, in no enactment, are not waited for: agents that
// attend ([Attendance]), and those that were never there.
//
// The error is [ErrNotRemovable] if the log lets nothing be removed.
func (a *Archive) Prune(ctx context.Context, config PruneConfig, visit func(Prunable) bool) error {
	js, err := jetstream.New(a.conn)
	if err != nil {
		return err
	}
	if err := journal.Removable(ctx, js, a.subjects.LogStream()); err != nil {
		return fmt.Errorf("syncserver: prune: %w", err)
	}
	requests, err := request.Over(a.conn)
	if err != nil {
		return err
	}
	defer requests.End()
	p := &pruning{
		archive: a, config: config, js: js, conn: requests, due: make(map[enactment.Key]*pruned), agents: make(map[enactment.Identity]uint64),
		positions: stream.Reader{Conn: a.conn, Stream: a.subjects.PositionStream()},
	}
	if err := p.find(ctx); err != nil {
		return err
	}
	if err := p.readPositions(ctx); err != nil {
		return err
	}
	for _, key := range p.order {
		e := p.due[key]
		if e == nil || !e.complete && !config.Open {
			continue
		}
		if more, err := p.consider(ctx, key, e, visit); err != nil || !more {
			return err
		}
	}
	if config.DryRun {
		return nil
	}
	return p.dropPositions(ctx)
}

// pruning is one run of [Archive.Prune].
type pruning struct {
	archive   *Archive
	config    PruneConfig
	js        jetstream.JetStream
	conn      *request.Conn
	positions stream.Reader
	cutoff    time.Time

	// due are the enactments that are old enough, and order the keys of those and of some that are not.
	due   map[enactment.Key]*pruned
	order []enactment.Key
	// agents are the identities whose agents store positions, with the sequence in the stream of the latest. That one stays,
	// also of an enactment that was removed, lest an identity that is away is forgotten and not waited for the next time.
	agents map[enactment.Identity]uint64
}

// pruned is what is known of an enactment that may be removed.
type pruned struct {
	sequence uint64
	complete bool
	latest   time.Time
	// last is the last message of its log, and happened the last by which something happened, which does not expire.
	last, happened uint64
	seats          map[string]string
	// seen is the last finalisation that each role sees something of, in the order of the roles of the protocol.
	seen []uint64
	// handled is how far the agents of identities have handled it.
	handled map[enactment.Identity]uint64
}

// find reads the log.
func (p *pruning) find(ctx context.Context) error {
	a := p.archive
	p.cutoff = time.Now().Add(-p.config.Older)
	return a.entries(ctx, a.subjects.Logs(), 1, func(sequence uint64, entry *wire.Entry) bool {
		e := p.due[entry.Key]
		f := &entry.Finalisation
		switch {
		case entry.Removed || entry.At.After(p.cutoff):
			delete(p.due, entry.Key)
			return true
		case e != nil:
		case len(f.Instances) == 0 || f.Sequence != 1:
			return true // refused before it began; or more of what is not old enough
		default:
			e = &pruned{}
			p.due[entry.Key] = e
			p.order = append(p.order, entry.Key)
		}
		p.follow(e, sequence, entry)
		return true
	})
}

// follow notes what an entry says of an enactment.
func (p *pruning) follow(e *pruned, sequence uint64, entry *wire.Entry) {
	f := &entry.Finalisation
	e.last = sequence
	if entry.At.After(e.latest) {
		e.latest = entry.At
	}
	if len(f.Instances) == 0 {
		return
	}
	e.sequence, e.happened, e.seats = f.Sequence, sequence, entry.Seats
	e.complete = e.complete || f.Completed
	n := 0
	for role := range p.archive.rules.Protocol().Roles() {
		if n == len(e.seen) {
			e.seen = append(e.seen, 0)
		}
		for i := range f.Instances {
			if _, sees := p.archive.rules.Project(role, f.Instances[i]); sees || f.Completed {
				e.seen[n] = f.Sequence
			}
		}
		n++
	}
}

// position is what [Archive.Prune] reads of how far an identity has handled an enactment.
type position struct {
	identity enactment.Identity
	Key      enactment.Key `json:"key"`
	// Feed is empty once the enactment is no more for the identity to see.
	Feed   string `json:"feed"`
	Stored uint64 `json:"stored"`
}

func positionOf(m stream.Message) (position, error) {
	var at position
	var err error
	if at.identity, err = wire.IdentityIn(m.Subject); err == nil {
		err = json.Unmarshal(m.Data, &at)
	}
	if err != nil {
		err = fmt.Errorf("position %d: %w", m.Sequence, err)
	}
	return at, err
}

// readPositions reads how far agents have handled what is due.
func (p *pruning) readPositions(ctx context.Context) error {
	return p.positions.Read(ctx, p.archive.subjects.Positions(), 1, func(m stream.Message) (bool, error) {
		at, err := positionOf(m)
		if err != nil {
			return false, err
		}
		if !slices.Contains(p.config.Ignore, at.identity) {
			p.agents[at.identity] = m.Sequence
		}
		e := p.due[at.Key]
		if e == nil {
			return true, nil
		}
		if e.handled == nil {
			e.handled = make(map[enactment.Identity]uint64)
		}
		if at.Feed == "" {
			at.Stored = e.sequence // it is nothing to it any more
		}
		e.handled[at.identity] = at.Stored
		return true, nil
	})
}

// behind finds an identity that has not handled all that it sees of an enactment.
func (p *pruning) behind(e *pruned) (enactment.Identity, bool) {
	n := -1
	for role := range p.archive.rules.Protocol().Roles() {
		n++
		for agent := range p.agents {
			party, taken := e.seats[role]
			if agent.Role == role && (!taken || party == agent.Party) && e.handled[agent] < e.seen[n] {
				return agent, true
			}
		}
	}
	return enactment.Identity{}, false
}

// consider removes an enactment, if nothing stands against it, and tells of it.
func (p *pruning) consider(ctx context.Context, key enactment.Key, e *pruned, visit func(Prunable) bool) (more bool, err error) {
	told := Prunable{Enactment: key, Sequence: e.sequence, Complete: e.complete, Latest: e.latest}
	if identity, behind := p.behind(e); behind {
		told.Kept, told.Behind = KeptUnhandled, identity.String()
		return visit(told), nil
	}
	if p.config.Keep != nil {
		state, err := p.archive.State(ctx, key)
		if err == nil {
			told.Kept, err = p.config.Keep(ctx, state)
		}
		if err != nil {
			return false, fmt.Errorf("syncserver: prune %s: %w", key, err)
		}
		if told.Kept != "" {
			return visit(told), nil
		}
	}
	if !p.config.DryRun {
		err := p.remove(ctx, key, e)
		if errors.Is(err, stream.ErrConflict) {
			told.Kept, err = KeptChanged, nil
		}
		if err != nil {
			return false, fmt.Errorf("syncserver: prune %s: %w", key, err)
		}
	}
	return visit(told), nil
}

// remove removes an enactment. The error is [stream.ErrConflict] if something has happened in it, or was refused.
func (p *pruning) remove(ctx context.Context, key enactment.Key, e *pruned) error {
	a := p.archive
	if e.sequence >= snapshotEvery {
		// A snapshot is a cache: should the enactment stay, it is made again.
		snapshots, err := p.js.Stream(ctx, a.subjects.SnapshotStream())
		if err == nil {
			err = snapshots.Purge(ctx, jetstream.WithPurgeSubject(a.subjects.SnapshotsOf(key)))
		}
		if err != nil {
			return err
		}
	}
	f := enactment.Finalisation{Sequence: e.sequence, Completed: e.complete}
	expected := e.last
	for backoff := stream.FirstBackoff; ; {
		err := journal.Remove(ctx, p.conn, a.subjects, a.codec, key, f, expected, time.Now(), pruneTimeout)
		if !errors.Is(err, stream.ErrConflict) {
			return err
		}
		// The last message may be a refusal that has expired meanwhile; or it is no conflict at all: see package stream.
		last, failure := a.log.Last(ctx, a.subjects.Log(key))
		switch {
		case failure != nil:
			return failure
		case last.Sequence < e.happened || last.Sequence > e.last:
			return err
		}
		expected = last.Sequence
		if backoff, failure = stream.Pause(ctx, backoff); failure != nil {
			return failure
		}
	}
}

// dropPositions removes what is kept of agents about enactments that were removed, in this run or one that was killed.
func (p *pruning) dropPositions(ctx context.Context) error {
	a := p.archive
	kept, err := p.js.Stream(ctx, a.subjects.PositionStream())
	if err != nil {
		return err
	}
	asked := make(map[enactment.Key][]uint64) // the positions of enactments that may have been removed
	drop := func() error {
		subjects := make([]string, 0, len(asked))
		for key := range asked {
			subjects = append(subjects, a.subjects.Log(key))
		}
		var removed []enactment.Key
		if err := a.log.ReadLast(ctx, subjects, func(m stream.Message) error {
			entry, err := a.codec.DecodeEntry(m.Data)
			if err == nil && entry.Removed {
				removed = append(removed, entry.Key)
			}
			return err
		}); err != nil {
			return err
		}
		for _, key := range removed {
			for _, sequence := range asked[key] {
				if err := dropMessage(ctx, kept, sequence); err != nil {
					return fmt.Errorf("syncserver: drop position %d: %w", sequence, err)
				}
			}
		}
		clear(asked)
		return nil
	}
	err = p.positions.Read(ctx, a.subjects.Positions(), 1, func(m stream.Message) (bool, error) {
		at, err := positionOf(m)
		if err == nil && p.agents[at.identity] != m.Sequence {
			asked[at.Key] = append(asked[at.Key], m.Sequence)
		}
		if err == nil && len(asked) == stream.MostSubjects {
			err = drop()
		}
		return err == nil, err
	})
	if err == nil && len(asked) > 0 {
		err = drop()
	}
	return err
}

// dropMessage deletes a message. One that is gone already is no error: another has taken its place, and is dropped the next
// time, or was dropped by somebody else.
func dropMessage(ctx context.Context, from jetstream.Stream, sequence uint64) error {
	err := from.DeleteMsg(ctx, sequence)
	if err == nil {
		return nil
	}
	if _, gone := from.GetMsg(ctx, sequence); errors.Is(gone, jetstream.ErrMsgNotFound) {
		return nil
	}
	return err
}
