package enactment_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/strabo-engine/strabo/enactment"
)

func TestValuesAreEqualAsJSON(t *testing.T) {
	equal := [][]string{
		{`10`, `1e0000000000000000000000001`, `100e-00000000000000000001`},
		{`1`, `1e-0000000000000000000000000`, `1.0`, `10e-1`, `0.1E+1`, `1e0`, `1E-0`, `0.00001e5`, `100000e-5`, ` 1 `, "\t1\r\n"},
		{`0`, `-0`, `0.0`, `-0.000`, `0e999999999999999999999999`, `-0e-5`},
		{`-1.50`, `-15e-1`, `-0.15e1`},
		{`18446744073709551617`, `1.8446744073709551617e19`, `184467440737095516170e-1`},
		{`1e1000000000`, `10e999999999`, `0.1e1000000001`},
		{`1e-1000000000`, `0.1e-999999999`},
		{`1e9223372036854775807`, `10e9223372036854775806`, `0.1e9223372036854775808`, `0.01e+0009223372036854775809`},
		{`1e-9223372036854775808`, `10e-9223372036854775809`},
		{`1e100000000000000000`, `10e99999999999999999`, `0.1e100000000000000001`, `0.001e000100000000000000003`},
		{`1e-100000000000000000`, `0.1e-99999999999999999`, `100e-100000000000000002`},
		{`1e999999999999999999999`, `10e999999999999999999998`, `0.1e1000000000000000000000`},
		{`1e-999999999999999999999`, `0.1e-999999999999999999998`, `10e-1000000000000000000000`},
		{`1e999999999999999999998`},
		{`1e1000000000000000000000`},
		{`1e21`, `1000000000000000000000`},
		{`1e20`, `100000000000000000000`},
		{`"a"`, `"\u0061"`, ` "a" `},
		{`"\/"`, `"/"`, `"\u002f"`, `"\u002F"`},
		{`"\ud83d\ude00"`, `"😀"`, `"\uD83D\uDE00"`},
		{`"\n\u0000\u001f"`, `"\u000a\u0000\u001F"`},
		{`"\u2028<&>"`, "\"\u2028\\u003c&\\u003E\""},
		{`{}`, ` { } `},
		{`[]`, `[ ]`},
		{`{"a":1,"b":[{"c":2,"d":null}]}`, `{ "b" : [ {"d":null, "c":2.0} ] , "\u0061" : 1e0 }`},
		{`{"":1,"a":2}`, `{"a":2,"":1}`},
		{`null`},
		{`true`},
		{`false`},
		{`"null"`},
		{`"1"`},
		{`""`},
		{`[null]`},
		{`[1,2]`},
		{`[2,1]`},
		{`[12]`},
		{`["1,2"]`},
		{`{"a":null}`},
		{`{"a":1}`},
		{`{"A":1}`},
		{`{"a":"1"}`},
		{`[[]]`},
		{`[{}]`},
		{`[[],[]]`},
		{`[[[]]]`},
		{`"\u0041\u030a"`},
		{`"\u00c5"`}, // no Unicode normalisation
		{`18446744073709551616`},
		{`1e1000000001`},
		{`1e-1000000001`},
		{`1.0000000000000000000000000000001`},
		{`-1`},
		{`0.1`},
		{`0.10000000000000001`},
	}
	for i, class := range equal {
		for j, other := range equal {
			for _, a := range class {
				for _, b := range other {
					require.Equal(t, i == j, parse(t, a).Equal(parse(t, b)), "%s and %s", a, b)
				}
			}
		}
	}
	require.False(t, enactment.Value{}.Equal(parse(t, `null`)), "nothing at all is not null")
}

func TestHugeNumbersCostNoMoreThanTheirText(t *testing.T) {
	start := time.Now()
	require.False(t, parse(t, `1e1000000000`).Equal(parse(t, `1e1000000001`)))
	require.False(t, parse(t, `1e-1000000000`).Equal(parse(t, `1e1000000000`)))
	nines := strings.Repeat("9", 20_000)
	huge := parse(t, `1e`+nines)
	require.True(t, huge.Equal(parse(t, `10e`+nines[1:]+`8`)))
	require.True(t, huge.Equal(parse(t, `0.1e1`+strings.Repeat("0", 20_000))))
	require.False(t, huge.Equal(parse(t, `1e-`+nines)))
	require.Equal(t, `1e`+nines, huge.String())
	long := parse(t, strings.Repeat("7", 100_000))
	require.True(t, long.Equal(parse(t, `0.`+strings.Repeat("7", 100_000)+`e100000`)))
	million := parse(t, `1e`+strings.Repeat("9", 1_000_000))
	require.True(t, million.Equal(parse(t, `0.1e1`+strings.Repeat("0", 1_000_000))))
	require.Less(t, time.Since(start), 2*time.Second)
}

