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
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/syncserver/internal/wire"
)

// EngineAccount is the name of the account that holds the streams. Servers connect to it.
const EngineAccount = "STRABO"

// Setup are the accounts of systems that share one NATS, with the keys of one user each. The keys are secrets.
type Setup struct {
	engine  nkeys.KeyPair
	members []member
	kept    map[string][]byte
}

// member is the account of one identity.
type member struct {
	system   string
	subjects wire.Subjects
	identity enactment.Identity
	user     nkeys.KeyPair
}

// New makes accounts for a system and its identities, with new keys: see [Setup.Keep].
func New(system string, identities ...enactment.Identity) (*Setup, error) {
	s := &Setup{}
	var err error
	if s.engine, err = nkeys.CreateUser(); err != nil {
		return nil, err
	}
	return s, s.Add(system, identities...)
}

// Add makes accounts for one more system, in the same engine's account. An identity of one system is nobody in another.
func (s *Setup) Add(system string, identities ...enactment.Identity) error {
	subjects, err := wire.NewSubjects(system)
	if err != nil {
		return err
	}
	for _, id := range identities {
		if slices.ContainsFunc(s.members, func(m member) bool { return m.system == system && m.identity == id }) {
			return fmt.Errorf("natsconfig: the identity %s of system %s is there twice", id, system)
		}
		user, err := nkeys.CreateUser()
		if err != nil {
			return err
		}
		s.members = append(s.members, member{system, subjects, id, user})
	}
	return nil
}

// Keep has the setup use the keys of files that were written before instead of new ones, by name: the secret ones of
// [Setup.PlainFiles] or [Setup.JWTFiles]. Whoever has such a file is let in as before. Files of other names are passed over. To
// replace a key, leave its file out.
func (s *Setup) Keep(files map[string][]byte) error {
	s.kept = files
	err := s.keepUser("engine", &s.engine)
	for i := range s.members {
		err = errors.Join(err, s.keepUser(s.members[i].name(), &s.members[i].user))
	}
	return err
}

func (s *Setup) keepUser(name string, pair *nkeys.KeyPair) error {
	file := name + keySuffix
	text, ok := s.kept[file]
	if !ok {
		file = name + credentialsSuffix
		text, ok = s.kept[file]
	}
	if !ok {
		return nil
	}
	kept, err := jwt.ParseDecoratedUserNKey(text)
	if err != nil {
		return fmt.Errorf("natsconfig: %s holds no key of a user", file)
	}
	*pair = kept
	return nil
}

// The suffixes of files with secrets.
const (
	keySuffix         = ".nk"
	credentialsSuffix = ".creds"
)

// AccountName is the name of an identity's account.
func AccountName(system string, id enactment.Identity) string {
	return EngineAccount + "." + tokens(system, id)
}

// FileName is the name of an identity's files, without the suffix.
func FileName(system string, id enactment.Identity) string { return tokens(system, id) }

// tokens name an identity: no token has a dot in it, so no two have one name.
func tokens(system string, id enactment.Identity) string {
	name := wire.Token(system) + "." + wire.Token(id.Role)
	if id.Party != "" {
		name += "." + wire.Token(id.Party)
	}
	return name
}

func (m *member) account() string { return AccountName(m.system, m.identity) }

func (m *member) name() string { return FileName(m.system, m.identity) }

// services are the subjects that an identity may send requests to.
func (m *member) services() []string {
	return []string{m.subjects.Attempt(m.identity), m.subjects.Join(m.identity), m.subjects.ObserveAny(m.identity)}
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
		for _, subject := range m.services() {
			fmt.Fprintf(&text, "      {service: %q, accounts: [%q]}\n", subject, m.account())
		}
	}
	text.WriteString("    ]\n  }\n")
	for _, m := range s.members {
		if key, err = m.user.PublicKey(); err != nil {
			return "", err
		}
		fmt.Fprintf(&text, "  # %s\n  %q {\n    users: [{nkey: %s, permissions: {publish: {allow: [", strings.Map(printable, m.system+": "+m.identity.String()), m.account(), key)
		for i, subject := range m.services() {
			if i > 0 {
				text.WriteString(", ")
			}
			fmt.Fprintf(&text, "%q", subject)
		}
		text.WriteString("]}, subscribe: {allow: [\"_INBOX.>\"]}}}]\n    imports: [\n")
		for _, subject := range m.services() {
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
func (s *Setup) Member(system string, id enactment.Identity) (nats.Option, error) {
	for _, m := range s.members {
		if m.system == system && m.identity == id {
			return option(m.user)
		}
	}
	return nil, fmt.Errorf("natsconfig: there is no account for %s in system %s", id, system)
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
		files = append(files, File{Name: name + keySuffix, Text: append(seed, '\n'), Secret: true})
		return err
	}
	if err := add("engine", s.engine); err != nil {
		return nil, err
	}
	for _, m := range s.members {
		if err := add(m.name(), m.user); err != nil {
			return nil, err
		}
	}
	return files, nil
}
