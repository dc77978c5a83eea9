package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/syncserver/internal/stream"
	"github.com/strabo-engine/strabo/syncserver/internal/wire"
)

// A snapshot is the entries of a log, as they are stored, in few large pieces. It is a cache: the log is the truth, and a
// snapshot that is missing, incomplete or damaged costs time only.

// pieceSize is about how many bytes one piece has.
const pieceSize = 512 << 10

// pieceHead is the first line of every piece.
type pieceHead struct {
	Key enactment.Key `json:"key"`
	// Last is the sequence in the stream up to which the snapshot reaches; it is the same in every piece.
	Last   uint64 `json:"last"`
	Piece  int    `json:"piece"`
	Pieces int    `json:"pieces"`
}

// snapshotTimeout bounds the making of one snapshot.
const snapshotTimeout = time.Minute

// considerSnapshot has a snapshot made if the log has grown enough since the last one. The caller holds the enactment's
// mutex.
func (j *Journal) considerSnapshot(e *Enactment) {
	length := e.state.Sequence()
	if j.SnapshotEvery <= 0 || length < e.saved+max(uint64(j.SnapshotEvery), e.saved/4) {
		return
	}
	e.saved = length
	key, last := e.key, e.last
	j.background.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), snapshotTimeout)
		defer cancel()
		if err := j.save(ctx, key, last); err != nil {
			j.Logger.Warn("no snapshot made", "enactment", key, "error", err)
		}
	})
}

// save makes a snapshot of the log up to a message.
func (j *Journal) save(ctx context.Context, key enactment.Key, last uint64) error {
	var pieces [][]byte
	var piece []byte
	err := j.reader.Read(ctx, j.Subjects.Log(key), 1, func(m stream.Message) (bool, error) {
		if m.Sequence > last {
			return false, nil
		}
		piece = strconv.AppendUint(piece, m.Sequence, 10)
		piece = append(append(append(piece, ' '), m.Data...), '\n')
		if len(piece) > pieceSize {
			pieces, piece = append(pieces, piece), nil
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	pieces = append(pieces, piece)
	for n, lines := range pieces {
		head, err := json.Marshal(pieceHead{key, last, n, len(pieces)})
		if err != nil {
			return err
		}
		msg := nats.NewMsg(j.Subjects.Snapshot(key, n))
		msg.Data = append(append(head, '\n'), lines...)
		if _, err := stream.Publish(ctx, j.Conn, msg, j.Timeout); err != nil {
			return err
		}
	}
	return nil
}

var errNoSnapshot = errors.New("there is no whole snapshot")

// restore brings an enactment to where its snapshot is, if it has a good one.
func (j *Journal) restore(ctx context.Context, e *Enactment) {
	err := j.load(ctx, e)
	switch {
	case err == nil:
		e.saved = e.state.Sequence()
	case !errors.Is(err, errNoSnapshot):
		j.Logger.Warn("a snapshot is of no use", "enactment", e.key, "error", err)
	}
	if err != nil {
		e.reset()
	}
}

func (j *Journal) load(ctx context.Context, e *Enactment) error {
	pieces, err := j.pieces(ctx, e.key)
	if err != nil {
		return err
	}
	var lines [][]byte
	for _, piece := range pieces {
		lines = append(lines, bytes.SplitAfter(piece, []byte{'\n'})...)
	}
	lines = nonEmpty(lines)
	messages := make([]stream.Message, len(lines))
	entries := make([]*wire.Entry, len(lines))
	failures := make([]error, len(lines))
	var done sync.WaitGroup
	share := len(lines)/runtime.GOMAXPROCS(0) + 1
	for from := 0; from < len(lines); from += share {
		done.Go(func() {
			for i := from; i < min(from+share, len(lines)); i++ {
				messages[i], entries[i], failures[i] = j.decodeLine(lines[i])
			}
		})
	}
	done.Wait()
	if err := errors.Join(failures...); err != nil {
		return err
	}
	for i, entry := range entries {
		if err := j.fits(e, messages[i], entry); err != nil {
			return err
		}
		e.apply(messages[i].Sequence, entry)
	}
	return nil
}

func nonEmpty(lines [][]byte) [][]byte {
	kept := lines[:0]
	for _, line := range lines {
		if len(line) > 0 {
			kept = append(kept, line)
		}
	}
	return kept
}

func (j *Journal) decodeLine(line []byte) (stream.Message, *wire.Entry, error) {
	number, text, ok := bytes.Cut(line, []byte{' '})
	sequence, err := strconv.ParseUint(string(number), 10, 64)
	if !ok || err != nil {
		return stream.Message{}, nil, fmt.Errorf("%w: a line of a snapshot without a sequence", ErrDamaged)
	}
	entry, err := j.Codec.DecodeEntry(text)
	return stream.Message{Sequence: sequence}, entry, err
}

// pieces gives the lines of each piece of the newest snapshot.
func (j *Journal) pieces(ctx context.Context, key enactment.Key) ([][]byte, error) {
	var pieces [][]byte
	var newest pieceHead
	count := 0
	reader := stream.Reader{Conn: j.Conn.Conn, Stream: j.Subjects.SnapshotStream()}
	err := reader.Read(ctx, j.Subjects.SnapshotsOf(key), 1, func(m stream.Message) (bool, error) {
		first, rest, _ := bytes.Cut(m.Data, []byte{'\n'})
		var head pieceHead
		if err := json.Unmarshal(first, &head); err != nil {
			return false, err
		}
		if head.Key != key || head.Last < newest.Last || head.Piece < 0 || head.Piece >= head.Pieces {
			return true, nil
		}
		if head.Last > newest.Last {
			newest, pieces, count = head, make([][]byte, head.Pieces), 0
		}
		if head.Piece < len(pieces) {
			pieces[head.Piece] = rest
			count++
		}
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	if count == 0 || count < len(pieces) {
		return nil, errNoSnapshot
	}
	return pieces, nil
}
