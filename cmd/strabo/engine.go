package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/strabo-engine/strabo/cmd/strabo/internal/engine"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/syncserver"
)

// finalizeFlags say how attempts are finalised (semantics section 5).
type finalizeFlags struct {
	Finalize string        `enum:"immediate,batch" default:"immediate" help:"How attempts are finalised: ${enum}."`
	Window   time.Duration `default:"20ms" help:"How long attempts of one enactment wait for each other in batch finalisation."`
}

// span is how long a window is; 0 in immediate finalisation.
func (f finalizeFlags) span() (time.Duration, error) {
	switch {
	case f.Finalize != "batch":
		return 0, nil
	case f.Window <= 0:
		return 0, fmt.Errorf("--window is %v: a window takes time", f.Window)
	default:
		return f.Window, nil
	}
}

// What --durability says: it was written to memory, or it is on the disk.
const (
	inMemory = "none"
	fsync    = "fsync"
)

// Who decides the attempts of agents in this process.
const (
	onLocal   = "local"
	onProcess = "process"
	onNATS    = "nats"
)

// engineFlags say who decides the attempts of agents in this process, how, and where it is kept. A command that embeds
// them sets the variable executor, which is the default.
type engineFlags struct {
	storeFlags
	finalizeFlags
	Executor   string `enum:"local,process,nats" default:"${executor}" help:"Who decides: ${enum}. local is in memory, process a server inside, nats a server asked over NATS."`
	Durability string `enum:"none,ack,fsync" default:"ack" help:"What an answer stands for: ${enum}. See docs/operations.md."`
}

// engines makes engines as the flags say, any number of them on one store.
type engines struct {
	flags    *engineFlags
	span     time.Duration
	store    *connected // nil where all is in memory
	replicas int        // of each stream; 0 for one
	log      *slog.Logger
}

// engines opens the store, if there is to be one.
func (f *engineFlags) engines(log *slog.Logger) (*engines, error) {
	span, err := f.span()
	if err != nil {
		return nil, err
	}
	e := &engines{flags: f, span: span, log: log}
	if f.Executor == onLocal {
		if f.NATS != "" || f.Store != "" {
			return nil, errors.New("--executor local keeps everything in memory: --nats and --store are for process and nats")
		}
		return e, nil
	}
	if e.store, err = f.open(natsSettings{sync: f.Durability == fsync}, nil); err != nil {
		return nil, err
	}
	return e, nil
}

// close closes the store.
func (e *engines) close() {
	if e.store != nil {
		e.store.close()
	}
}

// of opens engines of a system. Those that keep nothing in memory are served by a server in this process.
func (e *engines) of(ctx context.Context, system string) engine.Open {
	if e.store == nil {
		return engine.Local(syncserver.WithBatch(e.span, 0))
	}
	return func(rules *enactment.Rules, recorder func(enactment.Record)) (*engine.Engine, error) {
		starting, cancel := context.WithTimeout(ctx, startTime)
		defer cancel()
		server, err := syncserver.NewServer(starting, e.store.conn, rules, syncserver.ServerConfig{
			System: system, Keys: e.store.keys, Memory: e.flags.Durability == inMemory, Window: e.span, Replicas: e.replicas,
			Recorder: recorder, Logger: e.log,
		})
		if err != nil {
			return nil, err
		}
		stop := func() {
			if err := drain([]*syncserver.Server{server}); err != nil {
				e.log.Warn("the server did not end in order", "error", err)
			}
		}
		config := syncserver.ClientConfig{System: system, Logger: e.log}
		if e.flags.Executor == onProcess {
			client := server.Client(config)
			return engine.New(client, func() { client.Close(); stop() }), nil
		}
		asked, err := e.asked(rules, config)
		if err != nil {
			stop()
			return nil, err
		}
		return engine.New(asked.Executor, func() { asked.Close(); stop() }), nil
	}
}

// served opens engines whose servers run elsewhere, on a NATS of the user's own. There is nobody to tell a recorder.
func (e *engines) served(rules *enactment.Rules, _ func(enactment.Record)) (*engine.Engine, error) {
	return e.asked(rules, syncserver.ClientConfig{Logger: e.log})
}

// asked makes an engine that asks whatever servers there are, over a connection of its own.
func (e *engines) asked(rules *enactment.Rules, config syncserver.ClientConfig) (*engine.Engine, error) {
	conn, err := e.store.connect()
	if err != nil {
		return nil, err
	}
	client, err := syncserver.NewClient(conn, rules, config)
	if err != nil {
		conn.Close()
		return nil, err
	}
	return engine.New(client, func() { client.Close(); conn.Close() }), nil
}

// claim makes sure that a system is a new one: agents that remember nothing must not find what others left undone.
func (e *engines) claim(ctx context.Context, system string, rules *enactment.Rules) error {
	if e.store == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, openTime)
	defer cancel()
	_, err := syncserver.NewArchive(ctx, e.store.conn, rules, system, e.store.keys)
	_, other := errors.AsType[*syncserver.ProtocolError](err)
	switch {
	case errors.Is(err, syncserver.ErrNoSystem):
		return nil
	case err == nil || other:
		return fmt.Errorf("there is a system %s already, and the agents need a new one: choose another --system", system)
	default:
		return err
	}
}
