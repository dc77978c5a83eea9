package fair_test

import (
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/bridge/ucp/internal/fair"
)

var options = fair.Options{Rate: 10, Burst: 40, Sites: 100}

// allowed counts how many of so many are allowed.
func allowed(l *fair.Limit, many int, host func(n int) string) (count int) {
	for n := range many {
		if l.Allow(host(n)) {
			count++
		}
	}
	return count
}

func always(host string) func(int) string { return func(int) string { return host } }

// TestAlone: whoever is alone has what is not kept for others, and others have the rest then.
func TestAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := fair.New(options)
		require.Equal(t, 20, allowed(l, 100, always("evil.example")))
		require.Equal(t, 4, allowed(l, 100, always("honest.example")), "its share")
		time.Sleep(time.Second)
		require.Equal(t, 6, allowed(l, 100, always("evil.example")), "10 came, of which 4 are kept for others again")
	})
}

// TestFlood: as long as somebody floods, whoever asks within a share is allowed: by known sites even if the flood comes from
// ever new ones.
func TestFlood(t *testing.T) {
	for name, test := range map[string]struct {
		flood func(n int) string
		known bool
	}{
		"of one host":              {always("evil.example"), false},
		"of hosts below a domain":  {func(n int) string { return fmt.Sprintf("x%d.evil.example:%d", n, 1+n%1000) }, false},
		"of a network":             {func(n int) string { return fmt.Sprintf("[2001:db8::%x]", n%0xffff) }, false},
		"of an address":            {func(n int) string { return fmt.Sprintf("192.0.2.1:%d", 1+n%1000) }, false},
		"of ever new domains":      {func(n int) string { return fmt.Sprintf("evil%d.example", n) }, true},
		"of a name that is no one": {always("localhost"), false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := fair.New(options)
				if test.known {
					require.True(t, l.Allow("honest.example"))
					l.Good("honest.example")
				}
				n, flooded := 0, 0
				for range 20 { // seconds
					for range 200 {
						n++
						if l.Allow(test.flood(n)) {
							flooded++
						}
					}
					require.True(t, l.Allow("honest.example"))
					time.Sleep(time.Second)
				}
				require.LessOrEqual(t, flooded, 40+20*10, "all together")
			})
		})
	}
}

// TestRemembered: many sites take no more memory than some, and nobody who is known is forgotten for strangers.
func TestRemembered(t *testing.T) {
	l := fair.New(options)
	require.True(t, l.Allow("honest.example"))
	l.Good("honest.example")
	l.Good("never.example") // It was not asked.
	measure := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	allowed(l, 1000, func(n int) string { return fmt.Sprintf("a%d.example", n) })
	before := measure()
	allowed(l, 20000, func(n int) string { return fmt.Sprintf("b%d.example", n) })
	require.Less(t, measure(), before+1<<20)
	require.True(t, l.Allow("www.honest.example"))
}