func TestValuesKeepTheirText(t *testing.T) {
	for text, kept := range map[string]string{
		`18446744073709551617`:     `18446744073709551617`,
		`1.50`:                     `1.50`,
		`-0`:                       `-0`,
		`1E+2`:                     `1E+2`,
		` { "b" : 1 , "a" : [ ] }`: `{"b":1,"a":[]}`,
		`"a b\u0041\/"`:            `"a b\u0041\/"`,
	} {
		v := parse(t, text)
		require.Equal(t, kept, v.String())
		encoded, err := v.MarshalJSON()
		require.NoError(t, err)
		require.Equal(t, kept, string(encoded))
		var decoded enactment.Value
		require.NoError(t, json.Unmarshal(encoded, &decoded))
		require.True(t, decoded.Equal(v))
	}
	var decoded any
	require.NoError(t, parse(t, `[18446744073709551617]`).Decode(&decoded))
	require.Equal(t, []any{json.Number("18446744073709551617")}, decoded, "numbers lose nothing")
	var number int
	require.Error(t, parse(t, `"1"`).Decode(&number))
	require.ErrorContains(t, enactment.Value{}.Decode(&number), "there is none")
}

func TestWhatIsNoValueIsMalformed(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for name, text := range map[string]string{
		"nothing":                        ``,
		"only space":                     "  ",
		"duplicate members":              `{"a":1,"a":1}`,
		"duplicate members, escaped":     `{"a":1,"\u0061":2}`,
		"duplicate members, deep":        `[{"x":{"a":1,"b":2,"a":3}}]`,
		"high surrogate":                 `"\ud83d"`,
		"low surrogate":                  `"\ude00"`,
		"surrogates the wrong way round": `"\ude00\ud83d"`,
		"two high surrogates":            `"\ud83d\ud83d"`,
		"a surrogate before a letter":    `"\ud83dx"`,
		"a surrogate before an escape":   `"\ud83d\n"`,
		"a surrogate before a character": `"\ud83d\u0041"`,
		"a surrogate in a name":          `{"\udead":1}`,
		"not UTF-8":                      "\"\xff\"",
		"a surrogate in UTF-8":           "\"\xed\xa0\x80\"",
		"overlong":                       "\"\xc0\x80\"",
		"cut off UTF-8":                  "\"\xe2\x82\"",
		"a byte-order mark":              "\ufeff1",
		"too deep":                       deep(1001),
		"too deep around a value":        strings.Repeat(`{"a":`, 1001) + `1` + strings.Repeat(`}`, 1001),
		"far too deep":                   strings.Repeat("[", 1_000_000),
		"two values":                     `1 2`,
		"a comma too many":               `[1,]`,
		"a member too many":              `{"a":1,}`,
		"no comma":                       `[1 2]`,
		"no colon":                       `{"a" 1}`,
		"a name without quotes":          `{a:1}`,
		"no value":                       `{"a":}`,
		"open array":                     `[1`,
		"open object":                    `{"a":1`,
		"open string":                    `"a`,
		"open escape":                    `"\`,
		"no such escape":                 `"\x"`,
		"short escape":                   `"\u12"`,
		"no hexadecimal":                 `"\u12g4"`,
		"a control character":            "\"\n\"",
		"leading zero":                   `01`,
		"leading zero, negative":         `-01`,
		"plus":                           `+1`,
		"point first":                    `.5`,
		"point last":                     `1.`,
		"no exponent":                    `1e`,
		"signs only":                     `1e+`,
		"minus only":                     `-`,
		"hexadecimal":                    `0x1`,
		"infinity":                       `Infinity`,
		"not a number":                   `NaN`,
		"capitals":                       `True`,
		"a word too long":                `nulll`,
		"a word too short":               `nul`,
		"single quotes":                  `'a'`,
		"a comment":                      `1 // one`,
		"another kind of space":          "\v1",
		"a zero byte":                    "1\x00",
	} {
		v, err := enactment.ParseValue([]byte(text))
		require.ErrorIs(t, err, enactment.Malformed, name)
		require.True(t, v.IsZero(), name)
		require.Error(t, json.Unmarshal([]byte(text), &v), name)
	}
	_, err := enactment.ParseValue([]byte(deep(1000)))
	require.NoError(t, err, "1,000 deep is not too deep")
	_, err = enactment.ParseValue([]byte(strings.Repeat(`{"a":`, 1000) + `1` + strings.Repeat(`}`, 1000)))
	require.NoError(t, err, "1,000 deep around a value is not too deep")
}

