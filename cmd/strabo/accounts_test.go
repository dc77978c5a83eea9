package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/protocols"
	"github.com/strabo-engine/strabo/syncserver"
)

// natsServer is a NATS as a user runs one: it reads a configuration file, nats.conf in a directory.
func natsServer(t *testing.T, dir, text string) (url string, stop func()) {
	t.Helper()
	file := filepath.Join(dir, "nats.conf")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	options, err := server.ProcessConfigFile(file)
	require.NoError(t, err)
	options.NoLog, options.NoSigs = true, true
	s, err := server.NewServer(options)
	require.NoError(t, err)
	s.Start()
	stop = func() {
		s.Shutdown()
		s.WaitForShutdown()
	}
	t.Cleanup(stop)
	require.True(t, s.ReadyForConnections(30*time.Second))
	return s.ClientURL(), stop
}

// as connects with the flags of a command.
func as(t *testing.T, flags storeFlags) *nats.Conn {
	t.Helper()
	c, err := flags.open(natsSettings{}, nil)
	require.NoError(t, err)
	t.Cleanup(c.close)
	return c.conn
}

// agentOf attempts as whoever has the credentials.
func agentOf(t *testing.T, flags storeFlags, rules *enactment.Rules) *syncserver.Client {
	t.Helper()
	client, err := syncserver.NewClient(as(t, flags), rules, syncserver.ClientConfig{})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	return client
}

// try attempts for a while: an attempt that is let through is answered at once.
func try(t *testing.T, client *syncserver.Client, limit time.Duration, as enactment.Identity, action string, values map[string]any) error {
	t.Helper()
	all, err := enactment.ValuesOf(values)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	outcome, err := client.Attempt(ctx, enactment.Attempt{
		ID: fmt.Sprint(as, action, values["ID"]), Identity: as, Action: action, Values: all,
	})
	if err == nil {
		err = outcome.Err()
	}
	return err
}

const (
	long  = 30 * time.Second
	brief = 200 * time.Millisecond
)

// TestNATSConfig loads what nats-config writes into a real NATS and tries who can do what.
func TestNATSConfig(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long")
	}
	t.Parallel()
	rules, err := protocols.Load("purchase")
	require.NoError(t, err)
	alice, bob := enactment.Identity{Role: "Buyer", Party: "alice"}, enactment.Identity{Role: "Buyer", Party: "bob"}
	for format, file := range map[string]struct{ config, suffix string }{
		"plain": {"accounts.conf", ".nk"}, "jwt": {"operator.conf", ".creds"},
	} {
		t.Run(format, func(t *testing.T) {
			dir := t.TempDir()
			out := filepath.Join(dir, "accounts")
			write := func(parties string, more ...string) {
				names := strabo(t, exitFine, append([]string{
					"nats-config", "purchase", "second=purchase", "--party", "Buyer=" + parties, "--format", format, "--out", out,
				}, more...)...)
				for name := range strings.Lines(names) {
					info, err := os.Stat(strings.TrimSpace(name))
					require.NoError(t, err)
					if !strings.HasSuffix(info.Name(), ".conf") {
						require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), info.Name())
					}
				}
			}
			credentials := func(name string) string { return filepath.Join(out, name+file.suffix) }
			start := func() (url string, stop func()) {
				url, stopNATS := natsServer(t, dir, fmt.Sprintf("listen: 127.0.0.1:-1\njetstream { store_dir: %q }\ninclude %q\n",
					filepath.Join(dir, "store"), "accounts/"+file.config))
				s := startServing(t, "purchase", "second=purchase", "--party", "Buyer=alice,bob",
					"--nats", url, "--creds", credentials("engine"), "--keys", filepath.Join(dir, "keys"))
				return url, func() { s.stop(t); stopNATS() }
			}
			write("alice,bob")
			url, stop := start()
			client := func(name string) *syncserver.Client {
				return agentOf(t, storeFlags{NATS: url, Creds: credentials(name)}, rules)
			}
			buyer := client("purchase.Buyer.alice")
			require.NoError(t, try(t, buyer, long, alice, "RFQ", map[string]any{"ID": 1, "item": "fig"}))

			shipper := client("purchase.Shipper")
			require.ErrorIs(t, try(t, shipper, brief, alice, "RFQ", map[string]any{"ID": 2, "item": "fig"}), context.DeadlineExceeded)
			require.ErrorIs(t, try(t, buyer, brief, bob, "RFQ", map[string]any{"ID": 2, "item": "fig"}), context.DeadlineExceeded)
			ctx, cancel := context.WithTimeout(t.Context(), brief)
			_, err := shipper.Join(ctx, alice)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			cancel()
			js, err := jetstream.New(as(t, storeFlags{NATS: url, Creds: credentials("purchase.Shipper")}), jetstream.WithDefaultTimeout(brief))
			require.NoError(t, err)
			_, err = js.Stream(t.Context(), "STRABO_purchase_LOG")
			require.Error(t, err)
			_, err = js.CreateStream(t.Context(), jetstream.StreamConfig{
				Name: "mine", Sources: []*jetstream.StreamSource{{Name: "STRABO_purchase_LOG"}},
			})
			require.Error(t, err)
			var refused *enactment.Rejection
			err = try(t, client("purchase.Buyer.bob"), long, bob, "Reject", map[string]any{"ID": 1})
			require.ErrorAs(t, err, &refused)
			require.Equal(t, enactment.WrongParty, refused.Code, "bob has no part in what is alice's")

			// One more party later: nobody needs a new file.
			before, err := os.ReadFile(credentials("purchase.Buyer.alice"))
			require.NoError(t, err)
			write("alice,bob,carol")
			copied := filepath.Join(dir, "alice"+file.suffix)
			require.NoError(t, os.WriteFile(copied, before, 0o600))
			stop()
			url, stop = start()
			again := agentOf(t, storeFlags{NATS: url, Creds: copied}, rules)
			require.NoError(t, try(t, again, long, alice, "RFQ", map[string]any{"ID": 3, "item": "fig"}))

			// A key that is replaced lets nobody in; the others still do.
			write("alice,bob,carol", "--rotate", "purchase.Buyer.alice")
			stop()
			url, stop = start()
			_, err = (&storeFlags{NATS: url, Creds: copied}).open(natsSettings{}, nil)
			require.ErrorIs(t, err, nats.ErrAuthorization)
			require.NoError(t, try(t, client("purchase.Buyer.alice"), long, alice, "RFQ", map[string]any{"ID": 4, "item": "fig"}))
			require.NoError(t, try(t, client("purchase.Buyer.bob"), long, bob, "RFQ", map[string]any{"ID": 5, "item": "fig"}))
			listed := strabo(t, exitFine, "enactments", "ls", "purchase", "--nats", url, "--creds", credentials("engine"), "--keys", filepath.Join(dir, "keys"))
			require.Equal(t, 4, strings.Count(listed, "\n"), listed)
			stop()
			strabo(t, exitWrongUse, "nats-config", "purchase", "--format", format, "--out", out, "--rotate", "purchase.Buyer.mallory")
		})
	}
}

