// Package svg lays charts out as SVG. It runs Graphviz inside the process, compiled to WebAssembly, so that nothing has
// to be installed.
package svg

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/goccy/go-graphviz"

	"github.com/strabo-engine/strabo/langshaw/diagram"
)

// Graphviz knows the measures of one font by its name; whoever looks may have another of the same measures.
const (
	measured = `font-family="Helvetica,sans-Serif"`
	shown    = `font-family="Helvetica, Arial, 'Liberation Sans', sans-serif"`
)

// mostSize is how large a chart may be. Layout takes more than linear time, and does not notice that it is not wanted
// any more; this much takes half a minute.
const mostSize = 1000

// Write lays a chart out and writes it. It blocks while it does, which takes the longer the more there is to draw, and
// may be called from several goroutines. Errors are the writer's and the layout engine's, and [diagram.ErrTooLarge] for a
// chart of more than a thousand actions and relations.
func Write(ctx context.Context, w io.Writer, chart *diagram.Chart) (err error) {
	if size := chart.Size(); size > mostSize {
		return fmt.Errorf("%w: %d actions and relations, and %d can be laid out; write another format", diagram.ErrTooLarge, size, mostSize)
	}
	var text bytes.Buffer
	if err := chart.WriteDot(&text); err != nil {
		return err
	}
	engine, err := graphviz.New(ctx)
	if err != nil {
		return fmt.Errorf("cannot start the layout engine: %w", err)
	}
	defer engine.Close()
	graph, err := graphviz.ParseBytes(text.Bytes())
	if err != nil {
		return fmt.Errorf("cannot read the chart: %w", err)
	}
	defer graph.Close()
	var picture bytes.Buffer
	if err := engine.Render(ctx, graph, graphviz.SVG, &picture); err != nil {
		return fmt.Errorf("cannot lay the chart out: %w", err)
	}
	_, err = w.Write(bytes.ReplaceAll(picture.Bytes(), []byte(measured), []byte(shown)))
	return err
}
