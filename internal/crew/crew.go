// Package crew has goroutines that are used again: one that is begun for a short task spends much of its time growing
// its stack. Start reading at [New].
package crew

import (
	"sync"
	"sync/atomic"
)

// Crew does tasks, each on a goroutine that does nothing else meanwhile. It is safe for concurrent use.
type Crew struct {
	tasks chan func()
	idle  atomic.Int32
	over  chan struct{}
	done  sync.WaitGroup
}

// mostIdle is how many goroutines may wait for a task.
const mostIdle = 32

// New makes a crew, of which somebody has to see the end: see [Crew.Close].
func New() *Crew { return &Crew{tasks: make(chan func()), over: make(chan struct{})} }

// Do has a task done, without waiting for it. The task may end its goroutine.
func (c *Crew) Do(task func()) {
	select {
	case c.tasks <- task:
	default:
		c.done.Go(func() { c.work(task) })
	}
}

func (c *Crew) work(task func()) {
	for {
		task()
		if c.idle.Add(1) > mostIdle {
			c.idle.Add(-1)
			return
		}
		select {
		case task = <-c.tasks:
			c.idle.Add(-1)
		case <-c.over:
			return
		}
	}
}

// Close waits until all tasks are done and the goroutines have ended. Nothing may be given to do any more.
func (c *Crew) Close() {
	close(c.over)
	c.done.Wait()
}
