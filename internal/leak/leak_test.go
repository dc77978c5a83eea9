package leak_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/strabo-engine/strabo/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// TestFind: what ends late is no leak, what stays is.
func TestFind(t *testing.T) {
	for late, leaks := range map[time.Duration]bool{0: false, 5 * time.Second: false, time.Minute: true} {
		synctest.Test(t, func(t *testing.T) {
			before := goleak.IgnoreCurrent()
			go time.Sleep(late)
			err := leak.Find(before)
			time.Sleep(late)
			require.Equal(t, leaks, err != nil, "%s: %v", late, err)
		})
	}
}
