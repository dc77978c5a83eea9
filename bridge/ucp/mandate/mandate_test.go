package mandate_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/ucp/mandate"
	"github.com/strabo-engine/strabo/bridge/ucp/negotiation"
	"github.com/strabo-engine/strabo/bridge/ucp/signature"
)

// party signs with a key that is found by its id.
type party struct{ *signature.Signer }

func newParty(t testing.TB, id string) party {
	t.Helper()
	signer, err := signature.Generate(id)
	require.NoError(t, err)
	return party{signer}
}

func (p party) keys(_ context.Context, id string) (negotiation.Key, error) {
	if id != p.ID() && id != "" {
		return negotiation.Key{}, &negotiation.Error{Code: negotiation.KeyNotFound, Content: "no such key"}
	}
	return p.Public()
}

const checkout = `{"id":"chk_1","status":"ready_for_complete","currency":"USD","totals":[{"type":"total","amount":5400}],
  "line_items":[{"id":"li_1","item":{"id":"lamp","title":"L\u00e4mp & Co"},"quantity":2}],"expires_at":"2033-05-18T03:33:20Z"}`

// stated gives a checkout as the business answers with it.
func stated(t testing.TB, business *signature.Signer, text string) []byte {
	t.Helper()
	signed, err := mandate.Authorize(business, []byte(text))
	require.NoError(t, err)
	var members map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(text), &members))
	members["ap2"], err = json.Marshal(map[string]string{"merchant_authorization": signed})
	require.NoError(t, err)
	out, err := json.Marshal(members)
	require.NoError(t, err)
	return out
}

func TestAuthorization(t *testing.T) {
	business, other := newParty(t, "shop-1"), newParty(t, "shop-1")
	text := stated(t, business.Signer, checkout)
	got, err := mandate.VerifyAuthorization(t.Context(), text, business.keys)
	require.NoError(t, err)
	require.Equal(t, "shop-1", got.Key)
	require.Regexp(t, `^[A-Za-z0-9_-]+\.\.[A-Za-z0-9_-]+$`, got.Authorization)
	header, err := base64.RawURLEncoding.DecodeString(strings.Split(got.Authorization, ".")[0])
	require.NoError(t, err)
	require.JSONEq(t, `{"alg": "ES256", "kid": "shop-1"}`, string(header))
	require.Equal(t, `{"currency":"USD","expires_at":"2033-05-18T03:33:20Z","id":"chk_1","line_items":[{"id":"li_1","item":{"id":"lamp","title":"Lämp & Co"},"quantity":2}],"status":"ready_for_complete","totals":[{"amount":5400,"type":"total"}]}`, string(got.Checkout))

	// However it is written, it is the same checkout.
	var indented json.RawMessage
	indented, err = json.MarshalIndent(json.RawMessage(text), "", " ")
	require.NoError(t, err)
	_, err = mandate.VerifyAuthorization(t.Context(), indented, business.keys)
	require.NoError(t, err)

	invalid := &mandate.Error{Code: mandate.AuthorizationInvalid}
	for name, test := range map[string]struct {
		text string
		keys signature.Keys
		err  error
	}{
		"another total":           {strings.Replace(string(text), "5400", "5401", 1), business.keys, invalid},
		"one member more":         {strings.Replace(string(text), "{", `{"note":1,`, 1), business.keys, invalid},
		"a member twice":          {strings.Replace(string(text), "{", `{"id":"chk_1",`, 1), business.keys, invalid},
		"somebody else's key":     {string(text), other.keys, invalid},
		"a key that is not there": {string(text), newParty(t, "shop-2").keys, invalid},
		"not signed":              {checkout, business.keys, &mandate.Error{Code: mandate.AuthorizationMissing}},
		"ap2 without it":          {`{"id":"c","ap2":{}}`, business.keys, &mandate.Error{Code: mandate.AuthorizationMissing}},
		"not detached":            {`{"id":"c","ap2":{"merchant_authorization":"a.b.c"}}`, business.keys, invalid},
		"nonsense":                {`{"id":"c","ap2":{"merchant_authorization":"a..c"}}`, business.keys, invalid},
		"no object":               {`[]`, business.keys, invalid},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := mandate.VerifyAuthorization(t.Context(), []byte(test.text), test.keys)
			require.ErrorIs(t, err, test.err)
		})
	}
}

