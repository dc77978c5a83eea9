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

type attemptForm struct {
	Hash    string            `json:"hash"`
	ID      string            `json:"id"`
	Action  string            `json:"action"`
	Values  json.RawMessage   `json:"values"`
	Parties map[string]string `json:"parties"`
	At      *time.Time        `json:"at"`
	// What follows is in arrivals only.
	Role   string `json:"role"`
	Party  string `json:"party"`
	Sealed string `json:"sealed"`
	Reply  string `json:"reply"`
	Token  string `json:"token"`
}

// AppendRequest encodes an attempt.
func AppendRequest(to []byte, hash string, a *enactment.Attempt) []byte {
	to = append(to, `{"hash":"`...)
	to = append(to, hash...)
	to = append(to, `","id":`...)
	to = appendString(to, a.ID)
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

// DecodeRequest decodes an attempt. A fault of the values is a [*enactment.Rejection]; the attempt is there nevertheless,
// without them. Any other error says that the message is no attempt.
func DecodeRequest(message []byte) (Request, error) {
	var form attemptForm
	if err := json.Unmarshal(message, &form); err != nil {
		return Request{}, fmt.Errorf("wire: not an attempt: %w", err)
	}
	return form.request()
}

func (form *attemptForm) request() (Request, error) {
	r := Request{Hash: form.Hash, Attempt: enactment.Attempt{ID: form.ID, Action: form.Action, Parties: form.Parties}}
	if form.At != nil {
		r.Attempt.At = *form.At
	}
	if len(form.Values) == 0 {
		return r, nil
	}
	values, err := parseValues(form.Values)
	if rejection, ok := errors.AsType[*enactment.Rejection](err); ok {
		return r, rejection
	}
	r.Attempt.Values = values
	return r, err
}

// Answer is what a server says about an attempt: an outcome, or an [*Error].
type Answer struct {
	Outcome enactment.Outcome
	Err     *Error
}

type answerForm struct {
	Sequence uint64               `json:"sequence"`
	Instance *instanceForm        `json:"instance"`
	Reason   *enactment.Rejection `json:"reason"`
	Error    *Error               `json:"error"`
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
	var form answerForm
	if err := json.Unmarshal(message, &form); err != nil {
		return enactment.Outcome{}, fmt.Errorf("wire: not an answer: %w", err)
	}
	switch {
	case form.Error != nil:
		return enactment.Outcome{}, form.Error
	case form.Reason != nil:
		return enactment.Outcome{Sequence: form.Sequence, Rejection: form.Reason}, nil
	case form.Instance == nil:
		return enactment.Outcome{}, errors.New("wire: an answer that is none")
	}
	instance, err := c.decodeInstance(form.Instance, nothingSealed)
	return enactment.Outcome{Sequence: form.Sequence, Instance: instance}, err
}

func nothingSealed([]byte) ([]byte, error) {
	return nil, errors.New("wire: sealed values where none may be")
}

// Arrival is an attempt as it waits to be put in order.
type Arrival struct {
	Attempt enactment.Attempt
	// Reply is where the server that took it in wants to be told what was decided, and Token what it calls it.
	Reply, Token string
}

// AppendArrivals encodes attempts that arrived together, in order. Secret values are sealed.
func (c Codec) AppendArrivals(to []byte, arrivals []Arrival) []byte {
	to = append(to, '[')
	for n := range arrivals {
		if n > 0 {
			to = append(to, ',')
		}
		to = c.appendArrival(to, &arrivals[n])
	}
	return append(to, ']')
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
	to = appendMember(append(to, ','), "reply", arrival.Reply)
	return append(appendMember(append(to, ','), "token", arrival.Token), '}')
}

// DecodeArrivals decodes attempts that arrived together.
func (c Codec) DecodeArrivals(message []byte) ([]Arrival, error) {
	var forms []attemptForm
	if err := json.Unmarshal(message, &forms); err != nil {
		return nil, fmt.Errorf("wire: not attempts: %w", err)
	}
	arrivals := make([]Arrival, len(forms))
	for n := range forms {
		form := &forms[n]
		request, err := form.request()
		if err != nil {
			return nil, fmt.Errorf("wire: attempt %s: %w", form.ID, err)
		}
		a := request.Attempt
		a.Identity = enactment.Identity{Role: form.Role, Party: form.Party}
		if form.Sealed != "" {
			if err := c.openInto(&a, form.Sealed); err != nil {
				return nil, err
			}
		}
		arrivals[n] = Arrival{Attempt: a, Reply: form.Reply, Token: form.Token}
	}
	return arrivals, nil
}

func (c Codec) openInto(a *enactment.Attempt, text string) error {
	sealed, err := base64.RawStdEncoding.DecodeString(text)
	if err == nil && c.Sealer == nil {
		err = errors.New("no key to open them")
	}
	if err == nil {
		sealed, err = c.Sealer.Open(sealed, sealContext("", a.ID))
	}
	var secret enactment.Values
	if err == nil {
		secret, err = parseValues(sealed)
	}
	if err != nil {
		return fmt.Errorf("wire: sealed values of attempt %s: %w", a.ID, err)
	}
	if a.Values == nil {
		a.Values = make(enactment.Values, len(secret))
	}
	for name, value := range secret {
		a.Values[name] = value
	}
	return nil
}
