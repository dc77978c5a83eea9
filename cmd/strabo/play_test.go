package main

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"
)

// terminal is a person at a pseudo-terminal.
type terminal struct {
	t    *testing.T
	side *os.File
	seen string
}

// expect reads until the program has written what is wanted, and forgets what came before.
func (p *terminal) expect(wanted string) {
	p.t.Helper()
	buffer := make([]byte, 4096)
	for !strings.Contains(p.seen, wanted) {
		n, err := p.side.Read(buffer)
		require.NoError(p.t, err, "waiting for %q after %q", wanted, p.seen)
		p.seen += string(buffer[:n])
	}
	_, p.seen, _ = strings.Cut(p.seen, wanted)
}

func (p *terminal) enter(text string) {
	p.t.Helper()
	_, err := p.side.WriteString(text)
	require.NoError(p.t, err)
}

// At a terminal the program asks for each line and each value.
func TestPlayAtATerminal(t *testing.T) {
	side, far, err := pty.Open()
	if errors.Is(err, pty.ErrUnsupported) || errors.Is(err, os.ErrNotExist) {
		t.Skip("there are no pseudo-terminals here")
	}
	require.NoError(t, err)
	defer side.Close()
	defer far.Close()
	var stderr bytes.Buffer
	code := make(chan int, 1)
	go func() { code <- run([]string{"play", "--role", "Buyer", "purchase"}, far, far, &stderr) }()

	p := &terminal{t: t, side: side}
	p.expect("You play Buyer; Seller and Shipper act at random (seed 1).")
	p.expect("\r\n> ")
	p.enter("why Accept\n")
	p.expect("Accept needs Quote, which has not happened; Seller may do it (not_enabled)\r\n> ")
	p.enter("1\n")
	p.expect(`  ID (a key: any new value) ["ID-1"]: `)
	p.enter("order 7\n")
	p.expect(`  item (sayso Buyer > Seller) ["item-1"]: `)
	p.enter("\n")
	p.expect(`  Buyer  [order 7]  RFQ  item="item-1"`)
	p.expect(`  Seller  [order 7]  Quote  price="price-1"`)
	p.expect("\r\n> ")
	p.enter("undo\n")
	p.expect("Undone.")
	p.expect("  1  Buyer: RFQ\r\n")
	p.expect("\r\n> ")
	p.enter("\x04") // the end of the input
	require.Zero(t, <-code, stderr.String())
	require.Empty(t, stderr.String())
}
