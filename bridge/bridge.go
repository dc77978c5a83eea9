package bridge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/bridge/audit"
	"github.com/strabo-engine/strabo/bridge/policy"
	"github.com/strabo-engine/strabo/enactment"
)

// Options configure a [Bridge]. Only BaseURL and the settings that the mapping names are needed.
type Options struct {
	// BaseURL is what the paths of the mapping are appended to; a slash at its end does not count.
	BaseURL string
	// Settings give the values of the mapping's settings: anything that encoding/json encodes. They are not secret.
	Settings map[string]any
	// Journal is a new [MemoryJournal] if nil, and then a restart forgets what was sent.
	Journal Journal
	// Caller is an [HTTPCaller] with default limits if nil.
	Caller Caller
	// Patience says how long unclear calls are followed up.
	Patience Patience
	// Policy says what holds for the operations that are called. If it is nil nothing is declared, and the mapping's own
	// word holds: what it does not say to be safe to send again is not.
	Policy *policy.Policy
	// Principal tells on whose behalf an observed instance is answered. It must take that from what is trusted, never
	// from the values of the instance. If it is nil, the party that made it happen is the agent, and there is no subject.
	// An error leaves the observation unanswered. It is called often, and several times at once.
	Principal func(ctx context.Context, key enactment.Key, observed enactment.Instance) (policy.Principal, error)
	// Approvals decide about calls that somebody has to agree to; without it such calls are denied.
	Approvals policy.Approver
	// Audit is told of every attempt on the wire and of every decision not to call; nil for nobody. AuditRequired keeps
	// calls that change something from leaving before it has kept that they are about to: audit.Intent.
	Audit         audit.Sink
	AuditRequired bool
	// Hasher makes the hashes of keys and requests in the audit and in approvals. The default has a key that goes with
	// the process: then an approval that was asked for before a restart is asked for again.
	Hasher *audit.Hasher
	// OnUnknown and OnDiverged are told of every request whose fate is unknown, and of every divergence. They are called
	// in the place of the handler, so they hold up their enactment; several may run at once, for different enactments.
	OnUnknown  func(Unsettled)
	OnDiverged func(Divergence)
	// Logger is slog.Default() if nil.
	Logger *slog.Logger
	// Adapter are further options of the adapter that plays the role.
	Adapter []adapter.Option
}

// Bridge plays one role of a protocol by calling a REST service, as a mapping says. It is an agent like any other: what
// its adapter observes becomes requests, and what the responses say becomes an attempt.
type Bridge struct {
	mapping  *Mapping
	rules    *enactment.Rules
	options  Options
	base     string
	settings map[string]any
	log      *slog.Logger
	adapter  *adapter.Adapter
	locks    locks
	paused   paused
	// target is the scheme and host that is called.
	target   string
	governed map[*call]*governed
	started  time.Time
	watch    *watch

	mu sync.Mutex
	// given are the instances that this process has given up on, so that an offer does not start them at once again.
	given map[string]bool
}

