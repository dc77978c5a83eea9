package table

import (
	"fmt"

	"github.com/strabo-engine/strabo/enactment"
)

// Inventor makes up values: item-1, item-2 and so on for the attribute item, so that each tells what it stands for and
// no two are the same. The zero value is ready. It is not safe for concurrent use.
type Inventor struct{ made map[string]int }

// Next gives the value that Take will give.
func (v *Inventor) Next(attribute string) enactment.Value {
	return enactment.MustValue(fmt.Sprintf("%s-%d", attribute, v.made[attribute]+1))
}

// Take makes up a value for an attribute.
func (v *Inventor) Take(attribute string) enactment.Value {
	value := v.Next(attribute)
	if v.made == nil {
		v.made = make(map[string]int)
	}
	v.made[attribute]++
	return value
}

// Made says how many values were made up for an attribute.
func (v *Inventor) Made(attribute string) int { return v.made[attribute] }
