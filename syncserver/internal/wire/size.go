package wire

import (
	"strings"
	"unicode/utf8"

	"github.com/strabo-engine/strabo/enactment"
)

// Limits are how large what is written and answered may be, in bytes, so that all of it fits the messages of NATS.
type Limits struct {
	// Entry is for one entry of the log, and so for what is delivered of it.
	Entry int
	// Together is how much of several things may be in one message before the last of them.
	Together int
}

// LimitsOf divides the largest payload of a message: one of several things may be as large as an entry, and something is
// left for what is around them.
func LimitsOf(payload int64) Limits {
	return Limits{Entry: int(payload * 5 / 8), Together: int(payload / 4)}
}

// overhead is more than what is written of anything beside what sizes count.
const overhead = 512

// quoted is at least how long a text becomes in JSON.
func quoted(text string) int {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return 6*len(text) + 2
		}
	}
	return len(text) + 2
}

func quotedAll(members map[string]string) int {
	size := 0
	for name, text := range members {
		size += quoted(name) + quoted(text) + 2
	}
	return size
}

// sealed is at least how long values become that are sealed.
func sealed(size int) int { return size + size/2 }

// AttemptBound is at least how large an attempt is in any message, its enactment's key beside it.
func AttemptBound(a *enactment.Attempt) int {
	values := 0
	for name, value := range a.Values {
		values += quoted(name) + len(value.String()) + 2
	}
	return overhead + quoted(a.ID) + quoted(a.Action) + quoted(a.Role) + quoted(a.Party) + 2*sealed(values) + quotedAll(a.Parties)
}

// AttemptSize is how large an attempt is where it is largest before it is decided, its enactment's key beside it.
func (c Codec) AttemptSize(key enactment.Key, a *enactment.Attempt) int {
	return overhead + len(key) + len(c.appendArrival(nil, &Arrival{Attempt: *a}))
}

// EntryFits tells whether an entry, written, has no more bytes than the limit.
func (c Codec) EntryFits(e *Entry, limit int) bool {
	bound := overhead + len(e.Key) + quotedAll(e.Seats)
	for n := range e.Finalisation.Instances {
		i := &e.Finalisation.Instances[n]
		values := 0
		for name, value := range i.Values() {
			values += len(name) + len(value.String()) + 4
		}
		bound += overhead + quoted(i.Party) + quoted(i.Attempt) + quotedAll(i.Parties) + sealed(values)
	}
	for n := range e.Refused {
		r := &e.Refused[n]
		bound += overhead + quoted(r.Party) + quoted(r.Attempt) + 6*(len(r.Rejection.Attribute)+len(r.Rejection.By)+len(r.Rejection.Detail))
	}
	return bound <= limit || len(c.AppendEntry(nil, e)) <= limit
}

// longestText is how long a text of a rejection may be: some repeat what the attempt said.
const longestText = 1 << 10

// Shorten cuts texts of a rejection that are too long to be kept and answered.
func Shorten(r *enactment.Rejection) *enactment.Rejection {
	if r == nil || max(len(r.Attribute), len(r.By), len(r.Detail)) <= longestText {
		return r
	}
	short := *r
	for _, text := range []*string{&short.Attribute, &short.By, &short.Detail} {
		if len(*text) > longestText {
			*text = strings.ToValidUTF8((*text)[:longestText], "") + "..."
		}
	}
	return &short
}
