package read_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/ucp/internal/read"
	"github.com/strabo-engine/strabo/enactment"
)

type contents struct {
	Text   string                     `json:"text"`
	Maybe  *string                    `json:"maybe,omitempty"`
	Whole  int64                      `json:"whole"`
	Yes    bool                       `json:"yes"`
	Many   []contents                 `json:"many"`
	Within *contents                  `json:"within"`
	Open   map[string]json.RawMessage `json:"open"`
	Value  enactment.Value            `json:"value"`
}

func readContents(t *testing.T, text string) (contents, error) {
	value, err := enactment.ParseValue([]byte(text))
	require.NoError(t, err, text)
	var c contents
	return c, read.Into(value, "$", &c)
}

func TestInto(t *testing.T) {
	maybe := "\u00fc\n"
	for text, want := range map[string]contents{
		`null`: {}, `{}`: {}, `{"Text":"x","other":[null]}`: {}, `{"text":null,"many":null,"open":null,"within":null}`: {},
		`{"text":"\u0061\"","whole":1e1,"yes":true}`: {Text: `a"`, Whole: 10, Yes: true},
		`{"whole":-120.0e-1}`:                        {Whole: -12},
		`{"maybe":"ü\n","many":[{"text":"1"},{}]}`:   {Maybe: &maybe, Many: []contents{{Text: "1"}, {}}},
		`{"many":[],"within":{"within":{"whole":2}}}`: {
			Many: []contents{}, Within: &contents{Within: &contents{Whole: 2}},
		},
		`{"open":{"a":{"b":null},"c":[1.50]}}`: {Open: map[string]json.RawMessage{"a": []byte(`{"b":null}`), "c": []byte(`[1.50]`)}},
		`{"value":{"b":1,"a":2}}`:              {Value: enactment.MustValue(json.RawMessage(`{"b":1,"a":2}`))},
	} {
		c, err := readContents(t, text)
		require.NoError(t, err, text)
		require.Empty(t, cmp.Diff(want, c), text)
	}
}

func TestIntoRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`[]`: "$ must be an object.", `{"text":1}`: "$.text must be a string.", `{"maybe":{}}`: "$.maybe must be a string.",
		`{"whole":1.5}`: "$.whole must be a whole number.", `{"whole":true}`: "$.whole must be a whole number.", `{"whole":"1"}`: "$.whole must be a whole number.",
		`{"whole":9223372036854775808}`: "$.whole must be a whole number.", `{"whole":1e999999999999}`: "$.whole must be a whole number.",
		`{"yes":"true"}`: "$.yes must be true or false.", `{"many":{}}`: "$.many must be an array.",
		`{"many":[{},{"many":[{"text":[]}]}]}`:        "$.many[1].many[0].text must be a string.",
		`{"many":[{},null]}`:                          "$.many[1] must not be null.",
		`{"open":[]}`:                                 "$.open must be an object.",
		`{"open":{"a":[1,{"b":["null",[null]]}]}}`:    "$.open.a[1].b[1][0] must not be null.",
		`{"open":{"a":{"x":null,"y\"":[2,[],null]}}}`: `$.open.a.y"[2] must not be null.`,
	} {
		_, err := readContents(t, text)
		wrong, ok := errors.AsType[*read.Error](err)
		require.True(t, ok, "%s: %v", text, err)
		require.Equal(t, want, wrong.Error())
	}
	require.Error(t, read.Into(enactment.MustValue(1), "$", new(float64)), "there is no way to read it")
}

// TestDeep reads what is nested as deep as a value may be, with much at the bottom.
func TestDeep(t *testing.T) {
	deep := strings.Repeat(`{"a":[`, 499) + `"` + strings.Repeat(`\"`, 1<<16) + `",null` + strings.Repeat(`]}`, 499)
	value, err := enactment.ParseValue([]byte(deep))
	require.NoError(t, err)
	var open map[string]json.RawMessage
	err = read.Into(value, "$", &open)
	require.Equal(t, "$"+strings.Repeat(".a[0]", 498)+".a[1] must not be null.", err.Error())
}
