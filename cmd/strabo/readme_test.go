package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/langshaw"
	"github.com/strabo-engine/strabo/protocols"
	"github.com/strabo-engine/strabo/syncserver"
)

func sell(ctx context.Context, rules *enactment.Rules, executor adapter.Executor) error {
	seller, err := adapter.New(rules, "Seller", executor)
	if err != nil {
		return err
	}
	seller.OnEnabled("Quote", func(ctx context.Context, f *adapter.FeasibleAction) error {
		f.Bind("price", 20)
		return f.Attempt(ctx).Err(ctx)
	})
	seller.OnEnabled("Instruct", func(ctx context.Context, f *adapter.FeasibleAction) error {
		fmt.Println("ship", f.Known["item"], "to", f.Known["address"])
		f.Bind("fee", 3)
		return f.Attempt(ctx).Err(ctx)
	})
	return seller.Run(ctx)
}

// buy takes whatever is quoted, once, and returns when it is told that it was shipped.
func buy(ctx context.Context, rules *enactment.Rules, executor adapter.Executor) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	buyer, err := adapter.New(rules, "Buyer", executor)
	if err != nil {
		return err
	}
	buyer.OnEnabled("Accept", func(ctx context.Context, f *adapter.FeasibleAction) error {
		f.Bind("address", "12 Harbour Street")
		f.Bind("payment", "paper")
		return f.Attempt(ctx).Err(ctx)
	})
	buyer.OnObservation("Instruct", func(context.Context, adapter.Observation) error {
		cancel()
		return nil
	})
	buyer.Attempt(ctx, "RFQ", adapter.Values{"ID": 1, "item": "fig"})
	return buyer.Run(ctx)
}

// trade has the agent of the README sell to one buyer.
func trade(rules *enactment.Rules, executor adapter.Executor) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	sold := make(chan error)
	go func() { sold <- sell(ctx, rules, executor) }()
	err := buy(ctx, rules, executor)
	cancel()
	return errors.Join(err, <-sold)
}

func Example_sell() {
	rules, err := protocols.Load("purchase")
	if err != nil {
		fmt.Println(err)
		return
	}
	local := syncserver.NewLocal(rules)
	defer local.Close()
	if err := trade(rules, local); err != nil {
		fmt.Println(err)
	}
	// Output: ship "fig" to "12 Harbour Street"
}

// TestPurchaseOnEveryExecutor has the agents of the README meet on whatever the flags of a command say.
func TestPurchaseOnEveryExecutor(t *testing.T) {
	for _, executor := range []string{onLocal, onProcess, onNATS} {
		for _, finalize := range []string{"immediate", "batch"} {
			t.Run(executor+" "+finalize, func(t *testing.T) {
				flags := engineFlags{
					Executor: executor, Durability: inMemory, finalizeFlags: finalizeFlags{Finalize: finalize, Window: 2 * time.Millisecond},
				}
				all, err := flags.engines(slog.New(slog.DiscardHandler))
				require.NoError(t, err)
				defer all.close()
				rules, err := protocols.Load("purchase")
				require.NoError(t, err)
				var mu sync.Mutex
				var happened []string
				executor, err := all.of(t.Context(), "purchase")(rules, func(r enactment.Record) {
					mu.Lock()
					defer mu.Unlock()
					happened = append(happened, strings.TrimSpace(fmt.Sprint(r.Kind, " ", r.Action)))
				})
				require.NoError(t, err)
				defer executor.Close()
				require.NoError(t, trade(rules, executor))
				executor.Close() // What was delivered may be recorded only now.
				mu.Lock()
				defer mu.Unlock()
				require.Equal(t, []string{"happened RFQ", "happened Quote", "happened Accept", "happened Instruct"}, happened)
			})
		}
	}
}

func readme(t *testing.T) string { return document(t, "README.md") }

// document reads a document by its path from the root of the repository.
func document(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{"..", ".."}, path...)...))
	require.NoError(t, err)
	return string(text)
}

// fenced gives the blocks of the README in one language.
func fenced(text, language string) []string {
	var blocks []string
	for _, found := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(text, -1) {
		blocks = append(blocks, found[1])
	}
	return blocks
}

func TestAgentOfTheReadmeIsTheOneTested(t *testing.T) {
	source, err := os.ReadFile("readme_test.go")
	require.NoError(t, err)
	for _, block := range fenced(readme(t), "go") {
		require.Contains(t, string(source), block)
	}
}

// command is a line of a console block with what it is said to print.
type command struct{ line, output string }

func commands(block string) []command {
	var all []command
	for line := range strings.Lines(block) {
		if text, ok := strings.CutPrefix(line, "$ "); ok {
			all = append(all, command{line: strings.TrimSpace(text)})
		} else if len(all) > 0 {
			all[len(all)-1].output += line
		}
	}
	return all
}

// words splits a command line as a shell does that knows of single quotes only.
func words(line string) []string {
	var all []string
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			all = append(all, part)
		} else {
			all = append(all, strings.Fields(part)...)
		}
	}
	return all
}

func TestCommandsOfTheReadme(t *testing.T) { runCommands(t, readme(t)) }

// runCommands runs every command of a document and checks that it prints what stands below it, if anything does. The
// commands of strabo run in this process; go test is what runs this, so it is enough that the CI script runs the very
// same line.
func runCommands(t *testing.T, text string) {
	t.Helper()
	blocks := fenced(text, "console")
	t.Chdir(filepath.Join("..", ".."))
	ci, err := os.ReadFile(filepath.Join(".ci", "run"))
	require.NoError(t, err)
	count := 0
	for _, block := range blocks {
		for _, c := range commands(block) {
			count++
			arguments, ok := strings.CutPrefix(c.line, "go run ./cmd/strabo ")
			if !ok {
				require.Contains(t, string(ci), " "+c.line+"\n")
				continue
			}
			t.Run(c.line, func(t *testing.T) {
				output, fails := strings.CutSuffix(c.output, "exit status 1\n")
				want := exitFine
				if fails {
					want = exitNo
				}
				var out, failures bytes.Buffer
				require.Equal(t, want, run(words(arguments), strings.NewReader(""), &out, &failures), failures.String())
				if output != "" {
					require.Equal(t, output, out.String())
				}
			})
		}
	}
	require.Positive(t, count)
}

// The protocols of the README are the files that it names before them.
func TestProtocolsOfTheReadme(t *testing.T) {
	text := readme(t)
	for _, block := range fenced(text, "langshaw") {
		before, _, _ := strings.Cut(text, block)
		names := regexp.MustCompile(`docs/tutorial/[a-z0-9-]+\.lsh`).FindAllString(before, -1)
		require.NotEmpty(t, names)
		file, err := os.ReadFile(filepath.Join("..", "..", names[len(names)-1]))
		require.NoError(t, err)
		require.Equal(t, string(file), block)
	}
}

// The protocols in the documents have nothing wrong with them.
func TestProtocolsOfTheDocuments(t *testing.T) {
	documents, err := filepath.Glob(filepath.Join("..", "..", "docs", "*.md"))
	require.NoError(t, err)
	count := 0
	for _, document := range documents {
		text, err := os.ReadFile(document)
		require.NoError(t, err)
		for _, block := range fenced(string(text), "langshaw") {
			count++
			_, diagnostics := langshaw.Parse([]byte(block))
			require.Empty(t, diagnostics, document)
		}
	}
	require.Positive(t, count)
}
