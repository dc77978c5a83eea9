package journal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/internal/pack"
	"github.com/strabo-engine/strabo/internal/stream"
	"github.com/strabo-engine/strabo/syncserver/internal/wire"
)

// A snapshot is a cache: the log is the truth, and a snapshot that is missing, incomplete, damaged or of another format
// costs time only.

const (
	// snapshotTimeout bounds the making of one snapshot.
	snapshotTimeout = time.Minute
	// snapshotsAtOnce is how many snapshots are made at the same time; others wait for a later finalisation.
	snapshotsAtOnce = 4
	// longestAge bounds what is believed of how long a refusal was known.
	longestAge = 100 * 365 * 24 * time.Hour
)

// image is what a snapshot is made of: an enactment as it was. What it shares with the enactment is only ever appended
// to.
type image struct {
	taken                   enactment.Snapshot
	key                     enactment.Key
	last, happened, decided uint64
	completed               uint64
	seats                   map[string]string
	digests                 []wire.Digest
	sequences               []uint64
	refused                 map[attemptName]answer
}

func (e *Enactment) image(retention time.Duration) *image {
	i := &image{
		taken: e.state.Snapshot(), key: e.key, last: e.last, happened: e.happened, decided: e.decided, completed: e.completed, seats: e.seats,
		refused: maps.Clone(e.answers.refused),
	}
	n := i.taken.Len()
	i.digests, i.sequences = e.answers.digests[:n:n], e.answers.sequences[:n:n]
	maps.DeleteFunc(i.refused, func(_ attemptName, had answer) bool { return had.expired(retention) })
	return i
}

// considerSnapshot has a snapshot made if the log has grown enough since the last one. The caller holds the enactment's
// mutex.
func (j *Journal) considerSnapshot(e *Enactment) {
	length := e.state.Sequence()
	if j.SnapshotEvery <= 0 || length < e.saved+max(uint64(j.SnapshotEvery), e.saved/4) || e.saving.Load() {
		return
	}
	select {
	case j.saving <- struct{}{}:
	default:
		return
	}
	e.saved = length
	e.saving.Store(true)
	taken := e.image(j.Retention)
	j.background.Go(func() {
		defer func() {
			e.saving.Store(false)
			<-j.saving
		}()
		ctx, cancel := context.WithTimeout(context.Background(), snapshotTimeout)
		defer cancel()
		if err := j.save(ctx, taken); err != nil {
			j.Logger.Warn("no snapshot made", "enactment", taken.key, "error", err)
		}
	})
}

// save writes a snapshot.
func (j *Journal) save(ctx context.Context, taken *image) error {
	for n, piece := range cut(taken.key, taken.last, j.encode(taken)) {
		msg := nats.NewMsg(j.Subjects.Snapshot(taken.key, n))
		msg.Data = piece
		if _, err := stream.Publish(ctx, j.Conn, msg, j.Timeout); err != nil {
			return err
		}
	}
	return nil
}

// encode writes what [Journal.decode] reads:
//
//	last, happened, decided, completed
//	seats: count, then role and party
//	the state, and the secrets of the state, sealed
//	for each instance the digest of its attempt, and how much its sequence is greater than that of the one before
//	refusals: count, then for how many seconds each was known, and an entry of the log without a finalisation
func (j *Journal) encode(taken *image) []byte {
	open, secret := taken.taken.Append(make([]byte, 0, 128*taken.taken.Len()), nil)
	if len(secret) > 0 {
		secret = j.Codec.Sealer.Seal(secret, snapshotContext(taken.key))
	}
	to := make([]byte, 0, len(open)+len(secret)+40*len(taken.digests)+1024)
	for _, number := range []uint64{taken.last, taken.happened, taken.decided, taken.completed, uint64(len(taken.seats))} {
		to = pack.AppendNumber(to, number)
	}
	for role, party := range taken.seats {
		to = pack.AppendText(pack.AppendText(to, role), party)
	}
	to = pack.AppendText(pack.AppendText(to, open), secret)
	before := uint64(0)
	for n := range taken.digests {
		to = append(to, taken.digests[n][:]...)
		to = pack.AppendNumber(to, taken.sequences[n]-before)
		before = taken.sequences[n]
	}
	to = pack.AppendNumber(to, uint64(len(taken.refused)))
	for name, had := range taken.refused {
		to = pack.AppendNumber(to, uint64(time.Since(had.known)/time.Second))
		to = pack.AppendText(to, j.Codec.AppendEntry(nil, &wire.Entry{
			Hash: j.Codec.Rules.Hash(), Key: taken.key, At: had.at, Refused: []wire.Refusal{{
				Identity: enactment.Identity{Role: name.role, Party: name.party}, Attempt: name.id, Digest: had.digest,
				Sequence: had.outcome.Sequence, Rejection: had.outcome.Rejection,
			}},
		}))
	}
	return to
}

// snapshotContext binds the secrets of a snapshot to where they belong. It is no context of a log entry, which begins
// with a key.
func snapshotContext(key enactment.Key) []byte { return []byte("snapshot\x00" + string(key)) }

