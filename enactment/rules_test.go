package enactment_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/enactment"
)

func TestTheHashIsOfTheMeaning(t *testing.T) {
	hash := compile(t, purchase).Hash()
	require.Regexp(t, `^[0-9a-f]{64}$`, hash)
	const same = `# a comment
Purchase
nono: Reject Accept
sayso
  Seller: price
  Buyer: address   # another
  Buyer > Seller: item
do
  Seller: Deliver(address, Accept, ID)
  Seller: Quote(ID, price,
      item)
  Buyer: Reject(Quote, ID) Buyer: Accept(ID, Quote, address)
  Buyer: RFQ(item, ID)
who Seller, Buyer
what Deliver or Reject, ID key
`
	require.Equal(t, hash, compile(t, same).Hash(), "order, comments and layout do not matter")
	require.Equal(t, hash, compile(t, purchase, enactment.WithParties("Buyer", "b")).Hash(), "parties are configuration")
	hashes := map[string]string{hash: "the protocol itself"}
	distinct := func(what string, r *enactment.Rules) {
		require.Empty(t, hashes[r.Hash()], what)
		hashes[r.Hash()] = what
	}
	for what, change := range map[string][2]string{
		"the name":                     {"Purchase\n", "Sale\n"},
		"another role":                 {"who Buyer, Seller", "who Buyer, Seller, Bank"},
		"another conjunct":             {"Reject or Deliver", "Reject, Deliver"},
		"another alternative":          {"Reject or Deliver", "Reject or Deliver or Accept"},
		"another actor":                {"Buyer: Reject", "Seller: Reject"},
		"another attribute":            {"RFQ(ID, item)", "RFQ(ID, item, address)"},
		"an attribute less":            {"Quote(ID, item, price)", "Quote(ID, price)"},
		"another reference":            {"Deliver(ID, Accept, address)", "Deliver(ID, Quote, address)"},
		"another order of authority":   {"Buyer > Seller: item", "Seller > Buyer: item"},
		"another authority":            {"Seller: price", "Buyer: price"},
		"a nono less":                  {"  Accept Reject\n", ""},
		"a nogo for a nono":            {"nono\n  Accept Reject", "nogo\n  Accept -/> Reject"},
		"the nogo the other way round": {"nono\n  Accept Reject", "nogo\n  Reject -/> Accept"},
	} {
		changed := strings.Replace(purchase, change[0], change[1], 1)
		require.NotEqual(t, purchase, changed, what)
		distinct(what, compile(t, changed))
	}
	guard := enactment.Guard{Name: "g", Action: "RFQ", Allow: func(enactment.View, enactment.Instance) bool { return true }}
	distinct("a guard", compile(t, purchase, enactment.WithGuards(guard)))
	guard.Action = "Quote"
	distinct("a guard elsewhere", compile(t, purchase, enactment.WithGuards(guard)))
	guard.Name = "h"
	distinct("another guard", compile(t, purchase, enactment.WithGuards(guard)))
	distinct("a secret", compile(t, purchase, enactment.WithSecrets("address")))
	distinct("another secret", compile(t, purchase, enactment.WithSecrets("price")))
}

