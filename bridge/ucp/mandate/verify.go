package mandate

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/strabo-engine/strabo/bridge/ucp/negotiation"
	"github.com/strabo-engine/strabo/bridge/ucp/signature"
)

// DefaultSkew is how far the clocks of two parties may be apart.
const DefaultSkew = time.Minute

// MaximumBindingAge is how old the proof may be that a credential was presented by its holder. UCP has no challenge that
// would make it fresh; what keeps a mandate from being used twice is the checkout in it.
const MaximumBindingAge = 24 * time.Hour

// Verifier verifies checkout mandates for one business.
type Verifier struct {
	// Platform finds the keys of the platform, those in its profile: it signs what its user has agreed to (UCP 2026-04-08,
	// AP2 mandates, trusted platform provider). It is asked for the id "" where a mandate names none, and gives the only
	// key then. A [negotiation.KeyNotFound] says that there is no such key.
	Platform signature.Keys
	// Issuer finds the key of whoever has issued the credential of a user, a bank for instance, which the business trusts
	// (digital payment credential); the user's own key stands in the credential. False: it is nobody's who is trusted. Nil:
	// nobody is.
	Issuer func(ctx context.Context, issuer, id string) (negotiation.Key, bool, error)
	// Business finds the keys of the business, by which the checkout in the mandate has to be authorized. It is needed.
	Business signature.Keys
	// Audience are the names of the business, URLs: a mandate that is for somebody has to be for one of them.
	Audience []string
	// Now is the time; time.Now if nil. Skew is how far clocks may be apart; [DefaultSkew] if 0.
	Now  func() time.Time
	Skew time.Duration
}

// Verify verifies a mandate and gives the checkout that it is about. It says that whoever signed has agreed to a checkout
// that the business has stated; whether that is the checkout which is to be completed is for the caller to compare.
//
// An issuer that is trusted has to have bound the credential to the key of its holder, who proves to have it by a key
// binding JWT; any other mandate is signed with a key of the platform. Claims that are disclosed selectively have to be
// disclosed as far as they matter. The mandate's content has the checkout as the claim checkout, or as checkout_jwt with
// checkout_hash (AP2, checkout mandate); if it has both they agree. It stands in the mandate itself, in its
// delegate_payload, or in that which the holder has signed.
//
// The error is an [*Error], or whatever else the functions for keys return. It blocks as long as they do.
func (v *Verifier) Verify(ctx context.Context, text string) (*Authorized, error) {
	p, err := split(text)
	if err != nil {
		return nil, unverifiable("The mandate is no SD-JWT.", err)
	}
	issued, err := parseJWS(p.issued)
	if err != nil {
		return nil, unverifiable("The mandate is not signed in a way that is understood.", err)
	}
	if !credentialType(issued.header.Type) {
		return nil, unverifiable("The mandate is a token of another type.", nil)
	}
	key, trusted, err := v.issuer(ctx, issued)
	if err != nil {
		return nil, err
	}
	public, err := signature.PublicKey(key)
	if err != nil {
		return nil, &Error{Code: MissingKey, Content: "The key of the mandate is none that it could be signed with.", Err: err}
	}
	payload, err := issued.verifyBy(public)
	if err != nil {
		return nil, unverifiable("The signature of the mandate is not by the key that it names.", err)
	}
	claims, err := object(payload)
	if err != nil {
		return nil, unverifiable("The mandate has no claims.", err)
	}
	claims, algorithm, err := revealed(claims, p.disclosures)
	if err != nil {
		return nil, unverifiable("What the mandate discloses does not belong to it.", err)
	}
	if err := v.timely(claims); err != nil {
		return nil, err
	}
	if !v.meant(claims, false) {
		return nil, &Error{Code: ScopeMismatch, Content: "The mandate is for another business."}
	}
	contents := []map[string]any{claims}
	switch bound, err := v.binding(p, claims, algorithm); {
	case err != nil:
		return nil, err
	case bound != nil && trusted:
		contents = append(contents, bound)
	case bound == nil && trusted:
		return nil, unverifiable("The holder of the credential has not signed.", nil)
	}
	return v.content(ctx, contents, algorithm)
}

// issuer finds the key that a mandate has to be signed with, and tells whether it is that of an issuer who is trusted
// beside the platform.
func (v *Verifier) issuer(ctx context.Context, issued *jws) (negotiation.Key, bool, error) {
	var said struct {
		Issuer string `json:"iss"`
	}
	if v.Issuer != nil && json.Unmarshal(issued.unverified(), &said) == nil && said.Issuer != "" {
		key, trusted, err := v.Issuer(ctx, said.Issuer, issued.header.KeyID)
		if trusted || err != nil {
			return key, trusted, err
		}
	}
	missing := &Error{Code: MissingKey, Content: "The profile of the platform has no key that the mandate could be verified with."}
	if v.Platform == nil {
		return negotiation.Key{}, false, missing
	}
	key, err := v.Platform(ctx, issued.header.KeyID)
	if noKey(err) {
		missing.Err = err
		return key, false, missing
	}
	return key, false, err
}

