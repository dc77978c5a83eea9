package natsconfig

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"
)

// JWTFiles gives the same accounts for a NATS in operator mode: operator.conf, with the accounts preloaded, the keys of
// the operator and of the accounts, and a credentials file for the engine and for each identity. Exports are private: an
// account that imports one needs the engine account's signature, which those of the identities have for their own.
func (s *Setup) JWTFiles() ([]File, error) {
	w := &writer{setup: s}
	return w.files()
}

// writer makes the files of one operator.
type writer struct {
	setup    *Setup
	operator nkeys.KeyPair
	engine   nkeys.KeyPair
	preload  strings.Builder
	all      []File
}

func (w *writer) files() ([]File, error) {
	var err error
	if w.operator, err = w.key("operator", nkeys.CreateOperator); err != nil {
		return nil, err
	}
	if w.engine, err = w.key(accountFile(EngineAccount), nkeys.CreateAccount); err != nil {
		return nil, err
	}
	system, err := w.key(accountFile(systemAccount), nkeys.CreateAccount)
	if err != nil {
		return nil, err
	}
	systemKey, err := system.PublicKey()
	if err != nil {
		return nil, err
	}
	if err := w.account(systemAccount, system, func(*jwt.AccountClaims) error { return nil }); err != nil {
		return nil, err
	}
	if err := w.engineAccount(); err != nil {
		return nil, err
	}
	for _, m := range w.setup.members {
		if err := w.memberAccount(m); err != nil {
			return nil, err
		}
	}
	token, err := w.operatorToken(systemKey)
	if err != nil {
		return nil, err
	}
	text := fmt.Sprintf("operator: %s\nsystem_account: %s\nresolver: MEMORY\nresolver_preload: {\n%s}\n", token, systemKey, w.preload.String())
	w.all = append(w.all, File{Name: "operator.conf", Text: []byte(text)})
	return w.all, w.seed("operator", w.operator)
}

// systemAccount is the account in which NATS tells of itself.
const systemAccount = "SYS"

func accountFile(account string) string { return "account." + account }

// key gives the key that is kept, or a new one.
func (w *writer) key(name string, create func() (nkeys.KeyPair, error)) (nkeys.KeyPair, error) {
	text, ok := w.setup.kept[name+keySuffix]
	if !ok {
		return create()
	}
	pair, err := nkeys.FromSeed(bytes.TrimSpace(text))
	if err != nil {
		return nil, fmt.Errorf("natsconfig: %s holds no key", name+keySuffix)
	}
	return pair, nil
}

func (w *writer) operatorToken(systemKey string) (string, error) {
	key, err := w.operator.PublicKey()
	if err != nil {
		return "", err
	}
	claims := jwt.NewOperatorClaims(key)
	claims.Name = "strabo"
	claims.SystemAccount = systemKey
	return claims.Encode(w.operator)
}

// account signs an account and has it preloaded.
func (w *writer) account(name string, pair nkeys.KeyPair, fill func(*jwt.AccountClaims) error) error {
	key, err := pair.PublicKey()
	if err != nil {
		return err
	}
	claims := jwt.NewAccountClaims(key)
	claims.Name = name
	if err := fill(claims); err != nil {
		return err
	}
	token, err := claims.Encode(w.operator)
	if err != nil {
		return err
	}
	fmt.Fprintf(&w.preload, "  %s: %s\n", key, token)
	return w.seed(accountFile(name), pair)
}

func (w *writer) engineAccount() error {
	err := w.account(EngineAccount, w.engine, func(claims *jwt.AccountClaims) error {
		claims.Limits.JetStreamLimits = jwt.JetStreamLimits{
			MemoryStorage: jwt.NoLimit, DiskStorage: jwt.NoLimit, Streams: jwt.NoLimit, Consumer: jwt.NoLimit,
		}
		for _, m := range w.setup.members {
			for _, subject := range m.services() {
				claims.Exports.Add(&jwt.Export{Subject: jwt.Subject(subject), Type: jwt.Service, TokenReq: true})
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return w.user("engine", w.engine, w.setup.engine, nil)
}

func (w *writer) memberAccount(m member) error {
	pair, err := w.key(accountFile(m.account()), nkeys.CreateAccount)
	if err != nil {
		return err
	}
	key, err := pair.PublicKey()
	if err != nil {
		return err
	}
	engine, err := w.engine.PublicKey()
	if err != nil {
		return err
	}
	services := m.services()
	err = w.account(m.account(), pair, func(claims *jwt.AccountClaims) error {
		for _, subject := range services {
			activation := jwt.NewActivationClaims(key)
			activation.ImportSubject, activation.ImportType = jwt.Subject(subject), jwt.Service
			token, err := activation.Encode(w.engine)
			if err != nil {
				return err
			}
			claims.Imports.Add(&jwt.Import{
				Subject: jwt.Subject(subject), LocalSubject: jwt.RenamingSubject(localOf(subject)),
				Account: engine, Token: token, Type: jwt.Service,
			})
		}
		return nil
	})
	if err != nil {
		return err
	}
	return w.user(m.name(), pair, m.user, services)
}

// localOf names an imported subject in the importing account: the same, where wildcards are numbered.
func localOf(subject string) string {
	if strings.HasSuffix(subject, ".*") {
		return strings.TrimSuffix(subject, "*") + "$1"
	}
	return subject
}

// user signs a user, who may send requests to those subjects only, or to any if there are none.
func (w *writer) user(name string, account, user nkeys.KeyPair, services []string) error {
	key, err := user.PublicKey()
	if err != nil {
		return err
	}
	claims := jwt.NewUserClaims(key)
	claims.Name = name
	if services != nil {
		claims.Permissions.Pub.Allow.Add(services...)
		claims.Permissions.Sub.Allow.Add("_INBOX.>")
	}
	token, err := claims.Encode(account)
	if err != nil {
		return err
	}
	seed, err := user.Seed()
	if err != nil {
		return err
	}
	text, err := jwt.FormatUserConfig(token, seed)
	if err != nil {
		return err
	}
	w.all = append(w.all, File{Name: name + credentialsSuffix, Text: text, Secret: true})
	return nil
}

func (w *writer) seed(name string, pair nkeys.KeyPair) error {
	seed, err := pair.Seed()
	w.all = append(w.all, File{Name: name + keySuffix, Text: append(seed, '\n'), Secret: true})
	return err
}
