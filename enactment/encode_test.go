package enactment_test

import (
	"bytes"
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/strabo-engine/strabo/enactment"
)

type inner struct {
	Zebra  string   `json:"zebra,omitempty"`
	Apple  int64    `json:"apple"`
	Hidden string   `json:"-"`
	Names  []string `json:"names"`
	Plain  bool
	secret int
}

type ordinary struct {
	Text     string           `json:"text"`
	Named    kind             `json:"kind,omitempty"`
	Number   int              `json:"-number"`
	Flag     bool             `json:"flag,omitempty"`
	Value    enactment.Value  `json:"value"`
	Optional *enactment.Value `json:"optional,omitempty"`
	Inner    inner            `json:"inner,omitempty"`
	Pointer  *inner           `json:"pointer"`
	Left     *inner           `json:"left_out,omitempty"`
	Many     []inner          `json:"many,omitempty"`
	Few      []*inner         `json:"few"`
	Amount   *int64           `json:"amount,omitempty"`
}

type kind string

// What is out of the ordinary.
type base struct {
	B int `json:"b"`
}

type tree struct {
	Leaves []tree `json:"leaves"`
}

type shouting string

func (s *shouting) MarshalText() ([]byte, error) { return []byte(*s + "!"), nil }

type odd struct {
	base
	Twice    int `json:"Again"`
	Again    int
	Quoted   int             `json:"quoted,string"`
	Zero     int             `json:"zero,omitzero"`
	Strange  int             `json:"a\u2028b,omitempty"`
	Raw      json.RawMessage `json:"raw,omitempty"`
	Number   json.Number     `json:"number"`
	Bytes    []byte          `json:"bytes"`
	At       time.Time       `json:"at"`
	Map      map[string]any  `json:"map"`
	Any      any             `json:"any"`
	Float    float64         `json:"float"`
	Tree     tree            `json:"tree"`
	Shouting *shouting       `json:"shouting"`
}

// throughText is how a value is made of what encoding/json writes.
func throughText(t fataler, v any) enactment.Value {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	require.NoError(t, encoder.Encode(v))
	value, err := enactment.ParseValue(out.Bytes())
	require.NoError(t, err)
	return value
}

func requireSameForms(t fataler, v any) {
	want := throughText(t, v)
	got, err := enactment.ValueOf(v)
	require.NoError(t, err)
	require.Equal(t, want, got) // both forms, and not only equal values
}

func TestValuesOfTypesAreWhatTheirTextSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(
			rapid.String(), rapid.StringMatching(`[ -~]{0,20}`), rapid.SampledFrom([]string{"", "\xff", "a\u2028", "Ἀθῆναι", `"`, "\u007f<&>"}),
		)
		number := rapid.OneOf(rapid.Int64(), rapid.Int64Range(-1000, 1000), rapid.SampledFrom([]int64{math.MinInt64, math.MaxInt64, 0}))
		value := rapid.Custom(func(t *rapid.T) enactment.Value {
			return parse(t, rapid.SampledFrom([]string{`null`, `{"b":1.0,"a":"\u0041"}`, `[-0]`, `"x"`}).Draw(t, "value"))
		})
		inside := rapid.Custom(func(t *rapid.T) inner {
			return inner{
				text.Draw(t, "zebra"), number.Draw(t, "apple"), "hidden", rapid.SliceOfN(text, 0, 3).Draw(t, "names"),
				rapid.Bool().Draw(t, "plain"), 1,
			}
		})
		o := ordinary{
			Text: text.Draw(t, "text"), Named: kind(text.Draw(t, "kind")), Number: int(number.Draw(t, "number")), Flag: rapid.Bool().Draw(t, "flag"),
			Value: value.Draw(t, "value"), Optional: rapid.Ptr(value, true).Draw(t, "optional"), Inner: inside.Draw(t, "inner"),
			Pointer: rapid.Ptr(inside, true).Draw(t, "pointer"), Left: rapid.Ptr(inside, true).Draw(t, "left"),
			Many: rapid.SliceOfN(inside, 0, 3).Draw(t, "many"), Few: rapid.SliceOfN(rapid.Ptr(inside, true), 0, 3).Draw(t, "few"),
			Amount: rapid.Ptr(number, true).Draw(t, "amount"),
		}
		requireSameForms(t, o)
		requireSameForms(t, &o)
		requireSameForms(t, []ordinary{o, {}})
		unusual := odd{
			base: base{int(number.Draw(t, "b"))}, Number: "1.50", Raw: json.RawMessage(` {"b": [1.0], "a": 2} `), Bytes: []byte(o.Text),
			Map: map[string]any{"b": o.Number, "a": o.Text, o.Text: nil}, Any: o, Float: 0.5, Tree: tree{[]tree{{}, {[]tree{}}}},
			Shouting: new(shouting),
		}
		requireSameForms(t, unusual)
		requireSameForms(t, struct {
			A any `json:"a"`
			B odd `json:"b"`
		}{unusual, unusual})
	})
	for _, v := range []any{
		(*ordinary)(nil), []string(nil), [][]string{nil, {}}, map[string]int{"b": 1, "a": 2}, json.Number("1e3"), []json.Number{"10.0"},
		struct{}{}, [2]int{1, 2}, kind("k"), uint8(3), []any{1, "a", nil}, []shouting{"a"}, tree{},
	} {
		requireSameForms(t, v)
	}
}
