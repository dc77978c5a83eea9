// Package embedded runs a NATS server with JetStream inside the process: in memory, or with its files in a directory.
// It is the only library package that imports the server; whoever has a NATS of their own does without it.
//
// Start reading at [Start].
package embedded

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/strabo-engine/strabo/internal/filelock"
	"github.com/strabo-engine/strabo/internal/stream"
)

// Options say how the server runs. One that listens to nobody is reached by
// [Server.Connect].
type Options struct {
	// StoreDir is where JetStream keeps its files. It is needed also for streams in memory. It is made if it is missing, and
	// no other server may have it.
	StoreDir string
	// Listen is the address to listen on, such as 127.0.0.1:4222; port 0 is any that is free. Empty to listen to nobody.
	Listen string
	// TLS is what connections from outside are secured with; nil for none. It has the server's certificate and, where clients
	// must have one too, ClientAuth and ClientCAs.
	TLS *tls.Config
	// SyncAlways has every message on disk (fsync) before it is acknowledged.
	SyncAlways bool
	// MaxStore and MaxMemory bound what JetStream keeps, in bytes; 0 for what the machine has.
	MaxStore, MaxMemory int64
	// MaxPayload bounds one message, in bytes; 0 for [DefaultMaxPayload].
	MaxPayload int
	// Config is configuration in the language of NATS, such as the accounts that syncserver.NATSConfig writes; it is
	// read before the other options are applied.
	Config string
	// Name names the server; empty for a random name.
	Name string
	// Cluster makes the server one of several; nil for one alone.
	Cluster *Cluster
	// Logger gets the server's log; nil for none.
	Logger *slog.Logger
}

// Cluster says how a server finds the others.
type Cluster struct {
	// Name is the cluster's.
	Name string
	// Listen is the address for the other servers.
	Listen string
	// Routes are the addresses of others, such as nats://10.0.0.2:6222.
	Routes []string
}

// DefaultMaxPayload is how large one message may be where nothing else is said.
const DefaultMaxPayload = 1 << 20

const readyTimeout = 30 * time.Second

// Server is a NATS server in this process.
type Server struct {
	server *server.Server
	sync   bool
	lock   *os.File
}

// ErrInUse says that another server, of this process or of another, has the directory: see [Start].
var ErrInUse = errors.New("embedded: the directory is in use by another server")

// Start starts a server and waits until it takes connections. The error is [ErrInUse] if another server that runs has
// its directory: two would spoil it.
func Start(o Options) (*Server, error) {
	options, err := o.serverOptions()
	if err != nil {
		return nil, err
	}
	lock, err := lockDir(o.StoreDir)
	if err != nil {
		return nil, err
	}
	s, err := server.NewServer(options)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("embedded: %w", err), lock.Close())
	}
	if o.Logger != nil {
		s.SetLoggerV2(logger{o.Logger.With("component", "nats")}, false, false, false)
	}
	started := &Server{server: s, sync: o.SyncAlways, lock: lock}
	s.Start()
	if !s.ReadyForConnections(readyTimeout) {
		started.Shutdown()
		return nil, errors.New("embedded: the server does not become ready")
	}
	if !s.JetStreamEnabled() {
		started.Shutdown()
		return nil, errors.New("embedded: JetStream could not be started; see the server's log")
	}
	return started, nil
}

