package langshaw_test

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/langshaw"
)

// largeProtocol is a good protocol of so many actions, in chains of ten.
func largeProtocol(actions int) string {
	var b strings.Builder
	b.WriteString("Large\nwho Buyer, Seller\nwhat ID key, Step0\ndo\n")
	for i := range actions {
		role := []string{"Buyer", "Seller"}[i%2]
		if i%10 == 0 {
			fmt.Fprintf(&b, "  %s: Step%d(ID, value%d)\n", role, i, i)
		} else {
			fmt.Fprintf(&b, "  %s: Step%d(ID, Step%d, value%d, value%d)\n", role, i, i-1, i, i-1)
		}
	}
	b.WriteString("sayso\n")
	for i := range actions {
		role := []string{"Buyer", "Seller"}[i%2]
		fmt.Fprintf(&b, "  %s: value%d\n", role, i)
	}
	b.WriteString("nono\n")
	for i := 0; i+1 < actions; i += 10 {
		fmt.Fprintf(&b, "  Step%d Step%d\n", i, i+1)
	}
	b.WriteString("nogo\n")
	for i := 5; i+1 < actions; i += 10 {
		fmt.Fprintf(&b, "  Step%d -/> Step%d\n", i, i+1)
	}
	return b.String()
}

// fill repeats what line gives until the text has the size.
func fill(head string, size int, line func(i int) string) string {
	var b strings.Builder
	b.WriteString(head)
	for i := 0; b.Len() < size; i++ {
		b.WriteString(line(i))
	}
	return b.String()
}

func always(text string) func(int) string { return func(int) string { return text } }

func numbered(format string) func(int) string {
	return func(i int) string { return fmt.Sprintf(format, i) }
}

const small = "Small\nwho A, B\nwhat ID key, One\ndo\n A: One(ID)\n B: Two(ID)\n"

// hostile are texts of a size that are made to be slow.
var hostile = []struct {
	name string
	text func(size int) string
}{
	{"good", func(size int) string { return largeProtocol(size / 78) }},
	{"one line of actions", func(size int) string { return fill(small, size, numbered(" A: Act%d(ID)")) }},
	{"shortest actions", func(size int) string { return fill(small, size, always("A:a()\n")) }},
	{"short actions", func(size int) string {
		return fill("S\nwho A\nwhat i key\ndo\n", size, func(i int) string { return fmt.Sprintf("A:%x(i)\n", i) })
	}},
	{"one action", func(size int) string { return fill(small+"A: Big(ID", size, numbered(", x%d")) + ")\n" }},
	{"actions of a thousand attributes", func(size int) string {
		return fill(small+"A: X(ID", size, func(i int) string {
			if i%1000 == 0 {
				return fmt.Sprintf(")\nA: Big%d(ID", i)
			}
			return fmt.Sprintf(", x%d", i%1000)
		}) + ")\n"
	}},
	{"unclosed parentheses", func(size int) string { return fill(small, size, numbered("A: X%d(ID\n")) }},
	{"opening parentheses", func(size int) string { return fill(small, size, always("(")) }},
	{"colons", func(size int) string { return fill(small, size, always("a:")) }},
	{"roles", func(size int) string { return fill("R\nwho A", size, numbered(", R%d")) }},
	{"same role", func(size int) string { return fill("R\nwho A", size, always(",A")) }},
	{"commas", func(size int) string { return fill("R\nwho A", size, always(",")) }},
	{"what", func(size int) string { return fill("R\nwho A\nwhat ID key", size, numbered(", w%d")) }},
	{"alternatives", func(size int) string { return fill("R\nwho A\nwhat ID key, a", size, numbered(" or w%d")) }},
	{"who clauses", func(size int) string { return fill(small, size, numbered("who R%d\n")) }},
	{"keywords", func(size int) string { return fill(small, size, always("who what do sayso nono nogo ")) }},
	{"misspelt keywords", func(size int) string { return fill(small, size, always("doo\nsayzo\nnonos\n")) }},
	{"misspelt keywords in what", func(size int) string { return fill(small+"what ", size, always("whp\n")) }},
	{"saysos", func(size int) string { return fill(small+"sayso\n", size, numbered("A > B: x%d\n")) }},
	{"one sayso", func(size int) string { return fill(small+"sayso A: x", size, numbered(", x%d")) }},
	{"ranks", func(size int) string { return fill(small+"sayso A", size, always(">A")) + ": x" }},
	{"a sayso of many roles and attributes", func(size int) string {
		roles := fill("R", size/3, numbered(" > R%d"))
		return "S\nwho A\nwho " + strings.ReplaceAll(roles, " >", ",") + "\nwhat ID key\ndo A: a(ID)\nsayso " + roles + fill(": a", size/3, numbered(", a%d"))
	}},
	{"saysos of many roles and attributes", func(size int) string {
		roles := fill("R", size/1000, numbered(" > R%d"))
		return "S\nwho A\nwho " + strings.ReplaceAll(roles, " >", ",") + "\nwhat ID key\ndo A: a(ID)\nsayso\n" + fill("", size/2, func(i int) string {
			return roles + fill(": a", size/1000, func(j int) string { return fmt.Sprintf(", a%d", i*1000+j) }) + "\n"
		})
	}},
	{"many short nonos", func(size int) string { return fill(small+"nono\n", size, always("One Two\n")) }},
	{"shortest nonos", func(size int) string {
		return fill("S\nwho A\nwhat i key\ndo A:a(i) A:b(i)\nnono\n", size, always("a b\n"))
	}},
	{"one nono of unknown", func(size int) string { return fill(small+"nono One", size, numbered(" N%d")) }},
	{"one nono of one", func(size int) string { return fill(small+"nono ", size, always("a ")) }},
	{"nogos", func(size int) string { return fill(small+"nogo\n", size, always("One -/> Two\n")) }},
	{"unknown actions among many", func(size int) string {
		return fill(fill(small, size/2, numbered("A: Action%d(ID)\n"))+"nogo\n", size, numbered("Actoin%d -/> One\n"))
	}},
	{"unknown roles", func(size int) string { return fill(small, size, numbered("Role%d: Act%[1]d(ID)\n")) }},
	{"unbindable", func(size int) string { return fill(small, size, numbered("A: Act%d(ID, x%[1]d)\n")) }},
	{"stray characters", func(size int) string { return fill(small, size, always("? ")) }},
	{"stray lines", func(size int) string { return fill("S\nwho ?", size, always("?\n")) }},
	{"no clause", func(size int) string { return fill("S\n", size, always("a b c\n")) }},
	{"one word", func(size int) string { return "S\nwho " + strings.Repeat("a", size) }},
	{"one name", func(size int) string { return strings.Repeat("a ", size/2) }},
	{"long words", func(size int) string { return fill(small+"nono\n", size, always(strings.Repeat("a", 5000)+" b\n")) }},
	{"one comment", func(size int) string { return "#" + strings.Repeat("#", size) }},
	{"comments", func(size int) string { return fill("", size, always("#\n")) }},
	{"blank lines", func(size int) string { return strings.Repeat("\n", size) }},
	{"carriage returns", func(size int) string { return small + strings.Repeat("\r", size) }},
	{"blanks", func(size int) string { return small + strings.Repeat(" \t", size/2) }},
	{"zero bytes", func(size int) string { return small + strings.Repeat("\x00", size) }},
	{"no characters", func(size int) string { return fill(small+"nono ", size, always("\xff\xfe ")) }},
	{"ends of characters", func(size int) string { return "S\n" + strings.Repeat("\x9e", size) }},
	{"comments inside an action", func(size int) string { return fill(small+"A: Big(ID", size, numbered(" # c\n# d\n, x%d")) + ")\n" }},
	{"comments behind actions", func(size int) string {
		return fill(small+"A: "+strings.Repeat("a", size/2)+"(ID) # wide\n", size/2, numbered("A: Act%d(ID) # c\n"))
	}},
	{"hyphens", func(size int) string { return small + "nono a" + strings.Repeat("-", size) + "/>" }},
	{"arrows", func(size int) string { return fill(small+"nogo a", size, always("-/>")) }},
	{"at signs", func(size int) string { return fill(small+"nono\n", size, numbered("a@b%d c\n")) }},
	{"keys", func(size int) string { return fill("K\nwho A\nwhat a key", size, numbered(", k%d key")) }},
	{"actions of many keys", manyKeys},
}

