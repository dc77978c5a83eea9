package diagram_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/langshaw"
	"github.com/strabo-engine/strabo/langshaw/diagram"
)

const purchase = `Purchase & "more" <1>
who Buyer, Seller, Shipper
what ID key, Reject or Deliver
do
  Buyer: RFQ(ID, item)
  Seller: Quote(ID, item, price)
  Buyer: Accept(ID, Quote, price, address)
  Buyer: Reject(ID, Quote)
  Seller: Remind(ID, Quote)
  Seller: Instruct(ID, Accept, item, address)
  Shipper: Deliver(ID, item, address)
sayso
  Buyer > Seller: item
  Buyer: address
  Seller: price
nono
  Accept Reject
nogo
  Quote -/> RFQ
  Remind -/> Reject
  Reject -/> Remind
`

func parse(t require.TestingT, text string) *langshaw.Protocol {
	p, diagnostics := langshaw.Parse([]byte(text))
	require.False(t, diagnostics.HasErrors(), "%v", diagnostics)
	return p
}

func draw(t require.TestingT, p *langshaw.Protocol, options diagram.Options) *diagram.Chart {
	chart, err := diagram.Draw(p, options)
	require.NoError(t, err)
	return chart
}

// golden compares with a file, or with STRABO_UPDATE set rewrites it.
func golden(t *testing.T, name string, write func(io.Writer) error) {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, write(&out))
	file := filepath.Join("testdata", name)
	if os.Getenv("STRABO_UPDATE") != "" {
		require.NoError(t, os.WriteFile(file, out.Bytes(), 0o644))
	}
	require.Empty(t, cmp.Diff(string(readFile(t, file)), out.String()))
}

func TestChart(t *testing.T) {
	chart := draw(t, parse(t, purchase), diagram.Options{})
	golden(t, "purchase.dot", chart.WriteDot)
	golden(t, "purchase.mmd", chart.WriteMermaid)
}

func TestChartOfOneRole(t *testing.T) {
	chart := draw(t, parse(t, purchase), diagram.Options{Role: "Shipper", Sees: func(action string) (bool, []string) {
		return action == "Deliver" || action == "Instruct" || action == "Quote", []string{"price"}
	}})
	golden(t, "shipper.mmd", chart.WriteMermaid)
}

// TestManyActionsOfANono checks that the size of a chart does not grow with the square of a nono.
func TestManyActionsOfANono(t *testing.T) {
	text, names := "Many\nwho A\nwhat ID key, x0\ndo\n", ""
	for i := range 500 {
		text += fmt.Sprintf("  A: Act%d(ID)\n", i)
		names += fmt.Sprintf(" Act%d", i)
	}
	text = strings.Replace(text, "x0", "Act0", 1)
	chart := draw(t, parse(t, text+"nono\n "+names+"\n"), diagram.Options{})
	require.Equal(t, 1000, chart.Size())
}

func TestTooLarge(t *testing.T) {
	text := "Large\nwho A, B\nwhat ID key, x\ndo\n"
	for i := range 150 {
		text += fmt.Sprintf("  A: Give%d(ID, x)\n  B: Take%[1]d(ID, x)\n", i)
	}
	_, err := diagram.Draw(parse(t, text+"sayso\n  A: x\n"), diagram.Options{})
	require.ErrorIs(t, err, diagram.ErrTooLarge)
}

// TestManyActions draws what would take hours if time grew with the square of the actions.
func TestManyActions(t *testing.T) {
	var text strings.Builder
	text.WriteString("Many\nwho A, B\nwhat ID key, x\ndo\n")
	for i := range 30_000 {
		fmt.Fprintf(&text, "  A: Act%d(ID, x)\n", i)
	}
	chart := draw(t, parse(t, text.String()), diagram.Options{})
	require.Equal(t, 30_000, chart.Size())
	require.NoError(t, chart.WriteMermaid(io.Discard))
}

