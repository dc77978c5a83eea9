package wire

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/strabo-engine/strabo/enactment"
)

// Entry is one message of an enactment's log: a finalisation, the refusals that were decided with it, or both.
type Entry struct {
	// Hash is that of the rules under which it was decided.
	Hash string
	// Key is the enactment.
	Key enactment.Key
	// Finalisation has no instances where nothing happened: then there are refusals only.
	Finalisation enactment.Finalisation
	// Digests has that of the attempt behind each instance.
	Digests []Digest
	// Refused are attempts that were refused.
	Refused []Refusal
	// Seats says who plays each role that is taken once the finalisation has happened.
	Seats map[string]string
	// Decided is the highest arrival that had been decided when it was written, 0 in immediate finalisation.
	Decided uint64
	// At is the time of the judgement by the clock of the server that judged.
	At time.Time
}

// Digest identifies the content of an attempt.
type Digest [32]byte

// Refusal is an attempt that was refused, and why.
type Refusal struct {
	enactment.Identity
	Attempt   string
	Digest    Digest
	Action    string
	Sequence  uint64
	Rejection *enactment.Rejection
}

type entryForm struct {
	Hash      string            `json:"hash"`
	Key       json.RawMessage   `json:"key"`
	Sequence  uint64            `json:"sequence"`
	Instances []instanceForm    `json:"instances"`
	Completed bool              `json:"completed"`
	Refused   []refusalForm     `json:"refused"`
	Seats     map[string]string `json:"seats"`
	Decided   uint64            `json:"decided"`
	At        time.Time         `json:"at"`
}

type refusalForm struct {
	Role     string               `json:"role"`
	Party    string               `json:"party"`
	Attempt  string               `json:"attempt"`
	Digest   string               `json:"digest"`
	Action   string               `json:"action"`
	Sequence uint64               `json:"sequence"`
	Reason   *enactment.Rejection `json:"reason"`
}

type instanceForm struct {
	Action  string            `json:"action"`
	Role    string            `json:"role"`
	Party   string            `json:"party"`
	Attempt string            `json:"attempt"`
	Digest  string            `json:"digest"`
	Values  json.RawMessage   `json:"values"`
	Parties map[string]string `json:"parties"`
	Sealed  string            `json:"sealed"`
}

// Sealer keeps values from whoever can read what is stored. The context is bound to the result: Open fails with another.
type Sealer interface {
	Seal(plain, context []byte) []byte
	Open(sealed, context []byte) ([]byte, error)
}

// Codec encodes and decodes entries and attempts of one protocol.
type Codec struct {
	Rules *enactment.Rules
	// Sealer is for the values that are secret; it may be nil where there are none.
	Sealer Sealer
}

// AppendEntry encodes an entry.
func (c Codec) AppendEntry(to []byte, e *Entry) []byte {
	to = append(to, `{"hash":"`...)
	to = append(to, e.Hash...)
	to = append(to, `","key":`...)
	to = append(to, e.Key...)
	to = append(to, `,"sequence":`...)
	to = strconv.AppendUint(to, e.Finalisation.Sequence, 10)
	if len(e.Finalisation.Instances) > 0 {
		to = append(to, `,"instances":[`...)
		for i := range e.Finalisation.Instances {
			if i > 0 {
				to = append(to, ',')
			}
			to = c.appendStored(to, e.Key, &e.Finalisation.Instances[i], e.Digests[i])
		}
		to = append(to, ']')
	}
	if e.Finalisation.Completed {
		to = append(to, `,"completed":true`...)
	}
	if len(e.Refused) > 0 {
		to = append(to, `,"refused":[`...)
		for i := range e.Refused {
			if i > 0 {
				to = append(to, ',')
			}
			to = appendRefusal(to, &e.Refused[i])
		}
		to = append(to, ']')
	}
	if len(e.Seats) > 0 {
		to = appendStrings(append(to, `,"seats":`...), e.Seats)
	}
	if e.Decided > 0 {
		to = strconv.AppendUint(append(to, `,"decided":`...), e.Decided, 10)
	}
	to = append(to, `,"at":"`...)
	to = e.At.UTC().AppendFormat(to, time.RFC3339Nano)
	return append(to, `"}`...)
}

func appendRefusal(to []byte, r *Refusal) []byte {
	to = append(to, '{')
	to = appendMember(to, "role", r.Role)
	to = appendMember(append(to, ','), "party", r.Party)
	to = appendMember(append(to, ','), "attempt", r.Attempt)
	to = append(to, `,"digest":"`...)
	to = base64.RawURLEncoding.AppendEncode(to, r.Digest[:])
	to = append(to, '"', ',')
	to = appendMember(to, "action", r.Action)
	to = strconv.AppendUint(append(to, `,"sequence":`...), r.Sequence, 10)
	reason, err := json.Marshal(r.Rejection)
	if err != nil {
		panic(err) // it holds strings alone
	}
	return append(append(append(to, `,"reason":`...), reason...), '}')
}