// TestServeAccounts has a client's file, written once, let it in for good.
func TestServeAccounts(t *testing.T) {
	rules, err := protocols.Load("purchase")
	require.NoError(t, err)
	buyer, seller := enactment.Identity{Role: "Buyer"}, enactment.Identity{Role: "Seller"}
	data := filepath.Join(t.TempDir(), "data")
	file := filepath.Join(data, "accounts", "purchase.Buyer.nk")
	start := func(more ...string) *serving {
		return startServing(t, append([]string{"purchase", "--store", data, "--listen", "127.0.0.1:0"}, more...)...)
	}
	s := start("--accounts")
	kept, err := os.ReadFile(file)
	require.NoError(t, err)
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	require.NoError(t, try(t, agentOf(t, storeFlags{NATS: s.NATS, Creds: file}, rules), long, buyer, "RFQ", map[string]any{"ID": 1, "item": "fig"}))
	_, err = (&storeFlags{NATS: s.NATS}).open(natsSettings{}, nil)
	require.ErrorIs(t, err, nats.ErrAuthorization, "who says nothing is nobody")
	s.stop(t)

	// Also where it is forgotten to say that there are accounts.
	s = start()
	now, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, kept, now)
	client := agentOf(t, storeFlags{NATS: s.NATS, Creds: file}, rules)
	require.NoError(t, try(t, client, long, buyer, "RFQ", map[string]any{"ID": 2, "item": "fig"}))
	require.ErrorIs(t, try(t, client, brief, seller, "Quote", map[string]any{"ID": 2, "price": 5}), context.DeadlineExceeded)
	s.stop(t)
	require.Equal(t, 2, strings.Count(strabo(t, exitFine, "enactments", "ls", "purchase", "--store", data), "\n"))

	// What was made without accounts would not be found any more.
	open := filepath.Join(t.TempDir(), "data")
	startServing(t, "purchase", "--store", open).stop(t)
	strabo(t, exitWrongUse, "serve", "purchase", "--store", open, "--accounts")
}
