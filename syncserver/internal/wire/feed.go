package wire

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/enactment"
)

// Operation says what a feed asks of the server that serves it.
type Operation string

// The operations of a feed.
const (
	// Pull asks for deliveries, and says which were received.
	Pull Operation = "pull"
	// Renew says that the feed lives.
	Renew Operation = "renew"
	// Store keeps positions.
	Store Operation = "store"
	// Leave gives all enactments back.
	Leave Operation = "leave"
)

// FeedRequest is what a feed asks. Of whom it is says the subject.
type FeedRequest struct {
	Hash      string    `json:"hash"`
	Feed      string    `json:"feed"`
	Operation Operation `json:"operation,omitempty"` // empty to join
	// After is the position in the stream up to which everything was received, and Batch the number of the last batch.
	After uint64 `json:"after,omitempty"`
	Batch uint64 `json:"batch,omitempty"`
	// Most is how many deliveries may come at once, and Wait how long the server may wait for some.
	Most int           `json:"most,omitempty"`
	Wait time.Duration `json:"wait,omitempty"`
	// Positions are to be stored.
	Positions []Position `json:"positions,omitempty"`
}

// Position says how far an enactment is handled.
type Position struct {
	Key      enactment.Key `json:"key"`
	Sequence uint64        `json:"sequence"`
}

// Joined is the answer to who joins.
type Joined struct {
	// Server is where the feed is served from now on.
	Server string `json:"server"`
	// Lease is how long the feed lives without being renewed.
	Lease time.Duration `json:"lease"`
	Error *Error        `json:"error,omitempty"`
}

// Stored is the answer to Store: the places of those positions whose enactment is not the feed's any more.
type Stored struct {
	Revoked []int  `json:"revoked,omitempty"`
	Error   *Error `json:"error,omitempty"`
}

// Batch is the answer to Pull.
type Batch struct {
	// Number follows on that of the request; Position is up to where in the stream the batch reaches.
	Number, Position uint64
	Deliveries       []adapter.Delivery
}

// AppendBatch encodes a batch.
func AppendBatch(to []byte, number, position uint64, deliveries [][]byte) []byte {
	to = strconv.AppendUint(append(to, `{"number":`...), number, 10)
	to = strconv.AppendUint(append(to, `,"position":`...), position, 10)
	to = append(to, `,"deliveries":[`...)
	for i, d := range deliveries {
		if i > 0 {
			to = append(to, ',')
		}
		to = append(to, d...)
	}
	return append(to, ']', '}')
}

// AppendDelivery encodes a delivery without the end, which [EndDelivery] writes when it is known whether more follows.
// The instances are projected already.
func AppendDelivery(to []byte, d *adapter.Delivery) []byte {
	to = append(append(to, `{"key":`...), d.Key...)
	if d.Revoked {
		return append(to, `,"revoked":true`...)
	}
	to = strconv.AppendUint(append(to, `,"sequence":`...), d.Finalisation.Sequence, 10)
	for i := range d.Finalisation.Instances {
		if i == 0 {
			to = append(to, `,"instances":[`...)
		} else {
			to = append(to, ',')
		}
		to = appendShown(to, &d.Finalisation.Instances[i])
	}
	if len(d.Finalisation.Instances) > 0 {
		to = append(to, ']')
	}
	if d.Finalisation.Completed {
		to = append(to, `,"completed":true`...)
	}
	if d.Handled {
		to = append(to, `,"handled":true`...)
	}
	return to
}

// EndDelivery ends what AppendDelivery began.
func EndDelivery(to []byte, more bool) []byte {
	if more {
		return append(to, `,"more":true}`...)
	}
	return append(to, '}')
}

type batchForm struct {
	Number     uint64         `json:"number"`
	Position   uint64         `json:"position"`
	Deliveries []deliveryForm `json:"deliveries"`
	Error      *Error         `json:"error"`
}

type deliveryForm struct {
	Key       enactment.Key  `json:"key"`
	Sequence  uint64         `json:"sequence"`
	Instances []instanceForm `json:"instances"`
	Completed bool           `json:"completed"`
	Handled   bool           `json:"handled"`
	More      bool           `json:"more"`
	Revoked   bool           `json:"revoked"`
}

// DecodeBatch decodes the answer to Pull.
func (c Codec) DecodeBatch(message []byte) (*Batch, error) {
	var form batchForm
	if err := json.Unmarshal(message, &form); err != nil {
		return nil, fmt.Errorf("wire: not a batch: %w", err)
	}
	if form.Error != nil {
		return nil, form.Error
	}
	b := &Batch{Number: form.Number, Position: form.Position, Deliveries: make([]adapter.Delivery, len(form.Deliveries))}
	for n := range form.Deliveries {
		d := &form.Deliveries[n]
		f := enactment.Finalisation{Sequence: d.Sequence, Completed: d.Completed}
		for i := range d.Instances {
			instance, err := c.decodeInstance(&d.Instances[i], nothingSealed)
			if err != nil {
				return nil, fmt.Errorf("wire: delivery of %s: %w", d.Key, err)
			}
			f.Instances = append(f.Instances, instance)
		}
		b.Deliveries[n] = adapter.Delivery{Key: d.Key, Finalisation: f, Handled: d.Handled, More: d.More, Revoked: d.Revoked}
	}
	return b, nil
}
