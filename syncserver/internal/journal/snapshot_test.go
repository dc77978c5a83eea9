package journal_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/strabo-engine/strabo/enactment"
	. "github.com/strabo-engine/strabo/internal/played"
	"github.com/strabo-engine/strabo/syncserver/embedded"
	"github.com/strabo-engine/strabo/syncserver/internal/journal"
)

var writer = enactment.Identity{Role: "Writer"}

// page is an attempt to write one of the pages of a book, of which there may be any number.
func page(n int) enactment.Attempt {
	return enactment.Attempt{
		ID: fmt.Sprint(n), Identity: writer, Action: "Write", Values: enactment.Values{
			"Book": enactment.MustValue("b"), "Page": enactment.MustValue(n), "text": enactment.MustValue("once upon a time"),
		},
	}
}

const book enactment.Key = `{"Book":"b"}`

func writeBook(t testing.TB, j *journal.Journal, from, pages int) {
	t.Helper()
	for n := from; n < from+pages; n++ {
		require.NoError(t, decide(t, j, book, page(n))[0].Err())
	}
}

func TestSnapshots(t *testing.T) {
	rules := Rules(t, Notes)
	server := store(t, t.TempDir())
	every := func(c *journal.Config) { c.SnapshotEvery = 50 }
	j := open(t, server, rules, every)
	writeBook(t, j, 0, 120)
	refused := page(3)
	refused.ID = "again"
	answer := decide(t, j, book, refused)[0]
	require.ErrorIs(t, answer.Err(), enactment.AlreadyHappened)
	j.Close()
	j = open(t, server, rules, every) // so that no snapshot is under way, which another would not wait for
	writeBook(t, j, 120, 60)
	j.Close()

	js, err := jetstream.New(connect(t, server))
	require.NoError(t, err)
	snapshots, err := js.Stream(t.Context(), subjects(t).SnapshotStream())
	require.NoError(t, err)
	info, err := snapshots.Info(t.Context())
	require.NoError(t, err)
	require.Positive(t, info.State.Msgs)

	text, err := j.Newest(t.Context(), book)
	require.NoError(t, err)
	restored, err := journal.Decode(rules, nil, book, text)
	require.NoError(t, err)
	require.Greater(t, restored.State().Sequence(), uint64(120))
	again, ok := restored.Answer(&refused, time.Hour)
	require.True(t, ok, "the snapshot has refusals")
	require.Equal(t, answer, again)
	first := page(0)
	again, ok = restored.Answer(&first, time.Hour)
	require.True(t, ok, "and acceptances")
	require.Equal(t, uint64(1), again.Sequence)

	require.Equal(t, answer, decide(t, open(t, server, rules, every), book, refused)[0])
	opened := open(t, server, rules, every)
	require.NoError(t, opened.Look(t.Context(), book, true, false, func(e *journal.Enactment) {
		require.Equal(t, uint64(180), e.State().Sequence())
	}))

	// One that is damaged is as good as none.
	stored, err := snapshots.GetLastMsgForSubject(t.Context(), subjects(t).Snapshot(book, 0))
	require.NoError(t, err)
	flipped := slices.Clone(stored.Data)
	flipped[len(flipped)/2] ^= 1
	for name, data := range map[string][]byte{
		"of an older format": []byte(`{"key":{"Book":"b"},"last":100000,"pieces":1}` + "\n7 {}\n"),
		"truncated":          stored.Data[:len(stored.Data)/2], "flipped": flipped, "empty": {},
	} {
		_, err = js.Publish(t.Context(), subjects(t).Snapshot(book, 0), data)
		require.NoError(t, err, name)
		require.Equal(t, answer, decide(t, open(t, server, rules, every), book, refused)[0], name)
	}
}

// TestLargeSnapshots makes one that does not fit into a message.
func TestLargeSnapshots(t *testing.T) {
	rules := Rules(t, Notes)
	server := store(t, t.TempDir())
	every := func(c *journal.Config) { c.SnapshotEvery = 8 }
	j := open(t, server, rules, every)
	large := func(n int) enactment.Attempt {
		a := page(n)
		a.Values["text"] = enactment.MustValue(strings.Repeat(fmt.Sprint(n), 200<<10))
		return a
	}
	for n := range 9 {
		require.NoError(t, decide(t, j, book, large(n))[0].Err())
	}
	j.Close()
	text, err := j.Newest(t.Context(), book)
	require.NoError(t, err)
	require.Greater(t, len(text), embedded.DefaultMaxPayload)
	require.NoError(t, open(t, server, rules, every).Look(t.Context(), book, true, false, func(e *journal.Enactment) {
		require.Equal(t, uint64(9), e.State().Sequence())
		value, _ := e.State().Instance(3).Value("text")
		want := large(3)
		require.Equal(t, want.Values["text"], value)
	}))
}

