// Package explain says what a protocol means: who may do what and when, who decides what, who sees what, what excludes
// what and how it ends; for a program as JSON and for a person, lawyer or engineer, in sentences.
//
// It concludes nothing that packages langshaw and enactment do not say; it must not know of what has happened. Start
// reading at Of.
package explain

import (
	"encoding/json"
	"io"
	"slices"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/langshaw"
)

// Explanation is what there is to say of a protocol. Lists come in the order of the text, and are empty, not null,
// where there is nothing to list.
type Explanation struct {
	Protocol string `json:"protocol"`
	// Hash is that of the rules, companion included.
	Hash  string   `json:"hash"`
	Roles []string `json:"roles"`
	// RootKey tells enactments apart; empty where all that happens is one enactment.
	RootKey    []string    `json:"root_key"`
	Actions    []Action    `json:"actions"`
	Attributes []Attribute `json:"attributes"`
	Exclusions []Exclusion `json:"exclusions"`
	Blocks     []Block     `json:"blocks"`
	// Complete has all that must be so for an enactment to be complete, brought about by actions with the same values for
	// the keys of CompleteSame. It is empty where any action completes it.
	Complete     []Goal   `json:"complete"`
	CompleteSame []string `json:"complete_same"`
	// Secrets are what the companion file names.
	Secrets []string `json:"secrets"`
	// Guards are predicates that the companion file names.
	Guards []Guard `json:"guards"`
}

// Guard is what an action must pass besides, which the language cannot say.
type Guard struct {
	Guard string `json:"guard"`
	// Actions are those that must pass it.
	Actions []string `json:"actions"`
	// Detail says what it asks for.
	Detail string `json:"detail"`
}

// Action is an action and when it may happen.
type Action struct {
	Action string `json:"action"`
	Role   string `json:"role"`
	// Begins tells that it may begin an enactment.
	Begins bool `json:"begins"`
	// Never says why it can never happen, or is empty.
	Never string `json:"never,omitempty"`
	// OncePer lists the keys besides the root key for each of whose values it may happen once; empty for once an
	// enactment.
	OncePer []string `json:"once_per"`
	// After lists the actions that must have happened.
	After []Reference `json:"after"`
	// Needs lists what must be known, and is no part of what it comes after.
	Needs []Need `json:"needs"`
	// Binds lists what it binds, BindsIfOpen what it binds unless that is bound already, and Repeats what is known.
	Binds       []string `json:"binds"`
	BindsIfOpen []string `json:"binds_if_open"`
	Repeats     []string `json:"repeats"`
	// NewKeys lists the keys besides the root key for which it may use a new value, KnownKeys those for which it must
	// use one that is known.
	NewKeys   []string `json:"new_keys"`
	KnownKeys []string `json:"known_keys"`
	// NotOnce lists the actions after which it may no longer happen, by nono or nogo.
	NotOnce []string `json:"not_once"`
	SeenBy  []Sight  `json:"seen_by"`
}

// Reference is an action that must have happened before another.
type Reference struct {
	Action string `json:"action"`
	// Same lists the keys besides the root key in which the two agree.
	Same []string `json:"same"`
}

// Need is an attribute that must be known, and the actions that may bind it.
type Need struct {
	Attribute string   `json:"attribute"`
	From      []string `json:"from"`
}

// Sight is what a role sees of an action.
type Sight struct {
	Role string `json:"role"`
	// All tells that it sees all of it. Otherwise it sees the attributes listed; where Any is false not even that it
	// happened.
	Any        bool     `json:"any"`
	All        bool     `json:"all"`
	Attributes []string `json:"attributes"`
}

// Attribute is a key or a value, and who decides it.
type Attribute struct {
	Attribute string `json:"attribute"`
	Key       bool   `json:"key"`
	Secret    bool   `json:"secret"`
	// DecidedBy lists the roles that may bind it, highest authority first. For a key that nobody has sayso over it is
	// empty: whoever uses the key first decides.
	DecidedBy []string `json:"decided_by"`
	// OncePer lists the keys besides the root key for each of whose values it is bound once.
	OncePer   []string `json:"once_per"`
	CarriedBy []string `json:"carried_by"`
	SeenBy    []SeenIn `json:"seen_by"`
}

// SeenIn is a role that sees an attribute, and the actions in which it does.
type SeenIn struct {
	Role string   `json:"role"`
	In   []string `json:"in"`
	// Everywhere tells that these are all actions that carry it.
	Everywhere bool `json:"everywhere"`
}

