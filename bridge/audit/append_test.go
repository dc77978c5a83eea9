package audit_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/strabo-engine/strabo/bridge/audit"
	"github.com/strabo-engine/strabo/enactment"
)

// TestEncodeIsJSON: a record is written as encoding/json would, whatever is in it.
func TestEncodeIsJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r audit.Record
		fields := reflect.ValueOf(&r).Elem()
		for i := range fields.NumField() {
			name := fields.Type().Field(i).Name
			if rapid.Bool().Draw(t, name+" is empty") {
				continue
			}
			text := func() string {
				if rapid.Bool().Draw(t, name+" is odd") {
					return string(rapid.SliceOfN(rapid.Byte(), 1, 20).Draw(t, name))
				}
				return rapid.StringN(1, 20, -1).Draw(t, name)
			}
			switch field := fields.Field(i); field.Interface().(type) {
			case enactment.Key:
				field.SetString(rapid.SampledFrom([]string{`{"cid":"c1"}`, `{"cid":"<ü\u2028>"}`, `{"a":1,"b":[true, null]}`}).Draw(t, name))
			case time.Time:
				field.Set(reflect.ValueOf(time.Unix(rapid.Int64Range(0, 1<<35).Draw(t, name), rapid.Int64Range(0, 999_999_999).Draw(t, "part")).UTC()))
			case map[string]string:
				field.Set(reflect.ValueOf(map[string]string{text(): text(), "a": text(), "b": ""}))
			default:
				switch {
				case field.CanInt():
					field.SetInt(rapid.Int64Range(1, 1<<40).Draw(t, name))
				case field.Kind() == reflect.Bool:
					field.SetBool(true)
				default:
					require.Equal(t, reflect.String, field.Kind(), "a field of a new kind: encode it, and draw it here")
					field.SetString(text())
				}
			}
		}
		if r.Kind == "" {
			r.Kind = audit.FirstCall
		}
		var want bytes.Buffer
		encoder := json.NewEncoder(&want)
		encoder.SetEscapeHTML(false)
		wrong := encoder.Encode(r)
		got, err := audit.Encode(r)
		if wrong != nil {
			require.Error(t, err)
			return
		}
		require.NoError(t, err)
		require.Equal(t, want.String(), string(got)+"\n")
	})
}
