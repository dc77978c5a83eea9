package ucp_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/approval"
	"github.com/strabo-engine/strabo/bridge/audit"
	"github.com/strabo-engine/strabo/bridge/ucp"
)

// TestAgreedToLater: what somebody agrees to after a while is paid only if the shop still asks for what was agreed to.
func TestAgreedToLater(t *testing.T) {
	for name, test := range map[string]struct {
		meanwhile func(doc)
		restarts  bool
		paid      bool
	}{
		"nothing has changed":        {func(doc) {}, false, true},
		"nothing has, and a restart": {func(doc) {}, true, true},
		"the sum has": {func(checkout doc) {
			checkout["totals"] = []any{doc{"type": "subtotal", "amount": 2000}, doc{"type": "fee", "amount": 1}, doc{"type": "total", "amount": 2001}}
		}, false, false},
		"the goods have, and a restart": {func(checkout doc) { checkout["line_items"].([]any)[0].(doc)["quantity"] = 1 }, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			shop := newAprilShop(t)
			questions, err := approval.OpenFileStore(t.TempDir(), approval.FileOptions{NoSync: true})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, questions.Close()) })
			hasher := audit.NewHasher([]byte("a key that is long enough for tests"))
			m := openApril(t, shop, func(o *ucp.OutboundOptions) {
				o.Approvals, o.Hasher = questions, hasher
			})
			m.opens(ada, "Offered")
			m.pays(1)
			var asked []approval.Entry
			require.Eventually(t, func() bool {
				asked, err = questions.List(t.Context())
				return err == nil && len(asked) == 1
			}, time.Minute, 2*time.Millisecond)
			if test.restarts {
				m.stop()
			}
			shop.at(test.meanwhile)
			request := asked[0].Request
			require.NoError(t, questions.Decide(t.Context(), request.ID, approval.Verdict{Granted: true, Digest: request.Digest, By: "ada"}))
			if test.restarts {
				m.start()
			}
			if test.paid {
				m.expect("Completed")
				require.Equal(t, 1, shop.count("POST /chk_1/complete"))
				return
			}
			m.expect("Declined")
			require.Zero(t, shop.count("POST /chk_1/complete"))
		})
	}
}
