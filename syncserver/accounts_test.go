package syncserver_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/enactment"
	. "github.com/strabo-engine/strabo/internal/played"
	"github.com/strabo-engine/strabo/syncserver"
	"github.com/strabo-engine/strabo/syncserver/embedded"
	. "github.com/strabo-engine/strabo/syncserver/internal/conformance"
	"github.com/strabo-engine/strabo/syncserver/natsconfig"
)

var (
	b1 = enactment.Identity{Role: "Buyer", Party: "b1"}
	b2 = enactment.Identity{Role: "Buyer", Party: "b2"}
	s1 = enactment.Identity{Role: "Seller", Party: "s1"}
	s2 = enactment.Identity{Role: "Seller", Party: "s2"}
)

// kingdom is a NATS in which every identity has an account of its own.
type kingdom struct {
	store  *embedded.Server
	engine nats.Option
	member func(enactment.Identity) nats.Option
}

func plainKingdom(t testing.TB, identities ...enactment.Identity) kingdom {
	t.Helper()
	setup, err := natsconfig.New("purchase", identities...)
	require.NoError(t, err)
	config, err := setup.Plain()
	require.NoError(t, err)
	engine, err := setup.Engine()
	require.NoError(t, err)
	return kingdom{store(t, embedded.Options{Config: config}), engine, func(id enactment.Identity) nats.Option {
		option, err := setup.Member("purchase", id)
		require.NoError(t, err)
		return option
	}}
}

func jwtKingdom(t testing.TB, identities ...enactment.Identity) kingdom {
	t.Helper()
	setup, err := natsconfig.New("purchase", identities...)
	require.NoError(t, err)
	files, err := setup.JWTFiles()
	require.NoError(t, err)
	dir, config := t.TempDir(), ""
	for _, f := range files {
		if f.Name == "operator.conf" {
			config = string(f.Text)
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, f.Name), f.Text, 0o600))
	}
	credentials := func(name string) nats.Option { return nats.UserCredentials(filepath.Join(dir, name+".creds")) }
	return kingdom{store(t, embedded.Options{Config: config}), credentials("engine"), func(id enactment.Identity) nats.Option {
		return credentials(natsconfig.FileName("purchase", id))
	}}
}

func (k kingdom) serve(t testing.TB, rules *enactment.Rules) {
	t.Helper()
	server, err := syncserver.NewServer(t.Context(), connect(t, k.store, k.engine), rules, syncserver.ServerConfig{Logger: quiet()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close(context.Background())) })
}

func (k kingdom) client(t testing.TB, rules *enactment.Rules, id enactment.Identity) *syncserver.Client {
	t.Helper()
	return client(t, connect(t, k.store, k.member(id)), rules)
}

// company has an executor for each identity, as if they were one.
type company struct {
	t     *testing.T
	k     kingdom
	rules *enactment.Rules

	mu      sync.Mutex
	clients map[enactment.Identity]*syncserver.Client
}

func (c *company) as(id enactment.Identity) *syncserver.Client {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.clients[id] == nil {
		c.clients[id] = c.k.client(c.t, c.rules, id)
	}
	return c.clients[id]
}

func (c *company) Attempt(ctx context.Context, a enactment.Attempt) (enactment.Outcome, error) {
	return c.as(a.Identity).Attempt(ctx, a)
}

func (c *company) Join(ctx context.Context, id enactment.Identity) (adapter.Feed, error) {
	if id.Role == "Banker" || id.Party == "b3" {
		return c.as(Auditor).Join(ctx, id)
	}
	return c.as(id).Join(ctx, id)
}

func TestConformanceWithAccounts(t *testing.T) {
	t.Parallel()
	for name, found := range map[string]func(testing.TB, ...enactment.Identity) kingdom{"plain": plainKingdom, "jwt": jwtKingdom} {
		t.Run(name, func(t *testing.T) {
			Run(t, func(t *testing.T, rules *enactment.Rules) func() adapter.Executor {
				k := found(t, Buyer, Seller, Auditor, b1, b2, s1, s2)
				k.serve(t, rules)
				return func() adapter.Executor {
					return &company{t: t, k: k, rules: rules, clients: make(map[enactment.Identity]*syncserver.Client)}
				}
			}, false)
		})
	}
}

