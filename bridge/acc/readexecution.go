package acc

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

func (d *declarationReader) execution(n *node) {
	execution := &d.declaration.Execution
	d.object(n, "execution", map[string]func(*node){
		"readonly":   func(n *node) { execution.Readonly = d.boolean(n, "execution.readonly") },
		"idempotent": func(n *node) { execution.Idempotent = d.boolean(n, "execution.idempotent") },
		"timeout_ms": func(n *node) {
			most := int64(MaximumTimeout / time.Millisecond)
			value, isInteger, fits := d.integer(n, "execution.timeout_ms")
			if !isInteger {
				return
			}
			if !fits || value < 1 || value > most {
				d.invalid(n, "execution.timeout_ms must be 1 to %d, and is %s", most, describe(n))
				return
			}
			execution.Timeout = time.Duration(value) * time.Millisecond
		},
		"rate_limit": func(n *node) { execution.RateLimit = d.rateLimit(n) },
	})
}

func (d *declarationReader) rateLimit(n *node) *RateLimit {
	const path = "execution.rate_limit"
	limit := &RateLimit{}
	d.object(n, path, map[string]func(*node){
		"count": func(n *node) {
			value, isInteger, fits := d.integer(n, path+".count")
			switch {
			case !isInteger:
			case fits && value < 1, !fits && strings.HasPrefix(n.text, "-"):
				d.invalid(n, "%s.count must be 1 or more, and is %s", path, describe(n))
			case !fits:
				d.unsupported(n, "%s.count is larger than any that can be counted to", path)
			}
			limit.Count = value
		},
		"window": func(n *node) { limit.Window = d.window(n, path+".window") },
	})
	if n.kind == objectNode {
		for _, name := range fieldsOf[path] {
			if n.member(name) == nil {
				d.invalid(n, "%s has no %s", path, name)
			}
		}
	}
	return limit
}

func (d *declarationReader) unsupported(n *node, format string, arguments ...any) {
	d.failed = true
	d.fault(CodeUnsupportedValue, n.start, n.end, format, arguments...)
}

var windowPattern = regexp.MustCompile(`^[1-9][0-9]*(s|m|h|d)$`)

var windowUnits = map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour}

// window reads a length of time. Those that no clock can measure are refused, since shorter ones would be looser.
func (d *declarationReader) window(n *node, path string) time.Duration {
	if n.kind != textNode || !windowPattern.MatchString(n.text) {
		d.invalid(n, "%s must be a whole number from 1 and s, m, h or d, such as 30s, and is %s", path, describe(n))
		return 0
	}
	last := len(n.text) - 1
	unit := windowUnits[n.text[last]]
	number, err := strconv.ParseInt(n.text[:last], 10, 64)
	if err != nil || number > int64(math.MaxInt64/unit) {
		d.unsupported(n, "%s is longer than any clock can measure", path)
		return 0
	}
	return time.Duration(number) * unit
}
