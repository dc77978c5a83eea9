package langshaw

// Code names a kind of diagnostic. Codes are an interface: they keep their spelling and meaning, so that tools and
// scripts may match on them. New ones may come.
type Code string

// Errors of the text: an entry that cannot be read is left out.
const (
	// CodeEncoding: the text is not UTF-8. Said once a text, at the first place.
	CodeEncoding Code = "encoding"
	// CodeCharacter: a character that belongs to no word and no mark of the language.
	CodeCharacter Code = "character"
	// CodeSyntax: an entry has not the shape that its clause asks for, or stands in none.
	CodeSyntax Code = "syntax"
	// CodeReservedWord: who, what, do, sayso, nono or nogo is used as a name.
	CodeReservedWord Code = "reserved-word"
	// CodeReservedName: a name with an @ in it; name@Role stands for delegation (semantics section 8).
	CodeReservedName Code = "reserved-name"
	// CodeTooLong: one entry is larger than any that can be meant.
	CodeTooLong Code = "too-long"
	// CodeTooManyKeys: more keys are declared than a protocol may have. Said once a text.
	CodeTooManyKeys Code = "too-many-keys"
	// CodeTooMany: there are more diagnostics than are listed. It is a warning if all that are left out are.
	CodeTooMany Code = "too-many"
)

// Errors of what a protocol must have.
const (
	// CodeMissingName: the text does not begin with a name.
	CodeMissingName Code = "missing-name"
	// CodeMissingWho: no who, or none that lists a role.
	CodeMissingWho Code = "missing-who"
	// CodeMissingWhat: no what, or none that lists anything.
	CodeMissingWhat Code = "missing-what"
	// CodeMissingKey: no attribute in what is marked as a key.
	CodeMissingKey Code = "missing-key"
	// CodeMissingDo: no do, or none that lists an action.
	CodeMissingDo Code = "missing-do"
)

// Errors of names: something is declared twice, not at all, or as two things.
const (
	// CodeDuplicateRole: a role is declared twice.
	CodeDuplicateRole Code = "duplicate-role"
	// CodeDuplicateAction: an action is declared twice.
	CodeDuplicateAction Code = "duplicate-action"
	// CodeDuplicateAttribute: an action lists an attribute twice.
	CodeDuplicateAttribute Code = "duplicate-attribute"
	// CodeDuplicateSayso: an attribute stands in two sayso entries, or twice in one.
	CodeDuplicateSayso Code = "duplicate-sayso"
	// CodeDuplicateSaysoRole: a role stands twice in one sayso entry.
	CodeDuplicateSaysoRole Code = "duplicate-sayso-role"
	// CodeUnknownRole: an actor or a sayso role is not in who.
	CodeUnknownRole Code = "unknown-role"
	// CodeUnknownAction: a nono or nogo names something that is no action.
	CodeUnknownAction Code = "unknown-action"
	// CodeRoleAndAction: a name is both a role and an action.
	CodeRoleAndAction Code = "role-and-action"
	// CodeKeyAction: a key has the name of an action, which has no value.
	CodeKeyAction Code = "key-action"
)

// Errors of single entries.
const (
	// CodeSelfReference: an action lists its own name.
	CodeSelfReference Code = "self-reference"
	// CodeSaysoAction: a sayso over the name of an action, which nobody gives a value.
	CodeSaysoAction Code = "sayso-action"
	// CodeSelfConflict: a nono or nogo of an action and itself.
	CodeSelfConflict Code = "self-conflict"
	// CodeShortNono: a nono of fewer than two actions.
	CodeShortNono Code = "short-nono"
	// CodeKeyAlternative: a key inside a disjunction.
	CodeKeyAlternative Code = "key-alternative"
)

// Warnings: what is said has a meaning, but hardly the one that was wanted.
const (
	// CodeKeylessAction: an action carries no key, so it is never enabled.
	CodeKeylessAction Code = "keyless-action"
	// CodeUnbindable: nobody has sayso over an attribute that is no key, so actions that carry it are never enabled.
	CodeUnbindable Code = "unbindable"
	// CodeUnusedSayso: a sayso over an attribute that no action carries.
	CodeUnusedSayso Code = "unused-sayso"
	// CodeIdleSaysoRole: a role has sayso over an attribute that none of its actions carries.
	CodeIdleSaysoRole Code = "idle-sayso-role"
	// CodeUnboundWhat: what asks for something that no action binds.
	CodeUnboundWhat Code = "unbound-what"
	// CodeUnusedKey: a key that no action carries.
	CodeUnusedKey Code = "unused-key"
	// CodeNoRootKey: no key is carried by all actions, so the whole system is one enactment (semantics section 3).
	CodeNoRootKey Code = "no-root-key"
	// CodeNarrowScope: an attribute is bound once for fewer keys than any action that carries it has.
	CodeNarrowScope Code = "narrow-scope"
)
