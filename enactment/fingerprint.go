package enactment

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// fingerprint hashes what decides how the rules judge, in an order that does not depend on how it was written down.
func (r *Rules) fingerprint(c compiler) string {
	var lines []string
	add := func(kind string, parts ...string) { lines = append(lines, kind+" "+strings.Join(parts, " ")) }
	add("protocol", r.protocol.Name())
	for _, role := range r.roles {
		add("role", role)
	}
	for conjunct := range r.protocol.What() {
		kind := "what"
		if conjunct.IsKey() {
			kind = "key"
		}
		add(kind, slices.Sorted(conjunct.Alternatives())...)
	}
	for _, rule := range r.actions {
		add("action", append([]string{rule.role, rule.name}, slices.Sorted(rule.Attributes())...)...)
	}
	for _, a := range r.attributes {
		if roles := slices.Collect(a.Sayso()); len(roles) > 0 {
			add("sayso", append([]string{a.name}, roles...)...)
		}
	}
	for nono := range r.protocol.Nonos() {
		add("nono", slices.Sorted(nono.Actions())...)
	}
	for nogo := range r.protocol.Nogos() {
		add("nogo", nogo.First(), nogo.Then())
	}
	for _, guard := range c.guards {
		add("guard", guard.Action, guard.Name)
	}
	for _, name := range c.secrets {
		add("secret", name)
	}
	slices.Sort(lines)
	hash := sha256.New()
	for _, line := range slices.Compact(lines) {
		fmt.Fprintln(hash, line)
	}
	return hex.EncodeToString(hash.Sum(nil))
}