func TestScalarsMayBeKeys(t *testing.T) {
	for text, scalar := range map[string]bool{
		`"a"`: true, `""`: true, `1`: true, `-1`: true, `true`: true, `false`: true, `null`: false, `{}`: false, `[1]`: false,
	} {
		require.Equal(t, scalar, parse(t, text).IsScalar(), text)
	}
	require.False(t, enactment.Value{}.IsScalar())
	require.True(t, enactment.Value{}.IsZero())
	require.False(t, parse(t, `null`).IsZero())
	require.Empty(t, enactment.Value{}.String())
}

func TestValuesOfGoValues(t *testing.T) {
	type order struct {
		ID    string  `json:"id"`
		Total float64 `json:"total"`
	}
	for _, c := range []struct {
		of   any
		text string
	}{
		{nil, `null`},
		{1, `1`},
		{int64(-20), `-20`},
		{100, `1e2`},
		{uint64(1) << 63, `9223372036854775808`},
		{1.5, `15e-1`},
		{1e21, `1e21`},
		{true, `true`},
		{"<ü\"\\\x00>", `"<ü\"\\\u0000>"`},
		{[]string{"a"}, `["a"]`},
		{order{"o1", 7}, `{"total":7.0,"id":"o1"}`},
		{map[string]any{"b": nil, "a": 1}, `{"a":1,"b":null}`},
		{json.RawMessage(` [1] `), `[1]`},
		{json.Number("1.0"), `1`},
		{enactment.MustValue("x"), `"x"`},
	} {
		v, err := enactment.ValueOf(c.of)
		require.NoError(t, err)
		require.True(t, v.Equal(parse(t, c.text)), "%v is %s, not %s", c.of, v, c.text)
	}
	for _, faulty := range []any{"\xff", json.RawMessage(`{"a":1,"a":2}`), json.RawMessage(nil), func() {}, make(chan int)} {
		_, err := enactment.ValueOf(faulty)
		require.Error(t, err)
		require.Panics(t, func() { enactment.MustValue(faulty) })
		_, err = enactment.ValuesOf(map[string]any{"price": faulty})
		require.ErrorContains(t, err, "price")
	}
	_, err := enactment.ValueOf("\xff")
	require.ErrorIs(t, err, enactment.Malformed)
}

func TestParseValuesReadsAnObject(t *testing.T) {
	v, err := enactment.ParseValues([]byte(` {"a": 1, "b": {"c": 18446744073709551617}, "\u0064": null} `))
	require.NoError(t, err)
	require.Len(t, v, 3)
	require.Equal(t, `{"c":18446744073709551617}`, v["b"].String())
	require.Equal(t, `null`, v["d"].String())
	for _, text := range []string{`[]`, `1`, `null`, `"a"`, ``, `{"a":1,"a":2}`, `{"a":"\ud800"}`, `{"a":1}{}`} {
		_, err := enactment.ParseValues([]byte(text))
		require.ErrorIs(t, err, enactment.Malformed, text)
	}
}

// TestCommonValuesAreReadLikeAnyOther has values that are read in a short way be read the long way too, which white space
// leads to.
func TestCommonValuesAreReadLikeAnyOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`"[\x00-\xff]{0,6}"|"[ -~]{0,6}"|"|-?[0-9]{0,22}|-?[1-9]0{0,22}`).Draw(t, "text")
		short, err := enactment.ParseValue([]byte(text))
		long, longErr := enactment.ParseValue([]byte(" " + text))
		require.Equal(t, longErr == nil, err == nil, "%v %v", err, longErr)
		require.Equal(t, long, short)
	})
}
