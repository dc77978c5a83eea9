package diagram

import (
	"cmp"
	"slices"
)

// The measures of a chart drawn as SVG, in pixels, beyond those of sequences.
const (
	lanePadding = 26.0
	boxGap      = 26.0
	layerGap    = 36.0
	laneHead    = 34.0
	trackGap    = 9.0
)

// chartLayout is a chart with a place for everything: lanes side by side, and in them boxes in layers, each below what
// it needs.
type chartLayout struct {
	chart  *Chart
	boxes  map[*node]*chartBox
	layers [][]*chartBox // each from left to right
	lines  []*chartLine
	// left has the left edges of the lanes, and the right edge of the last.
	left []float64
	// tops and bottoms are those of the layers.
	tops, bottoms []float64
	// top and bottom are those of the lanes.
	top, bottom float64
	width       float64
	// labels are those written so far.
	labels []labelPlace
}

// chartBox is an action, or the point to which the actions of a large nono are tied.
type chartBox struct {
	node        *node // nil for a point
	lane, layer int
	// x is the middle, y the upper edge.
	x, y, width, height float64
	lines               [][]attribute
}

func (b *chartBox) bottom() float64 { return b.y + b.height }

func newChartLayout(c *Chart) *chartLayout {
	l := &chartLayout{chart: c, boxes: make(map[*node]*chartBox)}
	for i, lane := range c.lanes {
		for _, n := range lane.nodes {
			l.boxes[n] = newChartBox(n, i)
		}
	}
	l.layer()
	for _, e := range c.edges {
		l.lines = append(l.lines, &chartLine{from: l.boxes[e.from], to: l.boxes[e.to], kind: e.kind, labels: e.labels})
	}
	l.addHubs()
	l.stack()
	// Boxes of one lane and layer are put in the order of what they are tied to.
	for range 4 {
		l.placeAcross()
		l.order()
	}
	l.placeAcross()
	l.classify()
	l.placeDown()
	l.route()
	return l
}

func newChartBox(n *node, lane int) *chartBox {
	b := &chartBox{node: n, lane: lane, lines: n.wrapped()}
	b.width = textWidth(n.name, actionSize) * 1.08
	for _, line := range b.lines {
		width := 0.0
		for _, a := range line {
			width += textWidth(a.name, smallSize) + attributeGap
		}
		b.width = max(b.width, width-attributeGap)
	}
	b.width += 2 * boxPadding
	b.height = lineHeight*float64(1+len(b.lines)) + boxPadding
	return b
}

// layer gives each action a layer below those of the actions that it needs; the actions of a row share one. What is in
// a circle, which is dead, stands where it comes.
func (l *chartLayout) layer() {
	leader := make(map[*node]*node)
	for _, row := range l.chart.rows {
		for _, n := range row {
			leader[n] = row[0]
		}
	}
	of := func(n *node) *node { return cmp.Or(leader[n], n) }
	after := make(map[*node][]*node)
	for _, e := range l.chart.edges {
		if e.kind == reference || e.kind == flow {
			after[of(e.from)] = append(after[of(e.from)], of(e.to))
		}
	}
	var order []*node // from the last to the first
	position := make(map[*node]int)
	var visit func(n *node)
	visit = func(n *node) {
		if _, seen := position[n]; seen {
			return
		}
		position[n] = -1
		for _, next := range after[n] {
			visit(next)
		}
		position[n] = len(order)
		order = append(order, n)
	}
	for _, lane := range l.chart.lanes {
		for _, n := range lane.nodes {
			visit(of(n))
		}
	}
	layers := make(map[*node]int)
	for _, n := range slices.Backward(order) {
		for _, next := range after[n] {
			if position[next] < position[n] {
				layers[next] = max(layers[next], layers[n]+1)
			}
		}
	}
	for n, b := range l.boxes {
		b.layer = layers[of(n)]
	}
}

// addHubs adds a point above the actions of each large nono, and lines to them.
func (l *chartLayout) addHubs() {
	first := 0
	var hubs []*chartBox
	for _, members := range l.chart.hubs {
		hub := &chartBox{lane: l.boxes[members[0]].lane, layer: l.boxes[members[0]].layer, width: hubSize, height: hubSize}
		for _, n := range members {
			hub.layer = min(hub.layer, l.boxes[n].layer)
			l.lines = append(l.lines, &chartLine{from: hub, to: l.boxes[n], kind: tie})
		}
		hub.layer--
		first = min(first, hub.layer)
		hubs = append(hubs, hub)
	}
	for _, b := range l.boxes {
		b.layer -= first
	}
	for _, hub := range hubs {
		hub.layer -= first
		l.add(hub)
	}
}