// verifier verifies mandates for a business, from a platform.
func verifier(business, platform party) *mandate.Verifier {
	return &mandate.Verifier{
		Platform: platform.keys, Business: business.keys, Audience: []string{"https://shop.example"},
		Now: func() time.Time { return time.Unix(2_000_000_000-3600, 0) },
	}
}

// What a platform signs with a key of its own has the form of UCP's schemas, is the same each time, and verifies.
func TestKeySigner(t *testing.T) {
	business, platform := newParty(t, "shop-1"), newParty(t, "platform-1")
	text := stated(t, business.Signer, checkout)
	signer := &mandate.KeySigner{Key: platform.Signer, Issuer: "https://platform.example/profile", Audience: "https://shop.example"}
	token, err := signer.Sign(t.Context(), text)
	require.NoError(t, err)
	require.Regexp(t, regexp.MustCompile(`^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*\.[A-Za-z0-9_-]+(~[A-Za-z0-9_-]+)*$`), token)
	again, err := signer.Sign(t.Context(), text)
	require.NoError(t, err)
	require.Equal(t, token, again)
	for _, form := range []string{token, token + "~"} {
		got, err := verifier(business, platform).Verify(t.Context(), form)
		require.NoError(t, err)
		want, err := mandate.Canonical(text)
		require.NoError(t, err)
		require.Equal(t, string(want), string(got.Checkout))
	}
	_, err = signer.Sign(t.Context(), []byte(checkout))
	require.ErrorIs(t, err, &mandate.Error{Code: mandate.AuthorizationMissing})

	later := verifier(business, platform)
	later.Now = func() time.Time { return time.Unix(2_000_000_061, 0) }
	_, err = later.Verify(t.Context(), token)
	require.ErrorIs(t, err, &mandate.Error{Code: mandate.Expired})
}

// ES384 and ES512 are good, and nothing else is: no other family, no signature at all, no other key than that of the id.
func TestAlgorithms(t *testing.T) {
	business, platform := newParty(t, "shop-1"), newParty(t, "platform-1")
	payload := fmt.Sprintf(`{"checkout":%s}`, stated(t, business.Signer, checkout))
	for algorithm, curve := range map[jose.SignatureAlgorithm]elliptic.Curve{
		jose.ES256: elliptic.P256(), jose.ES384: elliptic.P384(), jose.ES512: elliptic.P521(),
	} {
		key, err := ecdsa.GenerateKey(curve, rand.Reader)
		require.NoError(t, err)
		web, err := jose.JSONWebKey{Key: key.Public(), KeyID: "k"}.MarshalJSON()
		require.NoError(t, err)
		v := verifier(business, platform)
		v.Platform = func(context.Context, string) (negotiation.Key, error) {
			var out negotiation.Key
			return out, json.Unmarshal(web, &out)
		}
		signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: key}, nil)
		require.NoError(t, err)
		signed, err := signer.Sign([]byte(payload))
		require.NoError(t, err)
		token, err := signed.CompactSerialize()
		require.NoError(t, err)
		_, err = v.Verify(t.Context(), token)
		require.NoError(t, err, algorithm)
	}
	head := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	good, err := platform.Compact("", []byte(payload))
	require.NoError(t, err)
	rest := good[strings.IndexByte(good, '.'):]
	for _, header := range []string{
		`{"alg":"none","kid":"platform-1"}`, `{"alg":"HS256","kid":"platform-1"}`, `{"alg":"RS256"}`, `{"alg":"ES512","kid":"platform-1"}`,
		`{"alg":"ES256","alg":"ES256"}`, `{"alg":"ES256","crit":["exp"],"exp":1}`, `{"alg":"ES256","b64":false,"crit":["b64"]}`, `[]`,
	} {
		_, err := verifier(business, platform).Verify(t.Context(), head(header)+rest)
		require.ErrorIs(t, err, &mandate.Error{Code: mandate.InvalidSignature}, header)
	}
	stranger := verifier(business, newParty(t, "platform-2"))
	_, err = stranger.Verify(t.Context(), good)
	require.ErrorIs(t, err, &mandate.Error{Code: mandate.MissingKey})
	impostor := verifier(business, newParty(t, "platform-1"))
	_, err = impostor.Verify(t.Context(), good)
	require.ErrorIs(t, err, &mandate.Error{Code: mandate.InvalidSignature})
}