// manyKeys makes actions with large sets of keys that all differ, and attributes whose scopes are their intersections.
func manyKeys(size int) string {
	keys := 1
	for keys < 256 && keys*keys*30 < size {
		keys++
	}
	var b strings.Builder
	b.WriteString("K\nwho A\nwhat k0 key")
	for i := 1; i < keys; i++ {
		fmt.Fprintf(&b, ", k%d key", i)
	}
	b.WriteString("\ndo\n")
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "A: Act%d(x", i)
		for j := range keys {
			if (i+1)%(j+2) != 0 {
				fmt.Fprintf(&b, ", k%d", j)
			}
			if j < keys {
				fmt.Fprintf(&b, ", x%d", j)
			}
		}
		b.WriteString(")\n")
	}
	return b.String()
}

// TestLargeTexts tries each shape of text once, small enough to be fast. A text that is twice as large may take about twice
// as much memory, so whatever is made for each part of it is not made again for all the others; BenchmarkHostile measures
// how long they take.
func TestLargeTexts(t *testing.T) {
	const size = 40_000
	for _, test := range hostile {
		t.Run(test.name, func(t *testing.T) {
			half, whole := allocated(t, test.text(size/2)), allocated(t, test.text(size))
			require.Less(t, whole, 3*half+100_000, "bytes for a text that is twice as large as one for %d", half)
		})
	}
}

// allocated has a text parsed, told about and formatted, and gives how many bytes were allocated for that.
func allocated(t *testing.T, text string) uint64 {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, diagnostics := langshaw.Parse([]byte(text))
	err := langshaw.WriteText(io.Discard, "large", []byte(text), diagnostics)
	formatted, _ := langshaw.Format([]byte(text))
	runtime.ReadMemStats(&after)
	require.NoError(t, err)
	require.Equal(t, diagnostics.HasErrors(), formatted == nil)
	require.Less(t, len(formatted), 5*len(text)+1000)
	return after.TotalAlloc - before.TotalAlloc
}

func TestLargeProtocolIsFine(t *testing.T) {
	protocol, diagnostics := langshaw.Parse([]byte(largeProtocol(5_000)))
	require.Empty(t, diagnostics)
	require.Equal(t, 5_000, protocol.ActionCount())
}

func BenchmarkParse(b *testing.B) {
	for _, actions := range []int{5, 50, 500, 5_000} {
		b.Run(fmt.Sprintf("actions=%d", actions), func(b *testing.B) {
			text := []byte(largeProtocol(actions))
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				langshaw.Parse(text)
			}
		})
	}
}

// BenchmarkHostile checks texts of 5 MB, with what is printed about them.
func BenchmarkHostile(b *testing.B) {
	for _, test := range hostile {
		b.Run(strings.ReplaceAll(test.name, " ", "-"), func(b *testing.B) {
			text := []byte(test.text(5_000_000))
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				_, diagnostics := langshaw.Parse(text)
				if err := langshaw.WriteText(io.Discard, "large", text, diagnostics); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
