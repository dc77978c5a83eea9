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
	// Recall are enactments of which the history is to be delivered again, with the next batch.
	Recall []enactment.Key `json:"recall,omitempty"`
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

// BatchText is a batch while it is encoded.
type BatchText struct {
	text []byte
	ends []int // of each delivery
}

// Size is how many bytes there are.
func (t *BatchText) Size() int { return len(t.text) }

const noMore, isMore = `false`, `true ` // of the same length

// Add encodes a delivery; its instances are projected already. Whether more follows is said by [BatchText.More].
func (t *BatchText) Add(d *adapter.Delivery) {
	if t.text == nil {
		t.text = append(make([]byte, 0, 4096), `{"deliveries":[`...)
	} else {
		t.text = append(t.text, ',')
	}
	t.text = appendDelivery(t.text, d)
	t.ends = append(t.ends, len(t.text))
}

// More says that another delivery follows on one that was added, of the same enactment.
func (t *BatchText) More(number int) {
	end := t.ends[number] - 1
	copy(t.text[end-len(noMore):end], isMore)
}

// End gives the whole. Nothing can be added any more.
func (t *BatchText) End(number, position uint64) []byte {
	if t.text == nil {
		t.text = []byte(`{"deliveries":[`)
	}
	to := strconv.AppendUint(append(t.text, `],"number":`...), number, 10)
	return append(strconv.AppendUint(append(to, `,"position":`...), position, 10), '}')
}

func appendDelivery(to []byte, d *adapter.Delivery) []byte {
	to = append(append(to, `{"key":`...), d.Key...)
	if d.Revoked {
		return append(to, `,"revoked":true}`...)
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
	if d.Begins {
		to = append(to, `,"begins":true`...)
	}
	if d.Handled {
		to = append(to, `,"handled":true`...)
	}
	return append(to, `,"more":`+noMore+`}`...)
}

// DecodeBatch decodes the answer to Pull.
func (c Codec) DecodeBatch(message []byte) (*Batch, error) {
	b := &Batch{}
	var failure *Error
	err := members(message, func(name string, value []byte) error {
		switch name {
		case "number":
			return readUint(&b.Number, value)
		case "position":
			return readUint(&b.Position, value)
		case "deliveries":
			return elements(value, func(value []byte) error {
				d, err := c.readDelivery(value)
				b.Deliveries = append(b.Deliveries, d)
				return err
			})
		case "error":
			failure = &Error{}
			return json.Unmarshal(value, failure)
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("wire: not a batch: %w", err)
	case failure != nil:
		return nil, failure
	}
	return b, nil
}

func (c Codec) readDelivery(text []byte) (adapter.Delivery, error) {
	var d adapter.Delivery
	err := members(text, func(name string, value []byte) error {
		switch name {
		case "key":
			return readKey(&d.Key, value)
		case "sequence":
			return readUint(&d.Finalisation.Sequence, value)
		case "completed":
			return readBool(&d.Finalisation.Completed, value)
		case "begins":
			return readBool(&d.Begins, value)
		case "handled":
			return readBool(&d.Handled, value)
		case "more":
			return readBool(&d.More, value)
		case "revoked":
			return readBool(&d.Revoked, value)
		case "instances":
			return elements(value, func(value []byte) error {
				instance, err := c.readShown(value)
				d.Finalisation.Instances = append(d.Finalisation.Instances, instance)
				return err
			})
		}
		return nil
	})
	return d, err
}
