package wire_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/enactment"
	. "github.com/strabo-engine/strabo/internal/played"
	"github.com/strabo-engine/strabo/syncserver/internal/wire"
)

func TestTokensTellTheirStrings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := string(rapid.SliceOf(rapid.Byte()).Draw(t, "text"))
		token := wire.Token(text)
		require.NotEmpty(t, token)
		require.LessOrEqual(t, len(token), 200)
		require.NotContains(t, token, ".")
		require.False(t, strings.ContainsAny(token, " *>\t\r\n\x00"))
		if back, err := wire.ParseToken(token); wire.Hashed(token) {
			require.Error(t, err)
		} else {
			require.NoError(t, err)
			require.Equal(t, text, back)
		}
		if other := string(rapid.SliceOf(rapid.Byte()).Draw(t, "other")); other != text {
			require.NotEqual(t, token, wire.Token(other))
		}
	})
}

func TestParseTokenTakesOneSpellingOnly(t *testing.T) {
	for _, token := range []string{"", "=4", "=zz", "=41", "=2e", "a=", "=00=", "==ab", "a.b"} {
		_, err := wire.ParseToken(token)
		require.Error(t, err, "%q", token)
	}
}

func TestIdentityOf(t *testing.T) {
	s, err := wire.NewSubjects("my system")
	require.NoError(t, err)
	id := enactment.Identity{Role: "Buy er", Party: "b.*>"}
	for _, subject := range []string{s.Attempt(id), s.Join(id), s.Observe(id, "server")} {
		got, err := s.IdentityOf(subject)
		require.NoError(t, err)
		require.Equal(t, id, got)
	}
	for _, subject := range []string{"", "strabo.other.attempt.a.b", "strabo.my=20system.attempt.a", "strabo.my=20system.attempt.a.=x"} {
		_, err := s.IdentityOf(subject)
		require.Error(t, err)
	}
	_, err = wire.NewSubjects("")
	require.Error(t, err)
}

// hidden is a sealer that shows whether anything was sealed.
type hidden struct{}

func (hidden) Seal(plain, context []byte) []byte {
	sealed := append([]byte{byte(len(context))}, plain...)
	for i := range sealed {
		sealed[i] ^= 0x55
	}
	return sealed
}

func (hidden) Open(sealed, _ []byte) ([]byte, error) {
	plain := make([]byte, len(sealed))
	for i := range sealed {
		plain[i] = sealed[i] ^ 0x55
	}
	return plain[1:], nil
}

func TestEntries(t *testing.T) {
	codec := wire.Codec{Rules: Rules(t, Purchase, enactment.WithSecrets("address")), Sealer: hidden{}}
	s := codec.Rules.NewState(KeyOf("é"))
	rfq := Attempt(Buyer, "RFQ", "é", "item", map[string]any{"n": 1e3})
	rfq.Parties = map[string]string{"Seller": "s\"1"}
	f, _ := enactment.Judge(s, rfq)
	s.Apply(f)
	accept := Attempt(Buyer, "Accept", "é", "price", 5, "address", "hier")
	f, outcomes := enactment.Judge(s, accept, Attempt(Buyer, "Reject", "é"))
	entry := &wire.Entry{
		Hash: codec.Rules.Hash(), Key: KeyOf("é"), Finalisation: f, Digests: []wire.Digest{accept.Digest()},
		Seats: map[string]string{"Buyer": "", "Seller": "s\"1"}, Decided: 7, At: time.Unix(1, 2).UTC(),
		Refused: []wire.Refusal{{Identity: Buyer, Attempt: "x", Action: "Reject", Sequence: 2, Rejection: outcomes[1].Rejection}},
	}
	text := codec.AppendEntry(nil, entry)
	require.NotContains(t, string(text), "hier")
	got, err := codec.DecodeEntry(text)
	require.NoError(t, err)
	require.Equal(t, entry, got)
	for _, test := range []struct {
		sequence            uint64
		completed, happened bool
		begins, completes   bool
	}{
		{1, false, true, true, false}, {2, true, true, false, true}, {1, true, true, true, true}, {1, false, false, false, false},
	} {
		e := *entry
		e.Finalisation.Sequence, e.Finalisation.Completed = test.sequence, test.completed
		if !test.happened {
			e.Finalisation.Instances, e.Digests = nil, nil
		}
		begins, completes, removed := wire.Progress(codec.AppendEntry(nil, &e))
		require.Equal(t, [3]bool{test.begins, test.completes, false}, [3]bool{begins, completes, removed})
		key, at, begins := wire.Beginning(codec.AppendEntry(nil, &e))
		require.Equal(t, test.begins, begins)
		if begins {
			require.Equal(t, entry.Key, key)
			require.True(t, entry.At.Equal(at))
		}
	}
	_, _, nothing := wire.Beginning([]byte("{"))
	require.False(t, nothing)
	begins, completes, removed := wire.Progress([]byte("{"))
	require.False(t, begins || completes || removed)

	entry = &wire.Entry{
		Hash: entry.Hash, Key: entry.Key, Finalisation: enactment.Finalisation{Sequence: 2, Completed: true}, At: entry.At, Removed: true,
	}
	text = codec.AppendEntry(nil, entry)
	again, err := codec.DecodeEntry(text)
	require.NoError(t, err)
	require.Equal(t, entry, again)
	begins, completes, removed = wire.Progress(text)
	require.Equal(t, [3]bool{false, false, true}, [3]bool{begins, completes, removed})
	text = codec.AppendEntry(nil, &wire.Entry{
		Hash: entry.Hash, Key: entry.Key, Finalisation: f, Digests: []wire.Digest{accept.Digest()}, At: entry.At, Removed: true,
	})
	_, err = codec.DecodeEntry(text)
	require.ErrorContains(t, err, "something happened in what was removed")
	text = codec.AppendEntry(nil, got)

	_, err = wire.Codec{Rules: codec.Rules}.DecodeEntry(text)
	require.Error(t, err, "there is no key to open it")
	for _, broken := range []string{"", "{}", "[]", `{"key":null}`, `{"key":{"ID":1},"instances":[{"action":"Nope"}]}`} {
		_, err := codec.DecodeEntry([]byte(broken))
		require.Error(t, err, broken)
	}
}

