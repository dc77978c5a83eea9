package bridge_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge"
	"github.com/strabo-engine/strabo/bridge/audit"
	"github.com/strabo-engine/strabo/bridge/policy"
	"github.com/strabo-engine/strabo/enactment"
)

// TestAskingBeside: what only reads may be asked for without an observation, under the policy, and is in the audit.
func TestAskingBeside(t *testing.T) {
	g := newGoverning(t)
	g.begin()
	g.reserve("r1")
	booked := g.expect("Booked")
	ask := func(operation, id string) (bridge.Response, error) {
		return g.bridge.Ask(t.Context(), booked.Enactment, bridge.Query{
			Operation: operation, Arguments: map[string]string{"number": id}, About: booked.Instance, Step: "later",
		})
	}
	response, err := ask("look", "n1")
	require.NoError(t, err)
	require.Equal(t, 200, response.Status)
	require.Contains(t, string(response.Body), "n1")
	require.Equal(t, []audit.Kind{audit.StatusQuery}, g.kinds("later"))
	record := g.called()[len(g.called())-1]
	require.Equal(t, []string{"Booked", "GET", g.shop.url + "/reservations/n1", "known", ""}, []string{record.Action, record.Method, record.URL, record.Outcome, record.Response})
	_, err = ask("look", "n 1/../x?y")
	require.NoError(t, err)
	record = g.called()[len(g.called())-1]
	require.Equal(t, g.shop.url+"/reservations/n%201%2F..%2Fx%3Fy", record.URL, "an argument is one segment")

	before := len(g.called())
	for _, wrong := range [][2]string{{"look", ""}, {"look", ".."}, {"pay", "n1"}, {"withdraw", "n1"}, {"reserve", ""}, {"dance", "n1"}} {
		_, err = ask(wrong[0], wrong[1])
		require.ErrorIs(t, err, bridge.ErrNoQuery, wrong[0])
	}
	require.Len(t, g.called(), before)
}

// TestAskingBesideIsGoverned: what the operator has closed is not asked for.
func TestAskingBesideIsGoverned(t *testing.T) {
	g := newGoverning(t)
	g.begin()
	g.reserve("r1")
	booked := g.expect("Booked")
	closed := new(bool)
	g.policy.Local = map[string]policy.Local{"look": {}}
	local := g.policy.Local["look"]
	local.Expose = closed
	g.policy.Local["look"] = local
	p, err := g.newPolicy()
	require.NoError(t, err)
	other, err := bridge.New(g.rules, g.exec, g.stage.mapping, bridge.Options{BaseURL: g.shop.url, Policy: p, Audit: g.stage})
	require.NoError(t, err)
	_, err = other.Ask(t.Context(), booked.Enactment, bridge.Query{Operation: "look", Arguments: map[string]string{"number": "n1"}, About: booked.Instance, Step: "closed"})
	require.ErrorIs(t, err, policy.ErrDisabled)
	require.Equal(t, []audit.Kind{audit.Denied}, g.kinds("closed"))
}

// TestWithoutSecrets: what the remote party tells of its own accord may quote a secret, too.
func TestWithoutSecrets(t *testing.T) {
	g := newGoverning(t)
	g.begin()
	g.reserved()
	g.payFor("r1")
	paid := g.expect("Paid")
	said := enactment.MustValue(map[string]any{"note": "paid with " + token, "number": "n1"})
	clean, err := g.bridge.WithoutSecrets(paid.Enactment, said)
	require.NoError(t, err)
	require.NotContains(t, clean.String(), token)
	require.Contains(t, clean.String(), `"number":"n1"`)
}