// reversing seals by reversing, which is enough to tell what is sealed.
type reversing struct{}

func (reversing) Seal(plain, context []byte) []byte {
	sealed := append(slices.Clone(context), plain...)
	slices.Reverse(sealed)
	return sealed
}

func (reversing) Open(sealed, context []byte) ([]byte, error) {
	plain := slices.Clone(sealed)
	slices.Reverse(plain)
	if !bytes.HasPrefix(plain, context) {
		return nil, errors.New("of another context")
	}
	return plain[len(context):], nil
}

func TestSecretsAreSealedInSnapshots(t *testing.T) {
	rules := Rules(t, Notes, enactment.WithSecrets("text"))
	j := open(t, store(t, t.TempDir()), rules, func(c *journal.Config) { c.Codec.Sealer = reversing{} })
	writeBook(t, j, 0, 3)
	require.NoError(t, j.Look(t.Context(), book, true, false, func(e *journal.Enactment) {
		text := string(journal.Encode(reversing{}, e))
		require.NotContains(t, text, "once upon")
		restored, err := journal.Decode(rules, reversing{}, book, text)
		require.NoError(t, err)
		require.Equal(t, slices.Collect(e.State().Instances()), slices.Collect(restored.State().Instances()))
		_, err = journal.Decode(rules, nil, book, text)
		require.Error(t, err, "without keys")
	}))
}

// FuzzSnapshot reads what may be anything: it must say no or give an enactment that answers.
func FuzzSnapshot(f *testing.F) {
	rules := Rules(f, Notes)
	refused := page(1)
	refused.ID = "again"
	text := journal.Encode(nil, journal.Folded(rules, book, page(0), page(1), page(2), refused))
	f.Add(text)
	f.Add(text[:len(text)/2])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, text []byte) { readAny(t, rules, refused, text) })
}

// readAny reads what may be a snapshot.
func readAny(t require.TestingT, rules *enactment.Rules, refused enactment.Attempt, text []byte) {
	_ = journal.ReadPiece(text)
	e, err := journal.Decode(rules, nil, book, string(text))
	if err != nil {
		return
	}
	for _, a := range []enactment.Attempt{page(0), refused} {
		_, _ = e.Answer(&a, time.Hour)
	}
	again, err := journal.Decode(rules, nil, book, string(journal.Encode(nil, e)))
	require.NoError(t, err)
	require.Equal(t, e.State().Len(), again.State().Len())
}

// TestDamagedSnapshots does what FuzzSnapshot does, many times faster since nothing is instrumented.
func TestDamagedSnapshots(t *testing.T) {
	rules := Rules(t, Notes)
	refused := page(1)
	refused.ID = "again"
	text := journal.Encode(nil, journal.Folded(rules, book, page(0), page(1), page(2), refused))
	rapid.Check(t, func(t *rapid.T) {
		damaged := slices.Clone(text)
		for range rapid.IntRange(1, 4).Draw(t, "damages") {
			at := rapid.IntRange(0, len(damaged)-1).Draw(t, "at")
			switch rapid.IntRange(0, 2).Draw(t, "how") {
			case 0:
				damaged[at] = rapid.Byte().Draw(t, "byte")
			case 1:
				damaged = damaged[:at+1]
			case 2:
				damaged = slices.Insert(damaged, at, rapid.SliceOfN(rapid.Byte(), 1, 9).Draw(t, "more")...)
			}
		}
		readAny(t, rules, refused, damaged)
	})
}

// BenchmarkOpen opens an enactment of 10,000 actions.
func BenchmarkOpen(b *testing.B) {
	const actions = 10_000
	rules := Rules(b, Notes)
	server := store(b, b.TempDir())
	first := open(b, server, rules, func(c *journal.Config) { c.SnapshotEvery = actions })
	writeBook(b, first, 0, actions)
	first.Close()
	for _, every := range []int{0, 500} {
		b.Run(fmt.Sprintf("snapshots=%t", every > 0), func(b *testing.B) {
			var took time.Duration
			fastest := time.Hour
			for range b.N {
				b.StopTimer()
				j := open(b, server, rules, func(c *journal.Config) { c.SnapshotEvery = every })
				b.StartTimer()
				began := time.Now()
				require.NoError(b, j.Look(context.Background(), book, true, false, func(e *journal.Enactment) {
					require.Equal(b, uint64(actions), e.State().Sequence())
				}))
				took += time.Since(began)
				fastest = min(fastest, time.Since(began))
			}
			b.ReportMetric(float64(took.Milliseconds())/float64(b.N), "ms/open")
			b.ReportMetric(float64(fastest.Microseconds())/1000, "ms/fastest")
		})
	}
}
