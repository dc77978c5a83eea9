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
	"github.com/strabo-engine/strabo/internal/stream"
	"github.com/strabo-engine/strabo/syncserver"
	"github.com/strabo-engine/strabo/syncserver/embedded"
)

// systemCommands run systems and look after them.
type systemCommands struct {
	Serve      serveCommand      `cmd:"" help:"Coordinate the agents of protocols."`
	Enactments enactmentsCommand `cmd:"" help:"See what is going on in a system, and check its log."`
	Backup     backupCommand     `cmd:"" help:"Write a system's log to a file."`
	Restore    restoreCommand    `cmd:"" help:"Make a system from a backup."`
	Shop       shopCommand       `cmd:"" help:"Open a shop that platforms buy from by UCP."`
	Profile    profileCommand    `cmd:"" help:"Print or serve the profile of a platform that buys by UCP."`
	Bench      benchCommand      `cmd:"" help:"Measure how many attempts a second are decided."`
	Load       loadCommand       `cmd:"" help:"Measure how fast shops answer."`
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

// served is one system.
type served struct {
	name  string
	rules *enactment.Rules
}

// systems reads protocols, each of which may have a system name before it.
func (f partyFlags) systems(s *streams, texts []string) ([]served, error) {
	parties, err := f.options()
	if err != nil {
		return nil, err
	}
	var systems []served
	for _, text := range texts {
		name, protocol, named := strings.Cut(text, "=")
		if !named {
			name, protocol = "", text
		}
		rules, err := openRules(s, protocol, parties...)
		if err != nil {
			return nil, err
		}
		if name == "" {
			name = syncserver.SystemName(rules)
		}
		for _, other := range systems {
			if other.name == name {
				return nil, fmt.Errorf("two protocols for the system %s: name one of them, as in NAME=%s", name, protocol)
			}
		}
		systems = append(systems, served{name, rules})
	}
	return systems, nil
}

// clientFlags say how to connect to a NATS that is there.
type clientFlags struct {
	tlsFlags
	Creds string `type:"path" placeholder:"FILE" help:"Credentials for --nats: a .creds file, or a .nk file with a seed."`
}

// storeFlags say where the streams of a system are.
type storeFlags struct {
	tlsFlags
	NATS  string `name:"nats" placeholder:"URL" help:"A NATS of your own, with JetStream; else one runs inside."`
	Creds string `type:"path" placeholder:"FILE" help:"Credentials for --nats: a .creds file, or a .nk file with a seed."`
	Store string `type:"path" placeholder:"DIR" help:"Where the NATS inside keeps its files."`
	Keys  string `type:"path" placeholder:"FILE" help:"Keys that seal secrets; DIR/keys of --store by default. Made if missing."`
}

// natsSettings are what the NATS inside is started with, besides the flags.
type natsSettings struct {
	listen string
	sync   bool
	// reads tells that what is not there is not made: neither a directory nor keys.
	reads bool
}

// connected is a connection to where the streams are.
type connected struct {
	conn   *nats.Conn
	server *embedded.Server // nil with --nats
	keys   *syncserver.Keyring
	close  func()
	// accounts tells that each identity has an account of its own in the NATS inside.
	accounts bool
	// connect makes one more connection, which is the caller's.
	connect func() (*nats.Conn, error)
}

// open connects, to a NATS inside if no other is named. Without a directory its files are gone afterwards.
func (f *storeFlags) open(settings natsSettings, log *slog.Logger) (*connected, error) {
	options := []nats.Option{nats.MaxReconnects(-1), nats.Name("strabo")}
	c := &connected{close: func() {}}
	if f.NATS != "" {
		if settings.sync {
			return nil, errors.New("--durability fsync is an option of the NATS server: with --nats set sync_interval: always there")
		}
		connecting, err := (&clientFlags{f.tlsFlags, f.Creds}).options()
		if err != nil {
			return nil, err
		}
		options = append(options, connecting...)
		options = append(options, stream.Queue())
		c.connect = func() (*nats.Conn, error) { return nats.Connect(f.NATS, options...) }
		if c.conn, err = c.connect(); err != nil {
			return nil, cannotConnect(f.NATS, f.Creds, err)
		}
		c.close = c.conn.Close
		return c, f.openKeys(c)
	}
	if settings.reads {
		if _, err := os.Stat(f.Store); err != nil {
			return nil, fmt.Errorf("--store: %w", err)
		}
	}
	dir, clean := f.Store, func() {}
	if dir == "" {
		temporary, err := os.MkdirTemp("", "strabo-")
		if err != nil {
			return nil, err
		}
		dir, clean = temporary, func() { _ = os.RemoveAll(temporary) }
	}
	secured, err := f.server()
	if err == nil && secured != nil && settings.listen == "" {
		err = errors.New("--tls-cert, --tls-key and --tls-ca are for --nats, or for where a server listens")
	}
	if err != nil {
		clean()
		return nil, err
	}
	config, engine, err := accountsIn(dir)
	if err != nil {
		clean()
		return nil, err
	}
	options = append(options, engine...)
	server, err := embedded.Start(embedded.Options{
		StoreDir: dir, Listen: settings.listen, SyncAlways: settings.sync, Config: config, TLS: secured, Logger: log,
	})
	if errors.Is(err, embedded.ErrInUse) {
		err = fmt.Errorf("%w: ask the server that has it, with --nats, or stop it", err)
	}
	if err != nil {
		clean()
		return nil, err
	}
	c.server, c.accounts = server, config != ""
	stop := func() {
		server.Shutdown()
		clean()
	}
	c.connect = func() (*nats.Conn, error) { return server.Connect(options...) }
	if c.conn, err = c.connect(); err != nil {
		stop()
		return nil, err
	}
	c.close = func() {
		c.conn.Close()
		stop()
	}
	if beside := filepath.Join(dir, "keys"); f.Keys == "" && !(settings.reads && missing(beside)) {
		f.Keys = beside
	}
	if err := f.openKeys(c); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func missing(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}

func (f *storeFlags) openKeys(c *connected) (err error) {
	if f.Keys != "" {
		c.keys, err = syncserver.LoadKeyring(f.Keys)
	}
	return err
}

// connect connects to the NATS at a URL.
func (f *clientFlags) connect(url string, options ...nats.Option) (*nats.Conn, error) {
	connecting, err := f.options()
	if err != nil {
		return nil, err
	}
	conn, err := nats.Connect(url, append(append(options, connecting...), stream.Queue())...)
	if err != nil {
		return nil, cannotConnect(url, f.Creds, err)
	}
	return conn, nil
}

// cannotConnect says why a connection could not be had and, where credentials are asked for and none were given, what to do.
func cannotConnect(url, creds string, err error) error {
	hint := ""
	if errors.Is(err, nats.ErrAuthorization) && creds == "" {
		hint = ": give --creds FILE"
	}
	return fmt.Errorf("cannot connect to %s: %w%s", url, err, hint)
}

// options are those of the flags.
func (f *clientFlags) options() ([]nats.Option, error) {
	authenticated, err := f.credentials()
	if err != nil {
		return nil, err
	}
	secured, err := f.client()
	return append(authenticated, secured...), err
}

func (f *clientFlags) credentials() ([]nats.Option, error) {
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

// openTime is how long it may take until it is known whether a system is there.
const openTime = 10 * time.Second

// archive opens the log of a system.
func (f *systemFlags) archive(ctx context.Context, s *streams, protocol string) (*syncserver.Archive, *enactment.Rules, func(), error) {
	archive, rules, conn, err := f.archiveAt(ctx, s, protocol)
	if err != nil {
		return nil, nil, nil, err
	}
	return archive, rules, conn.close, nil
}

// archiveAt opens the log of a system and gives the connection too, which is to be closed.
func (f *systemFlags) archiveAt(
	ctx context.Context, s *streams, protocol string,
) (*syncserver.Archive, *enactment.Rules, *connected, error) {
	rules, err := openRules(s, protocol)
	if err != nil {
		return nil, nil, nil, err
	}
	if f.NATS == "" && f.Store == "" {
		return nil, nil, nil, errors.New("say where the system is: --nats URL, or --store DIR of a server that does not run")
	}
	if f.Keys != "" && missing(f.Keys) {
		return nil, nil, nil, fmt.Errorf("--keys: there is no file %s", f.Keys)
	}
	c, err := f.open(natsSettings{reads: true}, nil)
	if err != nil {
		return nil, nil, nil, err
	}
	opening, cancel := context.WithTimeout(ctx, openTime)
	defer cancel()
	archive, err := syncserver.NewArchive(opening, c.conn, rules, f.System, c.keys)
	if err != nil {
		c.close()
		return nil, nil, nil, err
	}
	return archive, rules, c, nil
}
