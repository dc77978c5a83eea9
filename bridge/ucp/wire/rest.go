package wire

import (
	"net/http"
	"net/url"
	"strings"
)

// binding is how an operation is called over REST; the paths are the same in all releases.
type binding struct {
	operation          Operation
	method             string
	collection, suffix string
	identified         bool
}

var bindings = []binding{
	{CreateCheckout, http.MethodPost, "checkout-sessions", "", false},
	{GetCheckout, http.MethodGet, "checkout-sessions", "", true},
	{UpdateCheckout, http.MethodPut, "checkout-sessions", "", true},
	{CompleteCheckout, http.MethodPost, "checkout-sessions", "complete", true},
	{CancelCheckout, http.MethodPost, "checkout-sessions", "cancel", true},
	{GetOrder, http.MethodGet, "orders", "", true},
}

// REST gives the method and the path of the operation below the endpoint, for the resource with the id, which
// [CreateCheckout] has not. Of what is no operation both are empty.
func (o Operation) REST(id string) (method, path string) {
	for _, b := range bindings {
		if b.operation != o {
			continue
		}
		path = "/" + b.collection
		if b.identified {
			path += "/" + url.PathEscape(id)
		}
		if b.suffix != "" {
			path += "/" + b.suffix
		}
		return b.method, path
	}
	return "", ""
}

// OperationOf finds the operation of a request, whose URL ends in the path of the operation, and the id in it.
func OperationOf(method, target string) (o Operation, id string, ok bool) {
	u, err := url.Parse(target)
	if err != nil {
		return "", "", false
	}
	parts := strings.Split(strings.Trim(u.EscapedPath(), "/"), "/")
	last := func() string {
		if len(parts) == 0 {
			return ""
		}
		return parts[len(parts)-1]
	}
	for _, b := range bindings {
		whole := parts
		if b.method == method && b.suffix == "" || b.method == method && last() == b.suffix {
			if b.suffix != "" {
				parts = parts[:len(parts)-1]
			}
			id = ""
			if b.identified && len(parts) > 0 {
				if id, err = url.PathUnescape(last()); err == nil && id != "" {
					parts = parts[:len(parts)-1]
				}
			}
			if last() == b.collection && (id != "") == b.identified {
				return b.operation, id, true
			}
		}
		parts = whole
	}
	return "", "", false
}
