package bridge

import "time"

// Patience says how an unclear call is followed up. Fields that are 0 take the default.
type Patience struct {
	// First bounds the wait before the first follow-up, doubled each time up to Longest; each wait is drawn between nothing
	// and its bound (full jitter). By default 200 ms and 5 s.
	First, Longest time.Duration
	// Deadline is how long one step may take before it stays unknown; by default 2 minutes.
	Deadline time.Duration
	// Until is when every step that is under way stays unknown at the latest; the zero time sets no limit. Whoever
	// waits for an answer until a deadline of its own, and then ends the context of [Bridge.Run], sets this some time
	// before: a step that is broken off by the end of the context tells nobody, but one that runs out of patience
	// tells OnUnknown, with what the remote party said last. Deadline alone does not do, for an answer may take several
	// steps. A step that begins later is not sent.
	Until time.Time
	// Sends is how often the same request is tried at most, where the policy permits more than once; by default 3.
	Sends int
	// Asks is how many inconclusive status queries go before a request that may be sent again is; by default 3. What may
	// not is asked about until the deadline.
	Asks int
	// LongestLook bounds the pause between two looks at what the remote party, or somebody there, is at work on, which
	// grows as that between follow-ups does; by default 30 s. Wait is how long is looked where the mapping knows no
	// time; by default 6 h. Neither Deadline nor Sends holds then, but Until does.
	LongestLook, Wait time.Duration
}

func (p Patience) orDefault() Patience {
	if p.First <= 0 {
		p.First = 200 * time.Millisecond
	}
	if p.Longest <= 0 {
		p.Longest = 5 * time.Second
	}
	if p.Deadline <= 0 {
		p.Deadline = 2 * time.Minute
	}
	if p.Sends <= 0 {
		p.Sends = 3
	}
	if p.Asks <= 0 {
		p.Asks = 3
	}
	if p.LongestLook <= 0 {
		p.LongestLook = 30 * time.Second
	}
	if p.Wait <= 0 {
		p.Wait = 6 * time.Hour
	}
	p.Longest, p.LongestLook = max(p.Longest, p.First), max(p.LongestLook, p.First)
	return p
}
