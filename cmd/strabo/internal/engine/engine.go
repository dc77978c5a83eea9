// Package engine is what decides the attempts of agents that meet in this process, whatever they meet on. Agents are made
// on one and do not know which it is. Start reading at [Open].
package engine

import (
	"sync"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/syncserver"
)

// Engine is an executor that was made for somebody, who closes it.
type Engine struct {
	adapter.Executor
	close func()
}

// New makes an engine of an executor and what ends it.
func New(executor adapter.Executor, end func()) *Engine {
	return &Engine{executor, sync.OnceFunc(end)}
}

// Close ends the engine: its agents get adapter.ErrClosed. Closing again does nothing.
func (e *Engine) Close() { e.close() }

// Open makes an engine for a protocol. The recorder is told of what happens in it, in the manner of
// [syncserver.WithRecorder]; it may be nil.
type Open func(rules *enactment.Rules, recorder func(enactment.Record)) (*Engine, error)

// Local opens engines in memory.
func Local(options ...syncserver.Option) Open {
	return func(rules *enactment.Rules, recorder func(enactment.Record)) (*Engine, error) {
		all := options
		if recorder != nil {
			all = append(all[:len(all):len(all)], syncserver.WithRecorder(recorder))
		}
		local := syncserver.NewLocal(rules, all...)
		return New(local, local.Close), nil
	}
}
