package ucp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/bridge"
	"github.com/strabo-engine/strabo/bridge/audit"
	"github.com/strabo-engine/strabo/bridge/policy"
	"github.com/strabo-engine/strabo/bridge/ucp/mcp"
	"github.com/strabo-engine/strabo/bridge/ucp/negotiation"
	"github.com/strabo-engine/strabo/bridge/ucp/signature"
	"github.com/strabo-engine/strabo/bridge/ucp/wire"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/protocols"
)

const outboundContracts = "simple-ucp.contracts.yaml"

// outboundMappings are the mappings that ship with the engine, by the names of their protocols.
var outboundMappings = map[string]string{
	"SimpleUCP":      "simple-ucp.outbound.yaml",
	"UCPIncremental": "ucp-incremental.outbound.yaml",
}

// DefaultProfile is the URL of the platform's profile where [OutboundOptions] names none. Nobody answers there, so shops of
// UCP 2026-01-23 and later, which ask for it, refuse.
const DefaultProfile = "https://platform.invalid/profile.json"

// OutboundOptions configure an [Outbound]. Every field may be left out, but shops of UCP 2026-01-23 and later want Profile.
type OutboundOptions struct {
	// Client sends the requests; by default one of its own, which goes nowhere that a shop should not lead to (see
	// [Discover]) and gives connections back before the sample shops close them. Redirects are not followed, whatever it
	// says.
	Client *http.Client
	// Caller sends the requests instead of Client, for a policy of one's own.
	Caller bridge.Caller
	// Journal remembers what was sent; by default it lasts as long as the process.
	Journal bridge.Journal
	// Choices decide what the Platform leaves open.
	Choices Choices
	// Policy is the policy of the calls, by default that of [Contracts] as they are.
	Policy *policy.Policy
	// Principal, Approvals, Audit, AuditRequired and Hasher are those of [bridge.Options]. To pay needs a trusted subject
	// and an approval: without them a checkout is declined, and nothing leaves.
	Principal     func(ctx context.Context, key enactment.Key, observed enactment.Instance) (policy.Principal, error)
	Approvals     policy.Approver
	Audit         audit.Sink
	AuditRequired bool
	Hasher        *audit.Hasher
	// OnUnknown is told of every request whose fate is unknown, OnDiverged of every divergence between shop and
	// protocol. See [bridge.Options].
	OnUnknown  func(bridge.Unsettled)
	OnDiverged func(bridge.Divergence)
	// Logger is slog.Default() if nil.
	Logger *slog.Logger
	// Profile is the URL of the platform's profile, sent as UCP-Agent. It must have no quotation marks. {release} in it
	// stands for the release that is spoken, as a platform that speaks several has a profile for each: see
	// [PlatformProfile]. Without one, give [Discover] those of [ReleasesFor]; at a shop of a later release it is warned.
	Profile string
	// Signer signs the requests, with a key that is in the platform's profile. Without it they are not signed, and shops
	// that check signatures will refuse them.
	Signer *signature.Signer
	// Signed tells that what the shop answers has to be signed by it, a refusal as well as an order: what is not is not
	// believed, as an answer that was lost. It takes a shop of 2026-04-08 that publishes keys, see [ErrUnsigned]. Without it
	// a signature is verified where there is one: see [AnswerError].
	Signed bool
	// Key finds a key in the profile of the shop that was not there when it was discovered, as profiles.Fetcher does, and all
	// of them an hour later; nil for a fetcher of its own, which goes nowhere that a shop should not lead to.
	Key func(ctx context.Context, profileURL, id string) (negotiation.Key, error)
	// Mandates tells that the platform makes mandates (AP2): its profile has the extension and a key, see [OfferMandates].
	// At a shop that takes them (see [Business.TakesMandates]) every checkout has to be signed by the shop, with a key of its
	// profile; one that is not is NeedsInput with an error that cannot be recovered from. What is Offered
	// has in checkout.ap2.checkout the whole of it as it came, and nothing is paid without a mandate for that in the
	// credential's ap2.checkout_mandate: see [mandate.Signer]. It needs UCPIncremental.
	Mandates bool
	// Currency is the one to buy in, an ISO 4217 code; a checkout in another is refused. If it is empty, shops are
	// asked for USD, and what they sell in is taken.
	Currency string
	// Discloses tells that the platform shows its buyer the warnings whose presentation is disclosure. Without it a
	// checkout that has one is NeedsInput, since the buyer has to see it at the shop (UCPIncremental alone).
	Discloses bool
	// ShowsImages tells that it shows the pictures that belong to such warnings too. Without it a checkout that has one
	// with a picture is NeedsInput all the same.
	ShowsImages bool
	// Mapping is the text of a mapping to use instead of the one that ships with the engine, and MappingName its name
	// in errors.
	Mapping     []byte
	MappingName string
	// Timeout is for one call, MaxResponse for one body, in bytes; by default those of the package bridge.
	Timeout     time.Duration
	MaxResponse int64
	// Patience says how unclear calls are followed up.
	Patience bridge.Patience
	// Orders is where the shop tells what becomes of orders, and has that stated (UCPIncremental alone). Without it nobody
	// hears of an order again.
	Orders *Orders
	// Adapter are further options of the adapter that plays the Business.
	Adapter []adapter.Option
}

