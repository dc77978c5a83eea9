package sarif

import (
	"github.com/strabo-engine/strabo/bridge/acc"
	"github.com/strabo-engine/strabo/langshaw"
)

// contractHelp is the help about agent capability contracts and the runtime.yaml beside them.
var contractHelp = map[langshaw.Code][2]string{
	acc.CodeUnreadable:         {"The text is not one document of JSON or YAML.", "Save it as UTF-8, with one document in it, and mend what the parser says."},
	acc.CodeUnsupportedOpenAPI: {"The text is no OpenAPI document of a supported version.", "Versions 3.0 and 3.1 are read. The first member says which: `openapi: 3.1.0`."},

	acc.CodeUnsupportedVersion:   {"A contract is of another version of ACC.", "Write `version: 1`. Until then the operation is not exposed."},
	acc.CodeInvalidDeclaration:   {"A contract is not valid.", "Mend the field. Until then the operation is not exposed, since its limits are not known."},
	acc.CodeUnsupportedValue:     {"A contract has a value that is larger than can be honoured.", "Write a smaller one. A limit that no clock can measure would be none."},
	acc.CodeUnresolvedReference:  {"Parameters or body refer to something that is not there.", "References lead within the document, or to documents in its folder or below. Nothing is fetched."},
	acc.CodeUnsupportedConstruct: {"Parameters or body are described in a way that is not understood.", "Describe them with the means of JSON Schema that docs/acc.md lists. Until then the operation is not exposed."},
	acc.CodeUnknownInput:         {"A condition is about something that is no input of the operation.", "Name a parameter or a member of the body, and with dots members of that."},
	acc.CodeAmbiguousInput:       {"A condition is about a name that stands for several inputs.", "A parameter and a member of the body have the same name. Rename one, or ask for approval of every call."},
	acc.CodeArrayInput:           {"A condition reaches into the elements of an array.", "That has no defined meaning. Ask about the array itself, with contains, or about another input."},
	acc.CodeUntypedInput:         {"A condition is about an input without a declared type.", "Declare the type in the schema, so that it is known what the condition means."},
	acc.CodeImpossibleCondition:  {"A condition can never hold, or always does.", "The type of the input rules it out. Compare with a value of that type."},

	acc.CodeMisplaced:               {"A contract stands where it has no effect.", "Move it to an operation below paths."},
	acc.CodeGetWithoutReadonly:      {"A GET does not say whether it only reads.", "Write `execution: {readonly: true}` if nothing changes by it. It is not taken to, and so is treated as a change."},
	acc.CodeReadonlyOnDelete:        {"A DELETE is declared to only read.", "That is most often a mistake. If it is true, say in the description why."},
	acc.CodeReadonlyOnUpdate:        {"A PUT or PATCH is declared to only read.", "That is most often a mistake. If it is true, say in the description why."},
	acc.CodeIdempotentWithoutKey:    {"A change is declared idempotent, and takes no key.", "Take an Idempotency-Key, or say in runtime.yaml how a repetition is recognised. Without it nothing is sent again."},
	acc.CodeForeignField:            {"A contract declares what contracts have not.", "Retries, transactions, concurrency and the like are for runtime.yaml. Here they are ignored."},
	acc.CodeUnknownField:            {"A contract has a field that ACC does not know.", "It is ignored, so that a misspelt field protects nobody. Correct the name, or begin it with x-."},
	acc.CodeLimitWithoutDimension:   {"A limit is declared, of which it is open per what it counts.", "Say in runtime.yaml: `rate_limit: {dimension: operation}`, or agent, subject or tenant. Without it no call is made."},
	acc.CodeHighRiskWithoutApproval: {"Nobody is ever asked before an operation of high risk.", "Add `approval: {required: true}`, or conditions under which somebody is asked."},
	acc.CodeConditionOnOptional:     {"A condition cannot be judged when its input is left out.", "Such calls are refused. Make the input required, or add a condition with exists."},
	acc.CodeMisspeltExtension:       {"An extension looks like a contract, and is none.", "Call it x-agent-capability. As it is, the operation has no contract."},

	acc.CodeInvalidRuntime:      {"A field of runtime.yaml does not exist, or its value has no meaning.", "Correct it: a misspelt field protects nobody, and so nothing runs with it."},
	acc.CodeLooserThanDeclared:  {"runtime.yaml wants something looser than the contract.", "It may only tighten what is declared. Change the contract with who owns the operation, or the runtime."},
	acc.CodeUnknownOperation:    {"runtime.yaml names an operation that has no contract.", "Name it by its operationId, or by method and path, such as `POST /refunds`."},
	acc.CodeLimitUndetermined:   {"It is not said per what a limit counts.", "Write `rate_limit: {dimension: operation}`, or agent, subject or tenant."},
	acc.CodeRetryWithoutKey:     {"Retries are wanted, and nothing says how a repetition is recognised.", "Write `idempotency: {header: Idempotency-Key}`, or native with a note. Until then nothing is sent again."},
	acc.CodeUnsupportedDocument: {"A document that is referred to cannot be used.", "It must be in the folder of the first or below, be JSON or YAML, and not be too large."},
}
