package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/langshaw"
	"github.com/strabo-engine/strabo/protocols"
	"github.com/strabo-engine/strabo/syncserver"
	"github.com/strabo-engine/strabo/syncserver/embedded"
)

// systemCommands run systems and look after them.
type systemCommands struct {
	Serve      serveCommand      `cmd:"" help:"Coordinate the agents of protocols."`
	Enactments enactmentsCommand `cmd:"" help:"See what is going on in a system, and check its log."`
	Backup     backupCommand     `cmd:"" help:"Write a system's log to a file."`
	Restore    restoreCommand    `cmd:"" help:"Make a system from a backup."`
	Bench      benchCommand      `cmd:"" help:"Measure how many attempts a second are decided."`
	NatsConfig natsConfigCommand `cmd:"" name:"nats-config" help:"Write the NATS accounts of a system."`
}

// partyFlags say which parties may play a role.
type partyFlags struct {
	Party []string `placeholder:"ROLE=PARTY,..." sep:"none" help:"Parties that may play a role; may be repeated."`
}

func (f partyFlags) options() ([]enactment.Option, error) {
	var options []enactment.Option
	for _, text := range f.Party {
		role, parties, ok := strings.Cut(text, "=")
		if !ok || role == "" || parties == "" {
			return nil, fmt.Errorf("--party %s: it should be ROLE=PARTY or ROLE=PARTY,PARTY", text)
		}
		options = append(options, enactment.WithParties(role, strings.Split(parties, ",")...))
	}
	return options, nil
}

// loadRules compiles a protocol that ships with the engine, or one of a file with the companion that lies beside it.
func loadRules(name string, options ...enactment.Option) (*enactment.Rules, error) {
	if !strings.HasSuffix(name, ".lsh") {
		return protocols.Load(name, options...)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	protocol, diagnostics := langshaw.Parse(text)
	if diagnostics.HasErrors() {
		return nil, fmt.Errorf("%s has errors: see strabo check %s", name, name)
	}
	beside := strings.TrimSuffix(name, ".lsh") + ".yaml"
	switch text, err = os.ReadFile(beside); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	default:
		companion, err := protocols.ParseCompanion(text, protocol)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", beside, err)
		}
		options = append(companion.Options(), options...)
	}
	rules, err := enactment.Compile(protocol, options...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return rules, nil
}

// credsFlags say who somebody is to a NATS.
type credsFlags struct {
	Creds string `type:"path" placeholder:"FILE" help:"Credentials for --nats: a .creds file, or a .nk file with a seed."`
}

// storeFlags say where the streams of a system are.
type storeFlags struct {
	NATS string `name:"nats" placeholder:"URL" help:"A NATS of your own, with JetStream; else one runs inside."`
	credsFlags
	Store string `type:"path" placeholder:"DIR" help:"Where the NATS inside keeps its files."`
	Keys  string `type:"path" placeholder:"FILE" help:"Keys that seal secrets; DIR/keys of --store by default. Made if missing."`
}

// natsSettings are what the NATS inside is started with, besides the flags.
type natsSettings struct {
	listen, config string
	sync           bool
}

// connected is a connection to where the streams are.
type connected struct {
	conn   *nats.Conn
	server *embedded.Server // nil with --nats
	keys   *syncserver.Keyring
	close  func()
}

// open connects, to a NATS inside if no other is named. Without a directory its files are gone afterwards.
func (f *storeFlags) open(settings natsSettings, log *slog.Logger, options ...nats.Option) (*connected, error) {
	options = append(options, nats.MaxReconnects(-1), nats.Name("strabo"))
	c := &connected{close: func() {}}
	if f.NATS != "" {
		if settings.sync {
			return nil, errors.New("--durability fsync is an option of the NATS server: with --nats set sync_interval: always there")
		}
		var err error
		if c.conn, err = f.connect(f.NATS, options...); err != nil {
			return nil, err
		}
		c.close = c.conn.Close
		return c, f.openKeys(c)
	}
	dir, clean := f.Store, func() {}
	if dir == "" {
		temporary, err := os.MkdirTemp("", "strabo-")
		if err != nil {
			return nil, err
		}
		dir, clean = temporary, func() { _ = os.RemoveAll(temporary) }
	}
	server, err := embedded.Start(embedded.Options{
		StoreDir: dir, Listen: settings.listen, SyncAlways: settings.sync, Config: settings.config, Logger: log,
	})
	if err != nil {
		clean()
		return nil, err
	}
	c.server = server
	stop := func() {
		server.Shutdown()
		clean()
	}
	if c.conn, err = server.Connect(options...); err != nil {
		stop()
		return nil, err
	}
	c.close = func() {
		c.conn.Close()
		stop()
	}
	if f.Keys == "" {
		f.Keys = filepath.Join(dir, "keys")
	}
	if err := f.openKeys(c); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (f *storeFlags) openKeys(c *connected) (err error) {
	if f.Keys != "" {
		c.keys, err = syncserver.LoadKeyring(f.Keys)
	}
	return err
}

// connect connects to the NATS at a URL.
func (f *credsFlags) connect(url string, options ...nats.Option) (*nats.Conn, error) {
	authenticated, err := f.credentials()
	if err != nil {
		return nil, err
	}
	conn, err := nats.Connect(url, append(options, authenticated...)...)
	if err != nil {
		return nil, fmt.Errorf("cannot connect to %s: %w", url, err)
	}
	return conn, nil
}

func (f *credsFlags) credentials() ([]nats.Option, error) {
	switch {
	case f.Creds == "":
		return nil, nil
	case strings.HasSuffix(f.Creds, ".nk"):
		option, err := nats.NkeyOptionFromSeed(f.Creds)
		if err != nil {
			return nil, fmt.Errorf("--creds: %w", err)
		}
		return []nats.Option{option}, nil
	default:
		return []nats.Option{nats.UserCredentials(f.Creds)}, nil
	}
}

// systemFlags name a system that is there.
type systemFlags struct {
	storeFlags
	System string `placeholder:"NAME" help:"Name of the system; made of the protocol's name by default."`
}

// archive opens the log of a system.
func (f *systemFlags) archive(ctx context.Context, protocol string) (*syncserver.Archive, *enactment.Rules, func(), error) {
	rules, err := loadRules(protocol)
	if err != nil {
		return nil, nil, nil, err
	}
	if f.NATS == "" && f.Store == "" {
		return nil, nil, nil, errors.New("say where the system is: --nats URL, or --store DIR of a server that does not run")
	}
	c, err := f.open(natsSettings{}, nil)
	if err != nil {
		return nil, nil, nil, err
	}
	opening, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	archive, err := syncserver.NewArchive(opening, c.conn, rules, f.System, c.keys)
	if err != nil {
		c.close()
		return nil, nil, nil, err
	}
	return archive, rules, c.close, nil
}