// Outbound plays the role Business of the protocol SimpleUCP or UCPIncremental on behalf of a remote shop.
type Outbound struct {
	bridge   *bridge.Bridge
	business *Business
	desk     *orderDesk // nil where orders are not followed
	idle     func()
}

// NewOutbound makes a bridge to a shop that [Discover] has found. Nothing happens before [Outbound.Run]. The error is
// [bridge.Faults] if the rules are of a protocol that the mapping does not fit.
func NewOutbound(rules *enactment.Rules, exec adapter.Executor, business *Business, options OutboundOptions) (*Outbound, error) {
	if rules == nil || business == nil {
		return nil, errors.New("ucp: outbound: rules and a business are needed")
	}
	release := cmp.Or(business.Release, wire.January11)
	profile := strings.ReplaceAll(cmp.Or(options.Profile, DefaultProfile), "{release}", string(release))
	if address, err := url.Parse(profile); err != nil || !address.IsAbs() || strings.ContainsAny(profile, "\"\r\n") {
		return nil, fmt.Errorf("ucp: outbound: %q is no URL of a profile", profile)
	}
	if options.Profile == "" && release != wire.January11 {
		cmp.Or(options.Logger, slog.Default()).Warn("ucp: the shop asks for the platform's profile, and there is none: see OutboundOptions.Profile",
			"shop", business.URL, "release", string(release))
	}
	shipped := outboundMappings[rules.Protocol().Name()]
	text, name := options.Mapping, cmp.Or(options.MappingName, shipped)
	if text == nil {
		if shipped == "" {
			return nil, fmt.Errorf("ucp: outbound: no mapping of %s ships with the engine", rules.Protocol().Name())
		}
		var err error
		if text, err = protocols.Files.ReadFile(shipped); err != nil {
			return nil, fmt.Errorf("ucp: outbound: %w", err)
		}
	}
	hooks, mandates := Hooks(options.Choices), options.Mandates && business.TakesMandates()
	if options.Mandates && !mandatesFit(rules) {
		return nil, fmt.Errorf("ucp: outbound: there is no place for mandates in %s", rules.Protocol().Name())
	}
	if mandates {
		hooks["payment"] = mandated(payment)
	}
	mapping, err := bridge.Load(name, text, rules, hooks)
	if err != nil {
		return nil, fmt.Errorf("ucp: outbound: %w", err)
	}
	keys, idle, err := keysOf(business, options)
	if err != nil {
		return nil, fmt.Errorf("ucp: outbound: %w", err)
	}
	o := &Outbound{business: business, idle: idle}
	caller := options.Caller
	if caller == nil {
		client := options.Client
		if client == nil {
			// A business without a URL was not discovered, so that its endpoint is the program's own word.
			own, err := guardOf(cmp.Or(business.URL, business.Endpoint))
			if err != nil {
				return nil, fmt.Errorf("ucp: outbound: %w", err)
			}
			client, o.idle = own.Client(), func() { own.CloseIdleConnections(); idle() }
		}
		caller = bridge.NewHTTPCaller(client, options.Timeout, options.MaxResponse)
	}
	if caller, err = verifying(caller, business, keys, options); err != nil {
		return nil, fmt.Errorf("ucp: outbound: %w", err)
	}
	if options.Signer != nil {
		caller = &signingCaller{release, options.Signer, caller}
	}
	if business.Transport == negotiation.MCP {
		caller = mcp.NewCaller(business.Endpoint, release, caller)
	}
	believes := &releaseCaller{release: release, business: business, below: caller}
	if mandates {
		believes.keys = keys
	}
	caller = believes
	governing := options.Policy
	if governing == nil {
		contracts, err := Contracts()
		if err != nil {
			return nil, err
		}
		if governing, err = policy.New(contracts, policy.Options{}); err != nil {
			return nil, fmt.Errorf("ucp: outbound: %w", err)
		}
	}
	var required any
	if options.Currency != "" {
		required = options.Currency
	}
	o.bridge, err = bridge.New(rules, exec, mapping, bridge.Options{
		BaseURL: business.Endpoint,
		Settings: map[string]any{
			"profile":           profile,
			"currency":          cmp.Or(options.Currency, "USD"),
			"required_currency": required,
			"discloses":         options.Discloses,
			"images":            options.ShowsImages,
			"active":            business.active(),
			"release":           string(release),
		},
		Journal: options.Journal, Caller: caller, Patience: options.Patience,
		Policy: governing, Principal: options.Principal, Approvals: options.Approvals,
		Audit: options.Audit, AuditRequired: options.AuditRequired, Hasher: options.Hasher, OnUnknown: options.OnUnknown, OnDiverged: options.OnDiverged,
		Logger: options.Logger, Adapter: options.Adapter,
	})
	if err != nil {
		return nil, fmt.Errorf("ucp: outbound: %w", err)
	}
	switch _, knows := rules.Protocol().Action("OrderChanged"); {
	case options.Orders != nil && !knows:
		return nil, fmt.Errorf("ucp: outbound: %s has no OrderChanged, so orders cannot be followed", rules.Protocol().Name())
	case options.Orders != nil:
		o.desk = newOrderDesk(options.Orders, o.bridge, business)
	}
	return o, nil
}

