package protocols

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/langshaw"
)

// Companion says about a protocol what its text cannot. Its secrets and guards are part of the protocol's hash.
type Companion struct {
	// Secrets names the attributes whose values no record, log or answer may show.
	Secrets []string `yaml:"secrets"`
	// Guards names the predicates, of those of this package, that attempts must pass (see [GuardNames]).
	Guards []string `yaml:"guards"`
	// Samples has, for attributes whose values have a form, values to use where they are made up: each of a key once.
	Samples map[string][]any `yaml:"samples"`
}

// ParseCompanion reads a companion file: YAML, of the fields of [Companion] and no other, in one document. An empty
// file says nothing. It fails with a [*CompanionError] if what the file names is not the protocol's or is no guard, for
// a secret that is misspelt is a secret that is printed, and a guard that is misspelt guards nothing.
func ParseCompanion(text []byte, protocol *langshaw.Protocol) (*Companion, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	companion := new(Companion)
	switch err := decoder.Decode(companion); {
	case errors.Is(err, io.EOF):
		return companion, nil
	case err != nil:
		return nil, fmt.Errorf("not a companion: %w", err)
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("not a companion: more than one document")
	}
	for place, secret := range companion.Secrets {
		if err := checkSecret(secret, slices.Contains(companion.Secrets[:place], secret), protocol); err != nil {
			return nil, err
		}
	}
	for place, guard := range companion.Guards {
		if err := checkGuard(guard, slices.Contains(companion.Guards[:place], guard), protocol); err != nil {
			return nil, err
		}
	}
	for _, attribute := range slices.Sorted(maps.Keys(companion.Samples)) {
		if err := checkSamples(attribute, companion.Samples[attribute], protocol); err != nil {
			return nil, err
		}
	}
	return companion, nil
}

func checkSecret(name string, again bool, protocol *langshaw.Protocol) error {
	attribute, err := knownAttribute("secret", name, protocol)
	switch {
	case err != nil:
		return err
	case attribute.IsKey():
		return &CompanionError{Kind: "secret", Name: name, Why: "is a key, which every record has to show"}
	case again:
		return &CompanionError{Kind: "secret", Name: name, Why: "is named twice"}
	}
	return nil
}

// knownAttribute finds what is named, which must have a value.
func knownAttribute(kind, name string, protocol *langshaw.Protocol) (*langshaw.Attribute, error) {
	attribute, ok := protocol.Attribute(name)
	if ok && !attribute.IsAction() {
		return attribute, nil
	}
	if ok {
		why := "is an action, which has no value"
		if kind == "secret" {
			why += " to keep"
		}
		return nil, &CompanionError{Kind: kind, Name: name, Why: why}
	}
	var attributes []string
	for a := range protocol.Attributes() {
		if !a.IsAction() && (!a.IsKey() || kind != "secret") {
			attributes = append(attributes, a.Name())
		}
	}
	return nil, &CompanionError{
		Kind: kind, Name: name, Why: "is no attribute of " + protocol.Name(), Suggestion: langshaw.Nearest(name, attributes),
	}
}

func checkGuard(name string, again bool, protocol *langshaw.Protocol) error {
	guard, ok := guards[name]
	switch {
	case !ok:
		return &CompanionError{Kind: "guard", Name: name, Why: "is not known", Suggestion: langshaw.Nearest(name, GuardNames())}
	case again:
		return &CompanionError{Kind: "guard", Name: name, Why: "is named twice"}
	}
	for _, action := range guard.actions {
		if _, ok := protocol.Action(action); !ok {
			return &CompanionError{Kind: "guard", Name: name, Why: fmt.Sprintf("is for %s, which is no action of %s", action, protocol.Name())}
		}
	}
	return nil
}

func checkSamples(name string, samples []any, protocol *langshaw.Protocol) error {
	attribute, err := knownAttribute("sample", name, protocol)
	if err != nil {
		return err
	}
	for _, sample := range samples {
		value, err := enactment.ValueOf(sample)
		switch {
		case err != nil:
			return &CompanionError{Kind: "sample", Name: name, Why: "has a value that cannot be written as JSON"}
		case attribute.IsKey() && !value.IsScalar():
			return &CompanionError{Kind: "sample", Name: name, Why: "is a key, which is a string, a number or a boolean"}
		}
	}
	return nil
}

// Options gives what the companion says in the form that [enactment.Compile] takes.
func (c *Companion) Options() []enactment.Option {
	options := guardOptions(c.Guards)
	if len(c.Secrets) > 0 {
		options = append(options, enactment.WithSecrets(c.Secrets...))
	}
	for attribute, samples := range c.Samples {
		var values []enactment.Value
		for _, sample := range samples {
			values = append(values, enactment.MustValue(sample)) // checked by ParseCompanion
		}
		options = append(options, enactment.WithSamples(attribute, values...))
	}
	return options
}

// CompanionError says that a companion names what it cannot.
type CompanionError struct {
	// Kind is what the name stands for: secret, guard or sample.
	Kind string
	// Name is the name.
	Name string
	// Why says what is wrong with it.
	Why string
	// Suggestion is the name that was probably meant, or empty.
	Suggestion string
}

// Error gives the name, what is wrong, and what was probably meant.
func (e *CompanionError) Error() string {
	if e.Suggestion != "" {
		return fmt.Sprintf("%s %q %s, did you mean %s?", e.Kind, e.Name, e.Why, e.Suggestion)
	}
	return fmt.Sprintf("%s %q %s", e.Kind, e.Name, e.Why)
}
