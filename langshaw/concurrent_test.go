package langshaw_test

import (
	"sync"
	"testing"

	"github.com/strabo-engine/strabo/langshaw"
)

// Parse is safe for concurrent use, with texts that are right and wrong.
func TestConcurrentParse(t *testing.T) {
	var all sync.WaitGroup
	for _, text := range []string{
		"A\nwho R, S\nwhat ID key, X or Y\ndo\n R: X(ID, x)\n S: Y(ID, X)\nsayso\n R > S: x\nnono\n X Y\nnogo\n X -/> Y\n",
		"B\nwho R, , S\nwhat ID key X\ndo\n R X(ID\n S: Y(ID))\nsayso\n > S: x\nnono\n X\nnogo\n X -/> \n", "", "C\nwho\n",
	} {
		for range 8 {
			all.Go(func() {
				for range 20 {
					langshaw.Parse([]byte(text))
					langshaw.Occurrences([]byte(text))
				}
			})
		}
	}
	all.Wait()
}
