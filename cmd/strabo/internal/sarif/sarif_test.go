package sarif_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/cmd/strabo/internal/sarif"
	"github.com/strabo-engine/strabo/langshaw"
	"github.com/strabo-engine/strabo/langshaw/verify"
)

// TestEveryCodeHasHelp reads the codes from the sources that declare them.
func TestEveryCodeHasHelp(t *testing.T) {
	codes := 0
	for _, file := range []string{
		"../../../../langshaw/code.go", "../../../../langshaw/verify/render.go", "rules.go",
		"../../../../bridge/acc/code.go", "../../../../bridge/acc/runtimeread.go", "../../../../bridge/acc/library.go",
	} {
		source, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		require.NoError(t, err)
		ast.Inspect(source, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || !strings.HasPrefix(spec.Names[0].Name, "Code") || len(spec.Values) == 0 {
				return true
			}
			code, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			require.NoError(t, err)
			short, long := sarif.Help(langshaw.Code(code))
			require.Regexp(t, `^\S.*\.$`, short, code)
			require.Regexp(t, `^\S.*\.$`, long, code)
			codes++
			return true
		})
	}
	require.Greater(t, codes, 60)
	short, long := sarif.Help("no-such-code")
	require.Empty(t, short+long)
}

const faulty = `Faulty
who Buyer, Seller
what ID key, Quote
do
  Buyer: Ask(ID, item)
  Seler: Quote(ID, Ask, price)
sayso
  Seller: price
nono
  Ask Qoute
`

// TestDocument validates against what the format demands.
func TestDocument(t *testing.T) {
	_, diagnostics := langshaw.Parse([]byte(faulty))
	require.Len(t, diagnostics, 3)
	log := sarif.New("v1.2.3")
	log.AddDiagnostics("a folder/f#1.lsh", diagnostics)
	log.AddDiagnostics("/root/absolute.lsh", diagnostics[:1])
	log.Add("./c:d.lsh", sarif.Finding{
		Diagnostic: langshaw.Diagnostic{Code: verify.CodeNotLive, Severity: langshaw.Error, Message: "stuck"},
		Path:       []sarif.Step{{"1. Ask", diagnostics[0].Span}},
	})
	log.Fail(errors.New("no such file"))
	document := validate(t, log)
	run := document.Runs[0]
	require.Equal(t, "v1.2.3", run.Tool.Driver.Version)
	require.False(t, run.Invocations[0].Successful)
	var uris []string
	for _, r := range run.Results {
		require.Equal(t, r.RuleID, run.Tool.Driver.Rules[r.RuleIndex].ID)
		uris = append(uris, r.Locations[0].PhysicalLocation.Artifact.URI)
	}
	require.Equal(t, []string{"a%20folder/f%231.lsh", "a%20folder/f%231.lsh", "a%20folder/f%231.lsh", "file:///root/absolute.lsh", "./c:d.lsh"}, uris)
	require.Len(t, run.Tool.Driver.Rules, 4)
	require.Equal(t, 1, run.Results[4].Locations[0].PhysicalLocation.Region.StartLine)

	// What is offered as a fix mends what it is offered for.
	fixes := 0
	text := faulty
	for i := len(run.Results) - 3; i >= 0; i-- {
		for _, fix := range run.Results[i].Fixes {
			replacement := fix.Changes[0].Replacements[0]
			at := replacement.Deleted.ByteOffset
			text = text[:at] + replacement.Inserted.Text + text[at+replacement.Deleted.ByteLength:]
			fixes++
		}
	}
	require.Equal(t, 2, fixes)
	_, left := langshaw.Parse([]byte(text))
	require.Len(t, left, 1)
	require.Equal(t, langshaw.CodeUnbindable, left[0].Code)
}

func TestNothingFound(t *testing.T) {
	run := validate(t, sarif.New("")).Runs[0]
	require.Empty(t, run.Results)
	require.True(t, run.Invocations[0].Successful)
	var none *sarif.Log
	none.Fail(errors.New("nobody listens"))
}

// written is what the tests read of a document.
type written struct {
	Runs []struct {
		Tool struct {
			Driver struct {
				Version string
				Rules   []struct{ ID string }
			}
		}
		Invocations []struct {
			Successful bool `json:"executionSuccessful"`
		}
		Results []struct {
			RuleID    string
			RuleIndex int
			Locations []struct {
				PhysicalLocation struct {
					Artifact struct{ URI string } `json:"artifactLocation"`
					Region   struct{ StartLine int }
				}
			}
			Fixes []struct {
				Changes []struct {
					Replacements []struct {
						Deleted struct {
							ByteOffset, ByteLength int
						} `json:"deletedRegion"`
						Inserted struct{ Text string } `json:"insertedContent"`
					}
				} `json:"artifactChanges"`
			}
		}
	}
}

func validate(t *testing.T, log *sarif.Log) written {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, log.Write(&out))
	schema, err := jsonschema.NewCompiler().Compile("testdata/required.json")
	require.NoError(t, err)
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(out.Bytes()))
	require.NoError(t, err)
	require.NoError(t, schema.Validate(instance))
	var document written
	require.NoError(t, json.Unmarshal(out.Bytes(), &document))
	return document
}

func TestSchemaDemandsSomething(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile("testdata/required.json")
	require.NoError(t, err)
	text, err := os.ReadFile("testdata/required.json")
	require.NoError(t, err)
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	require.Error(t, schema.Validate(instance))
}
