package schemas

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/strabo-engine/strabo/bridge/guard"
	"github.com/strabo-engine/strabo/bridge/ucp/internal/fair"
	"github.com/strabo-engine/strabo/bridge/ucp/negotiation"
	"github.com/strabo-engine/strabo/bridge/ucp/wire"
)

const (
	// MaximumSize is how many bytes a schema may have.
	MaximumSize = 1 << 20
	// Life is how long is known what a schema says, and Pause how long a schema that could not be read is not asked for
	// again.
	Life, Pause = time.Hour, time.Minute
	// DefaultKept is how many schemas are known at a time.
	DefaultKept = 256
	// DefaultRate is how many schemas are fetched in a second, DefaultBurst how many at once, all together. One site may have
	// half of that where nobody else wants it, and no more than a tenth is kept for it where others do.
	DefaultRate, DefaultBurst = 2, 10
)

// ErrUnknown says that a schema is neither known nor in the directory, and that none are fetched.
var ErrUnknown = errors.New("ucp: the schema is not known here")

// ErrBusy says that too many schemas are being fetched.
var ErrBusy = errors.New("ucp: too many schemas are being fetched")

// Source asks for what is at a URL. [*guard.Guard] is one.
type Source interface {
	// Get fetches what is at the URL text, as the media type accept. It blocks until that is read or ctx ends, and may be
	// called from several goroutines. The error says why there is no such thing, or why it may not be fetched.
	Get(ctx context.Context, text, accept string) (*guard.Response, error)
}

// Options configure a [Library]; the zero value knows the schemas of UCP alone.
type Options struct {
	// Directory has schemas by the host and path of their URL: that of https://example.com/loyalty.json is
	// example.com/loyalty.json. What is there is not fetched.
	Directory fs.FS
	// Source fetches the rest, normally a [guard.Guard]; nil: nothing is fetched.
	Source Source
	// Kept is how many schemas are known at a time.
	Kept int
	// Rate is how many are fetched in a second, Burst how many at once.
	Rate  float64
	Burst int
}

// Library knows what schemas require. It is safe for concurrent use.
type Library struct {
	options Options
	limit   *fair.Limit
	flights singleflight.Group

	mu    sync.Mutex
	known map[string]finding // by name and URL
}

// finding is what was found out of a schema.
type finding struct {
	requires *negotiation.Requires
	err      error
	until    time.Time
}

// New makes a library.
func New(options Options) *Library {
	return &Library{
		options: options, known: make(map[string]finding),
		limit: fair.New(fair.Options{
			Rate: cmp.Or(options.Rate, DefaultRate), Burst: cmp.Or(options.Burst, DefaultBurst), Sites: cmp.Or(options.Kept, DefaultKept),
		}),
	}
}

// Requires gives what the schema of an extension at a URL asks for; nil if that is nothing. It blocks as long as the source
// does, the first time. The error says why that cannot be known: then the extension is not to be used.
func (l *Library) Requires(ctx context.Context, name, schema string) (*negotiation.Requires, error) {
	if !negotiation.Governs(schema, name) {
		return nil, fmt.Errorf("%w: it is not where the owner of the name has it", negotiation.ErrSchema)
	}
	at, err := url.Parse(schema)
	if err != nil {
		return nil, fmt.Errorf("%w: it has no URL", negotiation.ErrSchema)
	}
	if official(name, at) {
		return nil, nil
	}
	key := name + "\n" + schema
	if found, ok := l.lookup(key); ok {
		return found.requires, found.err
	}
	// The request goes on when the first who asked gives up: the others wait for it too. The source ends it.
	result := l.flights.DoChan(key, func() (any, error) {
		if found, ok := l.lookup(key); ok { // Since it was looked for.
			return found, nil
		}
		found := l.find(context.WithoutCancel(ctx), name, at)
		if !errors.Is(found.err, ErrBusy) {
			l.keep(key, found)
		}
		return found, nil
	})
	select {
	case done := <-result:
		found, _ := done.Val.(finding)
		return found.requires, found.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (l *Library) lookup(key string) (finding, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	found, ok := l.known[key]
	return found, ok && time.Now().Before(found.until)
}

func (l *Library) keep(key string, found finding) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, there := l.known[key]; !there && len(l.known) >= cmp.Or(l.options.Kept, DefaultKept) {
		for other := range l.known { // Any: those that are in use are found again.
			delete(l.known, other)
			break
		}
	}
	l.known[key] = found
}

func (l *Library) find(ctx context.Context, name string, at *url.URL) finding {
	text, err := l.read(ctx, at)
	found := finding{err: err, until: time.Now().Add(Life)}
	if err == nil {
		found.requires, found.err = negotiation.ParseRequires(name, text)
	}
	if found.err == nil {
		l.limit.Good(at.Host)
	}
	if found.err != nil {
		found.until = time.Now().Add(Pause)
	}
	return found
}

// read finds the text of a schema.
func (l *Library) read(ctx context.Context, at *url.URL) ([]byte, error) {
	if l.options.Directory != nil {
		text, err := l.readFile(at)
		if !errors.Is(err, fs.ErrNotExist) {
			return text, err
		}
	}
	if l.options.Source == nil {
		return nil, ErrUnknown
	}
	if !l.limit.Allow(at.Host) {
		return nil, ErrBusy
	}
	response, err := l.options.Source.Get(ctx, at.String(), "application/schema+json, application/json")
	switch {
	case err != nil:
		return nil, fmt.Errorf("ucp: a schema cannot be fetched: %w", err)
	case response.Status != http.StatusOK: // A redirect leads to somebody else's word.
		return nil, fmt.Errorf("ucp: a schema is answered with status %d", response.Status)
	case len(response.Body) > MaximumSize:
		return nil, fmt.Errorf("%w: it is too large", negotiation.ErrSchema)
	}
	return response.Body, nil
}

func (l *Library) readFile(at *url.URL) ([]byte, error) {
	name := path.Join(at.Hostname(), path.Clean("/"+at.Path))
	file, err := l.options.Directory.Open(name)
	if err != nil {
		return nil, fmt.Errorf("ucp: a schema: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(file, MaximumSize+1))
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, fmt.Errorf("ucp: a schema: %w", err)
	}
	if len(text) > MaximumSize {
		return nil, fmt.Errorf("%w: it is too large", negotiation.ErrSchema)
	}
	return text, nil
}

// official tells whether a schema is one that UCP has published for its own extension of checkouts in one of the releases
// that are known, at its URL with the release or without. Those require nothing.
func official(name string, at *url.URL) bool {
	short, ours := strings.CutPrefix(name, "dev.ucp.shopping.")
	if !ours || at.Host != "ucp.dev" || at.RawQuery != "" {
		return false
	}
	rest := strings.TrimPrefix(at.Path, "/")
	if first, below, ok := strings.Cut(rest, "/"); ok && wire.Release(first).Known() {
		rest = below
	}
	switch short {
	case "fulfillment", "discount", "buyer_consent", "ap2_mandate":
		return rest == "schemas/shopping/"+short+".json"
	}
	return false
}
