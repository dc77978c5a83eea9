package crew_test

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/internal/crew"
)

// TestCrew has many tasks done at once, more than once, some of which end their goroutine; and waits for them.
func TestCrew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := crew.New()
		var done atomic.Int64
		for round := range 3 {
			var here sync.WaitGroup
			here.Add(200)
			for n := range 200 {
				c.Do(func() {
					here.Done()
					here.Wait() // All of them run at once.
					done.Add(1)
					if n%7 == 0 {
						runtime.Goexit()
					}
				})
			}
			synctest.Wait()
			require.EqualValues(t, 200*(round+1), done.Load())
		}
		blocked := make(chan struct{})
		c.Do(func() { <-blocked })
		ended := make(chan struct{})
		go func() {
			c.Close()
			close(ended)
		}()
		synctest.Wait()
		select {
		case <-ended:
			require.Fail(t, "a task is not done")
		default:
		}
		close(blocked)
		<-ended
	})
}
