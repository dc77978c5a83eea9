package explain_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/cmd/strabo/internal/explain"
	"github.com/strabo-engine/strabo/cmd/strabo/internal/simulation"
	"github.com/strabo-engine/strabo/cmd/strabo/internal/table"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/langshaw"
	"github.com/strabo-engine/strabo/protocols"
)

func rulesOf(t testing.TB, text string) *enactment.Rules {
	t.Helper()
	protocol, diagnostics := langshaw.Parse([]byte(text))
	require.False(t, diagnostics.HasErrors(), diagnostics.Error())
	rules, err := enactment.Compile(protocol)
	require.NoError(t, err)
	return rules
}

func textOf(t testing.TB, rules *enactment.Rules) string {
	t.Helper()
	var text strings.Builder
	require.NoError(t, explain.Of(rules).WriteText(&text))
	return text.String()
}

// witness holds what an explanation says against what happens.
type witness struct {
	*testing.T
	said     *explain.Explanation
	actions  map[string]explain.Action
	happened map[string]bool
	bound    map[string]bool
	// inner tells that there are keys besides the root key.
	inner bool
}

func (w *witness) saw(f enactment.Finalisation) {
	complete := w.complete()
	for i := range f.Instances {
		a := w.actions[f.Instances[i].Action]
		require.Empty(w, a.Never, a.Action)
		require.True(w, len(w.happened) > 0 || a.Begins, "%s began", a.Action)
		for _, r := range a.After {
			require.True(w, w.happened[r.Action], "%s before %s", a.Action, r.Action)
		}
		if w.inner {
			continue // what follows is only so for each value
		}
		for _, name := range a.NotOnce {
			require.False(w, w.happened[name], "%s after %s", a.Action, name)
		}
		for _, name := range a.Binds {
			require.False(w, w.bound[name], "%s binds %s", a.Action, name)
		}
		for _, name := range a.Repeats {
			require.True(w, w.bound[name], "%s repeats %s", a.Action, name)
		}
		for _, need := range a.Needs {
			require.True(w, w.bound[need.Attribute], "%s needs %s", a.Action, need.Attribute)
		}
	}
	for _, i := range f.Instances {
		w.happened[i.Action] = true
		for name := range i.Values() {
			w.bound[name] = true
		}
	}
	if !w.inner {
		require.Equal(w, f.Completed, !complete && w.complete())
	}
}

func (w *witness) complete() bool {
	if len(w.happened) == 0 {
		return false
	}
	for _, goal := range w.said.Complete {
		met := false
		for _, alternative := range goal.AnyOf {
			for _, by := range alternative.By {
				met = met || w.happened[by]
			}
		}
		if !met {
			return false
		}
	}
	return true
}

// requireTrue enacts a protocol at random and holds what is said of it against what happens.
func requireTrue(t *testing.T, rules *enactment.Rules) {
	t.Helper()
	said := explain.Of(rules)
	actions := make(map[string]explain.Action)
	for _, a := range said.Actions {
		actions[a.Action] = a
	}
	for seed := range uint64(30) {
		_, end, err := simulation.Enact(t.Context(), rules, simulation.Options{Seed: seed, Batch: seed%2 == 0, Keys: 2})
		require.NoError(t, err)
		w := &witness{t, said, actions, make(map[string]bool), make(map[string]bool), len(table.InnerKeys(rules.Protocol())) > 0}
		for _, f := range end.Log() {
			w.saw(f)
		}
	}
}

func TestWhatIsSaidIsTrue(t *testing.T) {
	for _, name := range protocols.Names() {
		rules, err := protocols.Load(name)
		require.NoError(t, err)
		requireTrue(t, rules)
	}
	corpus := os.Getenv("STRABO_CORPUS")
	if corpus == "" {
		corpus = filepath.Join("..", "..", "..", "..", "..", "shared", "corpus")
	}
	files, err := filepath.Glob(filepath.Join(corpus, "langshaw", "random", "*.lsh"))
	require.NoError(t, err)
	if len(files) == 0 {
		t.Skip("the corpus of real protocols is not here; set STRABO_CORPUS to its folder")
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		t.Run(filepath.Base(file), func(t *testing.T) { requireTrue(t, rulesOf(t, string(text))) })
	}
}

