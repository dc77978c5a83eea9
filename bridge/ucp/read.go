package ucp

import (
	"errors"

	"github.com/strabo-engine/strabo/bridge/ucp/internal/read"
	"github.com/strabo-engine/strabo/enactment"
)

// readAs reads a value of a request as [read.Into] does. The error is the [*problem] that says where, below path.
func readAs(asked enactment.Value, path string, into any) error {
	err := read.Into(asked, path, into)
	if wrong, ok := errors.AsType[*read.Error](err); ok {
		return invalid(wrong.Path, "%s", wrong.Error())
	}
	return err
}