// New makes a bridge that plays the mapping's role on an executor. Nothing happens before [Bridge.Run].
func New(rules *enactment.Rules, executor adapter.Executor, mapping *Mapping, options Options) (*Bridge, error) {
	if rules == nil || mapping == nil {
		return nil, errors.New("bridge: rules and a mapping are needed")
	}
	if rules.Protocol().Name() != mapping.protocol {
		return nil, fmt.Errorf("bridge: the mapping is of %s, the rules are of %s", mapping.protocol, rules.Protocol().Name())
	}
	base, err := url.Parse(options.BaseURL)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" ||
		base.User != nil || strings.ContainsAny(options.BaseURL, "?#") {
		return nil, fmt.Errorf("bridge: the base URL %q is not one of http or https without credentials, query and fragment", redactedURL(base))
	}
	b := &Bridge{
		mapping: mapping, rules: rules, options: options,
		base: strings.TrimRight(options.BaseURL, "/"), settings: make(map[string]any), given: make(map[string]bool),
		watch: newWatch(),
	}
	for _, name := range mapping.settings {
		value, ok := options.Settings[name]
		if !ok {
			return nil, fmt.Errorf("bridge: the mapping needs the setting %q", name)
		}
		if b.settings[name], err = plain(value); err != nil {
			return nil, fmt.Errorf("bridge: setting %s: %w", name, err)
		}
	}
	if b.options.Journal == nil {
		b.options.Journal = &MemoryJournal{}
	}
	if b.options.Caller == nil {
		b.options.Caller = NewHTTPCaller(nil, 0, 0)
	}
	if b.log = options.Logger; b.log == nil {
		b.log = slog.Default()
	}
	b.log = b.log.With("protocol", mapping.protocol, "role", mapping.role)
	b.paused.bridge = b
	b.target, b.started = base.Scheme+"://"+base.Host, time.Now()
	if err := b.orDefault(); err != nil {
		return nil, err
	}
	if err := b.govern(); err != nil {
		return nil, fmt.Errorf("bridge: %w", err)
	}
	if err := b.join(executor); err != nil {
		return nil, err
	}
	return b, nil
}

// orDefault fills in what the policy needs.
func (b *Bridge) orDefault() (err error) {
	if b.options.Policy == nil {
		if b.options.Policy, err = policy.New(nil, policy.Options{}); err != nil {
			return err
		}
	}
	if first, longest := b.options.Policy.Backoff(); first > 0 && b.options.Patience.First <= 0 {
		b.options.Patience.First, b.options.Patience.Longest = first, longest
	}
	b.options.Patience = b.options.Patience.orDefault()
	if b.options.Principal == nil {
		b.options.Principal = func(_ context.Context, _ enactment.Key, observed enactment.Instance) (policy.Principal, error) {
			return policy.Principal{Agent: observed.Party}, nil
		}
	}
	if b.options.Hasher == nil {
		b.options.Hasher = audit.NewHasher(nil)
	}
	b.options.AuditRequired = b.options.AuditRequired || b.options.Policy.AuditRequired()
	if b.options.AuditRequired && b.options.Audit == nil {
		return errors.New("bridge: an audit is required, and there is none")
	}
	return nil
}

// redactedURL is a URL without a password; base is nil where there is none.
func redactedURL(base *url.URL) string {
	if base == nil {
		return ""
	}
	return base.Redacted()
}

func (b *Bridge) join(executor adapter.Executor) (err error) {
	options := append([]adapter.Option{adapter.WithLogger(b.log)}, b.options.Adapter...)
	if b.adapter, err = adapter.New(b.rules, b.mapping.role, executor, options...); err != nil {
		return fmt.Errorf("bridge: %w", err)
	}
	offered := make(map[string]bool)
	for _, action := range b.mapping.order {
		b.adapter.OnObservation(action, func(ctx context.Context, o adapter.Observation) error {
			if err := b.duplicate(ctx, o); err != nil {
				return err
			}
			return b.settle(ctx, o.Enactment, true)
		})
		b.mapping.actions[action].eachAnswer(func(_ int, a *answer) {
			if a.kind != attempt || offered[a.attempt] {
				return
			}
			offered[a.attempt] = true
			// What is enabled is offered anew after a restart; so an answer that stayed unknown is taken up then.
			b.adapter.OnEnabled(a.attempt, func(ctx context.Context, f *adapter.FeasibleAction) error {
				return b.settle(ctx, f.Enactment, false)
			})
		})
	}
	return nil
}

