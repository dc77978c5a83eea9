package wire_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/enactment"
	. "github.com/strabo-engine/strabo/internal/played"
	"github.com/strabo-engine/strabo/syncserver/internal/wire"
)

// FuzzDecode has whatever comes be read as each kind of message. What is read as a request, an entry or a batch comes back
// the same when it is written and read once more.
func FuzzDecode(f *testing.F) {
	rules := Rules(f, Purchase)
	codec := wire.Codec{Rules: rules}
	a := Attempt(Buyer, "RFQ", "1", "item", "fig\n")
	a.At, a.Parties = time.Unix(1, 0), map[string]string{"Seller": "s"}
	f.Add(wire.AppendRequest(nil, rules.Hash(), &a))
	finalisation, outcomes := enactment.Judge(rules.NewState(KeyOf("1")), a, Attempt(Seller, "Quote", "1", "price", 5))
	f.Add(wire.AppendAnswer(nil, &outcomes[0]))
	f.Add(wire.AppendAnswer(nil, &outcomes[1]))
	f.Add((&wire.Error{Reason: wire.Busy, Detail: "so"}).Encode())
	f.Add(codec.AppendArrivals(nil, &wire.Arrivals{Reply: "r", Number: 7, Attempts: []wire.Arrival{{Attempt: a, Token: "t"}}}))
	f.Add(codec.AppendEntry(nil, &wire.Entry{
		Hash: rules.Hash(), Key: KeyOf("1"), Finalisation: finalisation, Digests: []wire.Digest{a.Digest()}, At: a.At,
		Seats: map[string]string{"Buyer": ""}, Decided: 3,
	}))
	var text wire.BatchText
	text.Add(&adapter.Delivery{Key: KeyOf("1"), Finalisation: finalisation, Handled: true})
	text.More(0)
	f.Add(text.End(1, 2))
	f.Add([]byte(`{"deliveries":[{"key":{"ID":1},"revoked":true}]}`))
	f.Fuzz(func(t *testing.T, message []byte) {
		if r, err := wire.DecodeRequest(message); err == nil {
			again, err := wire.DecodeRequest(wire.AppendRequest(nil, "", &r.Attempt))
			require.NoError(t, err)
			require.Equal(t, r.Attempt.Digest(), again.Attempt.Digest())
			require.Equal(t, r.Attempt.ID, again.Attempt.ID)
		}
		if e, err := codec.DecodeEntry(message); err == nil && e.Hash == rules.Hash() {
			again, err := codec.DecodeEntry(codec.AppendEntry(nil, e))
			require.NoError(t, err)
			require.Equal(t, e.Finalisation, again.Finalisation)
			key, at, begins := wire.Beginning(codec.AppendEntry(nil, e))
			require.Equal(t, e.Finalisation.Sequence == 1 && len(e.Finalisation.Instances) > 0, begins)
			require.True(t, !begins || key == e.Key && at.Equal(e.At))
		}
		if b, err := codec.DecodeBatch(message); err == nil {
			var text wire.BatchText
			for n := range b.Deliveries {
				d := &b.Deliveries[n]
				if d.Key == "" {
					return // no server sends such
				}
				text.Add(d)
				if d.More && !d.Revoked {
					text.More(n)
				}
			}
			again, err := codec.DecodeBatch(text.End(b.Number, b.Position))
			require.NoError(t, err)
			require.Len(t, again.Deliveries, len(b.Deliveries))
		}
		_, _ = codec.DecodeAnswer(message)
		_, _ = codec.DecodeArrivals(message, nil)
	})
}
