package observation

import (
	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/syncserver/internal/wire"
)

// batch is what is about to be answered.
type batch struct {
	session    *session
	most       int
	deliveries [][]byte
	more       []bool
	last       map[enactment.Key]int
	bytes      int
}

func (b *batch) room() int { return b.most - len(b.deliveries) }

func (b *batch) full() bool {
	return len(b.deliveries) >= b.most || b.bytes > b.session.group.host.MaxBytes/2
}

func (b *batch) add(d adapter.Delivery) {
	text := wire.AppendDelivery(make([]byte, 0, 256), &d)
	if at, ok := b.last[d.Key]; ok {
		b.more[at] = !d.Revoked
	}
	b.last[d.Key] = len(b.deliveries)
	b.deliveries, b.more = append(b.deliveries, text), append(b.more, false)
	b.bytes += len(text)
}

func (b *batch) encode(number, position uint64) []byte {
	for i, text := range b.deliveries {
		b.deliveries[i] = wire.EndDelivery(text, b.more[i])
	}
	return wire.AppendBatch(make([]byte, 0, b.bytes+64), number, position, b.deliveries)
}
