package syncserver_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/internal/played"
	"github.com/strabo-engine/strabo/syncserver"
)

func TestRecorder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []enactment.Record
		rules := played.Rules(t, played.Purchase, enactment.WithSecrets("address"))
		l := syncserver.NewLocal(rules, syncserver.WithBatch(time.Second, 0),
			syncserver.WithRecorder(func(r enactment.Record) { got = append(got, r) }))
		defer l.Close()
		began := time.Now()
		together(t, l, played.Attempt(played.Buyer, "RFQ", "1", "item", "fig"))
		together(t, l, played.Attempt(played.Buyer, "RFQ", "1", "item", "fig")) // a copy is not recorded again
		together(t, l, played.Attempt(played.Buyer, "Accept", "1", "price", 1, "address", "here"), played.Attempt(played.Seller, "Quote", "1", "price", 5))
		together(t, l, played.Attempt(played.Seller, "Ship", "1"))
		again := played.Attempt(played.Buyer, "Accept", "1", "address", "here")
		again.ID = "again"
		together(t, l, again)
		want := []string{
			`happened {"ID":"1"} 1 RFQ`,
			`happened {"ID":"1"} 2 Quote`,
			`refused {"ID":"1"} 2 Accept dominated hidden [address]`,
			`refused  0 Ship unknown_action hidden [ID]`,
			`happened {"ID":"1"} 3 Accept hidden [address]`,
			`completed {"ID":"1"} 3 `,
		}
		require.Empty(t, cmp.Diff(want, kinds(got)))
		require.Equal(t, began.Add(time.Second), got[0].At)
		require.Equal(t, rules.Hash(), got[0].Hash)
	})
}

func TestRecords(t *testing.T) {
	rules := played.Rules(t, played.Purchase, enactment.WithSecrets("address"), enactment.WithParties("Buyer", "b1", "b2"))
	l := syncserver.NewLocal(rules)
	defer l.Close()
	b1 := enactment.Identity{Role: "Buyer", Party: "b1"}
	b2 := enactment.Identity{Role: "Buyer", Party: "b2"}
	accepted(t, l, played.Attempt(b1, "RFQ", "1", "item", "fig"))
	accepted(t, l, played.Attempt(played.Seller, "Stop", "1"))
	accepted(t, l, played.Attempt(b1, "Accept", "1", "price", 1, "address", "here"))

	all := []string{
		`happened {"ID":"1"} 1 RFQ`, `happened {"ID":"1"} 2 Stop`, `happened {"ID":"1"} 3 Accept hidden [address]`,
		`completed {"ID":"1"} 3 `,
	}
	tests := []struct {
		name   string
		viewer enactment.Identity
		want   []string
	}{
		{"everything", enactment.Identity{}, all},
		{"the buyer", b1, all},
		{"another buyer", b2, nil},
		{"the seller", played.Seller, all},
		{"the auditor is not told of what concerns the others", played.Auditor, all[2:]},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := kinds(slices.Collect(l.Records(played.KeyOf("1"), test.viewer)))
			require.Empty(t, cmp.Diff(test.want, got, cmp.Transformer("none", func(s []string) []string {
				return append([]string{}, s...)
			})))
			for range l.Records(played.KeyOf("1"), test.viewer) {
				break // stopping early is fine
			}
		})
	}
	require.Empty(t, slices.Collect(l.Records(played.KeyOf("2"), enactment.Identity{})))
	require.Equal(t, []enactment.Key{played.KeyOf("1")}, slices.Collect(l.Enactments()))
	for range l.Enactments() {
		break
	}
}

func TestRecorderComesBeforeTheAnswer(t *testing.T) {
	recorded := false
	l := local(t, syncserver.WithRecorder(func(enactment.Record) { recorded = true }))
	_, err := l.Attempt(context.Background(), played.Attempt(played.Buyer, "RFQ", "1", "item", "fig"))
	require.NoError(t, err)
	require.True(t, recorded)
}
