package enactment_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/strabo-engine/strabo/enactment"
)

// plain writes a value so that equal values read the same (semantics section 3). It is the oracle's own idea of
// equality: encoding/json reads, big.Rat compares numbers. It serves values whose exponents are small.
func plain(v enactment.Value) string {
	decoder := json.NewDecoder(strings.NewReader(v.String()))
	decoder.UseNumber()
	var decoded any
	if err := decoder.Decode(&decoded); err != nil {
		return "not JSON: " + err.Error()
	}
	return plainAny(decoded)
}

func plainAny(v any) string {
	switch v := v.(type) {
	case json.Number:
		number, ok := new(big.Rat).SetString(v.String())
		if !ok {
			return "not a number: " + v.String()
		}
		return number.RatString()
	case string:
		return fmt.Sprintf("%q", v)
	case []any:
		var parts []string
		for _, element := range v {
			parts = append(parts, plainAny(element))
		}
		return "[" + strings.Join(parts, ",") + "]"
	case map[string]any:
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, fmt.Sprintf("%q:%s", name, plainAny(v[name])))
		}
		return "{" + strings.Join(parts, ",") + "}"
	}
	return fmt.Sprint(v) // true, false and null (as <nil>)
}

// scalar tells whether a value that plain wrote may be the value of a key.
func scalar(plain string) bool {
	return plain != "<nil>" && plain[0] != '{' && plain[0] != '['
}
