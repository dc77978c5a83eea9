package simulation_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/cmd/strabo/internal/simulation"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/langshaw"
	"github.com/strabo-engine/strabo/protocols"
	"github.com/strabo-engine/strabo/syncserver"
)

func rulesOf(t testing.TB, text string) *enactment.Rules {
	t.Helper()
	protocol, diagnostics := langshaw.Parse([]byte(text))
	require.False(t, diagnostics.HasErrors(), diagnostics.Error())
	rules, err := enactment.Compile(protocol)
	require.NoError(t, err)
	return rules
}

func record(rules *enactment.Rules, options simulation.Options) (simulation.Ending, []string) {
	var lines []string
	options.Recorder = func(r enactment.Record) {
		line, err := json.Marshal(r)
		if err != nil {
			panic(err)
		}
		lines = append(lines, string(line))
	}
	ending, _, err := simulation.Enact(context.Background(), rules, options)
	if err != nil {
		panic(err)
	}
	return ending, lines
}

func TestSameSeedSameRun(t *testing.T) {
	different := 0
	for _, name := range protocols.Names() {
		rules, err := protocols.Load(name)
		require.NoError(t, err)
		for seed := range uint64(8) {
			options := simulation.Options{Seed: seed, Batch: seed%2 == 0, Keys: 3}
			ending, first := record(rules, options)
			again, second := record(rules, options)
			require.Equal(t, ending, again)
			require.Empty(t, cmp.Diff(first, second))
			options.Seed += 2
			if _, other := record(rules, options); !cmp.Equal(first, other) {
				different++
			}
		}
	}
	require.Greater(t, different, 20, "seeds matter")
}

// An executor that is given the attempts of a run answers and records the same.
func TestExecutorAgrees(t *testing.T) {
	for _, name := range protocols.Names() {
		source, err := protocols.Source(name)
		require.NoError(t, err)
		rules := rulesOf(t, string(source)) // without its companion: what is hidden could not be attempted again
		for seed := range uint64(8) {
			var told, again []enactment.Record
			_, _, err := simulation.Enact(t.Context(), rules, simulation.Options{
				Seed: seed, Keys: 3, Recorder: func(r enactment.Record) { told = append(told, r) },
			})
			require.NoError(t, err)
			local := syncserver.NewLocal(rules, syncserver.WithRecorder(func(r enactment.Record) { again = append(again, r) }))
			for _, r := range told {
				if r.Kind == enactment.Completed {
					continue
				}
				_, err := local.Attempt(t.Context(), enactment.Attempt{
					ID: r.Attempt, Identity: enactment.Identity{Role: r.Role}, Action: r.Action, Values: r.Values,
				})
				require.NoError(t, err)
			}
			local.Close()
			require.Empty(t, cmp.Diff(told, again, cmpopts.IgnoreFields(enactment.Record{}, "At")))
		}
	}
}

// Every shipped protocol is live, and a few runs show all of it.
func TestShippedProtocols(t *testing.T) {
	for _, name := range protocols.Names() {
		for _, batch := range []bool{false, true} {
			rules, err := protocols.Load(name)
			require.NoError(t, err)
			summary, err := simulation.Summarise(t.Context(), rules, simulation.Options{Seed: 1, Batch: batch, Keys: 3}, 150)
			require.NoError(t, err)
			require.Equal(t, map[simulation.Ending]int{simulation.Complete: 150, simulation.Stuck: 0, simulation.Unfinished: 0}, summary.Endings, name)
			for _, action := range summary.Actions {
				require.Positive(t, action.Happened, "%s: %s", name, action.Action)
			}
			if !batch {
				require.Zero(t, summary.Refused[enactment.Dominated], "nobody dominates an attempt that is judged alone")
			}
			for _, code := range []enactment.Code{enactment.Malformed, enactment.NoSayso, enactment.NotEnabled, enactment.Missing} {
				require.Zero(t, summary.Refused[code], "agents attempt what is enabled as far as they know")
			}
		}
	}
}

func TestEndings(t *testing.T) {
	stuck := rulesOf(t, "P\nwho A, B\nwhat ID key, Second\ndo\n A: First(ID)\n B: Second(ID, First, x)\n")
	ending, _ := record(stuck, simulation.Options{Keys: 1})
	require.Equal(t, simulation.Stuck, ending, "nobody may bind x")

	endless := rulesOf(t, "P\nwho A\nwhat ID key, K key, End\ndo\n A: Begin(ID)\n A: First(ID, K)\n A: End(ID, K, First)\nnogo\n First -/> End\n")
	ending, lines := record(endless, simulation.Options{Keys: 2})
	require.Equal(t, simulation.Unfinished, ending, "First may happen for more and more K")
	require.Len(t, lines, 3)

	nothing := rulesOf(t, "P\nwho A\nwhat ID key, B\ndo\n A: B(x)\n")
	ending, lines = record(nothing, simulation.Options{Keys: 1})
	require.Equal(t, simulation.Stuck, ending)
	require.Empty(t, lines)
}

// What a run shows is held against verdicts that were reached in another way: a run gets stuck only if the protocol is
// not live, and nothing happens that is dead.
func TestRunsAgreeWithVerdicts(t *testing.T) {
	corpus := os.Getenv("STRABO_CORPUS")
	if corpus == "" {
		corpus = filepath.Join("..", "..", "..", "..", "..", "shared", "corpus")
	}
	text, err := os.ReadFile(filepath.Join(corpus, "langshaw", "random", "verdicts.json"))
	if err != nil {
		t.Skip("the corpus of real protocols is not here; set STRABO_CORPUS to its folder")
	}
	var verdicts map[string]struct {
		Live bool
		Dead []string
	}
	require.NoError(t, json.Unmarshal(text, &verdicts))
	for file, verdict := range verdicts {
		text, err := os.ReadFile(filepath.Join(corpus, "langshaw", "random", file))
		require.NoError(t, err)
		summary, err := simulation.Summarise(t.Context(), rulesOf(t, string(text)), simulation.Options{Seed: 1, Batch: true, Keys: 3}, 5)
		require.NoError(t, err)
		require.False(t, verdict.Live && summary.Endings[simulation.Stuck] > 0, file)
		for _, action := range summary.Actions {
			require.False(t, action.Happened > 0 && slices.Contains(verdict.Dead, action.Action), file)
		}
	}
}

func BenchmarkEnact(b *testing.B) {
	rules, err := protocols.Load("simple-ucp-update")
	require.NoError(b, err)
	b.ReportAllocs()
	for seed := range b.N {
		if _, _, err := simulation.Enact(b.Context(), rules, simulation.Options{Seed: uint64(seed), Keys: 3}); err != nil {
			b.Fatal(err)
		}
	}
}