// presented makes a credential of a bank, bound to a key of its user, and the user's signature of what they agree to.
func presented(t testing.TB, bank, user party, issued, signed map[string]any, disclosures ...string) string {
	t.Helper()
	key, err := user.Public()
	require.NoError(t, err)
	if issued["cnf"] == nil {
		issued["cnf"] = map[string]any{"jwk": key}
	}
	text, err := json.Marshal(issued)
	require.NoError(t, err)
	token, err := bank.Compact("dc+sd-jwt", text)
	require.NoError(t, err)
	bound := strings.Join(append([]string{token}, disclosures...), "~") + "~"
	sum := sha256.Sum256([]byte(bound))
	if signed["sd_hash"] == nil {
		signed["sd_hash"] = base64.RawURLEncoding.EncodeToString(sum[:])
	}
	if text, err = json.Marshal(signed); err != nil {
		require.NoError(t, err)
	}
	binding, err := user.Compact("kb+jwt", text)
	require.NoError(t, err)
	return bound + binding
}

// A user signs with the key of a credential from a bank that the business trusts.
func TestCredentialOfAUser(t *testing.T) {
	business, platform, bank, user := newParty(t, "shop-1"), newParty(t, "platform-1"), newParty(t, "bank-1"), newParty(t, "user-1")
	v := verifier(business, platform)
	v.Issuer = func(ctx context.Context, issuer, id string) (negotiation.Key, bool, error) {
		if issuer != "https://bank.example" {
			return negotiation.Key{}, false, nil
		}
		key, err := bank.keys(ctx, id)
		return key, true, err
	}
	now := v.Now().Unix()
	text := stated(t, business.Signer, checkout)
	canonical, err := mandate.Canonical(text)
	require.NoError(t, err)
	var ap2 struct {
		AP2 struct {
			Authorization string `json:"merchant_authorization"`
		} `json:"ap2"`
	}
	require.NoError(t, json.Unmarshal(text, &ap2))
	token := strings.Replace(ap2.AP2.Authorization, "..", "."+base64.RawURLEncoding.EncodeToString(canonical)+".", 1)
	sum := sha256.Sum256([]byte(token))
	hash := base64.RawURLEncoding.EncodeToString(sum[:])
	disclosed := base64.RawURLEncoding.EncodeToString([]byte(`["salt","card_last_four","4444"]`))
	digest := sha256.Sum256([]byte(disclosed))
	issued := func() map[string]any {
		return map[string]any{
			"iss": "https://bank.example", "vct": "com.emvco.dpc", "exp": now + 60,
			"_sd": []string{base64.RawURLEncoding.EncodeToString(digest[:])},
		}
	}
	type changed func(issued, signed map[string]any)
	for name, test := range map[string]struct {
		change changed
		code   mandate.Code
	}{
		"as it should be":              {func(_, _ map[string]any) {}, ""},
		"the checkout alone":           {func(_, s map[string]any) { delete(s, "delegate_payload"); s["checkout"] = json.RawMessage(text) }, ""},
		"another audience":             {func(_, s map[string]any) { s["aud"] = "https://other.example" }, mandate.ScopeMismatch},
		"no audience":                  {func(_, s map[string]any) { delete(s, "aud") }, mandate.ScopeMismatch},
		"no nonce":                     {func(_, s map[string]any) { delete(s, "nonce") }, mandate.InvalidSignature},
		"no time":                      {func(_, s map[string]any) { delete(s, "iat") }, mandate.Expired},
		"another presentation":         {func(_, s map[string]any) { s["sd_hash"] = hash }, mandate.InvalidSignature},
		"no credential any more":       {func(i, _ map[string]any) { i["exp"] = now - 3600 }, mandate.Expired},
		"a credential of tomorrow":     {func(i, _ map[string]any) { i["nbf"] = now + 86400 }, mandate.InvalidSignature},
		"bound to another key":         {func(i, _ map[string]any) { k, _ := platform.Public(); i["cnf"] = map[string]any{"jwk": k} }, mandate.InvalidSignature},
		"bound to nothing known":       {func(i, _ map[string]any) { i["cnf"] = map[string]any{"kid": "user-1"} }, mandate.InvalidSignature},
		"a bank that is not trusted":   {func(i, _ map[string]any) { i["iss"] = "https://bank.invalid" }, mandate.MissingKey},
		"nothing is agreed to":         {func(_, s map[string]any) { delete(s, "delegate_payload") }, mandate.ScopeMismatch},
		"another type of mandate":      {func(_, s map[string]any) { content(s)["vct"] = "mandate.checkout.2" }, mandate.ScopeMismatch},
		"the hash of another checkout": {func(_, s map[string]any) { content(s)["checkout_hash"] = "x" }, mandate.InvalidSignature},
		"constraints":                  {func(_, s map[string]any) { content(s)["constraints"] = []any{} }, mandate.InvalidSignature},
		"delegated further":            {func(_, s map[string]any) { content(s)["cnf"] = map[string]any{} }, mandate.InvalidSignature},
		"a mandate that is over":       {func(_, s map[string]any) { content(s)["exp"] = now - 3600 }, mandate.Expired},
		"two checkouts":                {func(_, s map[string]any) { s["checkout"] = json.RawMessage(text) }, mandate.InvalidSignature},
		"two checkouts that differ": {func(_, s map[string]any) {
			content(s)["checkout"] = json.RawMessage(stated(t, business.Signer, `{"id":"2"}`))
		}, mandate.InvalidSignature},
		"a checkout of another shop": {func(_, s map[string]any) {
			content(s)["checkout"] = json.RawMessage(stated(t, platform.Signer, checkout))
		}, mandate.AuthorizationInvalid},
		"a checkout that is not signed": {func(_, s map[string]any) { content(s)["checkout"] = json.RawMessage(checkout) }, mandate.AuthorizationInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			i := issued()
			signed := map[string]any{
				"aud": "https://shop.example/", "nonce": "n-1", "iat": now,
				"delegate_payload": []any{
					map[string]any{"vct": mandate.Type, "checkout_jwt": token, "checkout_hash": hash},
					map[string]any{"vct": "mandate.payment.1"},
				},
			}
			test.change(i, signed)
			_, err := v.Verify(t.Context(), presented(t, bank, user, i, signed, disclosed))
			if test.code == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, &mandate.Error{Code: test.code})
			require.NotContains(t, err.Error(), "4444", "an error quotes nothing")
		})
	}
}

