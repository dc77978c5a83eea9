package wire

import (
	"encoding/json"
	"fmt"
)

// Reason is the stable code of an [Error].
type Reason string

// What can be wrong with a request. All but Mismatch and BadRequest may be tried again.
const (
	// Mismatch says that client and server have different protocols.
	Mismatch Reason = "protocol_mismatch"
	// BadRequest says that the message is not what it should be.
	BadRequest Reason = "bad_request"
	// TooLarge says that the message is over the limit.
	TooLarge Reason = "too_large"
	// Busy says that the server has all that it can do.
	Busy Reason = "busy"
	// Unavailable says that the log could not be reached, or not in time.
	Unavailable Reason = "unavailable"
	// Clock says that the attempt's time lies in the future.
	Clock Reason = "clock"
	// NoFeed says that the server does not know the feed, so that it has to join again.
	NoFeed Reason = "no_feed"
	// BadReply says that the answer was to go where no answer may. It is counted, and told to nobody.
	BadReply Reason = "bad_reply"
	// Lost says that the feed's lease has run out and its enactments are others'.
	Lost Reason = "lost"
)

// Error says that a server could not do what it was asked for; whether it was done is unknown.
type Error struct {
	Reason Reason `json:"code"`
	Detail string `json:"detail"`
}

// Error gives code and sentence.
func (e *Error) Error() string { return fmt.Sprintf("syncserver: %s: %s", e.Reason, e.Detail) }

// Encode makes the answer that tells the error.
func (e *Error) Encode() []byte {
	text, err := json.Marshal(struct {
		Error *Error `json:"error"`
	}{e})
	if err != nil {
		panic(err) // it holds strings alone
	}
	return text
}
