package protocols

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/langshaw"
)

// Companion says about a protocol what its text cannot. What it says is part of the protocol's hash.
type Companion struct {
	// Secrets names the attributes whose values no record, log or answer may show.
	Secrets []string `yaml:"secrets"`
}

// ParseCompanion reads a companion file: YAML, of the fields of [Companion] and no other, in one document. An empty
// file says nothing. It fails with a [*CompanionError] if what the file names is not the protocol's, for a secret that
// is misspelt is a secret that is printed.
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
	seen := make(map[string]bool)
	for _, secret := range companion.Secrets {
		if err := checkSecret(secret, seen[secret], protocol); err != nil {
			return nil, err
		}
		seen[secret] = true
	}
	return companion, nil
}

func checkSecret(name string, again bool, protocol *langshaw.Protocol) error {
	attribute, ok := protocol.Attribute(name)
	fail := func(why string) error {
		e := &CompanionError{Secret: name, Why: why}
		if !ok {
			var attributes []string
			for a := range protocol.Attributes() {
				if !a.IsAction() && !a.IsKey() {
					attributes = append(attributes, a.Name())
				}
			}
			e.Suggestion = langshaw.Nearest(name, attributes)
		}
		return e
	}
	switch {
	case !ok:
		return fail("is no attribute of " + protocol.Name())
	case attribute.IsAction():
		return fail("is an action, which has no value to keep")
	case attribute.IsKey():
		return fail("is a key, which every record has to show")
	case again:
		return fail("is named twice")
	}
	return nil
}

// Options gives what the companion says in the form that [enactment.Compile] takes.
func (c *Companion) Options() []enactment.Option {
	if len(c.Secrets) == 0 {
		return nil
	}
	return []enactment.Option{enactment.WithSecrets(c.Secrets...)}
}

// CompanionError says that a companion names what cannot be a secret.
type CompanionError struct {
	// Secret is the name.
	Secret string
	// Why says what is wrong with it.
	Why string
	// Suggestion is the attribute that was probably meant, or empty.
	Suggestion string
}

// Error gives the name, what is wrong, and what was probably meant.
func (e *CompanionError) Error() string {
	if e.Suggestion != "" {
		return fmt.Sprintf("secret %q %s, did you mean %s?", e.Secret, e.Why, e.Suggestion)
	}
	return fmt.Sprintf("secret %q %s", e.Secret, e.Why)
}
