package protocols_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/internal/testspeed"
	"github.com/strabo-engine/strabo/langshaw"
	"github.com/strabo-engine/strabo/protocols"
)

func TestMain(m *testing.M) {
	testspeed.Raise()
	m.Run()
}

func TestNames(t *testing.T) {
	require.Equal(t, []string{
		"price-setter", "purchase", "request-reply", "rfq-quotes", "simple-ucp", "simple-ucp-update", "ucp-incremental",
	}, protocols.Names())
}

// TestTexts holds the files to what the project asks of protocol texts: nothing to complain of, and a comment on what
// they are for.
func TestTexts(t *testing.T) {
	for _, name := range protocols.Names() {
		t.Run(name, func(t *testing.T) {
			text, err := protocols.Source(name)
			require.NoError(t, err)
			protocol, diagnostics := langshaw.Parse(text)
			require.Empty(t, diagnostics)
			require.NotEmpty(t, protocol.Name())
			require.True(t, strings.HasPrefix(string(text), "# "), "no comment")
			require.Contains(t, string(text), "\n# For: ")
			rules, err := protocols.Load(name)
			require.NoError(t, err)
			require.NotEmpty(t, rules.Hash())
		})
	}
}

func TestUnknownName(t *testing.T) {
	for name, suggestion := range map[string]string{
		"simple_ucp": "simple-ucp", "purchases": "purchase", "": "", "wholly-different": "", "simple-ucp.lsh": "simple-ucp",
		"../protocols/purchase": "",
	} {
		_, err := protocols.Load(name)
		var unknown *protocols.UnknownError
		require.ErrorAs(t, err, &unknown, name)
		require.Equal(t, suggestion, unknown.Suggestion, name)
		require.Equal(t, protocols.Names(), unknown.Known)
		require.Contains(t, err.Error(), "simple-ucp-update")
		_, err = protocols.Source(name)
		require.ErrorAs(t, err, &unknown)
	}
}

func TestSecretsAreLoaded(t *testing.T) {
	for name, secret := range map[string]bool{
		"simple-ucp": true, "simple-ucp-update": true, "purchase": true, "request-reply": false,
	} {
		rules, err := protocols.Load(name)
		require.NoError(t, err)
		require.Equal(t, secret, rules.Secret("payment"), name)
	}
	rules, err := protocols.Load("ucp-incremental")
	require.NoError(t, err)
	require.True(t, rules.Secret("credential") && rules.Secret("instruments"))
}

// TestNoThirdRoleSeesASecret checks the promise of the semantics, section 7: no role refers to an action that carries a
// secret unless it performs the action or is the one that the secret is for, the other role of a pair.
func TestNoThirdRoleSeesASecret(t *testing.T) {
	allowed := map[string]string{"purchase": "Seller", "simple-ucp": "Business", "simple-ucp-update": "Business", "ucp-incremental": "Business"}
	for _, name := range protocols.Names() {
		rules, err := protocols.Load(name)
		require.NoError(t, err)
		for attribute := range rules.Protocol().Attributes() {
			if !rules.Secret(attribute.Name()) {
				continue
			}
			for carrier := range attribute.Carriers() {
				for other := range rules.Protocol().Actions() {
					if other.Carries(carrier.Name()) && other.Role() != carrier.Role() {
						require.Equal(t, allowed[name], other.Role(), "%s: %s sees %s", name, other.Name(), attribute.Name())
					}
				}
			}
		}
	}
}

