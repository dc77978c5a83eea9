package pack_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/internal/pack"
)

func TestWhatIsWrittenIsRead(t *testing.T) {
	numbers := []uint64{0, 1, 127, 128, 300, math.MaxUint64}
	var text []byte
	for _, n := range numbers {
		text = pack.AppendText(pack.AppendNumber(text, n), "né")
	}
	for cut := range len(text) + 1 {
		r := pack.NewReader(string(text[:cut]))
		for _, n := range numbers {
			number, name := r.Number(), r.Text()
			if !r.Bad() {
				require.Equal(t, n, number)
				require.Equal(t, "né", name)
			}
		}
		require.Equal(t, cut < len(text), r.Bad(), "%d bytes", cut)
	}
}

func TestNumbersThatNothingBacks(t *testing.T) {
	huge := pack.AppendNumber(nil, math.MaxUint64)
	for name, read := range map[string]func(*pack.Reader){
		"text":     func(r *pack.Reader) { require.Empty(t, r.Text()) },
		"count":    func(r *pack.Reader) { require.Zero(t, r.Count(1)) },
		"bytes":    func(r *pack.Reader) { require.Empty(t, r.Bytes(11)) },
		"negative": func(r *pack.Reader) { require.Empty(t, r.Bytes(-1)) },
	} {
		r := pack.NewReader(string(huge))
		read(&r)
		require.True(t, r.Bad(), name)
	}
	r := pack.NewReader("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")
	require.Zero(t, r.Number())
	require.True(t, r.Bad(), "a number of too many bytes")
}