// appendStored encodes an instance for the log: secret values are sealed, together and bound to where they belong.
func (c Codec) appendStored(to []byte, key enactment.Key, i *enactment.Instance, digest Digest) []byte {
	to = append(to, '{')
	to = appendHead(to, i)
	to = append(to, `,"digest":"`...)
	to = base64.RawURLEncoding.AppendEncode(to, digest[:])
	to = append(to, `","values":{`...)
	var secret []byte
	first := true
	for name, value := range i.Values() {
		if c.Rules.Secret(name) {
			secret = appendValue(secret, len(secret) == 0, name, value)
			continue
		}
		to = appendValue(to, first, name, value)
		first = false
	}
	to = append(to, '}')
	if secret != nil {
		sealed := c.Sealer.Seal(append(append([]byte{'{'}, secret...), '}'), sealContext(key, i.Attempt))
		to = append(to, `,"sealed":"`...)
		to = append(base64.RawStdEncoding.AppendEncode(to, sealed), '"')
	}
	return append(to, '}')
}

func sealContext(key enactment.Key, attempt string) []byte {
	return []byte(string(key) + "\x00" + attempt)
}

func appendHead(to []byte, i *enactment.Instance) []byte {
	to = appendMember(to, "action", i.Action)
	to = appendMember(append(to, ','), "role", i.Role)
	if i.Party != "" {
		to = appendMember(append(to, ','), "party", i.Party)
	}
	to = appendMember(append(to, ','), "attempt", i.Attempt)
	if len(i.Parties) > 0 {
		to = appendStrings(append(to, `,"parties":`...), i.Parties)
	}
	return to
}

func appendValue(to []byte, first bool, name string, value enactment.Value) []byte {
	if !first {
		to = append(to, ',')
	}
	to = append(appendString(to, name), ':')
	return append(to, value.String()...)
}

// DecodeEntry decodes an entry. The error says that the message is none of this protocol's.
func (c Codec) DecodeEntry(message []byte) (*Entry, error) {
	var form entryForm
	if err := json.Unmarshal(message, &form); err != nil {
		return nil, fmt.Errorf("wire: not a log entry: %w", err)
	}
	e := &Entry{Hash: form.Hash, Seats: form.Seats, Decided: form.Decided, At: form.At}
	e.Finalisation = enactment.Finalisation{Sequence: form.Sequence, Completed: form.Completed}
	if err := json.Unmarshal(form.Key, &e.Key); err != nil {
		return nil, fmt.Errorf("wire: key of a log entry: %w", err)
	}
	if e.Key == "" {
		return nil, errors.New("wire: a log entry without a key")
	}
	if len(form.Instances) > 0 {
		e.Finalisation.Instances = make([]enactment.Instance, len(form.Instances))
		e.Digests = make([]Digest, len(form.Instances))
	}
	for n := range form.Instances {
		if err := c.decodeStored(e, n, &form.Instances[n]); err != nil {
			return nil, err
		}
	}
	for n := range form.Refused {
		r := &form.Refused[n]
		refusal := Refusal{
			Identity: enactment.Identity{Role: r.Role, Party: r.Party}, Attempt: r.Attempt, Action: r.Action,
			Sequence: r.Sequence, Rejection: r.Reason,
		}
		if r.Reason == nil {
			return nil, errors.New("wire: a refusal without a reason")
		}
		if err := decodeDigest(&refusal.Digest, r.Digest); err != nil {
			return nil, err
		}
		e.Refused = append(e.Refused, refusal)
	}
	return e, nil
}

func (c Codec) decodeStored(e *Entry, n int, form *instanceForm) error {
	if err := decodeDigest(&e.Digests[n], form.Digest); err != nil {
		return err
	}
	instance, err := c.decodeInstance(form, func(sealed []byte) ([]byte, error) {
		if c.Sealer == nil {
			return nil, errors.New("wire: there are sealed values, and no key to open them")
		}
		return c.Sealer.Open(sealed, sealContext(e.Key, form.Attempt))
	})
	if err != nil {
		return err
	}
	e.Finalisation.Instances[n] = instance
	return nil
}

func decodeDigest(into *Digest, text string) error {
	digest, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(digest) != len(into) {
		return fmt.Errorf("wire: %q is no digest", text)
	}
	copy(into[:], digest)
	return nil
}

// decodeInstance rebuilds an instance; open is for sealed values.
func (c Codec) decodeInstance(form *instanceForm, open func([]byte) ([]byte, error)) (enactment.Instance, error) {
	var values enactment.Values
	if len(form.Values) > 0 {
		var err error
		if values, err = parseValues(form.Values); err != nil {
			return enactment.Instance{}, fmt.Errorf("wire: values of %s: %w", form.Action, err)
		}
	}
	if form.Sealed != "" {
		sealed, err := base64.RawStdEncoding.DecodeString(form.Sealed)
		if err != nil {
			return enactment.Instance{}, fmt.Errorf("wire: sealed values of %s: %w", form.Action, err)
		}
		plain, err := open(sealed)
		if err != nil {
			return enactment.Instance{}, fmt.Errorf("wire: sealed values of %s: %w", form.Action, err)
		}
		secret, err := parseValues(plain)
		if err != nil {
			return enactment.Instance{}, fmt.Errorf("wire: sealed values of %s: %w", form.Action, err)
		}
		if values == nil {
			values = secret
		}
		for name, value := range secret {
			values[name] = value
		}
	}
	id := enactment.Identity{Role: form.Role, Party: form.Party}
	return c.Rules.NewInstance(id, form.Action, form.Attempt, values, form.Parties)
}