// duplicate writes down that an observation is handled again that was answered before this bridge was started.
func (b *Bridge) duplicate(ctx context.Context, o adapter.Observation) error {
	if b.options.Audit == nil {
		return nil
	}
	entries, err := b.options.Journal.Load(ctx, o.Enactment.Key())
	if err != nil {
		return fmt.Errorf("bridge: load journal: %w", err)
	}
	instance, err := b.instanceName(o.Instance)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Instance == instance && e.At.Before(b.started) && (e.Kind == EntryAnswered || e.Kind == EntryDiverged) {
			r := &run{bridge: b, key: o.Enactment.Key(), plan: b.mapping.actions[o.Action]}
			r.tell(ctx, audit.Record{
				At: time.Now().UTC(), Kind: audit.DuplicateObserved, Enactment: r.key, Action: o.Action, Step: e.Step,
				Detail: "it was answered before, and is not answered again",
			})
			return nil
		}
	}
	return nil
}

// Adapter is the adapter that plays the role.
func (b *Bridge) Adapter() *adapter.Adapter { return b.adapter }

// Run plays the role until the context ends; see [adapter.Adapter.Run]. It may be called once. A call that is under way
// when the context ends is broken off, and its fate is found out at the next start with the same journal.
func (b *Bridge) Run(ctx context.Context) error {
	return b.paused.run(ctx, func(ctx context.Context) error {
		watching, stop := context.WithCancel(ctx)
		over := make(chan struct{})
		go func() {
			defer close(over)
			b.watch.run(watching, b.lookAgain)
		}()
		err := b.adapter.Run(ctx)
		stop()
		<-over
		return err
	})
}

// Settle takes up again what is unknown in an enactment, as an operator may ask. It blocks until that is settled, stays
// unknown, of which OnUnknown is told as before, or waits for somebody to agree. The error is [ErrNotHeld] if the bridge knows of nothing that it
// could still answer in the enactment, a [*NotSentError] if a request cannot be made of what was observed and the mapping
// has no answer to that, or what kept it from trying.
func (b *Bridge) Settle(ctx context.Context, key enactment.Key) error {
	for f := range b.adapter.Enabled(ctx) {
		if f.Enactment.Key() == key {
			return b.settle(ctx, f.Enactment, true)
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return ErrNotHeld
}

// Kept gives what the mapping keeps of an enactment, such as the remote party's id for it; what has not been kept yet is
// not there.
func (b *Bridge) Kept(ctx context.Context, key enactment.Key) (enactment.Values, error) {
	entries, err := b.options.Journal.Load(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("bridge: load journal: %w", err)
	}
	kept := make(enactment.Values)
	for _, entry := range entries {
		maps.Copy(kept, entry.Kept)
	}
	return kept, nil
}

// ErrNotHeld says that there is nothing in the enactment that the bridge could still answer.
var ErrNotHeld = errors.New("bridge: nothing to answer in the enactment")

// unknown tells of an observation that is not answered.
func (b *Bridge) unknown(ctx context.Context, r *run, unclear *unclearError) {
	u := Unsettled{
		Enactment: r.key, Action: r.plan.action, Step: r.stepName(), Key: r.idempotency,
		Unsent: unclear.unsent, Last: r.last, Said: r.said, Detail: unclear.detail, Err: unclear.cause,
	}
	what := "outcome of a call unknown"
	if u.Unsent {
		what = "a call could not be made, and waits to be taken up again"
	}
	b.log.WarnContext(ctx, what,
		"enactment", u.Enactment, "action", u.Action, "step", u.Step, "key_hash", b.options.Hasher.Key(u.Key), "detail", u.Detail)
	r.unsettled(ctx, unclear)
	if b.options.OnUnknown != nil {
		b.options.OnUnknown(u)
	}
}

func (b *Bridge) diverged(ctx context.Context, d Divergence) {
	attempted := ""
	if d.Attempt != nil {
		attempted = d.Attempt.Action
	}
	b.log.ErrorContext(ctx, "the remote party and the protocol have diverged",
		"enactment", d.Enactment, "action", d.Action, "step", d.Step, "attempted", attempted, "detail", d.Detail)
	if b.options.OnDiverged != nil {
		b.options.OnDiverged(d)
	}
}