// A bank says who its customer is. What it says of a checkout is not the customer's word.
func TestACredentialWithoutItsHolder(t *testing.T) {
	business, platform, bank := newParty(t, "shop-1"), newParty(t, "platform-1"), newParty(t, "bank-1")
	v := verifier(business, platform)
	v.Issuer = func(ctx context.Context, _, id string) (negotiation.Key, bool, error) {
		key, err := bank.keys(ctx, id)
		return key, true, err
	}
	text, err := json.Marshal(map[string]any{
		"iss": "https://bank.example", "checkout": json.RawMessage(stated(t, business.Signer, checkout)),
	})
	require.NoError(t, err)
	token, err := bank.Compact("dc+sd-jwt", text)
	require.NoError(t, err)
	_, err = v.Verify(t.Context(), token+"~")
	require.ErrorIs(t, err, &mandate.Error{Code: mandate.InvalidSignature})
}

func content(signed map[string]any) map[string]any {
	return signed["delegate_payload"].([]any)[0].(map[string]any)
}

// Disclosures that do not fit, or that would say two things, are refused.
func TestDisclosuresThatDoNotFit(t *testing.T) {
	business, platform := newParty(t, "shop-1"), newParty(t, "platform-1")
	text := stated(t, business.Signer, checkout)
	disclose := func(text string) (string, string) {
		d := base64.RawURLEncoding.EncodeToString([]byte(text))
		sum := sha256.Sum256([]byte(d))
		return d, base64.RawURLEncoding.EncodeToString(sum[:])
	}
	whole, digest := disclose(fmt.Sprintf(`["salt","checkout",%s]`, text))
	element, elementDigest := disclose(`["salt",1]`)
	again, againDigest := disclose(`["other salt","checkout",1]`)
	reserved, reservedDigest := disclose(`["salt","_sd",[]]`)
	short, shortDigest := disclose(`["salt"]`)
	self, _ := disclose(`["salt","checkout",{"_sd":["x","x"]}]`)
	sign := func(claims string) string {
		token, err := platform.Compact("", []byte(claims))
		require.NoError(t, err)
		return token
	}
	deep := strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100)
	for name, test := range map[string]struct {
		token string
		good  bool
	}{
		"disclosed":                  {sign(`{"_sd":["`+digest+`"]}`) + "~" + whole + "~", true},
		"in the form of the schemas": {sign(`{"_sd":["`+digest+`","decoy"]}`) + "~" + whole, true},
		"not disclosed":              {sign(`{"_sd":["`+digest+`"]}`) + "~", false},
		"of nothing":                 {sign(`{}`) + "~" + whole + "~", false},
		"of nothing, beside all":     {sign(`{"checkout":`+string(text)+`}`) + "~" + element + "~", false},
		"twice":                      {sign(`{"_sd":["`+digest+`"]}`) + "~" + whole + "~" + whole + "~", false},
		"twice by digest":            {sign(`{"_sd":["`+digest+`","`+digest+`"]}`) + "~" + whole + "~", false},
		"a decoy twice":              {sign(`{"_sd":["`+digest+`","decoy","decoy"]}`) + "~" + whole + "~", false},
		"a decoy twice, far apart":   {sign(`{"_sd":["`+digest+`","decoy"],"x":{"_sd":["decoy"]}}`) + "~" + whole + "~", false},
		"a decoy and an element":     {sign(`{"_sd":["`+digest+`","decoy"],"l":[{"...":"decoy"}]}`) + "~" + whole + "~", false},
		"two decoys":                 {sign(`{"_sd":["`+digest+`","decoy"],"l":[{"...":"another"}]}`) + "~" + whole + "~", true},
		"over a claim that is there": {sign(`{"checkout":1,"_sd":["`+digest+`"]}`) + "~" + whole + "~", false},
		"two of one name":            {sign(`{"_sd":["`+digest+`","`+againDigest+`"]}`) + "~" + whole + "~" + again + "~", false},
		"an element as a claim":      {sign(`{"_sd":["`+elementDigest+`"]}`) + "~" + element + "~", false},
		"a claim as an element":      {sign(`{"l":[{"...":"`+digest+`"}]}`) + "~" + whole + "~", false},
		"half an element":            {sign(`{"l":[{"...":"`+elementDigest+`","x":1}]}`) + "~" + element + "~", false},
		"a reserved name":            {sign(`{"_sd":["`+reservedDigest+`"]}`) + "~" + reserved + "~", false},
		"too short":                  {sign(`{"_sd":["`+shortDigest+`"]}`) + "~" + short + "~", false},
		"another algorithm":          {sign(`{"_sd_alg":"md5","_sd":["`+digest+`"]}`) + "~" + whole + "~", false},
		"no list":                    {sign(`{"_sd":"`+digest+`"}`) + "~" + whole + "~", false},
		"itself":                     {sign(`{}`) + "~" + self + "~", false},
		"nested deep":                {sign(`{"x":`+deep+`,"_sd":["`+digest+`"]}`) + "~" + whole + "~", false},
		"too many":                   {sign(`{}`) + strings.Repeat("~"+whole, 300), false},
		"too long":                   {sign(`{}`) + "~" + strings.Repeat("A", mandate.MaximumLength), false},
		"a claim twice":              {sign(`{"checkout":1,"checkout":`+string(text)+`}`) + "~", false},
		"empty":                      {"", false},
		"tildes":                     {"~~~", false},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := verifier(business, platform).Verify(t.Context(), test.token)
			if test.good {
				require.NoError(t, err)
				return
			}
			require.Error(t, err)
			var wrong *mandate.Error
			require.ErrorAs(t, err, &wrong)
		})
	}
}

