package ucp

import (
	"errors"
	"net/url"
	"sync"
	"time"
)

// deaf remembers platforms that keep whoever tells them something waiting, by the host of their profile. Each is told one
// notice at a time until it answers, after a pause that doubles, so that nobody else has to wait for long. It is safe for
// concurrent use.
type deaf struct {
	mu    sync.Mutex
	hosts map[string]*silence
}

// silence is what is known of a platform that does not answer.
type silence struct {
	pause  time.Duration
	until  time.Time
	trying bool // it is being told the one notice
}

const (
	// deafPause and deafLongest bound the pause; deafMost is how many hosts are remembered.
	deafPause   = 10 * time.Second
	deafLongest = 5 * time.Minute
	deafMost    = 4096
)

// errDeaf says that a platform has not answered for long.
var errDeaf = errors.New("ucp: the platform does not answer")

func profileHost(profile string) string {
	u, err := url.Parse(profile)
	if err != nil {
		return ""
	}
	return u.Host
}

// leave tells that a platform is to be left alone, and until when. Where its pause is over the caller is the one who
// tries, and another pause begins for all others.
func (d *deaf) leave(profile string, now time.Time) (time.Time, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s, ok := d.hosts[profileHost(profile)]
	switch {
	case !ok:
		return time.Time{}, false
	case now.Before(s.until):
		return s.until, true
	}
	s.until, s.trying = now.Add(s.pause), true
	return time.Time{}, false
}

// heard notes how an attempt to tell a platform ended.
func (d *deaf) heard(profile string, now time.Time, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	host := profileHost(profile)
	if slow, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err); !ok || !slow.Timeout() {
		delete(d.hosts, host)
		return
	}
	s, ok := d.hosts[host]
	if !ok {
		if d.hosts == nil || len(d.hosts) >= deafMost {
			d.hosts = make(map[string]*silence)
		}
		s = &silence{pause: deafPause}
		d.hosts[host] = s
	}
	if s.trying { // Several that were on their way together fail together, and count once.
		s.pause, s.trying = min(2*s.pause, deafLongest), false
	}
	s.until = now.Add(s.pause)
}
