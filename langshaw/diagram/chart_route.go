package diagram

import (
	"cmp"
	"math"
	"slices"
)

// tie is a line from the point of a large nono to one of its actions.
const tie = mutual + 1

// chartLine is a relation between two boxes.
type chartLine struct {
	from, to *chartBox
	kind     edgeKind
	labels   []string
	shape    lineShape
	// track tells lines apart that go over a layer, or straight between the same two boxes.
	track int
	// via is where the line crosses the layers between its ends, from the upper to the lower.
	via []float64
	// upperX and lowerX are where it leaves the upper box and reaches the lower; of two in one layer the left is upper.
	upperX, lowerX float64
}

type lineShape int

const (
	// down: from the bottom of a box to the top of one in a lower layer.
	down lineShape = iota
	// across: straight to the next box of the layer.
	across
	// over: from top to top, above what stands between.
	over
)

// ends gives the upper and the lower box, or of one layer the left and the right.
func (c *chartLine) ends() (upper, lower *chartBox) {
	if c.from.layer < c.to.layer || c.from.layer == c.to.layer && c.from.x <= c.to.x {
		return c.from, c.to
	}
	return c.to, c.from
}

// classify gives each line its shape.
func (l *chartLayout) classify() {
	index := make(map[*chartBox]int)
	for _, layer := range l.layers {
		for i, b := range layer {
			index[b] = i
		}
	}
	between := make(map[[2]*chartBox]int)
	spans := make(map[int][][2]int) // those already over a layer, by track
	for _, line := range l.lines {
		upper, lower := line.ends()
		switch {
		case upper.layer != lower.layer:
			line.shape = down
		case index[lower]-index[upper] == 1 && line.kind >= exclusion:
			line.shape = across
			line.track = between[[2]*chartBox{upper, lower}]
			between[[2]*chartBox{upper, lower}]++
		default:
			line.shape = over
			key := upper.layer
			span := [2]int{index[upper], index[lower]}
			for slices.ContainsFunc(spans[key*1000+line.track], func(s [2]int) bool { return s[0] < span[1] && span[0] < s[1] }) && line.track < 999 {
				line.track++
			}
			spans[key*1000+line.track] = append(spans[key*1000+line.track], span)
		}
	}
}

// route finds where lines leave and reach boxes, and where they pass the layers between.
func (l *chartLayout) route() {
	taken := make([][][2]float64, len(l.layers)) // stretches of each layer that are not free
	for i, layer := range l.layers {
		for _, b := range layer {
			taken[i] = append(taken[i], [2]float64{b.x - b.width/2 - 9, b.x + b.width/2 + 9})
		}
	}
	for _, line := range l.lines {
		if line.shape != down {
			continue
		}
		upper, lower := line.ends()
		steps := float64(lower.layer - upper.layer)
		for i := upper.layer + 1; i < lower.layer; i++ {
			wanted := upper.x + (lower.x-upper.x)*float64(i-upper.layer)/steps
			if len(line.via) > 0 {
				// Rather straight on than back and forth.
				wanted = (wanted + line.via[len(line.via)-1]) / 2
			}
			x := l.free(taken[i], wanted)
			line.via = append(line.via, x)
			taken[i] = append(taken[i], [2]float64{x - 6, x + 6})
		}
	}
	l.assignPorts()
}

// free gives the place nearest to the wanted one that is not taken.
func (l *chartLayout) free(taken [][2]float64, wanted float64) float64 {
	low, high := l.left[0]+6, l.left[len(l.left)-1]-6
	wanted = min(max(wanted, low), high)
	best, distance := wanted, math.Inf(1)
	try := func(x float64) {
		if x < low || x > high || math.Abs(x-wanted) >= distance {
			return
		}
		for _, t := range taken {
			if t[0] < x && x < t[1] {
				return
			}
		}
		best, distance = x, math.Abs(x-wanted)
	}
	try(wanted)
	for _, t := range taken {
		try(t[0])
		try(t[1])
	}
	return best
}

// assignPorts spreads the ends of lines over the tops and bottoms of boxes, in the order in which they come.
func (l *chartLayout) assignPorts() {
	type port struct {
		toward float64
		set    func(x float64)
	}
	type side struct {
		box *chartBox
		top bool
	}
	ports := make(map[side][]port)
	for _, line := range l.lines {
		upper, lower := line.ends()
		if line.shape == across {
			continue
		}
		next, last := lower.x, upper.x
		if len(line.via) > 0 {
			next, last = line.via[0], line.via[len(line.via)-1]
		}
		from := side{upper, line.shape == over}
		ports[from] = append(ports[from], port{next, func(x float64) { line.upperX = x }})
		to := side{lower, true}
		ports[to] = append(ports[to], port{last, func(x float64) { line.lowerX = x }})
	}
	for s, all := range ports {
		slices.SortStableFunc(all, func(a, b port) int { return cmp.Compare(a.toward, b.toward) })
		step := 0.0
		if len(all) > 1 {
			step = min(16, max(s.box.width-20, 0)/float64(len(all)-1))
		}
		for i, p := range all {
			p.set(s.box.x + (float64(i)-float64(len(all)-1)/2)*step)
		}
	}
}
