// Package fair bounds how often somebody is asked for something where strangers say who: all together, and so that whoever
// names one site again and again keeps nobody away from the others. Start reading at [Limit.Allow].
package fair

import (
	"cmp"
	"container/list"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/publicsuffix"
	"golang.org/x/time/rate"
)

// Options say what is allowed. All fields are needed.
type Options struct {
	// Rate is how much is allowed in a second, Burst how much at once: all together.
	Rate  float64
	Burst int
	// Sites is how many sites are remembered of which something good has come, and how many others.
	Sites int
}

// shares is how many sites share what there is: each has so small a part of it that is its own.
const shares = 10

// Limit is a limit of all together, of which a part is kept free for those who have had less. It is safe for concurrent use.
type Limit struct {
	options Options

	mu     sync.Mutex
	all    *rate.Limiter
	known  sites // of which something good has come
	others sites
}

// New makes a limit.
func New(options Options) *Limit {
	return &Limit{
		options: options, all: rate.NewLimiter(rate.Limit(options.Rate), options.Burst),
		known: newSites(options.Sites), others: newSites(options.Sites),
	}
}

// Allow tells whether a host may be asked now, and counts it if so.
//
// What there is is a bucket of tokens, one for each that is asked, and so is the share of each site. The last quarter of the
// bucket is for sites of which something good has come, and that are within their share; the quarter before it is for all
// that are within their share; the other half is for everybody. So one site alone may have all that nobody else wants, and
// takes nothing from who comes then; and many sites that nobody has heard of take nothing from those that are known.
func (l *Limit) Allow(host string) bool {
	site, now := siteOf(host), time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	share, known := l.known.get(site)
	if !known {
		var met bool
		if share, met = l.others.get(site); !met {
			share = rate.NewLimiter(rate.Limit(l.options.Rate/shares), max(1, l.options.Burst/shares))
			l.others.put(site, share)
		}
	}
	within, kept := share.TokensAt(now) >= 1, 0
	switch {
	case !within:
		kept = l.options.Burst / 2
	case !known:
		kept = l.options.Burst / 4
	}
	if l.all.TokensAt(now)-1 < float64(kept) || !l.all.AllowN(now, 1) {
		return false
	}
	if within {
		share.AllowN(now, 1)
	}
	return true
}

// Good tells that something good has come from a host.
func (l *Limit) Good(host string) {
	site := siteOf(host)
	l.mu.Lock()
	defer l.mu.Unlock()
	if share, ok := l.others.take(site); ok {
		l.known.put(site, share)
	}
}

// siteOf is what belongs to one owner as far as that can be seen in a host: the domain that can be registered, with all below
// it, since names below it cost nothing; an address; of IPv6 the network of 64 bits.
func siteOf(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if at, err := netip.ParseAddr(host); err == nil {
		at = at.Unmap().WithZone("")
		if at.Is6() {
			if network, err := at.Prefix(64); err == nil {
				return network.String()
			}
		}
		return at.String()
	}
	domain, _ := publicsuffix.EffectiveTLDPlusOne(host) // empty for what is no domain below another
	return cmp.Or(domain, host)
}

// sites are the shares of sites, those that were used last.
type sites struct {
	most    int
	order   *list.List
	entries map[string]*list.Element
}

// site is one of them.
type site struct {
	name  string
	share *rate.Limiter
}

func newSites(most int) sites {
	return sites{most: most, order: list.New(), entries: make(map[string]*list.Element)}
}

func (s *sites) get(name string) (*rate.Limiter, bool) {
	place, ok := s.entries[name]
	if !ok {
		return nil, false
	}
	s.order.MoveToFront(place)
	return place.Value.(site).share, true
}

func (s *sites) put(name string, share *rate.Limiter) {
	s.entries[name] = s.order.PushFront(site{name, share})
	if s.order.Len() > s.most {
		delete(s.entries, s.order.Remove(s.order.Back()).(site).name)
	}
}

func (s *sites) take(name string) (*rate.Limiter, bool) {
	place, ok := s.entries[name]
	if !ok {
		return nil, false
	}
	delete(s.entries, name)
	return s.order.Remove(place).(site).share, true
}