// TestAnswersAreSeen checks that in a protocol of two roles each sees all that the other binds: what nobody is told
// might as well not be bound.
func TestAnswersAreSeen(t *testing.T) {
	for _, name := range protocols.Names() {
		rules, err := protocols.Load(name)
		require.NoError(t, err)
		if len(slices.Collect(rules.Protocol().Roles())) > 2 {
			continue
		}
		for action := range rules.Protocol().Actions() {
			values := enactment.Values{}
			for carried := range action.Attributes() {
				if attribute, _ := rules.Protocol().Attribute(carried); !attribute.IsAction() {
					values[carried] = enactment.MustValue("x")
				}
			}
			instance, err := rules.NewInstance(enactment.Identity{Role: action.Role()}, action.Name(), "a", values, nil)
			require.NoError(t, err)
			for role := range rules.Protocol().Roles() {
				seen, ok := rules.Project(role, instance)
				require.True(t, ok, "%s: %s does not see %s", name, role, action.Name())
				require.Empty(t, slices.Collect(seen.Hidden()), "%s: %s of %s", name, role, action.Name())
			}
		}
	}
}

func TestCompanion(t *testing.T) {
	text, err := protocols.Source("purchase")
	require.NoError(t, err)
	protocol, _ := langshaw.Parse(text)

	for text, message := range map[string]string{
		"secrets: [paymnet]":             `secret "paymnet" is no attribute of Purchase, did you mean payment?`,
		"secrets: [Accept]":              `secret "Accept" is an action, which has no value to keep`,
		"secrets: [ID]":                  `secret "ID" is a key, which every record has to show`,
		"secrets: [payment, payment]":    `secret "payment" is named twice`,
		"secret: [payment]":              "field secret not found",
		"secrets: payment":               "cannot unmarshal",
		"secrets: [payment]\n---\nx: []": "more than one document",
		"secrets: [":                     "not a companion",
		"guards: [next-revison]":         `guard "next-revison" is not known, did you mean next-revision?`,
		"guards: [next-revision]":        `guard "next-revision" is for Offered, which is no action of Purchase`,
		"samples: {prise: [1]}":          `sample "prise" is no attribute of Purchase, did you mean price?`,
		"samples: {Accept: [1]}":         `sample "Accept" is an action, which has no value`,
		"samples: {ID: [[1]]}":           `sample "ID" is a key, which is a string, a number or a boolean`,
		"samples: {price: [.nan]}":       `sample "price" has a value that cannot be written as JSON`,
		"samples: {price: 1}":            "cannot unmarshal",
	} {
		_, err := protocols.ParseCompanion([]byte(text), protocol)
		require.ErrorContains(t, err, message, text)
	}
	for _, text := range []string{"", "# nothing\n", "{}", "secrets: []"} {
		companion, err := protocols.ParseCompanion([]byte(text), protocol)
		require.NoError(t, err, text)
		require.Empty(t, companion.Secrets)
		require.Empty(t, companion.Options())
	}
}

// TestGuardsAreOfTheHash: rules without a guard are other rules, and samples make no difference.
func TestGuardsAreOfTheHash(t *testing.T) {
	text, err := protocols.Source("ucp-incremental")
	require.NoError(t, err)
	protocol, _ := langshaw.Parse(text)
	hash := func(text string) string {
		companion, err := protocols.ParseCompanion([]byte(text), protocol)
		require.NoError(t, err)
		rules, err := enactment.Compile(protocol, companion.Options()...)
		require.NoError(t, err)
		return rules.Hash()
	}
	shipped, err := protocols.Load("ucp-incremental")
	require.NoError(t, err)
	const said = "secrets: [instruments, credential]\nguards: [totals-add-up, revision-seen, latest-revision, next-revision, first-revision]\n"
	require.Equal(t, shipped.Hash(), hash(said))
	require.Equal(t, shipped.Hash(), hash(said+"samples: {rev: [7]}"))
	for _, name := range []string{"totals-add-up, ", "revision-seen, ", "latest-revision, ", "next-revision, ", ", first-revision"} {
		require.Contains(t, said, name)
		require.NotEqual(t, shipped.Hash(), hash(strings.Replace(said, name, "", 1)), name)
	}
}

func TestSourcesAreFormatted(t *testing.T) {
	for _, name := range protocols.Names() {
		text, err := protocols.Source(name)
		require.NoError(t, err)
		formatted, _ := langshaw.Format(text)
		require.Equal(t, string(formatted), string(text), "run strabo fmt -w protocols/%s.lsh", name)
	}
}
