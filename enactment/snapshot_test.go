package enactment_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/enactment"
)

// ledgers has keys outside the root key, a secret, a reference, a nono, and several who may play a role.
const ledgers = `Ledgers
who Clerk, Auditor
what Book key, Page key, text
do
  Clerk: Open(Book, title)
  Clerk: Write(Book, Page, text, pin)
  Clerk: Strike(Book, Page, Write)
  Auditor: Approve(Book, Page, Write, note)
sayso
  Clerk: title, text, pin
  Auditor: note
nono
  Strike Approve
`

func ledgerRules(t fataler) *enactment.Rules {
	return compile(t, ledgers, enactment.WithSecrets("pin"), enactment.WithParties("Clerk", "ann", "bob"))
}

// ledgerOf folds that many written pages, every third of which is struck.
func ledgerOf(t fataler, r *enactment.Rules, pages int) *enactment.State {
	s := r.NewState(`{"Book":"b"}`)
	clerk := enactment.Identity{Role: "Clerk", Party: "ann"}
	for n := range pages {
		page := map[string]any{"Book": "b", "Page": n, "text": "once upon a time", "pin": fmt.Sprintf("secret %d", n)}
		happen(t, s, enactment.Attempt{ID: fmt.Sprintf("w%d", n), Identity: clerk, Action: "Write", Values: values(t, page)})
		if n%3 == 0 {
			happen(t, s, enactment.Attempt{
				ID: fmt.Sprintf("s%d", n), Identity: clerk, Action: "Strike",
				Values: values(t, map[string]any{"Book": "b", "Page": n}),
			})
		}
	}
	return s
}

func TestSnapshotKeepsSecretsApart(t *testing.T) {
	r := ledgerRules(t)
	open, secret := ledgerOf(t, r, 3).Snapshot().Append(nil, nil)
	require.NotContains(t, string(open), "secret")
	require.Contains(t, string(secret), "secret 2")
	require.Contains(t, string(open), "once upon a time")
}

func TestSnapshotStaysWhileTheStateGoesOn(t *testing.T) {
	r := ledgerRules(t)
	s := ledgerOf(t, r, 3)
	taken := s.Snapshot()
	want, _ := taken.Append(nil, nil)
	happen(t, s, enactment.Attempt{
		ID: "x", Identity: enactment.Identity{Role: "Auditor", Party: "eve"}, Action: "Approve",
		Values: values(t, map[string]any{"Book": "b", "Page": 1, "note": "fine"}),
	})
	got, _ := taken.Append(nil, nil)
	require.Equal(t, want, got)
	require.Equal(t, 4, taken.Len())
	require.Equal(t, uint64(4), taken.Sequence())
	require.Equal(t, 5, s.Len())
	require.Equal(t, "Approve", s.Instance(4).Action)
}

func TestRestoreRefusesWhatIsNotItsOwn(t *testing.T) {
	r := ledgerRules(t)
	s := ledgerOf(t, r, 4)
	open, secret := s.Snapshot().Append(nil, nil)
	restored, err := r.Restore(s.Key(), string(open), string(secret))
	require.NoError(t, err)
	require.Equal(t, instanceTexts(s), instanceTexts(restored))

	for n := range open {
		_, err := r.Restore(s.Key(), string(open[:n]), string(secret))
		require.ErrorIs(t, err, enactment.ErrSnapshot, "%d bytes", n)
	}
	for name, try := range map[string]func() (*enactment.State, error){
		"too long":        func() (*enactment.State, error) { return r.Restore(s.Key(), string(open)+"x", string(secret)) },
		"other enactment": func() (*enactment.State, error) { return r.Restore(`{"Book":"c"}`, string(open), string(secret)) },
		"no secrets":      func() (*enactment.State, error) { return r.Restore(s.Key(), string(open), "") },
		"more secrets":    func() (*enactment.State, error) { return r.Restore(s.Key(), string(open), string(secret)+"\x01a") },
		"other version":   func() (*enactment.State, error) { return r.Restore(s.Key(), "\x7f"+string(open[1:]), string(secret)) },
		"other rules": func() (*enactment.State, error) {
			return compile(t, ledgers).Restore(s.Key(), string(open), string(secret))
		},
	} {
		_, err := try()
		require.ErrorIs(t, err, enactment.ErrSnapshot, name)
	}
}

// FuzzRestore reads what may be anything: it must say no or give a state that can be used.
func FuzzRestore(f *testing.F) {
	r := ledgerRules(f)
	s := ledgerOf(f, r, 3)
	open, secret := s.Snapshot().Append(nil, nil)
	f.Add(open, secret)
	f.Add(open[:len(open)/2], secret)
	empty, none := r.NewState(s.Key()).Snapshot().Append(nil, nil)
	f.Add(empty, none)
	f.Fuzz(func(t *testing.T, open, secret []byte) {
		restored, err := r.Restore(s.Key(), string(open), string(secret))
		if err != nil {
			require.ErrorIs(t, err, enactment.ErrSnapshot)
			return
		}
		for _, role := range []string{"Clerk", "Auditor"} {
			_ = feasibleTexts(restored, role)
			_, _ = restored.Party(role)
		}
		_ = instanceTexts(restored)
		_, outcomes := enactment.Judge(restored, enactment.Attempt{
			ID: "x", Identity: enactment.Identity{Role: "Clerk", Party: "ann"},
			Action: "Write", Values: values(t, map[string]any{"Book": "b", "Page": 9, "text": "t", "pin": 1}),
		})
		require.Len(t, outcomes, 1)
		again, more := restored.Snapshot().Append(nil, nil)
		twice, err := r.Restore(s.Key(), string(again), string(more))
		require.NoError(t, err)
		require.Equal(t, instanceTexts(restored), instanceTexts(twice))
	})
}

// BenchmarkRestore restores a state of 10,000 instances.
func BenchmarkRestore(b *testing.B) {
	r := ledgerRules(b)
	s := ledgerOf(b, r, 7500)
	open, secret := s.Snapshot().Append(nil, nil)
	b.ReportAllocs()
	b.SetBytes(int64(len(open) + len(secret)))
	for b.Loop() {
		restored, err := r.Restore(s.Key(), string(open), string(secret))
		if err != nil || restored.Len() != 10_000 {
			b.Fatal(err, restored.Len())
		}
	}
}

// BenchmarkSnapshot writes a state of 10,000 instances.
func BenchmarkSnapshot(b *testing.B) {
	r := ledgerRules(b)
	s := ledgerOf(b, r, 7500)
	b.ReportAllocs()
	for b.Loop() {
		s.Snapshot().Append(nil, nil)
	}
}
