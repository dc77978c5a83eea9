package mandate

import (
	"bytes"
	"context"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
)

// Type is the type of a checkout mandate (AP2, checkout mandate).
const Type = "mandate.checkout.1"

// typePrefix begins the types of all mandates of AP2.
const typePrefix = "mandate."

// content finds the checkout in what was signed and verifies that it is authorized by the business.
func (v *Verifier) content(ctx context.Context, signed []map[string]any, algorithm string) (*Authorized, error) {
	found, err := find(signed)
	if err == nil {
		err = v.timely(found)
	}
	if err != nil {
		return nil, err
	}
	var got *Authorized
	if token, there := found["checkout_jwt"]; there {
		if got, err = v.reattached(ctx, token, found["checkout_hash"], algorithm); err != nil {
			return nil, err
		}
	}
	embedded, there := found["checkout"]
	if !there {
		return got, nil
	}
	text, err := json.Marshal(embedded)
	if err != nil {
		return nil, unverifiable("The checkout in the mandate cannot be read.", err)
	}
	plain, err := VerifyAuthorization(ctx, text, v.Business)
	switch {
	case errors.Is(err, &Error{Code: AuthorizationMissing}):
		return nil, &Error{Code: AuthorizationInvalid, Content: "The checkout in the mandate is not signed by the business."}
	case err != nil:
		return nil, err
	case got != nil && !bytes.Equal(got.Checkout, plain.Checkout):
		return nil, unverifiable("The mandate is about two checkouts.", nil)
	}
	return plain, nil
}

// find gives the content of the mandate among what was signed: the claims themselves, or what they delegate. There has to
// be one that is about a checkout.
func find(signed []map[string]any) (map[string]any, error) {
	var found []map[string]any
	other, further := false, false
	look := func(content map[string]any) {
		_, plain := content["checkout"]
		_, token := content["checkout_jwt"]
		kind, _ := content["vct"].(string)
		switch {
		case strings.HasPrefix(kind, typePrefix) && kind != Type:
			other = true
		case plain || token:
			found = append(found, content)
		}
	}
	for _, claims := range signed {
		look(claims)
		delegated, _ := claims["delegate_payload"].([]any)
		for _, element := range delegated {
			content, _ := element.(map[string]any)
			look(content)
			if _, onward := content["cnf"]; onward {
				further = true
			}
		}
	}
	switch {
	case further:
		return nil, unverifiable("The mandate is delegated further, which is not taken here.", nil)
	case len(found) == 1 && found[0]["constraints"] != nil:
		return nil, unverifiable("The mandate has constraints, which are not taken here.", nil) // AP2: unknown ones fail.
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return nil, unverifiable("The mandate is about several checkouts.", nil)
	case other:
		return nil, &Error{Code: ScopeMismatch, Content: "The mandate is none for a checkout."}
	}
	return nil, &Error{Code: ScopeMismatch, Content: "The mandate has no checkout in it, or does not disclose it."}
}

// reattached verifies a checkout that comes as the signature of the business with the checkout in it.
func (v *Verifier) reattached(ctx context.Context, token, hash any, algorithm string) (*Authorized, error) {
	text, _ := token.(string)
	said, _ := hash.(string)
	if want, _ := hashed(algorithm, text); !same(said, want) {
		return nil, unverifiable("The hash of the checkout in the mandate is another.", nil)
	}
	pieces := strings.Split(text, ".")
	invalid := &Error{Code: AuthorizationInvalid, Content: "The checkout in the mandate is not one that the business has signed."}
	if len(pieces) != 3 {
		return nil, invalid
	}
	plain, err := base64.RawURLEncoding.Strict().DecodeString(pieces[1])
	if err != nil {
		return nil, invalid
	}
	canonical, err := Canonical(plain)
	if err != nil || !bytes.Equal(canonical, plain) {
		return nil, invalid // Else it is not what the authorization is of.
	}
	return verifyDetached(ctx, pieces[0]+".."+pieces[2], canonical, v.Business)
}

// same compares digests.
func same(a, b string) bool {
	return a != "" && subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1
}