func TestNobodyIsAnybodyElse(t *testing.T) {
	t.Parallel()
	rules := Rules(t, Purchase, enactment.WithParties("Buyer", "b1", "b2"))
	for name, found := range map[string]func(testing.TB, ...enactment.Identity) kingdom{"plain": plainKingdom, "jwt": jwtKingdom} {
		t.Run(name, func(t *testing.T) {
			k := found(t, b1, b2, s1)
			k.serve(t, rules)
			mine := Accepted(t, k.client(t, rules, b1), Attempt(b1, "RFQ", "1", "item", "fig"))

			// What the engine has in its streams must be the same after every attack.
			engine, err := jetstream.New(connect(t, k.store, k.engine))
			require.NoError(t, err)
			log, err := engine.Stream(t.Context(), "STRABO_purchase_LOG")
			require.NoError(t, err)
			messages := func() uint64 {
				info, err := log.Info(t.Context())
				require.NoError(t, err)
				return info.State.LastSeq
			}
			before := messages()

			thief := connect(t, k.store, k.member(s1), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
			subjects := []string{
				"strabo.purchase.attempt.Buyer.b1",      // attempt as another
				"strabo.purchase.observe.Buyer.b1",      // join as another
				"strabo.purchase.observe.Buyer.b1.any",  // ask a server as another
				"strabo.purchase.log.=7B=22ID=22=3A=22", // write a log
				"strabo.purchase.decided.any",           // say what was decided
				"strabo.purchase.arrival.0",
				"$JS.API.STREAM.INFO.STRABO_purchase_LOG",
				"$JS.API.STREAM.NAMES",
				"$JS.API.STREAM.MSG.GET.STRABO_purchase_LOG",
				"$JS.API.DIRECT.GET.STRABO_purchase_LOG",
				"$JS.API.DIRECT.GET.STRABO_purchase_LOG.strabo.purchase.log.=7B=22ID=22=3A=221=22=7D",
				"$JS.API.CONSUMER.CREATE.STRABO_purchase_LOG",
				"$JS.API.CONSUMER.CREATE.STRABO_purchase_LOG.mine.strabo.purchase.log.*",
				"$JS.API.CONSUMER.DURABLE.CREATE.STRABO_purchase_LOG.mine",
				"$JS.API.CONSUMER.MSG.NEXT.STRABO_purchase_LOG.mine",
				"$JS.API.CONSUMER.NAMES.STRABO_purchase_LOG",
				"$JS.API.CONSUMER.MSG.NEXT.STRABO_purchase_ARRIVALS.mine",
				"$JS.API.STREAM.SNAPSHOT.STRABO_purchase_LOG",
				"$JS.API.STREAM.MSG.DELETE.STRABO_purchase_LOG",
				"$JS.API.STREAM.UPDATE.STRABO_purchase_LOG",
				"$JS.API.STREAM.CREATE.mine",
				"$JS.STRABO.API.STREAM.INFO.STRABO_purchase_LOG",
				"$SYS.REQ.ACCOUNT.STRABO.INFO", "$SYS.REQ.SERVER.PING",
				"$JS.API.STREAM.PURGE.STRABO_purchase_LOG",
				"$JS.API.STREAM.DELETE.STRABO_purchase_LOG",
				"$JS.ACK.STRABO_purchase_LOG.x.1.1.1.1.1",
				"$SRV.PING", "$SRV.INFO.strabo-purchase",
			}
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			var asking sync.WaitGroup
			answers := make([]error, len(subjects))
			for i, subject := range subjects {
				asking.Go(func() { _, answers[i] = thief.RequestWithContext(ctx, subject, []byte(`{"seq":1}`)) })
			}
			asking.Wait()
			for i, subject := range subjects {
				require.Error(t, answers[i], subject)
			}

			// Nor does it hear what others say: whatever it may subscribe to, an attempt of another comes to nobody.
			var heard []*nats.Subscription
			for _, subject := range []string{"strabo.>", ">", "$JS.>", "_INBOX.>", "_R_.>"} {
				if sub, err := thief.SubscribeSync(subject); err == nil {
					heard = append(heard, sub)
				}
			}
			require.NoError(t, thief.Flush())
			Accepted(t, k.client(t, rules, b1), Attempt(b1, "Urge", "1"))
			require.NoError(t, thief.Flush())
			for _, sub := range heard {
				pending, _, err := sub.Pending()
				require.True(t, err != nil || pending == 0, sub.Subject)
			}
			require.Equal(t, before+1, messages())

			// Its own requests may ask for an answer wherever they like.
			rfq := Attempt(s1, "Stop", "1")
			request := map[string]any{"hash": rules.Hash(), "id": rfq.ID, "action": "Stop", "values": map[string]string{"ID": "1"}}
			text, err := json.Marshal(request)
			require.NoError(t, err)
			for _, reply := range []string{
				"strabo.purchase.log.=7B=22ID=22=3A=221=22=7D", "strabo.purchase.attempt.Buyer.b1", "strabo.purchase.lease.x",
				"strabo.purchase.observe.Buyer.b1", "strabo.purchase.arrival.0", "strabo.purchase.position.Buyer.b1.x",
				"$JS.API.STREAM.PURGE.STRABO_purchase_LOG", "$JS.ACK.STRABO_purchase_LOG.x.1.1.1.1.1", "_INBOX.b1.x", "_R_.x",
			} {
				require.NoError(t, thief.PublishRequest("strabo.purchase.attempt.Seller.s1", reply, text))
				for _, asked := range []string{"strabo.purchase.observe.Seller.s1", "strabo.purchase.observe.Seller.s1.any"} {
					require.NoError(t, thief.PublishRequest(asked, reply, []byte(`{"hash":"`+rules.Hash()+`","feed":"f"}`)))
				}
			}
			require.NoError(t, thief.Flush())
			stopped := Accepted(t, k.client(t, rules, s1), rfq)
			require.Equal(t, mine.Sequence+2, stopped.Sequence)
			require.Equal(t, before+2, messages(), "the attempt happened once, and no answer went into the log")

			// One buyer does not see another's enactments, nor act in them.
			other := k.client(t, rules, b2)
			require.Equal(t, enactment.WrongParty, Refused(t, other, Attempt(b2, "Reject", "1")))
			feed := Join(t, other, b2)
			Accepted(t, other, Attempt(b2, "RFQ", "2", "item", "fig"))
			require.Equal(t, []string{"2 1 RFQ"}, Receive(t, feed, 1))
		})
	}
}

func TestSecretsAreSealedWhereTheyAreStored(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	keys, err := syncserver.LoadKeyring(filepath.Join(dir, "keys"))
	require.NoError(t, err)
	rules := Rules(t, Purchase, enactment.WithSecrets("address"))
	_, err = syncserver.NewServer(t.Context(), connect(t, store(t, embedded.Options{})), rules, syncserver.ServerConfig{})
	require.ErrorContains(t, err, "secrets")
	for _, window := range []time.Duration{0, 10 * time.Millisecond} {
		dir := t.TempDir()
		s := store(t, embedded.Options{StoreDir: dir})
		serve(t, s, rules, syncserver.ServerConfig{Keys: keys, Window: window})
		e := client(t, connect(t, s), rules)
		feed := Join(t, e, Buyer)
		Accepted(t, e, Attempt(Buyer, "RFQ", "1", "item", "figs of Smyrna"))
		accept := Attempt(Buyer, "Accept", "1", "price", 5, "address", "Fleet Street")
		done := Accepted(t, e, accept)
		address, _ := done.Instance.Value("address")
		require.Equal(t, `"Fleet Street"`, address.String())
		require.Equal(t, []string{"1 1 RFQ", "1 2 Accept completed"}, Receive(t, feed, 2))

		// Whoever has the keys reads it, also another server.
		serve(t, s, rules, syncserver.ServerConfig{Keys: keys, Window: window})
		require.Equal(t, done.Sequence, Accepted(t, e, accept).Sequence)
		s.Shutdown()
		found := strings.Builder{}
		require.NoError(t, filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
			if err == nil && !entry.IsDir() {
				text, _ := os.ReadFile(path)
				found.Write(text)
			}
			return err
		}))
		require.Contains(t, found.String(), "figs of Smyrna")
		require.NotContains(t, found.String(), "Fleet Street")
	}
}
