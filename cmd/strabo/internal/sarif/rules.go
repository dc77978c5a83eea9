package sarif

import (
	"github.com/strabo-engine/strabo/langshaw"
	"github.com/strabo-engine/strabo/langshaw/verify"
)

// Codes of what a verifier does not find at a place of the text. They are an interface, as those of [langshaw.Code] are.
const (
	// CodeQuery: the answer to a question is no, or there is none.
	CodeQuery langshaw.Code = "query"
	// CodeUnknown: the limit on states was met.
	CodeUnknown langshaw.Code = "unknown-verdict"
)

// Help tells what a kind of finding means, in a few words, and what to do about it. Both are empty for a code that
// nothing finds.
func Help(code langshaw.Code) (short, long string) {
	texts, ok := help[code]
	if !ok {
		texts = contractHelp[code]
	}
	return texts[0], texts[1]
}

// pageOf is the page that says more.
func pageOf(code langshaw.Code) string {
	if _, ok := contractHelp[code]; ok {
		return home + "/blob/main/docs/acc.md"
	}
	return home + "/blob/main/docs/language.md"
}

var help = map[langshaw.Code][2]string{
	langshaw.CodeEncoding:  {"The text is not UTF-8.", "Protocols are UTF-8, with or without a byte-order mark. Save the file in that encoding."},
	langshaw.CodeCharacter: {"A character means nothing in the language.", "Names are letters, digits, _, - and @, beginning with a letter or digit. The marks are : , ( ) > and -/>."},
	langshaw.CodeSyntax:    {"An entry has not the shape that its clause asks for.", "who lists roles, what keys and aims; an action is `Role: Action(attribute, ...)`, a sayso `Role > Role: attribute`, a nono two or more actions on one line, a nogo `First -/> Then`. What cannot be read is left out."},
	langshaw.CodeReservedWord: {
		"A word of the language is used as a name.",
		"who, what, do, sayso, nono and nogo begin clauses, and key and or have a meaning in what. Choose another name.",
	},
	langshaw.CodeReservedName: {"A name has an @ in it.", "Names such as name@Role are kept for delegation. Choose another name."},
	langshaw.CodeTooLong:      {"One entry is larger than any that can be meant.", "Split the entry, or close the parenthesis that was left open."},
	langshaw.CodeTooManyKeys:  {"A protocol has more keys than are told apart.", "Few enactments need more than one or two keys. Leave the others out of what, or do not mark them with key."},
	langshaw.CodeTooMany:      {"There are more findings than are listed.", "Mend those that are listed, and look again."},

	langshaw.CodeMissingName: {"The text does not begin with a name.", "The first line that is not blank is the protocol's name."},
	langshaw.CodeMissingWho:  {"No role is declared.", "List the roles, as in `who Buyer, Seller`."},
	langshaw.CodeMissingWhat: {"Nothing says when an enactment is complete.", "List keys and aims, as in `what ID key, Reject or Deliver`."},
	langshaw.CodeMissingKey:  {"No attribute is a key.", "Keys tell enactments apart. Mark one, as in `what ID key`."},
	langshaw.CodeMissingDo:   {"No action is declared.", "List the actions, as in `do Buyer: RFQ(ID, item)`."},

	langshaw.CodeDuplicateRole:      {"A role is declared twice.", "Remove one of the two."},
	langshaw.CodeDuplicateAction:    {"An action is declared twice.", "An action has one role and one list of attributes. Remove or rename one of the two."},
	langshaw.CodeDuplicateAttribute: {"An action lists an attribute twice.", "Remove one of the two."},
	langshaw.CodeDuplicateSayso: {
		"An attribute stands in two sayso entries, or twice in one.",
		"One entry says who decides an attribute. To let several roles, rank them: `Buyer > Seller: item`.",
	},
	langshaw.CodeDuplicateSaysoRole: {"A role stands twice in one sayso entry.", "Leave it where its rank is meant to be."},
	langshaw.CodeUnknownRole:        {"An actor or a sayso role is not in who.", "Correct the name, or add the role to who."},
	langshaw.CodeUnknownAction:      {"A nono or nogo names something that is no action.", "Correct the name, or declare the action in do. A misspelt conflict protects nothing."},
	langshaw.CodeRoleAndAction:      {"A name is both a role and an action.", "Rename one of the two."},
	langshaw.CodeKeyAction:          {"A key has the name of an action.", "An action's name has no value, so it cannot be a key. Rename one of the two."},

	langshaw.CodeSelfReference:  {"An action lists its own name.", "An action that needs itself can never happen. Remove the name."},
	langshaw.CodeSaysoAction:    {"A sayso over the name of an action.", "Nobody gives an action's name a value. Remove it from sayso."},
	langshaw.CodeSelfConflict:   {"A nono or nogo of an action and itself.", "An action happens once anyway. Name another action, or remove the entry."},
	langshaw.CodeShortNono:      {"A nono of fewer than two actions.", "Actions exclude each other: name two or more on one line."},
	langshaw.CodeKeyAlternative: {"A key is one of several alternatives.", "Every enactment has its keys. Put the key between commas."},

	langshaw.CodeKeylessAction: {"An action carries no key, so it can never happen.", "Add a key to its attributes: without one nobody can tell to which enactment it belongs."},
	langshaw.CodeUnbindable:    {"Nobody may decide an attribute, so what carries it can never happen.", "Say who decides it, as in `Seller: price`."},
	langshaw.CodeUnusedSayso:   {"A sayso over an attribute that no action carries.", "Correct the name, add it to an action, or remove the entry."},
	langshaw.CodeIdleSaysoRole: {"A role may decide an attribute that none of its actions carries.", "Add the attribute to one of its actions, or leave the role out of the entry."},
	langshaw.CodeUnboundWhat:   {"what asks for something that no action brings about.", "Correct the name, or add it to an action: as it is, no enactment is ever complete."},
	langshaw.CodeUnusedKey:     {"A key that no action carries.", "Add it to the actions that it is meant to tell apart, or remove it from what."},
	langshaw.CodeNoRootKey:     {"No key is carried by all actions.", "Then the whole system is one enactment, and everything waits for everything else. Add one key to all actions."},
	langshaw.CodeNarrowScope:   {"An attribute is bound once for fewer keys than any action that carries it has.", "Its carriers have only some keys in common, so they share one value where each was probably meant to have its own. Give them the same keys, or name the attributes apart."},
	verify.CodeDeadAction:      {"An action can never happen.", "In no state that can be reached is it enabled: something it needs cannot come, or what excludes it always comes first. Remove it, or what stands in its way."},
	verify.CodeRepeatedAction:  {"An action that completes an enactment can happen more than once in it.", "It carries a key that others do not, and binds nothing that is bound once. Let an action that carries its name have fewer keys, or verify with --keys 2."},
	verify.CodeNotLive:         {"An enactment can get stuck before it is complete.", "After the steps shown nobody may do anything. Add an action for the way out, or remove the conflict that blocks the last one."},
	verify.CodeNotSafe:         {"Two roles can do at once what excludes each other.", "After the steps shown both may act, and neither has authority. Let both bind one attribute and rank the roles in sayso, or let one action refer to something that the other role decides."},
	CodeQuery:                  {"A question about the order of actions is answered with no.", "The steps shown are the counterexample. Add a reference, a nono or a nogo that rules them out, or ask another question."},
	CodeUnknown:                {"The verifier met its limit on states.", "Nothing is known. Raise --max-states, or verify parts of the protocol apart."},
}