var errNoSnapshot = errors.New("there is no whole snapshot")

// restore brings an enactment to where its snapshot is, if it has a good one.
func (j *Journal) restore(ctx context.Context, e *Enactment) {
	text, err := j.newest(ctx, e.key)
	if err == nil {
		err = j.decode(e, text)
	}
	if err == nil {
		e.saved = e.state.Sequence()
		e.tellRestored()
		return
	}
	if !errors.Is(err, errNoSnapshot) {
		j.Logger.Warn("a snapshot is of no use", "enactment", e.key, "error", err)
	}
	e.reset()
}

// tellRestored tells of what has come with a snapshot.
func (e *Enactment) tellRestored() {
	if e.folded == nil {
		return
	}
	all := slices.Collect(e.state.Instances())
	for from := 0; from < len(all); {
		to, sequence := from+1, e.answers.sequences[from]
		for to < len(all) && e.answers.sequences[to] == sequence {
			to++
		}
		e.folded(e.state, enactment.Finalisation{
			Sequence: sequence, Instances: all[from:to:to], Completed: sequence == e.completed,
		})
		from = to
	}
}

// decode brings an enactment to where a snapshot is. After an error it is anywhere.
func (j *Journal) decode(e *Enactment, text string) error {
	in := pack.NewReader(text)
	e.last, e.happened, e.decided, e.completed = in.Number(), in.Number(), in.Number(), in.Number()
	if seats := in.Count(2); seats > 0 {
		e.seats = make(map[string]string, seats)
		for range seats {
			role := in.Text()
			e.seats[role] = in.Text()
		}
	}
	open, secret := in.Text(), in.Text()
	if secret != "" {
		if j.Codec.Sealer == nil {
			return errors.New("there are sealed values, and no key to open them")
		}
		plain, err := j.Codec.Sealer.Open([]byte(secret), snapshotContext(e.key))
		if err != nil {
			return err
		}
		secret = string(plain)
	}
	state, err := j.Codec.Rules.Restore(e.key, open, secret)
	if err != nil {
		return err
	}
	e.state, e.bytes = state, len(open)+len(secret)
	if err := e.answers.read(&in, state); err != nil {
		return err
	}
	now := time.Now()
	for range in.Count(2) {
		age := time.Duration(min(in.Number(), uint64(longestAge/time.Second))) * time.Second
		entry, err := j.Codec.DecodeEntry([]byte(in.Text()))
		if err != nil {
			return err
		}
		for n := range entry.Refused {
			e.answers.refuse(state, &entry.Refused[n], entry.At, now.Add(-age))
		}
	}
	if in.Bad() || in.Left() > 0 {
		return fmt.Errorf("%w: a snapshot is too short or too long", ErrDamaged)
	}
	return nil
}

// read reads the answers to the attempts of what happened.
func (a *answers) read(in *pack.Reader, s *enactment.State) error {
	n := s.Len()
	if n > in.Left()/(len(wire.Digest{})+1) {
		return fmt.Errorf("%w: a snapshot lacks answers", ErrDamaged)
	}
	a.digests, a.sequences = make([]wire.Digest, n), make([]uint64, n)
	a.accepted.Reserve(n)
	before := uint64(0)
	for at := range n {
		copy(a.digests[at][:], in.Bytes(len(wire.Digest{})))
		before += in.Number()
		a.sequences[at] = before
		a.index(s.Instance(at).Attempt)
	}
	return nil
}

// newest gives the newest snapshot that is whole.
func (j *Journal) newest(ctx context.Context, key enactment.Key) (string, error) {
	found := make(map[pieceOf][]piece)
	reader := stream.Reader{Conn: j.Conn.Conn, Stream: j.Subjects.SnapshotStream()}
	err := reader.Read(ctx, j.Subjects.SnapshotsOf(key), 1, func(m stream.Message) (bool, error) {
		p, ok := readPiece(m.Data)
		switch {
		case !ok:
			j.Logger.Debug("a piece of a snapshot is damaged or of another format", "enactment", key, "message", m.Sequence)
		case p.key == key:
			found[p.of] = append(found[p.of], p)
		}
		return true, nil
	})
	if err != nil {
		return "", err
	}
	newestFirst := slices.SortedFunc(maps.Keys(found), func(a, b pieceOf) int { return cmp.Compare(b.last, a.last) })
	for _, of := range newestFirst {
		if text, ok := join(of, found[of]); ok {
			return text, nil
		}
	}
	return "", errNoSnapshot
}

// join puts the pieces of a snapshot together.
func join(of pieceOf, pieces []piece) (string, bool) {
	if uint64(len(pieces)) != of.pieces {
		return "", false
	}
	slices.SortFunc(pieces, func(a, b piece) int { return cmp.Compare(a.number, b.number) })
	var text strings.Builder
	text.Grow(len(pieces) * pieceSize)
	for n, p := range pieces {
		if p.number != uint64(n) {
			return "", false
		}
		text.WriteString(p.text)
	}
	return text.String(), true
}
