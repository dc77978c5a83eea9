// Package natsconfig makes the accounts by which NATS itself says who may be whom in a system (architecture, idea 5).
//
// Every identity, a role and the party that plays it, has an account of its own, which imports nothing but that
// identity's attempt and observation services. The streams are in the engine's account. So nobody can attempt as another,
// read what another sees, or reach the log: not by publishing, not by asking JetStream, and not by a reply subject that
// aims an answer somewhere, since a reply goes back through the import that the request came by.
//
// Start reading at [New].
package natsconfig

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/syncserver/internal/wire"
)

// EngineAccount is the name of the account that holds the streams. Servers connect to it.
const EngineAccount = "STRABO"

// Setup are the accounts of one system with the keys of one user each. The keys are secrets.
type Setup struct {
	subjects wire.Subjects
	engine   nkeys.KeyPair
	members  []member
}

// member is the account of one identity.
type member struct {
	identity enactment.Identity
	user     nkeys.KeyPair
}

// New makes accounts for a system and its identities, with new keys.
func New(system string, identities ...enactment.Identity) (*Setup, error) {
	subjects, err := wire.NewSubjects(system)
	if err != nil {
		return nil, err
	}
	s := &Setup{subjects: subjects}
	if s.engine, err = nkeys.CreateUser(); err != nil {
		return nil, err
	}
	for _, id := range identities {
		if slices.ContainsFunc(s.members, func(m member) bool { return m.identity == id }) {
			return nil, fmt.Errorf("natsconfig: the identity %s is there twice", id)
		}
		user, err := nkeys.CreateUser()
		if err != nil {
			return nil, err
		}
		s.members = append(s.members, member{id, user})
	}
	return s, nil
}

// AccountName is the name of an identity's account.
func AccountName(id enactment.Identity) string {
	return EngineAccount + "_" + wire.Token(id.Role) + "_" + wire.Token(id.Party)
}

// services are the subjects that an identity may send requests to.
func (s *Setup) services(id enactment.Identity) []string {
	return []string{s.subjects.Attempt(id), s.subjects.Join(id), s.subjects.ObserveAny(id)}
}

// Plain writes the accounts in the language of a NATS server's configuration file. It holds public keys only.
func (s *Setup) Plain() (string, error) {
	var text strings.Builder
	key, err := s.engine.PublicKey()
	if err != nil {
		return "", err
	}
	fmt.Fprintf(&text, "accounts {\n  %s {\n    jetstream: enabled\n    users: [{nkey: %s}]\n    exports: [\n", EngineAccount, key)
	for _, m := range s.members {
		for _, subject := range s.services(m.identity) {
			fmt.Fprintf(&text, "      {service: %q, accounts: [%q]}\n", subject, AccountName(m.identity))
		}
	}
	text.WriteString("    ]\n  }\n")
	for _, m := range s.members {
		if key, err = m.user.PublicKey(); err != nil {
			return "", err
		}
		fmt.Fprintf(&text, "  # %s\n  %q {\n    users: [{nkey: %s, permissions: {publish: {allow: [", strings.Map(printable, m.identity.String()), AccountName(m.identity), key)
		for i, subject := range s.services(m.identity) {
			if i > 0 {
				text.WriteString(", ")
			}
			fmt.Fprintf(&text, "%q", subject)
		}
		text.WriteString("]}, subscribe: {allow: [\"_INBOX.>\"]}}}]\n    imports: [\n")
		for _, subject := range s.services(m.identity) {
			fmt.Fprintf(&text, "      {service: {account: %s, subject: %q}}\n", EngineAccount, subject)
		}
		text.WriteString("    ]\n  }\n")
	}
	text.WriteString("}\n")
	return text.String(), nil
}

// printable keeps a comment on its line.
func printable(r rune) rune {
	if r < ' ' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 {
		return '?'
	}
	return r
}

// Engine is how a server authenticates where Plain is the configuration.
func (s *Setup) Engine() (nats.Option, error) { return option(s.engine) }

// Member is how an identity authenticates where Plain is the configuration.
func (s *Setup) Member(id enactment.Identity) (nats.Option, error) {
	for _, m := range s.members {
		if m.identity == id {
			return option(m.user)
		}
	}
	return nil, fmt.Errorf("natsconfig: there is no account for %s", id)
}

func option(pair nkeys.KeyPair) (nats.Option, error) {
	key, err := pair.PublicKey()
	if err != nil {
		return nil, err
	}
	return nats.Nkey(key, pair.Sign), nil
}

// File is a file to be written. Secret ones must be readable by their owners only.
type File struct {
	Name   string
	Text   []byte
	Secret bool
}

// PlainFiles gives Plain as accounts.conf, and a key file for the engine and for each identity.
func (s *Setup) PlainFiles() ([]File, error) {
	text, err := s.Plain()
	if err != nil {
		return nil, err
	}
	files := []File{{Name: "accounts.conf", Text: []byte(text)}}
	add := func(name string, pair nkeys.KeyPair) error {
		seed, err := pair.Seed()
		files = append(files, File{Name: name + ".nk", Text: append(seed, '\n'), Secret: true})
		return err
	}
	if err := add("engine", s.engine); err != nil {
		return nil, err
	}
	for _, m := range s.members {
		if err := add(fileName(m.identity), m.user); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// fileName names the files of an identity.
func fileName(id enactment.Identity) string {
	if id.Party == "" {
		return wire.Token(id.Role)
	}
	return wire.Token(id.Role) + "." + wire.Token(id.Party)
}