func TestSentences(t *testing.T) {
	const head = "P\nwho A, B, C\nwhat ID key, QID key, Last\ndo\n"
	for name, of := range map[string]struct {
		text     string
		expected []string
	}{
		"keys": {
			head + " A: First(ID, x)\n B: Many(ID, QID, First, y)\n A: Last(ID, QID, Many, y)\n A: Seal(ID, Last)\nsayso\n A: x\n B: y\nnono\n Many Seal\nnogo\n Last -/> Many\n",
			[]string{
				"Many: once for each QID (QID may be a new one), after First, unless Last or Seal has happened. It binds y.",
				"Last: once, after Many with the same QID. It repeats y.",
				"y: B alone, once for each QID.",
				"QID: whoever first uses it.",
				"Many and Seal exclude each other: once one has happened, the other may not.",
				"Once Last has happened, Many may no longer happen for the same QID.",
			},
		},
		"never": {
			head + " A: First(ID, x)\n B: Second(ID, First)\n C: Last(x)\nsayso\n A: z\n",
			[]string{
				"First: never, since nobody may bind x.", "Second: never, since it comes after First, which never happens.",
				"Last: never, since it carries no key.", "Nobody may begin, so nothing ever happens.",
				"x: nobody may bind it.", "z: no action carries it, so nobody ever binds it.",
			},
		},
		"sight": {
			head + " A: First(ID, x, y)\n B: Last(ID, x)\n B: Other(ID, z)\n C: Own(ID, w)\nsayso\n A > B > C: x\n A: y\n B: z\n C: w\n",
			[]string{
				"First: A sees all of it; B sees ID and x; C sees nothing of it.",
				"Own: C sees all of it; A and B see nothing of it.",
				"by A and B: x.", "by C: w.",
				"x: A, before B, before C. The first to bind it decides; when several try at once, the one named first here.",
			},
		},
		"no root key": {
			"P\nwho A, B\nwhat ID key, QID key, One or Two\ndo\n A: One(ID)\n B: Two(QID)\n",
			[]string{"No key is carried by all actions, so all that ever happens is one enactment.", "With One of A or Two of B."},
		},
		"not at the beginning": {
			"P\nwho A, B\nwhat ID key, One, Two\ndo\n A: One(ID)\n B: Two(ID)\nsayso\n A: ID\n",
			[]string{"Two: once, as soon as the enactment has begun.", "ID: only A may use a new one.", "With One of A, under a new ID."},
		},
		"idle": {"P\nwho A, B\nwhat ID key, x or One\ndo\n A: One(ID)\n", []string{"Nothing: it has no actions."}},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Join(strings.Fields(textOf(t, rulesOf(t, of.text))), " ")
			for _, expected := range of.expected {
				require.Contains(t, text, expected)
			}
		})
	}
}

// A large protocol is explained in good time, and no line is wider than it should be.
func TestLarge(t *testing.T) {
	var text strings.Builder
	text.WriteString("Large\nwho A, B\nwhat ID key, Act199\ndo\n A: Act0(ID, x0)\n")
	for i := 1; i < 200; i++ {
		fmt.Fprintf(&text, " %c: Act%d(ID, Act%d, x%d)\n", 'A'+i%2, i, i-1, i)
	}
	text.WriteString("sayso\n")
	for i := range 200 {
		fmt.Fprintf(&text, " %c: x%d\n", 'A'+i%2, i)
	}
	said := textOf(t, rulesOf(t, text.String()))
	for line := range strings.Lines(said) {
		require.LessOrEqual(t, len(line), 89)
	}
}

// JSON has lists, never null.
func TestJSONHasNoNull(t *testing.T) {
	for _, name := range protocols.Names() {
		rules, err := protocols.Load(name)
		require.NoError(t, err)
		var text strings.Builder
		require.NoError(t, explain.Of(rules).WriteJSON(&text))
		require.NotContains(t, text.String(), "null")
		var read explain.Explanation
		require.NoError(t, json.Unmarshal([]byte(text.String()), &read))
		require.Equal(t, explain.Of(rules), &read)
	}
}
