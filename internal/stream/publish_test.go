package stream

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAcknowledged(t *testing.T) {
	for _, test := range []struct {
		reply    string
		sequence uint64
		err      error
	}{
		{`{"stream":"S","seq":17}`, 17, nil},
		{`{"stream":"S", "domain":"error", "seq": 3}`, 3, nil},
		{`{"error":{"code":400,"err_code":10071,"description":"wrong last sequence: 4"},"stream":"S","seq":0}`, 0, ErrConflict},
		{`{"error":{"code":400,"err_code":10164,"description":"wrong last sequence"},"stream":"S","seq":0}`, 0, ErrConflict},
		{`{"error":{"code":503,"err_code":10077,"description":"maximum messages exceeded"},"stream":"S","seq":0}`, 0, ErrUnavailable},
		{`+ERR`, 0, ErrUnavailable},
		{``, 0, ErrUnavailable},
	} {
		sequence, err := acknowledged([]byte(test.reply))
		require.ErrorIs(t, err, test.err, test.reply)
		require.Equal(t, test.sequence, sequence)
	}
}