func (l *chartLayout) add(b *chartBox) {
	for len(l.layers) <= b.layer {
		l.layers = append(l.layers, nil)
	}
	l.layers[b.layer] = append(l.layers[b.layer], b)
}

// stack puts the boxes in their layers, lane by lane and in the order of the text.
func (l *chartLayout) stack() {
	for _, lane := range l.chart.lanes {
		for _, n := range lane.nodes {
			l.add(l.boxes[n])
		}
	}
	for _, layer := range l.layers {
		slices.SortStableFunc(layer, func(a, b *chartBox) int { return cmp.Compare(a.lane, b.lane) })
	}
}

// order sorts the boxes of one lane and layer by the middle of what they are tied to.
func (l *chartLayout) order() {
	sum, count := make(map[*chartBox]float64), make(map[*chartBox]float64)
	for _, line := range l.lines {
		sum[line.from] += line.to.x
		sum[line.to] += line.from.x
		count[line.from]++
		count[line.to]++
	}
	middle := func(b *chartBox) float64 {
		if count[b] == 0 {
			return b.x
		}
		return sum[b] / count[b]
	}
	for _, layer := range l.layers {
		slices.SortStableFunc(layer, func(a, b *chartBox) int {
			return cmp.Or(cmp.Compare(a.lane, b.lane), cmp.Compare(middle(a), middle(b)))
		})
	}
}

// placeAcross makes the lanes as wide as they must be, and places the boxes in their middle.
func (l *chartLayout) placeAcross() {
	widths := make([]float64, len(l.chart.lanes))
	for i, lane := range l.chart.lanes {
		widths[i] = textWidth(lane.role, roleSize)*1.08 + lanePadding
	}
	totals := make([][]float64, len(l.layers))
	for i, layer := range l.layers {
		totals[i] = make([]float64, len(widths))
		for _, b := range layer {
			if totals[i][b.lane] > 0 {
				totals[i][b.lane] += boxGap
			}
			totals[i][b.lane] += b.width
		}
		for lane, total := range totals[i] {
			widths[lane] = max(widths[lane], total+2*lanePadding)
		}
	}
	l.left = []float64{margin}
	for lane, width := range widths {
		l.left = append(l.left, l.left[lane]+width)
	}
	for i, layer := range l.layers {
		x := make([]float64, len(widths))
		for lane := range x {
			x[lane] = (l.left[lane] + l.left[lane+1] - totals[i][lane]) / 2
		}
		for _, b := range layer {
			b.x = x[b.lane] + b.width/2
			x[b.lane] += b.width + boxGap
		}
	}
	l.width = l.left[len(l.left)-1] + margin
}

// placeDown places the layers, with room between them for the lines that go there.
func (l *chartLayout) placeDown() {
	tracks := make([]int, len(l.layers))
	crowd := make([]float64, len(l.layers)+1)
	for _, line := range l.lines {
		if line.shape == over {
			tracks[line.from.layer] = max(tracks[line.from.layer], line.track+1)
		} else if line.shape == down {
			upper, lower := line.ends()
			for i := upper.layer + 1; i <= lower.layer; i++ {
				crowd[i]++
			}
		}
	}
	l.top = margin + titleSize + 12 + lineHeight*float64(len(l.chart.captions())) + 6
	y := l.top + laneHead
	l.tops, l.bottoms = make([]float64, len(l.layers)), make([]float64, len(l.layers))
	for i, layer := range l.layers {
		if i > 0 {
			y += layerGap + min(3*crowd[i], layerGap)
		}
		if tracks[i] > 0 {
			y += arcHeight + trackGap*float64(tracks[i]-1)
		}
		height := 0.0
		for _, b := range layer {
			height = max(height, b.height)
		}
		l.tops[i], l.bottoms[i] = y, y+height
		for _, b := range layer {
			b.y = y + (height-b.height)/2
		}
		y += height
	}
	l.bottom = y + lanePadding
}
