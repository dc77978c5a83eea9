package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/langshaw"
	"github.com/strabo-engine/strabo/langshaw/verify"
	"github.com/strabo-engine/strabo/protocols"
)

func TestCommandsOfTheUCPDocument(t *testing.T) { runCommands(t, document(t, "docs", "ucp.md")) }

func TestAgentsOfTheUCPDocumentAreThoseTested(t *testing.T) {
	source := document(t, "protocols", "ucp_example_test.go")
	blocks := fenced(document(t, "docs", "ucp.md"), "go")
	require.NotEmpty(t, blocks)
	for _, block := range blocks {
		require.Contains(t, source, block)
	}
}

// What the document says of a naive protocol is so: live, safe, and wrong.
func TestNaiveProtocolOfTheUCPDocument(t *testing.T) {
	blocks := fenced(document(t, "docs", "ucp.md"), "langshaw")
	require.Len(t, blocks, 1)
	protocol, diagnostics := langshaw.Parse([]byte(blocks[0]))
	require.Empty(t, diagnostics)
	query, err := verify.ParseQuery("never Complete between Update and Updated")
	require.NoError(t, err)
	report := verify.Verify(t.Context(), protocol, verify.Options{Queries: []verify.Query{query}})
	require.Equal(t, verify.Yes, report.Live)
	require.Equal(t, verify.Yes, report.Safe)
	require.Equal(t, verify.No, report.Answers[0].Holds)
}

// The document names every guard, and everything that a role does in the protocols that it tells of.
func TestTheUCPDocumentIsWhole(t *testing.T) {
	text := document(t, "docs", "ucp.md")
	for _, name := range []string{"simple-ucp", "simple-ucp-update", "ucp-incremental"} {
		rules, err := protocols.Load(name)
		require.NoError(t, err)
		for action := range rules.Protocol().Actions() {
			require.Contains(t, text, action.Name(), name)
		}
		for guard := range rules.Guards() {
			require.Contains(t, text, "| `"+guard.Name+"` |", name)
		}
	}
}

// A protocol that is loaded from its file is the same as by its name: guards and secrets are in the companion beside it.
func TestFilesAreTheProtocolsThatShip(t *testing.T) {
	for _, name := range protocols.Names() {
		shipped, err := protocols.Load(name)
		require.NoError(t, err)
		from, err := openRules(nil, "../../protocols/"+name+".lsh")
		require.NoError(t, err)
		require.Equal(t, shipped.Hash(), from.Hash(), name)
		require.Equal(t, shipped.Samples("rev"), from.Samples("rev"))
	}
}
