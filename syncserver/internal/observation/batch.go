package observation

import (
	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/syncserver/internal/wire"
)

// batch is what is about to be answered.
type batch struct {
	most, mostBytes int
	// text is for a feed elsewhere; nil if the feed is in this process and gets the deliveries themselves.
	text       *wire.BatchText
	deliveries []adapter.Delivery
	count      int
	last       map[enactment.Key]int
}

// answer is a batch that was made: encoded, or for this process.
type answer struct {
	batch *wire.Batch
	text  []byte
}

func (b *batch) room() int { return b.most - b.count }

func (b *batch) full() bool {
	return b.count >= b.most || b.text != nil && b.text.Size() > b.mostBytes
}

// more says of what was added last of an enactment that there is more, if anything was.
func (b *batch) more(key enactment.Key) {
	at, ok := b.last[key]
	switch {
	case !ok:
	case b.text != nil:
		b.text.More(at)
	default:
		b.deliveries[at].More = true
	}
}

func (b *batch) add(d adapter.Delivery) {
	if !d.Revoked {
		b.more(d.Key)
	}
	b.last[d.Key] = b.count
	b.count++
	if b.text != nil {
		b.text.Add(&d)
	} else {
		b.deliveries = append(b.deliveries, d)
	}
}

func (b *batch) end(number, position uint64) *answer {
	if b.text != nil {
		return &answer{text: b.text.End(number, position)}
	}
	return &answer{batch: &wire.Batch{Number: number, Position: position, Deliveries: b.deliveries}}
}
