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

// Request is an attempt on its way to a server. Who attempts is said by the subject, not by the message.
type Request struct {
	// Hash is that of the rules that the client has.
	Hash    string
	Attempt enactment.Attempt
}

// attemptForm is an attempt as it is written. What follows on sealed is in arrivals only.
type attemptForm struct {
	attempt enactment.Attempt
	hash    string
	values  []byte

	sealed, token, trace string
}

func (form *attemptForm) read(text []byte) error {
	a := &form.attempt
	return members(text, func(name string, value []byte) error {
		switch name {
		case "hash":
			return readString(&form.hash, value)
		case "id":
			return readString(&a.ID, value)
		case "action":
			return readString(&a.Action, value)
		case "values":
			form.values = value
		case "parties":
			return readStrings(&a.Parties, value)
		case "at":
			return readTime(&a.At, value)
		case "role":
			return readString(&a.Role, value)
		case "party":
			return readString(&a.Party, value)
		case "sealed":
			return readString(&form.sealed, value)
		case "token":
			return readString(&form.token, value)
		case "trace":
			return readString(&form.trace, value)
		}
		return nil
	})
}

// AppendRequest encodes an attempt.
func AppendRequest(to []byte, hash string, a *enactment.Attempt) []byte {
	to = append(to, `{"hash":"`...)
	to = append(to, hash...)
	to = append(to, `","id":`...)
	to = AppendString(to, a.ID)
	to = appendMember(append(to, ','), "action", a.Action)
	if len(a.Values) > 0 {
		to = append(to, `,"values":{`...)
		first := true
		for name, value := range a.Values {
			to = appendValue(to, first, name, value)
			first = false
		}
		to = append(to, '}')
	}
	return append(appendTail(to, a), '}')
}

func appendTail(to []byte, a *enactment.Attempt) []byte {
	if len(a.Parties) > 0 {
		to = appendStrings(append(to, `,"parties":`...), a.Parties)
	}
	if !a.At.IsZero() {
		to = append(to, `,"at":"`...)
		to = append(a.At.UTC().AppendFormat(to, time.RFC3339Nano), '"')
	}
	return to
}

// DecodeRequest decodes an attempt, all but the identity. A fault of the values is a [*enactment.Rejection]; the attempt
// is there nevertheless, without them. Any other error says that the message is no attempt.
func DecodeRequest(message []byte) (Request, error) {
	var form attemptForm
	if err := form.read(message); err != nil {
		return Request{}, fmt.Errorf("wire: not an attempt: %w", err)
	}
	form.attempt.Identity = enactment.Identity{}
	r := Request{Hash: form.hash, Attempt: form.attempt}
	if form.values == nil {
		return r, nil
	}
	values, err := readValues(form.values)
	if err != nil {
		return r, err
	}
	r.Attempt.Values = values
	return r, nil
}

// AppendAnswer encodes an outcome for the identity that attempted; it sees its own instance whole.
func AppendAnswer(to []byte, o *enactment.Outcome) []byte {
	to = strconv.AppendUint(append(to, `{"sequence":`...), o.Sequence, 10)
	if o.Rejection != nil {
		reason, err := json.Marshal(o.Rejection)
		if err != nil {
			panic(err) // it holds strings alone
		}
		return append(append(append(to, `,"reason":`...), reason...), '}')
	}
	to = appendShown(append(to, `,"instance":`...), &o.Instance)
	return append(to, '}')
}

// appendShown encodes an instance for a role that may see the values that it has.
func appendShown(to []byte, i *enactment.Instance) []byte {
	to = appendHead(append(to, '{'), i)
	to = append(to, `,"values":{`...)
	first := true
	for name, value := range i.Values() {
		to = appendValue(to, first, name, value)
		first = false
	}
	return append(to, '}', '}')
}

// DecodeAnswer decodes what a server answered.
func (c Codec) DecodeAnswer(message []byte) (enactment.Outcome, error) {
	var outcome enactment.Outcome
	var instance []byte
	var failure *Error
	err := members(message, func(name string, value []byte) error {
		switch name {
		case "sequence":
			return readUint(&outcome.Sequence, value)
		case "instance":
			instance = value
		case "reason":
			outcome.Rejection = &enactment.Rejection{}
			return json.Unmarshal(value, outcome.Rejection)
		case "error":
			failure = &Error{}
			return json.Unmarshal(value, failure)
		}
		return nil
	})
	switch {
	case err != nil:
		return enactment.Outcome{}, fmt.Errorf("wire: not an answer: %w", err)
	case failure != nil:
		return enactment.Outcome{}, failure
	case outcome.Rejection != nil:
		return outcome, nil
	case instance == nil:
		return enactment.Outcome{}, errors.New("wire: an answer that is none")
	}
	outcome.Instance, err = c.readShown(instance)
	return outcome, err
}

