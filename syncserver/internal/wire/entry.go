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

// Entry is one message of an enactment's log: a finalisation, the refusals that were decided with it, or both. Or it says
// that all before it was removed: that is the last entry of a log, and stays.
type Entry struct {
	// Hash is that of the rules under which it was decided.
	Hash string
	// Key is the enactment.
	Key enactment.Key
	// Finalisation has no instances where nothing happened: then there are refusals only. Of a removed enactment it has the
	// last sequence, and whether it was complete.
	Finalisation enactment.Finalisation
	// Digests has that of the attempt behind each instance.
	Digests []Digest
	// Refused are attempts that were refused.
	Refused []Refusal
	// Seats says who plays each role that is taken once the finalisation has happened.
	Seats map[string]string
	// Decided is the highest arrival that had been decided when it was written, 0 in immediate finalisation.
	Decided uint64
	// At is the time of the judgement by the clock of the server that judged, or that of the removal.
	At time.Time
	// Removed tells that what happened was removed.
	Removed bool
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

// instanceForm is an instance as it is written, before it is known whether it fits the protocol.
type instanceForm struct {
	action, role, party, attempt, digest, sealed string
	values                                       []byte
	parties                                      map[string]string
}

func (form *instanceForm) read(text []byte) error {
	return members(text, func(name string, value []byte) error {
		switch name {
		case "action":
			return readString(&form.action, value)
		case "role":
			return readString(&form.role, value)
		case "party":
			return readString(&form.party, value)
		case "attempt":
			return readString(&form.attempt, value)
		case "digest":
			return readString(&form.digest, value)
		case "sealed":
			return readString(&form.sealed, value)
		case "values":
			form.values = value
		case "parties":
			return readStrings(&form.parties, value)
		}
		return nil
	})
}

// Sealer keeps values from whoever can read what is stored. The context is bound to the result: Open fails with another.
type Sealer interface {
	// Seal gives what may be stored.
	Seal(plain, context []byte) []byte
	// Open gives back what Seal was given. It fails for anything else, and where the key is not known.
	Open(sealed, context []byte) ([]byte, error)
}

// Codec encodes and decodes entries and attempts of one protocol.
type Codec struct {
	Rules *enactment.Rules
	// Sealer is for the values that are secret; it may be nil where there are none.
	Sealer Sealer
	// Open has secrets written as they are.
	Open bool
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
	if e.Removed {
		to = append(to, `,"removed":true`...)
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
		if c.Rules.Secret(name) && !c.Open {
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
	to = append(AppendString(to, name), ':')
	return append(to, value.String()...)
}

// DecodeEntry decodes an entry. The error says that the message is none of this protocol's.
func (c Codec) DecodeEntry(message []byte) (*Entry, error) {
	e := &Entry{}
	var instances [][]byte
	err := members(message, func(name string, value []byte) error {
		switch name {
		case "hash":
			return readString(&e.Hash, value)
		case "key":
			return readKey(&e.Key, value)
		case "sequence":
			return readUint(&e.Finalisation.Sequence, value)
		case "completed":
			return readBool(&e.Finalisation.Completed, value)
		case "seats":
			return readStrings(&e.Seats, value)
		case "decided":
			return readUint(&e.Decided, value)
		case "at":
			return readTime(&e.At, value)
		case "removed":
			return readBool(&e.Removed, value)
		case "instances":
			return elements(value, func(value []byte) error {
				instances = append(instances, value)
				return nil
			})
		case "refused":
			return elements(value, func(value []byte) error {
				r, err := readRefusal(value)
				e.Refused = append(e.Refused, r)
				return err
			})
		}
		return nil
	})
	if err == nil && e.Key == "" {
		err = errors.New("there is no key")
	}
	if err == nil && e.Removed && len(instances) > 0 {
		err = errors.New("something happened in what was removed")
	}
	for _, text := range instances {
		if err == nil {
			err = c.readStored(e, text)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("wire: not a log entry: %w", err)
	}
	return e, nil
}

// Progress tells of an entry, without decoding it, whether its enactment begins, becomes complete, or was removed by it. What
// is no entry does none of that.
func Progress(message []byte) (begins, completes, removed bool) {
	var sequence uint64
	happened := false
	err := members(message, func(name string, value []byte) error {
		switch name {
		case "sequence":
			return readUint(&sequence, value)
		case "completed":
			return readBool(&completes, value)
		case "removed":
			return readBool(&removed, value)
		case "instances":
			return elements(value, func([]byte) error {
				happened = true
				return nil
			})
		}
		return nil
	})
	if err != nil || !happened {
		return false, false, err == nil && removed
	}
	return sequence == 1, completes, false
}

// errContinues ends the reading of an entry by which nothing begins.
var errContinues = errors.New("wire: an entry of what has begun before")

// Beginning tells of an entry, without decoding it, whether an enactment begins by it, which that is, and when. By what is no
// entry nothing begins.
func Beginning(message []byte) (key enactment.Key, at time.Time, begins bool) {
	err := members(message, func(name string, value []byte) error {
		switch name {
		case "key":
			return readKey(&key, value)
		case "sequence": // It comes before all that is long.
			if string(value) != "1" {
				return errContinues
			}
		case "instances":
			begins = true
		case "at":
			return readTime(&at, value)
		}
		return nil
	})
	if err != nil || !begins || key == "" {
		return "", time.Time{}, false
	}
	return key, at, true
}

func readRefusal(text []byte) (Refusal, error) {
	var r Refusal
	var digest string
	err := members(text, func(name string, value []byte) error {
		switch name {
		case "role":
			return readString(&r.Role, value)
		case "party":
			return readString(&r.Party, value)
		case "attempt":
			return readString(&r.Attempt, value)
		case "action":
			return readString(&r.Action, value)
		case "digest":
			return readString(&digest, value)
		case "sequence":
			return readUint(&r.Sequence, value)
		case "reason":
			r.Rejection = &enactment.Rejection{}
			return json.Unmarshal(value, r.Rejection)
		}
		return nil
	})
	if err == nil && r.Rejection == nil {
		err = errors.New("wire: a refusal without a reason")
	}
	if err == nil {
		err = decodeDigest(&r.Digest, digest)
	}
	return r, err
}

func (c Codec) readStored(e *Entry, text []byte) error {
	var form instanceForm
	var digest Digest
	if err := form.read(text); err != nil {
		return err
	}
	if err := decodeDigest(&digest, form.digest); err != nil {
		return err
	}
	instance, err := c.decodeInstance(&form, func(sealed []byte) ([]byte, error) {
		if c.Sealer == nil {
			return nil, errors.New("wire: there are sealed values, and no key to open them")
		}
		return c.Sealer.Open(sealed, sealContext(e.Key, form.attempt))
	})
	if err != nil {
		return err
	}
	e.Finalisation.Instances = append(e.Finalisation.Instances, instance)
	e.Digests = append(e.Digests, digest)
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
	var err error
	if form.values != nil {
		values, err = readValues(form.values)
	}
	if err == nil && form.sealed != "" {
		err = unseal(&values, form.sealed, open)
	}
	if err != nil {
		return enactment.Instance{}, fmt.Errorf("wire: values of %s: %w", form.action, err)
	}
	id := enactment.Identity{Role: form.role, Party: form.party}
	return c.Rules.NewInstance(id, form.action, form.attempt, values, form.parties)
}

// unseal adds the values that are sealed.
func unseal(values *enactment.Values, text string, open func([]byte) ([]byte, error)) error {
	sealed, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil {
		return err
	}
	plain, err := open(sealed)
	if err != nil {
		return err
	}
	secret, err := readValues(plain)
	if err != nil {
		return err
	}
	if *values == nil {
		*values = make(enactment.Values, len(secret))
	}
	for name, value := range secret {
		(*values)[name] = value
	}
	return nil
}