func TestSequence(t *testing.T) {
	p := parse(t, purchase)
	event := func(name string) diagram.Event {
		a, ok := p.Action(name)
		require.True(t, ok)
		return diagram.EventOf(p, a, func(role string) (bool, []string) {
			if role == "Shipper" {
				return name != "Reject", []string{"price"}
			}
			return true, nil
		})
	}
	quote := event("Quote")
	quote.Attributes[2] = `price="<1> & 2"`
	refused := event("Accept")
	refused.Refused, refused.To = "excluded; by #Reject", nil
	alone := event("Remind")
	alone.To = nil
	sequence := diagram.Sequence{
		Title: p.Name(), Roles: []string{"Buyer", "Seller", "Shipper"},
		Steps: []diagram.Step{{quote}, {event("Reject"), alone}, {refused}},
		End:   []string{"stuck:", "  what needs Deliver; nothing brings it"},
	}
	golden(t, "sequence.mmd", sequence.WriteMermaid)
	golden(t, "sequence.svg", func(w io.Writer) error { requireXML(t, sequence.WriteSVG); return sequence.WriteSVG(w) })
	seen := sequence.As("Shipper")
	require.Len(t, seen.Steps, 1)
	require.Equal(t, []string{"ID", "item"}, seen.Steps[0][0].Attributes)
	require.Equal(t, []string{"ID", "item", `price="<1> & 2"`}, sequence.Steps[0][0].Attributes)
	require.Len(t, sequence.As("Buyer").Steps, 3)
	requireXML(t, diagram.Sequence{}.WriteSVG)
	require.NoError(t, diagram.Sequence{End: []string{"x"}}.WriteMermaid(io.Discard))
}

func requireXML(t require.TestingT, write func(io.Writer) error) {
	var out bytes.Buffer
	require.NoError(t, write(&out))
	for decoder := xml.NewDecoder(&out); ; {
		if _, err := decoder.Token(); err == io.EOF {
			return
		} else {
			require.NoError(t, err)
		}
	}
}

func TestWriterFails(t *testing.T) {
	full := errors.New("the disk is full")
	w := failing{full}
	chart := draw(t, parse(t, purchase), diagram.Options{})
	sequence := diagram.Sequence{Roles: []string{"A"}}
	for _, write := range []func(io.Writer) error{chart.WriteDot, chart.WriteMermaid, chart.WriteSVG, sequence.WriteMermaid, sequence.WriteSVG} {
		require.ErrorIs(t, write(w), full)
	}
}

type failing struct{ err error }

func (w failing) Write([]byte) (int, error) { return 0, w.err }

func readFile(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return text
}

// FuzzDraw draws whatever can be read, with errors or without, and lets no text out of its quotes.
func FuzzDraw(f *testing.F) {
	f.Add(purchase)
	f.Add("\xff--> \x00\"\\\nwho A what ID key do A:end(ID) A:style(ID,end) nono\nend style")
	f.Fuzz(func(t *testing.T, text string) {
		p, _ := langshaw.Parse([]byte(text))
		chart, err := diagram.Draw(p, diagram.Options{})
		if err != nil {
			require.ErrorIs(t, err, diagram.ErrTooLarge)
			return
		}
		var out bytes.Buffer
		require.NoError(t, chart.WriteDot(&out))
		require.NoError(t, chart.WriteMermaid(&out))
		if chart.Size() <= 1000 {
			requireXML(t, chart.WriteSVG)
		}
		sequence := diagram.Sequence{Title: p.Name(), End: []string{text}}
		for role := range p.Roles() {
			sequence.Roles = append(sequence.Roles, role)
		}
		for a := range p.Actions() {
			sequence.Steps = append(sequence.Steps, diagram.Step{diagram.EventOf(p, a, func(string) (bool, []string) { return true, nil })})
		}
		require.NoError(t, sequence.WriteMermaid(&out))
		requireXML(t, sequence.WriteSVG)
	})
}