// readShown reads an instance that was shown to a role.
func (c Codec) readShown(text []byte) (enactment.Instance, error) {
	var form instanceForm
	if err := form.read(text); err != nil {
		return enactment.Instance{}, err
	}
	return c.decodeInstance(&form, nothingSealed)
}

func nothingSealed([]byte) ([]byte, error) {
	return nil, errors.New("wire: sealed values where none may be")
}

// Arrivals are attempts that arrived together, at one server, and wait to be put in order.
type Arrivals struct {
	// Reply is where that server wants to be told what was decided.
	Reply string
	// Number is the server's own for this message.
	Number   uint64
	Attempts []Arrival
}

// Arrival is one of them.
type Arrival struct {
	Attempt enactment.Attempt
	// Token is what the server calls it.
	Token string
	// Trace is the span of that server (W3C traceparent); empty if there is none.
	Trace string
}

// AppendArrivals encodes attempts that arrived together, in order. Secret values are sealed.
func (c Codec) AppendArrivals(to []byte, arrivals *Arrivals) []byte {
	to = append(append(append(to, `{"hash":"`...), c.Rules.Hash()...), '"')
	to = appendMember(append(to, ','), "reply", arrivals.Reply)
	to = strconv.AppendUint(append(to, `,"number":`...), arrivals.Number, 10)
	to = append(to, `,"attempts":[`...)
	for n := range arrivals.Attempts {
		if n > 0 {
			to = append(to, ',')
		}
		to = c.appendArrival(to, &arrivals.Attempts[n])
	}
	return append(to, ']', '}')
}

func (c Codec) appendArrival(to []byte, arrival *Arrival) []byte {
	a := &arrival.Attempt
	to = appendMember(append(to, '{'), "id", a.ID)
	to = appendMember(append(to, ','), "action", a.Action)
	to = appendMember(append(to, ','), "role", a.Role)
	to = appendMember(append(to, ','), "party", a.Party)
	to = append(to, `,"values":{`...)
	var secret []byte
	first := true
	for name, value := range a.Values {
		if c.Rules.Secret(name) {
			secret = appendValue(secret, len(secret) == 0, name, value)
			continue
		}
		to = appendValue(to, first, name, value)
		first = false
	}
	to = append(to, '}')
	if secret != nil {
		sealed := c.Sealer.Seal(append(append([]byte{'{'}, secret...), '}'), sealContext("", a.ID))
		to = append(to, `,"sealed":"`...)
		to = append(base64.RawStdEncoding.AppendEncode(to, sealed), '"')
	}
	to = appendTail(to, a)
	to = appendMember(append(to, ','), "token", arrival.Token)
	if arrival.Trace != "" {
		to = appendMember(append(to, ','), "trace", arrival.Trace)
	}
	return append(to, '}')
}

// errEnough ends the reading of a message.
var errEnough = errors.New("wire: enough")

// DecodeArrivals decodes attempts that arrived together. Where known has them, by reply and number, they are not
// read; it may be nil.
func (c Codec) DecodeArrivals(message []byte, known func(reply string, number uint64) ([]Arrival, bool)) (*Arrivals, error) {
	a := &Arrivals{}
	err := members(message, func(name string, value []byte) error {
		switch name {
		case "hash":
			var hash string
			if err := readString(&hash, value); err != nil || hash != c.Rules.Hash() {
				return fmt.Errorf("they are of protocol %s: %w", hash, errors.Join(errForm, err))
			}
		case "reply":
			return readString(&a.Reply, value)
		case "number":
			err := readUint(&a.Number, value)
			if known == nil || err != nil {
				return err
			}
			if attempts, ok := known(a.Reply, a.Number); ok {
				a.Attempts = attempts
				return errEnough
			}
		case "attempts":
			return elements(value, func(value []byte) error {
				arrival, err := c.readArrival(value)
				a.Attempts = append(a.Attempts, arrival)
				return err
			})
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, fmt.Errorf("wire: not attempts: %w", err)
	}
	return a, nil
}

func (c Codec) readArrival(text []byte) (Arrival, error) {
	var form attemptForm
	if err := form.read(text); err != nil {
		return Arrival{}, err
	}
	a := form.attempt
	var err error
	if form.values != nil {
		a.Values, err = readValues(form.values)
	}
	if err == nil && form.sealed != "" {
		err = unseal(&a.Values, form.sealed, func(sealed []byte) ([]byte, error) {
			if c.Sealer == nil {
				return nil, errors.New("no key to open them")
			}
			return c.Sealer.Open(sealed, sealContext("", a.ID))
		})
	}
	if err != nil {
		return Arrival{}, fmt.Errorf("values of attempt %s: %w", a.ID, err)
	}
	return Arrival{Attempt: a, Token: form.token, Trace: form.trace}, nil
}
