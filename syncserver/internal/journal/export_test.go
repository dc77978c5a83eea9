package journal

import (
	"context"
	"time"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/syncserver/internal/wire"
)

// Newest gives the newest snapshot of an enactment.
func (j *Journal) Newest(ctx context.Context, key enactment.Key) (string, error) {
	return j.newest(ctx, key)
}

// Decode gives the enactment of a snapshot.
func Decode(rules *enactment.Rules, sealer wire.Sealer, key enactment.Key, text string) (*Enactment, error) {
	j := &Journal{Config: Config{Codec: wire.Codec{Rules: rules, Sealer: sealer}}}
	e := newEnactment(key, rules)
	return e, j.decode(e, text)
}

// Encode writes a snapshot of an enactment.
func Encode(sealer wire.Sealer, e *Enactment) []byte {
	j := &Journal{Config: Config{Codec: wire.Codec{Rules: e.rules, Sealer: sealer}}}
	return j.encode(e.image(time.Hour))
}

// ReadPiece tells whether a message is a piece of a snapshot.
func ReadPiece(message []byte) bool {
	_, ok := readPiece(message)
	return ok
}

// Folded decides attempts one by one without a log.
func Folded(rules *enactment.Rules, key enactment.Key, attempts ...enactment.Attempt) *Enactment {
	e := newEnactment(key, rules)
	for n, a := range attempts {
		e.apply(uint64(n)+1, e.draft([]enactment.Attempt{a}, 0, time.Now(), time.Hour).entry)
	}
	return e
}
