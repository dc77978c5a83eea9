package mandate

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/gowebpki/jcs"

	"github.com/strabo-engine/strabo/bridge/ucp/signature"
	"github.com/strabo-engine/strabo/enactment"
)

// Extension is the name of the capability.
const Extension = "dev.ucp.shopping.ap2_mandate"

// MaximumCheckout is how many bytes a checkout may have that is signed or verified.
const MaximumCheckout = 1 << 20

// Canonical gives the canonical form (RFC 8785) of a checkout, a JSON object, without its member ap2: what a business
// signs. The error says that it is no JSON object, has a member twice, has numbers or text that cannot be made canonical,
// or is larger than [MaximumCheckout]; it quotes nothing.
func Canonical(checkout []byte) ([]byte, error) {
	canonical, _, err := apart(checkout)
	return canonical, err
}

// apart gives the canonical form of a checkout without its member ap2, and that member.
func apart(checkout []byte) (canonical []byte, ap2 json.RawMessage, err error) {
	if len(checkout) > MaximumCheckout {
		return nil, nil, fmt.Errorf("ucp: a checkout has more than %d bytes", MaximumCheckout)
	}
	// Strictly, since a member that is there twice would be one thing to who verifies and another to who reads.
	members, err := enactment.ParseValues(checkout)
	if err != nil {
		return nil, nil, fmt.Errorf("ucp: a checkout is no sound JSON object")
	}
	if value, there := members["ap2"]; there {
		ap2 = json.RawMessage(value.String())
		delete(members, "ap2")
	}
	text, err := json.Marshal(members)
	if err == nil {
		canonical, err = jcs.Transform(text)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("ucp: a checkout cannot be made canonical")
	}
	return canonical, ap2, nil
}

// Authorize gives the merchant authorization of a checkout, as it goes to the wire, whose member ap2 counts for nothing
// (UCP 2026-04-08, AP2 mandates, business authorization). The error is that of [Canonical], or of signing.
func Authorize(signer *signature.Signer, checkout []byte) (string, error) {
	canonical, err := Canonical(checkout)
	if err != nil {
		return "", err
	}
	signed, err := signer.Compact("", canonical)
	if err != nil {
		return "", err
	}
	header, rest, _ := strings.Cut(signed, ".")
	_, signed, _ = strings.Cut(rest, ".")
	return header + ".." + signed, nil
}

// Authorized is what a checkout says of its authorization.
type Authorized struct {
	// Authorization is the signature, and Key the id of the key that it was made with.
	Authorization, Key string
	// Checkout is the canonical form of the checkout without its member ap2.
	Checkout []byte
}

// VerifyAuthorization tells whether a checkout, as it came from the wire, has an authorization by one of the business's
// keys. The error is an [*Error] with [AuthorizationMissing] or [AuthorizationInvalid], or whatever else keys returns than
// that there is no such key. It blocks as long as keys does.
func VerifyAuthorization(ctx context.Context, checkout []byte, keys signature.Keys) (*Authorized, error) {
	canonical, ap2, err := apart(checkout)
	if err != nil {
		return nil, &Error{Code: AuthorizationInvalid, Content: "The checkout is not one that can be signed.", Err: err}
	}
	var said struct {
		Authorization string `json:"merchant_authorization"`
	}
	if len(ap2) == 0 || json.Unmarshal(ap2, &said) != nil || said.Authorization == "" {
		return nil, &Error{Code: AuthorizationMissing, Content: "The checkout is not signed by the business."}
	}
	return verifyDetached(ctx, said.Authorization, canonical, keys)
}

// verifyDetached verifies an authorization of a canonical checkout.
func verifyDetached(ctx context.Context, authorization string, canonical []byte, keys signature.Keys) (*Authorized, error) {
	invalid := func(content string, err error) (*Authorized, error) {
		return nil, &Error{Code: AuthorizationInvalid, Content: content, Err: err}
	}
	header, signed, detached := strings.Cut(authorization, "..")
	if !detached || len(authorization) > longestAuthorization {
		return invalid("The authorization is no detached signature.", nil)
	}
	token, err := parseJWS(header + "." + base64.RawURLEncoding.EncodeToString(canonical) + "." + signed)
	if err != nil {
		return invalid("The authorization is no signature that is understood.", err)
	}
	if token.header.KeyID == "" {
		return invalid("The authorization names no key.", nil)
	}
	key, err := keys(ctx, token.header.KeyID)
	if noKey(err) {
		return invalid("The business has no key of that id.", err)
	}
	if err != nil {
		return nil, err
	}
	payload, err := token.verify(key)
	if err != nil || !bytes.Equal(payload, canonical) {
		return invalid("The authorization is not of this checkout.", err)
	}
	return &Authorized{Authorization: authorization, Key: token.header.KeyID, Checkout: canonical}, nil
}

// longestAuthorization is how long an authorization may be; those of 2026-04-08 have less than 300 characters.
const longestAuthorization = 4096
