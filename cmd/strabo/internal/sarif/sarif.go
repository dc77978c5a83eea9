// Package sarif writes what is found in protocols as SARIF 2.1.0, the format in which code hosts and editors take the
// findings of tools.
//
// A [Log] collects the findings of all files of one run. Each kind of finding is a rule with a help text; rules.go has
// them all. The package knows nothing of how findings come about, of flags or of processes.
package sarif

import (
	"encoding/json"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/strabo-engine/strabo/langshaw"
)

const (
	version = "2.1.0"
	schema  = "https://json.schemastore.org/sarif-2.1.0.json"
	home    = "https://github.com/strabo-engine/strabo"
)

// Log is the findings of one run of the tool. Start with [New].
type Log struct {
	version  string
	used     map[langshaw.Code]int
	rules    []rule
	results  []result
	failures []notification
}

// New starts a log of the tool in the version given.
func New(toolVersion string) *Log {
	return &Log{version: toolVersion, used: make(map[langshaw.Code]int)}
}

// Finding is a diagnostic with what leads to it.
type Finding struct {
	langshaw.Diagnostic
	// Path is the way that leads there, if there is one.
	Path []Step
}

// Step is one place on a path.
type Step struct {
	Message string
	Span    langshaw.Span
}

// Add adds the findings in one file.
func (l *Log) Add(file string, findings ...Finding) {
	for _, f := range findings {
		index := l.use(f.Code, f.Severity)
		text := f.Message
		if f.Suggestion != "" {
			text += " (did you mean " + f.Suggestion + "?)"
		}
		r := result{
			RuleID: string(f.Code), RuleIndex: index, Level: string(f.Severity), Message: message{text},
			Locations: []location{{PhysicalLocation: place(file, f.Span)}},
		}
		if f.Suggestion != "" && f.Start.Offset < f.End.Offset {
			r.Fixes = []fix{{
				Description: message{"write " + f.Suggestion},
				Changes: []change{{artifact{uri(file)}, []replacement{{
					Deleted: regionOf(f.Span), Inserted: &content{f.Suggestion},
				}}}},
			}}
		}
		if len(f.Path) > 0 {
			var flow threadFlow
			for _, step := range f.Path {
				flow.Locations = append(flow.Locations, flowLocation{location{
					PhysicalLocation: place(file, step.Span), Message: &message{step.Message},
				}})
			}
			r.CodeFlows = []codeFlow{{[]threadFlow{flow}}}
		}
		l.results = append(l.results, r)
	}
}

// AddDiagnostics adds diagnostics of one file.
func (l *Log) AddDiagnostics(file string, diagnostics langshaw.Diagnostics) {
	for _, d := range diagnostics {
		l.Add(file, Finding{Diagnostic: d})
	}
}

// Fail notes that something could not be looked at. It does nothing where there is no log.
func (l *Log) Fail(err error) {
	if l == nil {
		return
	}
	l.failures = append(l.failures, notification{Level: "error", Message: message{err.Error()}})
}

// use gives the place of a rule among those of the run.
func (l *Log) use(code langshaw.Code, severity langshaw.Severity) int {
	index, ok := l.used[code]
	if !ok {
		index = len(l.rules)
		l.used[code] = index
		short, help := Help(code)
		l.rules = append(l.rules, rule{
			ID: string(code), Name: pascal(string(code)), Short: message{short}, Full: message{short}, Help: message{help},
			HelpURI: pageOf(code), Default: configuration{string(severity)},
		})
	}
	return index
}

// pascal gives a code as a rule name is written.
func pascal(code string) string {
	var b strings.Builder
	for word := range strings.FieldsFuncSeq(code, func(r rune) bool { return r == '-' || r == '_' }) {
		if word != "" {
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return b.String()
}

// Write writes the log, as one JSON document. The error is the writer's.
func (l *Log) Write(w io.Writer) error {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	return out.Encode(document{
		Schema: schema, Version: version,
		Runs: []run{{
			Tool:        tool{driver{Name: "strabo", Version: l.version, URI: home, Rules: append([]rule{}, l.rules...)}},
			Invocations: []invocation{{Successful: len(l.failures) == 0, Notifications: l.failures}},
			ColumnKind:  "unicodeCodePoints",
			Results:     append([]result{}, l.results...),
		}},
	})
}

func place(file string, span langshaw.Span) physicalLocation {
	return physicalLocation{artifact{uri(file)}, regionOf(span)}
}

// regionOf gives a stretch of text. SARIF counts lines and columns as langshaw does.
func regionOf(span langshaw.Span) region {
	start, end := span.Start, span.End
	if start.Line == 0 {
		start = langshaw.Position{Line: 1, Column: 1}
		end = start
	}
	return region{
		StartLine: start.Line, StartColumn: start.Column, EndLine: end.Line, EndColumn: end.Column,
		ByteOffset: start.Offset, ByteLength: end.Offset - start.Offset,
	}
}

// uri names a file: relative to where the tool ran if its path is.
func uri(file string) string {
	path := filepath.ToSlash(file)
	if filepath.IsAbs(file) {
		if !strings.HasPrefix(path, "/") {
			path = "/" + path
		}
		return (&url.URL{Scheme: "file", Path: path}).String()
	}
	return (&url.URL{Path: strings.TrimPrefix(path, "./")}).String()
}