// lockDir makes a directory if it is missing, readable by its owner alone, and keeps other servers from it until the file
// is closed.
func lockDir(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("embedded: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("embedded: %w", err)
	}
	err = filelock.Try(lock)
	if errors.Is(err, filelock.ErrHeld) {
		err = fmt.Errorf("%w: %s", ErrInUse, dir)
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}

func (o Options) serverOptions() (*server.Options, error) {
	options := &server.Options{}
	if o.Config != "" {
		if err := options.ProcessConfigString(o.Config); err != nil {
			return nil, fmt.Errorf("embedded: configuration: %w", err)
		}
	}
	if o.StoreDir == "" {
		return nil, errors.New("embedded: a directory is needed: JetStream keeps some files even for streams in memory")
	}
	options.JetStream = true
	options.StoreDir = o.StoreDir
	options.SyncAlways = o.SyncAlways
	options.JetStreamMaxStore, options.JetStreamMaxMemory = o.MaxStore, o.MaxMemory
	options.MaxPayload = int32(o.MaxPayload)
	if o.MaxPayload == 0 {
		options.MaxPayload = DefaultMaxPayload
	}
	options.ServerName = o.Name
	options.NoSigs = true
	options.NoLog = o.Logger == nil
	options.DisableJetStreamBanner = true
	// Else a client whose machine is so busy that it takes two seconds to connect is sent a PING, which it takes for the
	// answer to its own, and gives up.
	options.DisableShortFirstPing = true
	options.DontListen = o.Listen == ""
	if o.TLS != nil {
		options.TLSConfig = o.TLS
		options.TLSVerify = o.TLS.ClientAuth == tls.RequireAndVerifyClientCert
	}
	var err error
	if o.Listen != "" {
		if options.Host, options.Port, err = address(o.Listen); err != nil {
			return nil, err
		}
	}
	if o.Cluster != nil {
		options.Cluster.Name = o.Cluster.Name
		if options.Cluster.Host, options.Cluster.Port, err = address(o.Cluster.Listen); err != nil {
			return nil, err
		}
		options.Routes = server.RoutesFromStr(joined(o.Cluster.Routes))
	}
	return options, nil
}

func joined(routes []string) string {
	text := ""
	for i, route := range routes {
		if i > 0 {
			text += ","
		}
		text += route
	}
	return text
}

// address splits host and port as the server takes them: there a random port is -1.
func address(text string) (host string, port int, err error) {
	host, number, err := net.SplitHostPort(text)
	if err != nil {
		return "", 0, fmt.Errorf("embedded: address %q: %w", text, err)
	}
	port, err = strconv.Atoi(number)
	if err != nil || port < 0 || port > 65535 {
		return "", 0, fmt.Errorf("embedded: address %q: the port is a number up to 65535", text)
	}
	if port == 0 {
		port = server.RANDOM_PORT
	}
	return host, port, nil
}

// Connect makes a connection that does not leave the process.
func (s *Server) Connect(options ...nats.Option) (*nats.Conn, error) {
	// The server is there, however long it takes to answer where the process has much to do; by itself nats.Connect waits
	// for two seconds.
	own := []nats.Option{nats.Timeout(readyTimeout), stream.Queue(), nats.InProcessServer(s.server)}
	return nats.Connect("", append(own, options...)...)
}

// URL is where the server listens; empty if it does not.
func (s *Server) URL() string {
	if s.server.Addr() == nil {
		return ""
	}
	return s.server.ClientURL()
}

// RouteURL is where the server listens for others of its cluster; empty if it has none.
func (s *Server) RouteURL() string {
	if address := s.server.ClusterAddr(); address != nil {
		return "nats://" + address.String()
	}
	return ""
}

// LeadsStream tells whether this server is the leader of a stream, of the account with that name, $G where there are no
// others.
func (s *Server) LeadsStream(account, stream string) bool {
	return s.server.JetStreamIsStreamLeader(account, stream)
}

// Clustered tells whether the server knows a leader of its cluster's JetStream, so that streams can be made.
func (s *Server) Clustered() bool { return s.server.JetStreamIsCurrent() }

// SyncAlways tells whether every message is on disk before it is acknowledged.
func (s *Server) SyncAlways() bool { return s.sync }

// Shutdown stops the server and waits until it has stopped.
func (s *Server) Shutdown() {
	s.server.Shutdown()
	s.server.WaitForShutdown()
	_ = s.lock.Close() // nothing was written to it
}

// logger hands the server's log on.
type logger struct{ to *slog.Logger }

func (l logger) Noticef(format string, v ...any) { l.log(slog.LevelInfo, format, v) }
func (l logger) Warnf(format string, v ...any)   { l.log(slog.LevelWarn, format, v) }
func (l logger) Fatalf(format string, v ...any)  { l.log(slog.LevelError, format, v) }
func (l logger) Errorf(format string, v ...any)  { l.log(slog.LevelError, format, v) }
func (l logger) Debugf(format string, v ...any)  { l.log(slog.LevelDebug, format, v) }
func (l logger) Tracef(format string, v ...any)  { l.log(slog.LevelDebug, format, v) }

// log leaves out what sets a line off from others on a page, and lines that are nothing else.
func (l logger) log(level slog.Level, format string, v []any) {
	if text := strings.Trim(fmt.Sprintf(format, v...), " -"); text != "" {
		l.to.Log(context.Background(), level, text)
	}
}