// Exclusion is two or more actions of which one happens at most, for the same values of some keys.
type Exclusion struct {
	Actions []string `json:"actions"`
	Same    []string `json:"same"`
}

// Block is an action after which another may no longer happen, for the same values of some keys.
type Block struct {
	First string   `json:"first"`
	Then  string   `json:"then"`
	Same  []string `json:"same"`
	// Crossing tells that the two are of different roles, so that both happen when they are judged together.
	Crossing bool `json:"crossing"`
}

// Goal is one part of what makes an enactment complete: any of its alternatives does.
type Goal struct {
	AnyOf []Alternative `json:"any_of"`
}

// Alternative is an action that has happened or an attribute that is bound.
type Alternative struct {
	Name   string `json:"name"`
	Action bool   `json:"action"`
	// By lists the actions by which it comes about; it never does where there are none.
	By []string `json:"by"`
}

// Of explains a protocol. The protocol should be without errors.
func Of(rules *enactment.Rules) *Explanation {
	p := rules.Protocol()
	x := newExplainer(rules)
	e := &Explanation{
		Protocol: p.Name(), Hash: rules.Hash(), Roles: slices.Collect(p.Roles()), RootKey: some(x.root),
		Actions: []Action{}, Attributes: []Attribute{}, Exclusions: []Exclusion{}, Blocks: []Block{}, Complete: []Goal{}, Secrets: []string{}, Guards: []Guard{},
	}
	for action := range p.Actions() {
		e.Actions = append(e.Actions, x.action(action))
	}
	spread(e.Actions)
	for attribute := range p.Attributes() {
		if attribute.IsAction() {
			continue
		}
		e.Attributes = append(e.Attributes, x.attribute(attribute))
		if rules.Secret(attribute.Name()) {
			e.Secrets = append(e.Secrets, attribute.Name())
		}
	}
	for nono := range p.Nonos() {
		e.Exclusions = append(e.Exclusions, x.exclusions(slices.Collect(nono.Actions()))...)
	}
	for nogo := range p.Nogos() {
		e.Blocks = append(e.Blocks, x.block(nogo))
	}
	for guard := range rules.Guards() {
		at := slices.IndexFunc(e.Guards, func(g Guard) bool { return g.Guard == guard.Name })
		if at < 0 {
			at = len(e.Guards)
			e.Guards = append(e.Guards, Guard{Guard: guard.Name, Detail: guard.Detail})
		}
		e.Guards[at].Actions = append(e.Guards[at].Actions, guard.Action)
	}
	goals, same := x.goals()
	e.Complete, e.CompleteSame = append(e.Complete, goals...), same
	return e
}

// WriteJSON writes the explanation for a program, as one line. The error is the writer's.
func (e *Explanation) WriteJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(e)
}

// some makes a list that JSON writes as [] when it is empty.
func some(names []string) []string {
	if names == nil {
		return []string{}
	}
	return names
}

// explainer holds what the parts of an explanation are made of.
type explainer struct {
	rules    *enactment.Rules
	protocol *langshaw.Protocol
	root     []string
	keys     []string        // besides the root key
	begins   map[string]bool // actions that may begin an enactment
	bindings map[string][]string
}

func newExplainer(rules *enactment.Rules) *explainer {
	p := rules.Protocol()
	x := &explainer{
		rules: rules, protocol: p, root: slices.Collect(p.RootKey()),
		begins: make(map[string]bool), bindings: make(map[string][]string),
	}
	x.keys = x.inner(slices.Collect(p.Keys()))
	for role := range p.Roles() {
		for feasible := range rules.Starts(role) {
			x.begins[feasible.Action] = true
		}
	}
	return x
}

// inner leaves the keys of the root key out.
func (x *explainer) inner(keys []string) []string {
	inner := []string{}
	for _, key := range keys {
		if !slices.Contains(x.root, key) {
			inner = append(inner, key)
		}
	}
	return inner
}

// same lists the inner keys that two actions share.
func (x *explainer) same(a, b *langshaw.Action) []string {
	if len(x.keys) == 0 {
		return []string{}
	}
	return slices.DeleteFunc(x.inner(slices.Collect(a.Keys())), func(key string) bool { return !b.Carries(key) })
}

func (x *explainer) find(name string) *langshaw.Action {
	action, ok := x.protocol.Action(name)
	if !ok {
		panic("explain: no action " + name) // names come from the protocol
	}
	return action
}

func (x *explainer) scope(name string) []string {
	attribute, _ := x.protocol.Attribute(name)
	return x.inner(slices.Collect(attribute.Scope()))
}
