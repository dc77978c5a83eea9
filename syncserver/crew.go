package syncserver

import (
	"sync"
	"sync/atomic"
)

// crew has goroutines that are used again: one that is begun for a short task spends much of it growing its stack.
type crew struct {
	tasks chan func()
	idle  atomic.Int32
	over  chan struct{}
	done  sync.WaitGroup
}

// mostIdle is how many goroutines may wait for a task.
const mostIdle = 64

func newCrew() *crew { return &crew{tasks: make(chan func()), over: make(chan struct{})} }

// do has a task done, without waiting for it.
func (c *crew) do(task func()) {
	select {
	case c.tasks <- task:
	default:
		c.done.Go(func() { c.work(task) })
	}
}

func (c *crew) work(task func()) {
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

// close ends the goroutines, when all tasks are done. Nothing may be given to do any more.
func (c *crew) close() {
	close(c.over)
	c.done.Wait()
}
