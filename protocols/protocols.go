// Package protocols holds the protocols that ship with the engine, embedded: for each a text NAME.lsh, whose comment
// says what it is for, and a companion NAME.yaml, which says what the text cannot: secrets, samples, and guards, whose
// predicates are here too (guards_*.go).
//
// [Load] gives the compiled rules, [Source] the text, [Names] what there is; [Compile] does for a protocol of your own
// what Load does for these. Mappings of these protocols to the wire (NAME.*.yaml) lie beside them for the bridges to read
// from [Files]. Beyond its files and guards the package knows nothing of any protocol. Start reading at simple-ucp.lsh.
package protocols

import (
	"embed"
	"fmt"
	"slices"
	"strings"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/langshaw"
)

// Files holds every protocol text, companion and mapping by its file name.
//
//go:embed *.lsh *.yaml
var Files embed.FS

const (
	textSuffix      = ".lsh"
	companionSuffix = ".yaml"
)

// Names lists the protocols, sorted: the file names without their suffix, such as simple-ucp.
func Names() []string {
	texts, err := Files.ReadDir(".")
	if err != nil {
		panic(err) // An embedded directory is always readable.
	}
	var names []string
	for _, text := range texts {
		if name, ok := strings.CutSuffix(text.Name(), textSuffix); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Source gives the text of a protocol. The error is an [*UnknownError] when there is none of that name.
func Source(name string) ([]byte, error) {
	if names := Names(); !slices.Contains(names, name) {
		return nil, &UnknownError{Name: name, Known: names, Suggestion: langshaw.Nearest(name, names)}
	}
	return Files.ReadFile(name + textSuffix)
}

// Load compiles a protocol together with what its companion says. Further options, such as [enactment.WithParties],
// are applied after the companion's. The error is an [*UnknownError] when there is no protocol of that name; any other
// is a fault of the files or of the options.
func Load(name string, options ...enactment.Option) (*enactment.Rules, error) {
	text, err := Source(name)
	if err != nil {
		return nil, err
	}
	companion, err := Files.ReadFile(name + companionSuffix)
	if err != nil {
		return nil, fmt.Errorf("companion of %s: %w", name, err)
	}
	rules, err := Compile(text, companion, options...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return rules, nil
}

// Compile compiles a protocol of one's own, such as a file that the program embeds, together with what its companion says;
// nil for none. Further options are applied after the companion's. The error is [langshaw.Diagnostics] if the text has
// errors; langshaw.WriteText shows all of them.
func Compile(text, companion []byte, options ...enactment.Option) (*enactment.Rules, error) {
	protocol, diagnostics := langshaw.Parse(text)
	if diagnostics.HasErrors() {
		return nil, diagnostics
	}
	said, err := ParseCompanion(companion, protocol)
	if err != nil {
		return nil, fmt.Errorf("companion: %w", err)
	}
	return enactment.Compile(protocol, append(said.Options(), options...)...)
}

// UnknownError says that there is no protocol of a name.
type UnknownError struct {
	// Name is what was asked for.
	Name string
	// Known lists the names there are, sorted.
	Known []string
	// Suggestion is the name that was probably meant, or empty.
	Suggestion string
}

// Error says what is unknown, what was probably meant, and what there is.
func (e *UnknownError) Error() string {
	meant := ""
	if e.Suggestion != "" {
		meant = fmt.Sprintf(", did you mean %s?", e.Suggestion)
	}
	return fmt.Sprintf("no protocol is called %q%s (there are %s)", e.Name, meant, strings.Join(e.Known, ", "))
}