// Whatever a peer sends, it is refused in words.
func FuzzVerify(f *testing.F) {
	business, platform := newParty(f, "shop-1"), newParty(f, "platform-1")
	text := stated(f, business.Signer, checkout)
	token, err := (&mandate.KeySigner{Key: platform.Signer}).Sign(f.Context(), text)
	require.NoError(f, err)
	f.Add(token, string(text), "")
	f.Add("a.b.c~d~e.f.g", `{"ap2":{"merchant_authorization":"a..b"}}`, `{"_sd":["x"],"cnf":{"jwk":{}}}`)
	f.Add("", "", `{"checkout_jwt":"a.e30.c","checkout_hash":"x","delegate_payload":[{"...":"y"}]}`)
	f.Fuzz(func(t *testing.T, token, text, claims string) {
		v := verifier(business, platform)
		check := func(err error) {
			if err != nil {
				var wrong *mandate.Error
				require.ErrorAs(t, err, &wrong)
			}
		}
		_, err := v.Verify(t.Context(), token)
		check(err)
		_, err = mandate.VerifyAuthorization(t.Context(), []byte(text), business.keys)
		check(err)
		// What is signed by the platform is as hostile: the disclosures and the claims are drawn, too.
		signed, err := platform.Compact("", []byte(claims))
		require.NoError(t, err)
		_, rest, _ := strings.Cut(token, "~")
		_, err = v.Verify(t.Context(), signed+"~"+rest)
		check(err)
	})
}
