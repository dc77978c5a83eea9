package langshaw

import (
	"cmp"
	"fmt"
	"slices"
)

// mostDiagnostics bounds what is said about one text. Nobody reads more, and a large file of something else than a
// protocol would cost a hundred times its size.
const mostDiagnostics = 10_000

// report collects diagnostics in any order.
type report struct {
	list  Diagnostics
	limit int
	// next is the first diagnostic beyond the limit.
	next *Diagnostic
}

func newReport() *report { return &report{limit: mostDiagnostics} }

// add takes one finding; beyond the limit only whether there was an error is kept.
func (r *report) add(d Diagnostic) {
	switch {
	case len(r.list) < r.limit:
		r.list = append(r.list, d)
	case r.next == nil:
		r.next = &d
	case d.Severity == Error:
		r.next.Severity = Error
	}
}

// isFull tells whether there is more to say than is listed.
func (r *report) isFull() bool { return r.next != nil }

// sorted gives the findings in order of position; at one position errors come first.
func (r *report) sorted() Diagnostics {
	slices.SortStableFunc(r.list, func(a, b Diagnostic) int {
		return cmp.Or(
			cmp.Compare(a.Span.Start.Offset, b.Span.Start.Offset),
			cmp.Compare(a.Severity, b.Severity),
		)
	})
	if r.next != nil {
		r.list = append(r.list, Diagnostic{
			Code: CodeTooMany, Severity: r.next.Severity, Span: r.list[len(r.list)-1].Span,
			Message: fmt.Sprintf("there are more than %d problems, and the others are not listed: mend these first", r.limit),
		})
	}
	return r.list
}
