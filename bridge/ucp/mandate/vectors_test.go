package mandate_test

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/ucp/mandate"
	"github.com/strabo-engine/strabo/bridge/ucp/negotiation"
)

// issuerOfExamples is the key in RFC 9901, appendix A.5.
var issuerOfExamples = negotiation.Key{
	Type: "EC", Curve: "P-256",
	X: "b28d4MwZMjw8-00CG4xfnn9SLMVMM19SlqZpVb_uNtQ", Y: "Xv5zWwuoaTgdS6hV43yI6gBwTnjukmFQQnJ_kCxzqk8",
}

func example(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name + ".sd-jwt")
	require.NoError(t, err)
	return strings.ReplaceAll(string(text), "\n", "")
}

// verifierOfExamples verifies at the time of the key binding, for the audience of the examples.
func verifierOfExamples() *mandate.Verifier {
	keys := func(context.Context, string) (negotiation.Key, error) { return issuerOfExamples, nil }
	return &mandate.Verifier{
		Platform: keys, Business: keys, Audience: []string{"https://verifier.example.org"},
		Now: func() time.Time { return time.Unix(1725374413, 0) },
	}
}

func TestExamplesOfTheRFC(t *testing.T) {
	for name, want := range map[string]string{
		"structured": `{"iss": "https://issuer.example.com", "iat": 1683000000, "exp": 1883000000, "address": {"region": "港区", "country": "JP"}}`,
		"nested": `{"iss": "https://issuer.example.com", "iat": 1683000000, "exp": 1883000000, "verified_claims": {
		  "verification": {"trust_framework": "de_aml", "evidence": [{"method": "pipp"}], "time": "2012-04-23T18:25Z"},
		  "claims": {"given_name": "Max", "family_name": "Müller", "address": {
		    "locality": "Maxstadt", "postal_code": "12344", "country": "DE", "street_address": "Weidenstraße 22"}}}}`,
		"key-bound": `{"iss": "https://issuer.example.com", "iat": 1683000000, "exp": 1883000000, "sub": "user_42", "nationalities": ["US"],
		  "family_name": "Doe", "given_name": "John",
		  "address": {"street_address": "123 Main St", "locality": "Anytown", "region": "Anystate", "country": "US"},
		  "cnf": {"jwk": {"kty": "EC", "crv": "P-256", "x": "TCAER19Zvu3OHF4j4W4vfSVoHIP1ILilDls7vCeGemc",
		    "y": "ZxjiWWbZMQGHVWKVQ4hbSIirsVfuecCE6t4jT9F2HZQ"}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			claims, err := verifierOfExamples().Claims(t.Context(), example(t, name))
			require.NoError(t, err)
			text, err := json.Marshal(claims)
			require.NoError(t, err)
			var got, wanted any
			require.NoError(t, json.Unmarshal(text, &got))
			require.NoError(t, json.Unmarshal([]byte(want), &wanted))
			require.Empty(t, cmp.Diff(wanted, got))

			// All of it is in order, but it is none that is about a checkout.
			_, err = verifierOfExamples().Verify(t.Context(), example(t, name))
			require.ErrorIs(t, err, &mandate.Error{Code: mandate.ScopeMismatch})
		})
	}
}

// Each byte of a presentation matters: whichever is changed, it is refused.
func TestEveryByteOfAPresentationMatters(t *testing.T) {
	text := example(t, "key-bound")
	v := verifierOfExamples()
	step := 7
	if testing.Short() {
		step = 31
	}
	for at := 0; at < len(text); at += step {
		other := byte('A')
		if text[at] == other {
			other = 'B'
		}
		_, err := v.Verify(t.Context(), text[:at]+string(other)+text[at+1:])
		require.ErrorIs(t, err, &mandate.Error{Code: mandate.InvalidSignature}, "byte %d", at)
	}
}

func TestPresentationsThatAreNotFresh(t *testing.T) {
	text := example(t, "key-bound")
	for name, test := range map[string]struct {
		now      int64
		audience string
		code     mandate.Code
	}{
		"a day later":     {1725374413 + 86401, "https://verifier.example.org", mandate.Expired},
		"before":          {1725374413 - 61, "https://verifier.example.org", mandate.InvalidSignature},
		"when it is over": {1883000061, "https://verifier.example.org", mandate.Expired},
		"to another":      {1725374413, "https://verifier.example.com", mandate.ScopeMismatch},
	} {
		t.Run(name, func(t *testing.T) {
			v := verifierOfExamples()
			v.Audience, v.Now = []string{test.audience}, func() time.Time { return time.Unix(test.now, 0) }
			_, err := v.Verify(t.Context(), text)
			require.ErrorIs(t, err, &mandate.Error{Code: test.code})
		})
	}
	// Without the key binding, or with that of another presentation, it is nobody's.
	last := strings.LastIndexByte(text, '~')
	for _, other := range []string{text[:last+1], text[:last], strings.Replace(text, "~WyJlbHVWNU9nM2dTTklJOEVZbnN4QV9BIiwgImZhbWlseV9uYW1lIiwgIkRvZSJd", "", 1)} {
		_, err := verifierOfExamples().Verify(t.Context(), other)
		require.ErrorIs(t, err, &mandate.Error{Code: mandate.InvalidSignature})
	}
}