// credentialType tells whether a token may be an SD-JWT: it says so, or says nothing (RFC 9901, section 9.11). A hop of a
// chain of delegations is none, for it is nothing without what was delegated.
func credentialType(kind string) bool {
	kind = strings.TrimPrefix(strings.ToLower(kind), "application/")
	return kind == "" || kind == "jwt" || kind == "sd-jwt" ||
		strings.HasSuffix(kind, "+sd-jwt") && kind != "kb+sd-jwt"
}

// bindingType is that of a key binding JWT (RFC 9901, section 4.3).
const bindingType = "kb+jwt"

// binding verifies that the holder of a credential has presented it, and gives what the holder has signed; nil if nobody
// had to. A credential that is bound to a key is worth nothing without.
func (v *Verifier) binding(p parts, claims map[string]any, algorithm string) (map[string]any, error) {
	confirmed, bound := claims["cnf"]
	switch {
	case !bound && p.binding == "":
		return nil, nil
	case !bound:
		return nil, unverifiable("The mandate is presented by somebody whom it does not name.", nil)
	case p.binding == "":
		return nil, unverifiable("The mandate is bound to a key, and is presented without it.", nil)
	}
	holder, err := holderKey(confirmed)
	if err != nil {
		return nil, unverifiable("The mandate is bound to a key that is not understood.", err)
	}
	token, err := parseJWS(p.binding)
	if err != nil || !strings.EqualFold(token.header.Type, bindingType) {
		return nil, unverifiable("The key binding is none.", err)
	}
	payload, err := token.verify(holder)
	if err != nil {
		return nil, unverifiable("The key binding is not signed with the key that the mandate is bound to.", err)
	}
	said, err := object(payload)
	if err != nil {
		return nil, unverifiable("The key binding has no claims.", err)
	}
	want, _ := hashed(algorithm, p.bound())
	if hash, _ := said["sd_hash"].(string); !same(hash, want) {
		return nil, unverifiable("The key binding is of another mandate.", nil)
	}
	if nonce, _ := said["nonce"].(string); nonce == "" {
		return nil, unverifiable("The key binding has no nonce.", nil)
	}
	if err := v.timely(said); err != nil {
		return nil, err
	}
	at, ok := moment(said["iat"])
	if !ok || v.now().Sub(at) > MaximumBindingAge {
		return nil, &Error{Code: Expired, Content: "The key binding is too old."}
	}
	if !v.meant(said, true) {
		return nil, &Error{Code: ScopeMismatch, Content: "The mandate was presented to another business."}
	}
	return said, nil
}

// holderKey reads the confirmation claim (RFC 7800) of a credential that is bound to a key.
func holderKey(confirmed any) (negotiation.Key, error) {
	var key negotiation.Key
	members, _ := confirmed.(map[string]any)
	web, there := members["jwk"].(map[string]any)
	if !there {
		return key, errors.New("no jwk")
	}
	text, err := json.Marshal(web)
	if err == nil {
		err = json.Unmarshal(text, &key)
	}
	return key, err
}

func (v *Verifier) now() time.Time {
	if v.Now != nil {
		return v.Now()
	}
	return time.Now()
}

// timely checks when claims are good (RFC 7519, section 4.1).
func (v *Verifier) timely(claims map[string]any) error {
	skew := v.Skew
	if skew == 0 {
		skew = DefaultSkew
	}
	now := v.now()
	for _, name := range []string{"exp", "nbf", "iat"} {
		said, there := claims[name]
		if !there {
			continue
		}
		at, ok := moment(said)
		switch {
		case !ok:
			return unverifiable("The time "+name+" of the mandate is none.", nil)
		case name == "exp" && !now.Before(at.Add(skew)):
			return &Error{Code: Expired, Content: "The mandate has expired."}
		case name != "exp" && now.Add(skew).Before(at):
			return unverifiable("The mandate is of a time that is still to come.", nil)
		}
	}
	return nil
}

// moment reads a NumericDate (RFC 7519, section 2).
func moment(said any) (time.Time, bool) {
	number, ok := said.(json.Number)
	if !ok {
		return time.Time{}, false
	}
	seconds, err := number.Float64()
	if err != nil || math.IsNaN(seconds) || seconds < 0 || seconds > 1<<40 {
		return time.Time{}, false
	}
	return time.Unix(int64(seconds), 0), true
}

// meant tells whether claims are for this business, if they are for anybody in particular.
func (v *Verifier) meant(claims map[string]any, needed bool) bool {
	said, there := claims["aud"]
	if !there {
		return !needed
	}
	audience, ok := said.([]any)
	if !ok {
		audience = []any{said}
	}
	return slices.ContainsFunc(audience, func(one any) bool {
		name, ok := one.(string)
		return ok && slices.Contains(v.Audience, strings.TrimRight(name, "/"))
	})
}

// object reads claims, which are one JSON object.
func object(text []byte) (map[string]any, error) {
	value, err := decode(text)
	if err != nil {
		return nil, err
	}
	claims, ok := value.(map[string]any)
	if !ok {
		return nil, errors.New("no JSON object")
	}
	return claims, nil
}
