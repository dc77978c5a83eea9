package mandate

import (
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/strabo-engine/strabo/enactment"
)

// How large an SD-JWT may be: in bytes, in disclosures, and in how deep its claims are nested.
const (
	MaximumLength      = 512 << 10
	maximumDisclosures = 256
	maximumDepth       = 64
)

// parts are the parts of an SD-JWT (RFC 9901, section 4).
type parts struct {
	issued      string
	disclosures []string
	binding     string // the key binding JWT; empty if there is none
}

// split takes an SD-JWT apart. The pattern of UCP's schemas has no tilde at its end, where RFC 9901 has one if there is no
// key binding; both are taken, for a disclosure has no dots and a key binding has two.
func split(text string) (parts, error) {
	if len(text) > MaximumLength {
		return parts{}, fmt.Errorf("more than %d bytes", MaximumLength)
	}
	if strings.Count(text, "~") > maximumDisclosures+1 {
		return parts{}, errors.New("too many disclosures")
	}
	pieces := strings.Split(text, "~")
	p := parts{issued: pieces[0], disclosures: pieces[1:]}
	if last := len(p.disclosures) - 1; last >= 0 {
		switch {
		case p.disclosures[last] == "":
			p.disclosures = p.disclosures[:last]
		case strings.Contains(p.disclosures[last], "."):
			p.binding, p.disclosures = p.disclosures[last], p.disclosures[:last]
		}
	}
	return p, nil
}

// bound is what a key binding is about: all before it (RFC 9901, section 4.3.1).
func (p parts) bound() string {
	var text strings.Builder
	for _, piece := range append([]string{p.issued}, p.disclosures...) {
		text.WriteString(piece)
		text.WriteByte('~')
	}
	return text.String()
}

// hashed gives the base64url form of a digest, by an algorithm of the IANA registry that RFC 9901 refers to.
func hashed(algorithm, text string) (string, bool) {
	var sum []byte
	switch algorithm {
	case "sha-256":
		s := sha256.Sum256([]byte(text))
		sum = s[:]
	case "sha-384":
		s := sha512.Sum384([]byte(text))
		sum = s[:]
	case "sha-512":
		s := sha512.Sum512([]byte(text))
		sum = s[:]
	default:
		return "", false
	}
	return base64.RawURLEncoding.EncodeToString(sum), true
}

// disclosure is one claim, or element of a list, that was disclosed.
type disclosure struct {
	name    string
	element bool // of a list, so that it has no name
	value   any
	used    bool
}

// reveal is the state of putting disclosures into claims.
type reveal struct {
	disclosed map[string]*disclosure // by digest
	seen      map[string]bool        // digests that were met
}

var errDisclosure = errors.New("a disclosure that is not understood")

// revealed gives the claims of an SD-JWT with what was disclosed in the places of their digests, and the algorithm of the
// digests (RFC 9901, section 7.1). Whatever is not as it has to be is an error.
func revealed(claims map[string]any, disclosures []string) (map[string]any, string, error) {
	algorithm := "sha-256"
	if said, there := claims["_sd_alg"]; there {
		algorithm, _ = said.(string)
	}
	r := &reveal{disclosed: make(map[string]*disclosure), seen: make(map[string]bool)}
	for _, text := range disclosures {
		digest, known := hashed(algorithm, text)
		if !known {
			break
		}
		d, err := readDisclosure(text)
		if err != nil {
			return nil, "", err
		}
		if r.disclosed[digest] != nil {
			return nil, "", errors.New("a disclosure is there twice")
		}
		r.disclosed[digest] = d
	}
	if _, known := hashed(algorithm, ""); !known {
		return nil, "", errors.New("digests by an algorithm that is not known")
	}
	out, err := r.object(claims, 0)
	if err != nil {
		return nil, "", err
	}
	delete(out, "_sd_alg")
	for _, d := range r.disclosed {
		if !d.used {
			return nil, "", errors.New("a disclosure belongs to nothing")
		}
	}
	return out, algorithm, nil
}

func readDisclosure(text string) (*disclosure, error) {
	plain, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return nil, errDisclosure
	}
	value, err := decode(plain)
	if err != nil {
		return nil, errDisclosure
	}
	list, _ := value.([]any)
	if len(list) != 2 && len(list) != 3 {
		return nil, errDisclosure
	}
	if _, salted := list[0].(string); !salted {
		return nil, errDisclosure
	}
	if len(list) == 2 {
		return &disclosure{element: true, value: list[1]}, nil
	}
	name, named := list[1].(string)
	if !named || name == "_sd" || name == "..." {
		return nil, errDisclosure
	}
	return &disclosure{name: name, value: list[2]}, nil
}

// decode reads strict JSON, with numbers digit for digit.
func decode(text []byte) (any, error) {
	value, err := enactment.ParseValue(text)
	if err != nil {
		return nil, err
	}
	var out any
	return out, value.Decode(&out)
}

// find gives what was disclosed for a digest; nil if nothing was. No digest may be there twice.
func (r *reveal) find(digest any) (*disclosure, error) {
	text, ok := digest.(string)
	if !ok {
		return nil, errors.New("a digest is no text")
	}
	if r.seen[text] {
		return nil, errors.New("a digest is there twice")
	}
	r.seen[text] = true
	d := r.disclosed[text]
	if d != nil {
		d.used = true
	}
	return d, nil
}

func (r *reveal) object(from map[string]any, depth int) (map[string]any, error) {
	if depth > maximumDepth {
		return nil, errors.New("claims that are nested too deep")
	}
	out := make(map[string]any, len(from))
	for name, member := range from {
		if name == "_sd" {
			continue
		}
		if name == "..." || name == "_sd_alg" && depth > 0 {
			return nil, errors.New("a claim has a name that is none")
		}
		value, err := r.value(member, depth+1)
		if err != nil {
			return nil, err
		}
		out[name] = value
	}
	digests, there := from["_sd"]
	if !there {
		return out, nil
	}
	list, ok := digests.([]any)
	if !ok {
		return nil, errors.New("digests that are no list")
	}
	for _, digest := range list {
		d, err := r.find(digest)
		switch {
		case err != nil:
			return nil, err
		case d == nil:
			continue // It was not disclosed, or is there to mislead.
		case d.element:
			return nil, errors.New("a claim is disclosed as an element of a list")
		}
		if _, taken := out[d.name]; taken {
			return nil, errors.New("a claim is there twice")
		}
		if out[d.name], err = r.value(d.value, depth+1); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (r *reveal) value(from any, depth int) (any, error) {
	if depth > maximumDepth {
		return nil, errors.New("claims that are nested too deep")
	}
	switch from := from.(type) {
	case map[string]any:
		return r.object(from, depth)
	case []any:
		out := make([]any, 0, len(from))
		for _, element := range from {
			hidden, isObject := element.(map[string]any)
			digest, isDigest := hidden["..."]
			if !isObject || !isDigest {
				value, err := r.value(element, depth+1)
				if err != nil {
					return nil, err
				}
				out = append(out, value)
				continue
			}
			d, err := r.find(digest)
			switch {
			case len(hidden) != 1:
				return nil, errors.New("an element of a list is hidden, and not")
			case err != nil:
				return nil, err
			case d == nil:
				continue
			case !d.element:
				return nil, errors.New("an element of a list is disclosed as a claim")
			}
			value, err := r.value(d.value, depth+1)
			if err != nil {
				return nil, err
			}
			out = append(out, value)
		}
		return out, nil
	}
	return from, nil
}
