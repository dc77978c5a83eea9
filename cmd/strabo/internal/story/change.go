package story

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/strabo-engine/strabo/enactment"
)

// changes says how a value differs from one before it: what is new or another, by its path; what is gone, with a minus.
func changes(before, after enactment.Value) string {
	var old, new any
	if before.Decode(&old) != nil || after.Decode(&new) != nil {
		return ""
	}
	return strings.Join(differences(old, new, ""), ", ")
}

func differences(before, after any, path string) []string {
	var found []string
	switch after := after.(type) {
	case map[string]any:
		old, ok := before.(map[string]any)
		if !ok {
			break
		}
		for _, name := range slices.Sorted(maps.Keys(after)) {
			at := strings.TrimPrefix(path+"."+name, ".")
			if was, ok := old[name]; ok {
				found = append(found, differences(was, after[name], at)...)
			} else {
				found = append(found, leaf(after[name], at))
			}
		}
		for _, name := range slices.Sorted(maps.Keys(old)) {
			if _, ok := after[name]; !ok {
				found = append(found, "-"+strings.TrimPrefix(path+"."+name, "."))
			}
		}
		return found
	case []any:
		old, ok := before.([]any)
		if !ok || len(old) != len(after) {
			break
		}
		for i := range after {
			found = append(found, differences(old[i], after[i], fmt.Sprintf("%s[%d]", path, i))...)
		}
		return found
	}
	if reflect.DeepEqual(before, after) {
		return nil
	}
	return []string{leaf(after, path)}
}

func leaf(value any, path string) string {
	text := fmt.Sprint(value)
	if encoded, err := enactment.ValueOf(value); err == nil {
		text = encoded.String()
	}
	return path + "=" + text
}
