package enactment

import (
	"crypto/sha256"
	"slices"
	"time"
)

// Answers remembers what attempts were answered, by role, party and id, so that an attempt that arrives again gets the
// first answer and happens once (semantics section 5). It is not safe for concurrent use.
type Answers struct {
	given   map[attemptName]answer
	order   []dated // of given, oldest first
	horizon time.Time
}

type attemptName struct{ role, party, id string }

type answer struct {
	digest  [sha256.Size]byte
	outcome Outcome
}

type dated struct {
	name attemptName
	at   time.Time
}

// NewAnswers makes an empty memory.
func NewAnswers() *Answers { return &Answers{given: make(map[attemptName]answer)} }

// Digest identifies the content of an attempt: action, values and parties, whatever their spelling and order. Copies of
// an attempt have the same digest.
func (a Attempt) Digest() [sha256.Size]byte {
	var buffer [512]byte
	var few [16]string
	text, names, room := appendString(buffer[:0], a.Action), few[:0], 0
	for name, value := range a.Values {
		names = append(names, name)
		room += len(name) + len(`"":`) + len(value.canonical)
	}
	text = slices.Grow(text, room)
	slices.Sort(names)
	for _, name := range names {
		text = append(appendString(text, name), ':')
		text = append(text, a.Values[name].canonical...)
	}
	names = names[:0]
	for role := range a.Parties {
		names = append(names, role)
	}
	slices.Sort(names)
	for _, role := range names {
		text = append(appendString(append(text, '@'), role), ':')
		text = appendString(text, a.Parties[role])
	}
	return sha256.Sum256(text)
}

// Recall gives the first answer to an attempt with this id, if one is remembered: the same outcome where the content is
// the same, and a [Malformed] refusal where it is another.
func (m *Answers) Recall(a Attempt) (Outcome, bool) {
	had, ok := m.given[attemptName{a.Role, a.Party, a.ID}]
	switch {
	case !ok:
		return Outcome{}, false
	case had.digest != a.Digest():
		return Outcome{Rejection: reusedID(), Sequence: had.outcome.Sequence}, true
	}
	return had.outcome, true
}

func reusedID() *Rejection {
	return &Rejection{Code: Malformed, Detail: "the id was used before for an attempt with other content"}
}

// Remember keeps the answer to an attempt. The first answer stays when there is one already. An attempt without an id
// can come but once, so nothing is kept of it. Times must not decrease.
func (m *Answers) Remember(a Attempt, outcome Outcome, at time.Time) {
	name := attemptName{a.Role, a.Party, a.ID}
	if _, ok := m.given[name]; ok || a.ID == "" {
		return
	}
	m.given[name] = answer{a.Digest(), outcome}
	m.order = append(m.order, dated{name, at})
}

// Forget drops the answers given before a time. From then on, attempts made before it are [Answers.Late].
func (m *Answers) Forget(before time.Time) {
	n := 0
	for n < len(m.order) && m.order[n].at.Before(before) {
		delete(m.given, m.order[n].name)
		n++
	}
	// The rest stays where it is; append moves it to a new array when this one is used up.
	clear(m.order[:n])
	m.order = m.order[n:]
	if before.After(m.horizon) {
		m.horizon = before
	}
}

// Late tells whether an attempt was made before the oldest answer that is remembered, so that it may be a copy of one
// whose answer is forgotten.
func (m *Answers) Late(a Attempt) bool { return !a.At.IsZero() && a.At.Before(m.horizon) }
