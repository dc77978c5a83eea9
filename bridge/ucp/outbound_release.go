package ucp

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/strabo-engine/strabo/bridge"
	"github.com/strabo-engine/strabo/bridge/ucp/signature"
	"github.com/strabo-engine/strabo/bridge/ucp/wire"
)

// releaseCaller lets a mapping speak the model, the JSON of 2026-04-08 (see package wire), to a shop of any release. The
// status of a response stays as it was on the wire, for what a status proves, and whether the request may be sent again,
// is the same in every release; what is no JSON object stays as well, so that nothing is concluded from it.
//
// Nothing is sent that asks for something of an extension that is not active with the shop, whatever the mapping says: a
// shop would pass it over, and what was wished for would not be had.
type releaseCaller struct {
	release  wire.Release
	business *Business
	// keys are those of the shop where mandates are active, so that it has to have signed what it says of a checkout; nil
	// where they are not.
	keys  signature.Keys
	below bridge.Caller
}

// Call implements [bridge.Caller].
func (c *releaseCaller) Call(ctx context.Context, request bridge.Request) (bridge.Response, error) {
	operation, id, ok := wire.OperationOf(request.Method, request.URL)
	if !ok {
		return bridge.Response{}, &bridge.NotSentError{Err: fmt.Errorf("ucp: %s %s is no operation of UCP", request.Method, request.URL)}
	}
	x := wire.Exchange{
		Operation: operation, Checkout: id, Draft: c.release == wire.Newest && c.business.Version > string(wire.Newest),
	}
	if request.Body != nil {
		body, err := c.encode(x, request.Body)
		if err != nil {
			return bridge.Response{}, &bridge.NotSentError{Err: err}
		}
		request.Body = body
	}
	if c.release == wire.April2026 { // Which has HTTP message signatures instead.
		request.Header = request.Header.Clone()
		request.Header.Del("Request-Signature")
	}
	response, err := c.below.Call(ctx, request)
	if err != nil {
		return response, err
	}
	if err := sound(response.Body); err != nil {
		return bridge.Response{}, &AnswerError{response.Status, err}
	}
	said, err := wire.Decode(response.Body)
	if err != nil {
		return response, nil
	}
	_, model, err := c.release.DecodeResponse(x, response.Status, said)
	if err != nil {
		return response, fmt.Errorf("ucp: %w", err)
	}
	if model["code"] != nil && response.Status >= http.StatusInternalServerError {
		return response, nil // It says nothing but that it failed, and that in its own words.
	}
	if id, _ := model["id"].(string); c.keys != nil && operation != wire.GetOrder && id != "" {
		if err := c.believed(ctx, response.Body, model); err != nil {
			return response, err
		}
	}
	if response.Body, err = wire.Encode(model); err != nil {
		return response, err
	}
	return response, nil
}

func (c *releaseCaller) encode(x wire.Exchange, body []byte) ([]byte, error) {
	model, err := wire.Decode(body)
	if err != nil {
		return nil, err
	}
	if err := c.business.Check(model); err != nil {
		return nil, err
	}
	mandate, signed := model["ap2"] // Of a payment nothing is left out: a shop that does not want a mandate does not read it.
	prune(model, c.business.Active)
	if signed {
		model["ap2"] = mandate
	}
	said, err := c.release.EncodeRequest(x, model)
	if err != nil {
		return nil, fmt.Errorf("ucp: %w", err)
	}
	return wire.Encode(said)
}

// signingCaller signs what is called: since 2026-04-08 as an HTTP message, before by a detached signature of the body.
// The signature is new for each call; what it signs is the same.
type signingCaller struct {
	release wire.Release
	signer  *signature.Signer
	below   bridge.Caller
}

// Call implements [bridge.Caller].
func (c *signingCaller) Call(ctx context.Context, request bridge.Request) (bridge.Response, error) {
	request.Header = request.Header.Clone()
	if err := c.sign(ctx, request); err != nil {
		return bridge.Response{}, &bridge.NotSentError{Err: err}
	}
	return c.below.Call(ctx, request)
}

func (c *signingCaller) sign(ctx context.Context, request bridge.Request) error {
	if c.release != wire.April2026 {
		header, err := c.signer.Detached(request.Body)
		if err != nil {
			return err
		}
		request.Header.Set("Request-Signature", header)
		return nil
	}
	u, err := url.Parse(request.URL)
	if err != nil {
		return fmt.Errorf("ucp: sign: %w", err)
	}
	r := &http.Request{Method: request.Method, URL: u, Host: u.Host, Header: request.Header}
	return c.signer.SignRequest(r.WithContext(ctx), request.Body)
}
