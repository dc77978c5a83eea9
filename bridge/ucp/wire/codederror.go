package wire

// CodedError is an error that the other party is told of, by a code from one of UCP's lists and a sentence. C is the type of
// the codes of that list, so that errors of different lists are different to errors.As. Two with the same code from the same
// list are the same to errors.Is. It is not changed after it was made.
type CodedError[C ~string] struct {
	Code C
	// Content is a sentence for the other party, so it says nothing of what is behind and quotes nothing that is secret.
	Content string
	// Err is what lies behind it, which is not for the other party; nil if nothing does.
	Err error
}

// Error gives the code, the sentence and what lies behind.
func (e *CodedError[C]) Error() string {
	text := "ucp: " + string(e.Code) + ": " + e.Content
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap gives Err.
func (e *CodedError[C]) Unwrap() error { return e.Err }

// Is tells whether the other is an error with the same code, from the same list.
func (e *CodedError[C]) Is(other error) bool {
	o, ok := other.(*CodedError[C])
	return ok && o.Code == e.Code
}
