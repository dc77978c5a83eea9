package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/strabo-engine/strabo/cmd/strabo/internal/lsp"
)

type lspCommand struct {
	Debounce time.Duration `name:"debounce" default:"200ms" help:"How long a text must rest before it is checked and verified."`
	Stdio    bool          `name:"stdio" help:"Speak over standard input and output; it always does, and some editors say so."`
}

// Help is shown by strabo lsp --help.
func (lspCommand) Help() string {
	return `Serves an editor that speaks the language server protocol (LSP 3.17), which starts it: diagnostics while you type ` +
		`(those of check, and of verify where the text has no errors and the protocol is not too large), what a name means ` +
		`(its scope, who has sayso, who sees it, what stops it), go to definition, references, completion, rename, formatting, ` +
		`the outline of the file. docs/editors.md tells how to set up an editor.

Exit status: 0 when the editor ended the session as it should, 1 when it just went away or the server was interrupted, 2 when it did not speak the protocol.`
}

func (lspCommand) examples() string {
	return `  strabo lsp                  Serve an editor.
  strabo lsp --debounce 1s    Check only what has rested for a second.
`
}

// Run serves until the editor ends the session. What goes wrong with the editor is logged on standard error.
func (c *lspCommand) Run(ctx context.Context, s *streams) error {
	err := lsp.Serve(ctx, s.in, s.out, lsp.Options{
		Version: version(), Debounce: max(c.Debounce, 0),
		Logger: slog.New(slog.NewTextHandler(s.err, nil)),
	})
	if errors.Is(err, lsp.ErrNoShutdown) || errors.Is(err, context.Canceled) {
		return errNo
	}
	return err
}