func TestRequests(t *testing.T) {
	a := Attempt(Buyer, "RFQ", "1", "item", []any{1, "zwei", nil})
	a.At = time.Unix(5, 6).UTC()
	a.Parties = map[string]string{"Seller": "s"}
	got, err := wire.DecodeRequest(wire.AppendRequest(nil, "hash", &a))
	require.NoError(t, err)
	require.Equal(t, "hash", got.Hash)
	got.Attempt.Identity = a.Identity
	require.Equal(t, a, got.Attempt)

	_, err = wire.DecodeRequest([]byte(`{"id":"x","values":{"a":1,"a":2}}`))
	var rejection *enactment.Rejection
	require.ErrorAs(t, err, &rejection)
	require.Equal(t, enactment.Malformed, rejection.Code)
	_, err = wire.DecodeRequest([]byte(`{`))
	require.Error(t, err)
	require.False(t, err == error(rejection))
}

func TestArrivals(t *testing.T) {
	codec := wire.Codec{Rules: Rules(t, Purchase, enactment.WithSecrets("address")), Sealer: hidden{}}
	a := Attempt(enactment.Identity{Role: "Buyer", Party: "b"}, "Accept", "1", "price", 5, "address", "hier")
	arrivals := wire.Arrivals{Reply: "there", Number: 7, Attempts: []wire.Arrival{{Attempt: a, Token: "5", Trace: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}, {Attempt: Attempt(Seller, "Stop", "1")}}}
	text := codec.AppendArrivals(nil, &arrivals)
	require.NotContains(t, string(text), "hier")
	got, err := codec.DecodeArrivals(text, nil)
	require.NoError(t, err)
	require.Equal(t, &arrivals, got)

	known := wire.Arrivals{Reply: "there", Number: 7, Attempts: []wire.Arrival{{Token: "6"}}}
	got, err = codec.DecodeArrivals(text, func(reply string, number uint64) ([]wire.Arrival, bool) {
		return known.Attempts, reply == "there" && number == 7
	})
	require.NoError(t, err)
	require.Equal(t, &known, got)
}

func TestAnswers(t *testing.T) {
	codec := wire.Codec{Rules: Rules(t, Purchase)}
	_, outcomes := enactment.Judge(codec.Rules.NewState(KeyOf("1")), Attempt(Buyer, "RFQ", "1", "item", "fig"), Attempt(Seller, "Stop", "1"))
	for _, outcome := range outcomes {
		got, err := codec.DecodeAnswer(wire.AppendAnswer(nil, &outcome))
		require.NoError(t, err)
		require.Equal(t, outcome, got)
	}
	_, err := codec.DecodeAnswer((&wire.Error{Reason: wire.Busy, Detail: "later"}).Encode())
	var e *wire.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, wire.Busy, e.Reason)
}

// TestBatches has batches come back as they were, with whatever marks their deliveries have.
func TestBatches(t *testing.T) {
	rules := Rules(t, Purchase)
	rapid.Check(t, func(t *rapid.T) {
		batch := wire.Batch{Number: rapid.Uint64().Draw(t, "number"), Position: rapid.Uint64().Draw(t, "position")}
		var text wire.BatchText
		for n := range rapid.IntRange(0, 5).Draw(t, "deliveries") {
			id := rapid.String().Draw(t, "id")
			d := adapter.Delivery{Key: KeyOf(id), Revoked: rapid.Bool().Draw(t, "revoked")}
			if !d.Revoked {
				d.Finalisation.Sequence = rapid.Uint64().Draw(t, "sequence")
				d.Finalisation.Completed, d.Handled = rapid.Bool().Draw(t, "completed"), rapid.Bool().Draw(t, "handled")
				for range rapid.IntRange(0, 2).Draw(t, "instances") {
					instance, err := rules.NewInstance(
						enactment.Identity{Role: "Buyer", Party: rapid.String().Draw(t, "party")}, "RFQ", rapid.String().Draw(t, "attempt"),
						enactment.Values{"ID": enactment.MustValue(id), "item": enactment.MustValue(rapid.String().Draw(t, "item"))}, nil,
					)
					require.NoError(t, err)
					d.Finalisation.Instances = append(d.Finalisation.Instances, instance)
				}
			}
			text.Add(&d)
			if d.More = !d.Revoked && rapid.Bool().Draw(t, "more"); d.More {
				text.More(n)
			}
			batch.Deliveries = append(batch.Deliveries, d)
		}
		encoded := text.End(batch.Number, batch.Position)
		require.True(t, json.Valid(encoded), "%s", encoded)
		back, err := wire.Codec{Rules: rules}.DecodeBatch(encoded)
		require.NoError(t, err)
		require.Equal(t, &batch, back)
	})
}