// Contracts are those of the operations that the shipped mapping calls: checkout_create, checkout_get, checkout_update,
// checkout_cancel and checkout_complete, which alone needs a subject and an approval, and of order_get, by which [Orders]
// asks for what has become of an order.
func Contracts() (*policy.Contracts, error) {
	text, err := protocols.Files.ReadFile(outboundContracts)
	if err != nil {
		return nil, fmt.Errorf("ucp: outbound: %w", err)
	}
	contracts, err := policy.ReadContracts(policy.File{Name: outboundContracts, Text: text})
	if err != nil {
		return nil, fmt.Errorf("ucp: outbound: %w", err)
	}
	return contracts, nil
}

// Hooks are the hooks that a mapping of UCP may use: fulfillment, which says how to arrange delivery, instrument, which
// makes payment_data of a payment, contents, which compares what a checkout contains with what was asked for, review, which
// finds what forbids an autonomous completion, payment, which checks how a checkout is paid, committed, which holds what was
// completed against what was agreed to, and extensions, which holds what is asked for against what is active with the shop.
func Hooks(choices Choices) map[string]bridge.Hook {
	return map[string]bridge.Hook{
		"fulfillment": choices.arrange, "instrument": instrument, "contents": contents, "review": review, "payment": payment,
		"extensions": asksActive, "committed": committed,
	}
}

// Business is the shop.
func (o *Outbound) Business() *Business { return o.business }

// Run plays the Business until the context ends; it may be called once. See [bridge.Bridge.Run].
func (o *Outbound) Run(ctx context.Context) error {
	defer o.idle()
	if o.desk == nil {
		return o.bridge.Run(ctx)
	}
	following, stop := context.WithCancel(ctx)
	var desk sync.WaitGroup
	desk.Go(func() { o.desk.run(following) })
	err := o.bridge.Run(ctx)
	stop()
	desk.Wait()
	return err
}

// Settle takes up again what is unknown in an enactment. See [bridge.Bridge.Settle].
func (o *Outbound) Settle(ctx context.Context, key enactment.Key) error {
	return o.bridge.Settle(ctx, key)
}