func TestKeysSayWhichEnactmentIsMeant(t *testing.T) {
	r := compile(t, "Composite\nwho A, B\nwhat b key, a key, Two\ndo\n A: One(b, a, x)\n B: Two(a, b, One)\nsayso\n A: x\n")
	key := func(a enactment.Attempt) enactment.Key {
		key, rejection := r.KeyOf(a)
		require.Nil(t, rejection)
		return key
	}
	one := key(attempt(t, "A", "One", `{"b":1.0,"a":"<\u00fc>\"","x":1}`))
	require.Equal(t, enactment.Key(`{"a":"<ü>\"","b":1}`), one)
	require.Equal(t, one, key(attempt(t, "B", "Two", `{"a":"\u003cü>\u0022","b":10e-1}`)), "equal values give equal keys")
	require.NotEqual(t, one, key(attempt(t, "B", "Two", `{"a":"<ü>\"","b":"1"}`)))
	require.NotEqual(t, key(attempt(t, "B", "Two", `{"a":true,"b":1}`)), key(attempt(t, "B", "Two", `{"a":"true","b":1}`)))
	text, err := json.Marshal(one)
	require.NoError(t, err)
	for _, spelt := range []string{string(text), ` {"b": 0.1e1, "a": "<\u00fc>\u0022"}`} {
		var back enactment.Key
		require.NoError(t, json.Unmarshal([]byte(spelt), &back))
		require.Equal(t, one, back)
	}
	v := one.Values()
	require.Len(t, v, 2)
	require.True(t, v["b"].Equal(enactment.MustValue(1)))
	v["x"] = enactment.MustValue(1)
	require.Equal(t, one, key(enactment.Attempt{ID: "1", Action: "One", Values: v}), "from its values it is made again")

	var none enactment.Key
	text, err = json.Marshal(none)
	require.NoError(t, err)
	require.Equal(t, `null`, string(text))
	require.Nil(t, none.Values())
	none = one
	require.NoError(t, json.Unmarshal([]byte(`null`), &none))
	require.Empty(t, none)
	for _, faulty := range []string{`[]`, `"a"`, `1`, `{"a":1,"a":2}`} {
		require.Error(t, json.Unmarshal([]byte(faulty), &none), faulty)
	}
	require.Panics(t, func() { enactment.Key(`no object`).Values() })

	for object, code := range map[string]enactment.Code{
		`{}`: enactment.Malformed, `{"a":1}`: enactment.Malformed, `{"a":1,"b":null}`: enactment.Malformed, `{"a":1,"b":[]}`: enactment.Malformed,
	} {
		got, rejection := r.KeyOf(attempt(t, "A", "One", object))
		require.Empty(t, got)
		require.Equal(t, code, rejection.Code)
	}
	_, rejection := r.KeyOf(attempt(t, "A", "Undo", `{"a":1,"b":1}`))
	require.Equal(t, enactment.UnknownAction, rejection.Code)
	require.Empty(t, judgedAll(r, one, attempt(t, "A", "One", `{"b":1,"a":"<ü>\"","x":1}`)))
}

// judgedAll gives the refusals of attempts judged one by one in a new enactment.
func judgedAll(r *enactment.Rules, key enactment.Key, attempts ...enactment.Attempt) []string {
	var refusals []string
	for _, a := range attempts {
		if codes := judged(r.NewState(key), a); codes[0] != "ok" {
			refusals = append(refusals, codes[0])
		}
	}
	return refusals
}

func TestNewInstanceChecksTheShapeAlone(t *testing.T) {
	r := compile(t, purchase)
	id := enactment.Identity{Role: "Seller", Party: "s"}
	i, err := r.NewInstance(id, "Deliver", "a1", values(t, map[string]any{"ID": 1}), nil)
	require.NoError(t, err, "a log is what happened; what the reader may not see is not in it")
	require.Equal(t, `Seller/s Deliver(ID=1) hidden=[address] parties=map[] attempt="a1"`, instanceText(i))
	_, err = r.NewInstance(id, "Undo", "a1", nil, nil)
	require.ErrorIs(t, err, enactment.UnknownAction)
	_, err = r.NewInstance(id, "Deliver", "a1", values(t, map[string]any{"ID": 1, "price": 1}), nil)
	require.ErrorIs(t, err, enactment.Malformed)
	_, err = r.NewInstance(id, "Deliver", "a1", values(t, map[string]any{"ID": 1, "Accept": 1}), nil)
	require.ErrorIs(t, err, enactment.Malformed)
	require.Equal(t, "Seller/s", id.String())
	require.Equal(t, "Seller", enactment.Identity{Role: "Seller"}.String())
	require.Equal(t, "Purchase", r.Protocol().Name())
}
