package profiles

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/strabo-engine/strabo/bridge/guard"
	"github.com/strabo-engine/strabo/bridge/ucp/internal/fair"
	"github.com/strabo-engine/strabo/bridge/ucp/negotiation"
)

const (
	// MinimumAge is how long a profile is kept at least, whatever its sender says.
	MinimumAge = time.Minute
	// MaximumAge is how long it is kept at most.
	MaximumAge = time.Hour
	// DefaultKept is how many profiles are kept.
	DefaultKept = 1024
	// DefaultRate is how many profiles are fetched in a second, all together, and DefaultBurst how many at once. One site may
	// have half of that where nobody else wants it, and no more than a tenth is kept for it where others do.
	DefaultRate, DefaultBurst = 10, 50
	// firstPause is how long somebody whose profile could not be had is not asked again; it doubles to longestPause.
	firstPause, longestPause = 5 * time.Second, 5 * time.Minute
)

// ErrBusy says that too many profiles are being fetched. The same request may be answered a little later: over HTTP with
// status 503 and Retry-After (UCP 2026-04-08, overview, fetching).
var ErrBusy = errors.New("ucp: too many profiles are being fetched")

// Source checks URLs and asks for what is there. [*guard.Guard] is one, which says what the methods do.
type Source interface {
	// Check reads a URL, and refuses one that must not be asked. Nothing is asked for.
	Check(text string) (*url.URL, error)
	// Get asks for what is at a URL, in a form that accept names as an HTTP Accept header does.
	Get(ctx context.Context, text, accept string) (*guard.Response, error)
}

// Options configure a [Fetcher]; zero values mean the defaults.
type Options struct {
	// Source is where profiles come from, normally a [guard.Guard]; one that trusts nobody if it is nil.
	Source Source
	// Kept is how many profiles are kept, those used last.
	Kept int
	// Rate is how many profiles are fetched in a second, Burst how many at once.
	Rate  float64
	Burst int
	// Trusted tells whether a platform may be dealt with at all; nil for everybody.
	Trusted func(profileURL string) bool
}

// Fetcher fetches profiles and keeps them. It is safe for concurrent use.
type Fetcher struct {
	options Options
	source  Source
	limit   *fair.Limit
	flights singleflight.Group

	mu   sync.Mutex
	kept *cache
	// renewed is when a profile of an origin was fetched anew for a key that the one before had not.
	renewed map[string]time.Time
}

// New makes a fetcher.
func New(options Options) (*Fetcher, error) {
	f := &Fetcher{options: options, source: options.Source, renewed: make(map[string]time.Time)}
	if f.source == nil {
		g, err := guard.New(guard.Options{Timeout: 10 * time.Second})
		if err != nil {
			return nil, err
		}
		f.source = g
	}
	kept := cmp.Or(options.Kept, DefaultKept)
	f.kept = newCache(kept)
	f.limit = fair.New(fair.Options{
		Rate: cmp.Or(options.Rate, DefaultRate), Burst: cmp.Or(options.Burst, DefaultBurst), Sites: kept,
	})
	return f, nil
}

// Get gives the profile at a URL, from what is kept or from there; several who ask at once share one request. It blocks
// as long as the source does. The error is [ErrBusy], the context's, or an [*negotiation.Error]:
// [negotiation.InvalidProfileURL] where the URL may not be asked, [negotiation.ProfileNotTrusted],
// [negotiation.ProfileUnreachable] and [negotiation.ProfileMalformed].
func (f *Fetcher) Get(ctx context.Context, profileURL string) (*negotiation.Profile, error) {
	return f.get(ctx, profileURL, time.Time{})
}

// Key finds a key in the profile at a URL. Where the profile that is kept does not have it, it is fetched again, at most
// once in [MinimumAge] for all that is at one origin: the other party may have a new key (UCP 2026-04-08, overview,
// fetching, 6). Beside those of [Fetcher.Get] the error may be [negotiation.KeyNotFound].
func (f *Fetcher) Key(ctx context.Context, profileURL, id string) (negotiation.Key, error) {
	p, err := f.Get(ctx, profileURL)
	if err != nil {
		return negotiation.Key{}, err
	}
	if key, ok := p.Key(id); ok {
		return key, nil
	}
	if f.mayRenew(profileURL) {
		if p, err = f.get(ctx, profileURL, time.Now().Add(-MinimumAge)); err != nil {
			return negotiation.Key{}, err
		}
	}
	if key, ok := p.Key(id); ok {
		return key, nil
	}
	return negotiation.Key{}, &negotiation.Error{
		Code: negotiation.KeyNotFound, Content: fmt.Sprintf("The profile has no key %q.", id),
	}
}

// mayRenew tells whether a profile that is kept may be fetched anew now. One that is younger than [MinimumAge] is not, and
// that counts for nothing.
func (f *Fetcher) mayRenew(profileURL string) bool {
	at, err := url.Parse(profileURL)
	if err != nil {
		return false
	}
	now := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	if e, ok := f.kept.get(profileURL); ok && now.Sub(e.fetched) < MinimumAge {
		return false
	}
	origin := at.Scheme + "://" + at.Host
	if now.Sub(f.renewed[origin]) < MinimumAge {
		return false
	}
	if len(f.renewed) >= f.kept.most { // Who is forgotten may be asked once more.
		for other, when := range f.renewed {
			if len(f.renewed) >= f.kept.most || now.Sub(when) >= MinimumAge {
				delete(f.renewed, other)
			}
		}
	}
	f.renewed[origin] = now
	return true
}

