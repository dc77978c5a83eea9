package acc

import (
	"fmt"
	"slices"
	"strings"

	"github.com/strabo-engine/strabo/langshaw"
)

// Lint says what a reviewer of the contracts of a document wants to know, in order of position. All of it is warnings:
// the contracts are valid. What cannot be used, [Parse] reports.
func Lint(document *Document) Diagnostics {
	l := &linter{}
	for _, operation := range document.Operations {
		l.operation(operation)
	}
	l.list = append(l.list, document.misspelt...)
	return sorted(l.list)
}

type linter struct{ list Diagnostics }

func (l *linter) warn(code langshaw.Code, span langshaw.Span, format string, arguments ...any) {
	l.list = append(l.list, Diagnostic{
		Code: code, Severity: langshaw.Warning, Message: fmt.Sprintf(format, arguments...), Span: span,
	})
}

// at is where a field stands, or the contract where it does not.
func at(d *Declaration, field string) langshaw.Span {
	span, ok := d.Span(field)
	if !ok {
		span, _ = d.Span("")
	}
	return span
}

func (l *linter) operation(o *Operation) {
	d := o.Declaration
	execution := d.Execution
	readonly := execution.Readonly != nil && *execution.Readonly
	switch {
	case execution.Readonly == nil && (o.Method == MethodGet || o.Method == "HEAD"):
		l.warn(CodeGetWithoutReadonly, at(d, "execution"),
			"%s does not say execution.readonly, and is taken to change something: say what is so", o)
	case readonly && o.Method == "DELETE":
		l.warn(CodeReadonlyOnDelete, at(d, "execution.readonly"), "%s is declared to only read", o)
	case readonly && (o.Method == "PUT" || o.Method == "PATCH"):
		l.warn(CodeReadonlyOnUpdate, at(d, "execution.readonly"), "%s is declared to only read", o)
	}
	// PUT and DELETE are idempotent by HTTP.
	needsKey := o.Method != "PUT" && o.Method != "DELETE"
	if !readonly && needsKey && execution.Idempotent != nil && *execution.Idempotent && !takesKey(o.Input) {
		l.warn(CodeIdempotentWithoutKey, at(d, "execution.idempotent"),
			"%s is declared to be idempotent and takes no key: it is not repeated unless the runtime is told how a repetition is recognised", o)
	}
	if execution.RateLimit != nil {
		l.warn(CodeLimitWithoutDimension, at(d, "execution.rate_limit"),
			"the contract cannot say per what the limit counts: the runtime must be told, and refuses to start otherwise")
	}
	if d.RiskLevel == HighRisk && len(d.Approval.When) == 0 && (d.Approval.Required == nil || !*d.Approval.Required) {
		l.warn(CodeHighRiskWithoutApproval, at(d, "risk.level"), "%s is of high risk, and nobody is ever asked before it", o)
	}
	for _, c := range o.Gate.conditions {
		if c.optional && (c.Op.orders() || c.Op == Contains) {
			l.warn(CodeConditionOnOptional, c.Span,
				"%s may be left out, and %s cannot be judged without it: such calls are refused", shorten(c.Param), c.Op)
		}
	}
	for _, field := range d.Unknown {
		l.unknown(field)
	}
}

// takesKey tells whether an operation has an input by which a repetition can be recognised.
func takesKey(input *Input) bool {
	return slices.ContainsFunc(input.Names(), func(name string) bool {
		folded := strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(name))
		return strings.Contains(folded, "idempotencykey")
	})
}

// foreignWords are what other layers are about: a contract has no field for them.
var foreignWords = []string{
	"retry", "retries", "attempts", "backoff", "atomic", "transaction", "concurrency", "concurrent", "parallel", "cancel", "rollback",
	"compensat",
}

// unknown looks at a field that is ignored.
func (l *linter) unknown(field UnknownField) {
	holder, name := "", field.Path
	if i := strings.LastIndexByte(field.Path, '.'); i >= 0 {
		holder, name = field.Path[:i], field.Path[i+1:]
	}
	folded := strings.ToLower(name)
	if slices.ContainsFunc(foreignWords, func(word string) bool { return strings.Contains(folded, word) }) {
		l.warn(CodeForeignField, field.Span, "%s is ignored: a contract says nothing of it, and the runtime's configuration does", shorten(field.Path))
		return
	}
	if strings.HasPrefix(folded, "x-") || strings.HasPrefix(folded, "x_") {
		return
	}
	holder, _, _ = strings.Cut(holder, "[") // an item of approval.when
	suggestion := ""
	squeezed := strings.NewReplacer("-", "", "_", "").Replace(folded)
	for _, known := range fieldsOf[holder] {
		if strings.ReplaceAll(known, "_", "") == squeezed {
			suggestion = known
		}
	}
	if suggestion == "" {
		suggestion = langshaw.Nearest(name, fieldsOf[holder])
	}
	l.list = append(l.list, Diagnostic{
		Code: CodeUnknownField, Severity: langshaw.Warning, Suggestion: suggestion, Span: field.Span,
		Message: shorten(field.Path) + " is ignored: ACC does not know it",
	})
}
