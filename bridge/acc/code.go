package acc

import "github.com/strabo-engine/strabo/langshaw"

// Diagnostic and Diagnostics are those of the language, and so are shown in the same way: see [langshaw.WriteText].
type (
	Diagnostic  = langshaw.Diagnostic
	Diagnostics = langshaw.Diagnostics
)

// Codes of errors in the text as a whole: nothing in it is used.
const (
	// CodeUnreadable: the text is not one document of JSON or YAML, is not UTF-8, or is too large.
	CodeUnreadable langshaw.Code = "unreadable"
	// CodeUnsupportedOpenAPI: it is not an OpenAPI document of a version that is supported.
	CodeUnsupportedOpenAPI langshaw.Code = "unsupported-openapi"
)

// Codes of errors in one operation: it is left out. The first two are spelled as ACC spells them.
const (
	// CodeUnsupportedVersion: the declaration is of another version of ACC.
	CodeUnsupportedVersion langshaw.Code = "unsupported_version"
	// CodeInvalidDeclaration: the declaration is not valid ACC.
	CodeInvalidDeclaration langshaw.Code = "invalid_declaration"
	// CodeUnsupportedValue: the declaration is valid and has a value that is larger than can be honoured.
	CodeUnsupportedValue langshaw.Code = "unsupported-value"
	// CodeUnresolvedReference: the parameters or the body refer to something that is not in the document.
	CodeUnresolvedReference langshaw.Code = "unresolved-reference"
	// CodeUnsupportedConstruct: the parameters or the body are described in a way that is not understood.
	CodeUnsupportedConstruct langshaw.Code = "unsupported-construct"
	// CodeUnknownInput: a condition is about something that the operation does not declare as an input.
	CodeUnknownInput langshaw.Code = "unknown-input"
	// CodeAmbiguousInput: a condition is about a name that stands for several inputs.
	CodeAmbiguousInput langshaw.Code = "ambiguous-input"
	// CodeArrayInput: a condition reaches into the elements of an array, which has no defined meaning.
	CodeArrayInput langshaw.Code = "array-input"
	// CodeUntypedInput: a condition is about an input whose type is not declared.
	CodeUntypedInput langshaw.Code = "untyped-input"
	// CodeImpossibleCondition: a condition can never hold, or always does, because of the input's type.
	CodeImpossibleCondition langshaw.Code = "impossible-condition"
)

// Codes of warnings that [Parse] gives.
const (
	// CodeMisplaced: a contract stands where it has no effect.
	CodeMisplaced langshaw.Code = "misplaced"
)

// Codes of warnings that [Lint] gives.
const (
	// CodeGetWithoutReadonly: a GET or HEAD that does not say whether it only reads; it is not taken to.
	CodeGetWithoutReadonly langshaw.Code = "get-without-readonly"
	// CodeReadonlyOnDelete: a DELETE that is declared to only read.
	CodeReadonlyOnDelete langshaw.Code = "readonly-on-delete"
	// CodeReadonlyOnUpdate: a PUT or PATCH that is declared to only read.
	CodeReadonlyOnUpdate langshaw.Code = "readonly-on-update"
	// CodeIdempotentWithoutKey: an operation is declared to change something and to be idempotent, and takes no key by
	// which a repetition could be recognised.
	CodeIdempotentWithoutKey langshaw.Code = "idempotent-without-key"
	// CodeForeignField: retries, transactions, concurrency and the like are declared in a contract, which has none.
	CodeForeignField langshaw.Code = "foreign-field"
	// CodeUnknownField: a field that ACC does not know, and that is therefore ignored.
	CodeUnknownField langshaw.Code = "unknown-field"
	// CodeLimitWithoutDimension: a limit is declared, of which the runtime must be told per what it counts.
	CodeLimitWithoutDimension langshaw.Code = "limit-without-dimension"
	// CodeHighRiskWithoutApproval: nobody is ever asked before an operation of high risk.
	CodeHighRiskWithoutApproval langshaw.Code = "high-risk-without-approval"
	// CodeConditionOnOptional: a condition cannot be judged when its input is left out, so that such calls are refused.
	CodeConditionOnOptional langshaw.Code = "condition-on-optional"
	// CodeMisspeltExtension: an extension of an operation that looks like a contract and is none.
	CodeMisspeltExtension langshaw.Code = "misspelt-extension"
)