// get gives a profile that was fetched after a time, the zero time for any that is still good.
func (f *Fetcher) get(ctx context.Context, at string, after time.Time) (*negotiation.Profile, error) {
	if f.options.Trusted != nil && !f.options.Trusted(at) {
		return nil, &negotiation.Error{Code: negotiation.ProfileNotTrusted, Content: "The profile is not one of those that are dealt with."}
	}
	if e, ok := f.lookup(at); ok && e.good(time.Now(), after) {
		return e.profile, e.err
	}
	// The request goes on when the first who asked gives up: the others wait for it too. The source ends it.
	result := f.flights.DoChan(at, func() (any, error) {
		// Somebody may have fetched it since it was looked for.
		if e, ok := f.lookup(at); ok && e.good(time.Now(), after) {
			return e.profile, e.err
		}
		return f.fetch(context.WithoutCancel(ctx), at, after)
	})
	select {
	case done := <-result:
		p, _ := done.Val.(*negotiation.Profile)
		return p, done.Err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (f *Fetcher) lookup(at string) (*entry, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.kept.get(at)
}

// fetch asks for a profile and keeps what came of it. Where too many are being fetched, one that is out of date is good until
// it has the [MaximumAge]: else whoever names ever new profiles would keep those away that are known.
func (f *Fetcher) fetch(ctx context.Context, at string, after time.Time) (*negotiation.Profile, error) {
	u, err := f.source.Check(at)
	if err != nil {
		return nil, &negotiation.Error{Code: negotiation.InvalidProfileURL, Content: "The URL of the profile may not be used.", Err: err}
	}
	now := time.Now()
	if !f.limit.Allow(u.Host) {
		if e, ok := f.lookup(at); ok && e.err == nil && e.fetched.After(after) && now.Sub(e.fetched) < MaximumAge {
			return e.profile, nil
		}
		return nil, ErrBusy
	}
	p, age, err := f.ask(ctx, at)
	if err == nil {
		f.limit.Good(u.Host)
	}
	e := &entry{at: at, profile: p, err: err, fetched: now, until: now.Add(age)}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil {
		e.pause = firstPause
		if before, ok := f.kept.get(at); ok && before.err != nil {
			e.pause = min(2*before.pause, longestPause)
		}
		e.until = now.Add(e.pause)
	}
	f.kept.put(e)
	return p, err
}

func (f *Fetcher) ask(ctx context.Context, at string) (*negotiation.Profile, time.Duration, error) {
	unreachable := func(content string, err error) (*negotiation.Profile, time.Duration, error) {
		return nil, 0, &negotiation.Error{Code: negotiation.ProfileUnreachable, Content: content, Err: err}
	}
	response, err := f.source.Get(ctx, at, "application/json")
	var (
		wrongURL     *guard.URLError
		wrongAddress *guard.AddressError
		unresolved   *net.DNSError
	)
	switch {
	case errors.Is(err, guard.ErrTooLarge):
		return nil, 0, &negotiation.Error{Code: negotiation.ProfileMalformed, Content: "The profile is too large.", Err: err}
	case errors.As(err, &wrongURL), errors.As(err, &wrongAddress):
		return nil, 0, &negotiation.Error{Code: negotiation.InvalidProfileURL, Content: "The URL of the profile may not be used.", Err: err}
	case errors.As(err, &unresolved) && unresolved.IsNotFound:
		return nil, 0, &negotiation.Error{Code: negotiation.InvalidProfileURL, Content: "There is no such host as that of the profile.", Err: err}
	case err != nil:
		return unreachable("The profile cannot be fetched.", err)
	case response.Status != http.StatusOK:
		return unreachable(fmt.Sprintf("The profile is answered with status %d.", response.Status), nil)
	}
	if kind, _, err := mime.ParseMediaType(response.Header.Get("Content-Type")); err == nil &&
		kind != "application/json" && !strings.HasSuffix(kind, "+json") && kind != "text/plain" {
		return nil, 0, &negotiation.Error{Code: negotiation.ProfileMalformed, Content: "The profile is no JSON, but " + kind + "."}
	}
	p, err := negotiation.Parse(response.Body)
	if err != nil {
		return nil, 0, err
	}
	return p, age(response.Header), nil
}

// age is how long a profile may be kept: max-age, but between the two bounds. The bounds hold whatever the header says,
// no-store included, for a profile is the same for everybody.
func age(header http.Header) time.Duration {
	for _, line := range header.Values("Cache-Control") {
		for _, directive := range strings.Split(line, ",") {
			name, value, _ := strings.Cut(strings.TrimSpace(directive), "=")
			if !strings.EqualFold(name, "max-age") {
				continue
			}
			seconds, err := strconv.ParseUint(strings.Trim(value, `"`), 10, 31)
			if err != nil {
				continue
			}
			return max(MinimumAge, min(time.Duration(seconds)*time.Second, MaximumAge))
		}
	}
	return MinimumAge
}
