package story_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/strabo-engine/strabo/cmd/strabo/internal/story"
)

// odd draws texts of what terminals obey, of what they print, and of bytes that are no text.
func odd(t *rapid.T) string {
	parts := rapid.SliceOf(rapid.OneOf(
		rapid.SampledFrom([]string{"\u009b31m", "\u202e", "\u2066", "\U000e0001", "\u2028", "\x7f", "\x1b[2J", "\ufffd", "\xff", "é"}),
		rapid.String(),
	)).Draw(t, "parts")
	return strings.Join(parts, "")
}

func obeyed(r rune) bool { return r != utf8.RuneError && !unicode.IsPrint(r) }

func TestNothingForeignIsObeyed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := odd(t)
		require.Negative(t, strings.IndexFunc(story.Printable(text), obeyed))
		short := story.Short(text, 10)
		require.Negative(t, strings.IndexFunc(short, obeyed))
		require.LessOrEqual(t, utf8.RuneCountInString(short), 13)
	})
}

// TestEscapedJSONSaysTheSame: JSON that is escaped holds nothing that a terminal would obey, and means what it meant.
func TestEscapedJSONSaysTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := odd(t)
		var out, want bytes.Buffer
		require.NoError(t, json.NewEncoder(story.EscapeJSON(&out)).Encode([]string{text, "a"}))
		require.NoError(t, json.NewEncoder(&want).Encode([]string{text, "a"}))
		require.Negative(t, strings.IndexFunc(strings.TrimSuffix(out.String(), "\n"), obeyed), "%q", out.String())
		require.JSONEq(t, want.String(), out.String())
	})
}
