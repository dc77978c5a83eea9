package bridge_test

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge"
)

// TestAQueryByTheKey: a service that has given no id yet is asked by the client's key, before and after a restart.
func TestAQueryByTheKey(t *testing.T) {
	s := newStage(t)
	text, err := os.ReadFile("testdata/booking.yaml")
	require.NoError(t, err)
	byKey := strings.Replace(string(text), "      status: same-key\n", `      status:
        request: {method: GET, path: '/by-key/{$.exchange.key}'}
        answers:
          - on: 200
            bind: {number: $.status.body.number, price: $.status.body.price, beds: []}
            keep: {number: $.status.body.number}
            when: $.status.body.key == $.exchange.key
`, 1)
	s.mapping, err = bridge.Load("booking.yaml", []byte(byKey), s.rules, map[string]bridge.Hook{"bed": firstBed})
	require.NoError(t, err)
	journal := with(&bridge.MemoryJournal{})
	stop := s.start(journal, impatient)
	s.hotel.on(reserve, drop)
	s.ask()
	require.Equal(t, "reserve", receive(s, s.unknown).Step)
	stop()
	key := s.hotel.requests()[0].key
	require.NotEmpty(t, key)
	asked := "GET /by-key/" + key
	require.Contains(t, s.hotel.lines(), asked)
	for _, r := range s.hotel.requests() {
		require.Contains(t, []string{reserve, asked}, r.line)
		require.Equal(t, r.line == reserve, r.key != "", "a query has no key of its own")
	}
	s.hotel.on(asked, reply(http.StatusOK, fmt.Sprintf(`{"key":%q,"number":"n1","price":5}`, key)))
	s.start(journal)
	require.Equal(t, `"n1"`, s.value(s.expect("Booked"), "number"))
}
