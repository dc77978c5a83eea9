package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"runtime/debug"
	"strings"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/strabo-engine/strabo/bridge/ucp/negotiation"
	"github.com/strabo-engine/strabo/bridge/ucp/wire"
	"github.com/strabo-engine/strabo/enactment"
)

// MaximumRequest is how many bytes of a request are read.
const MaximumRequest = 1 << 20

// NewHandler makes the MCP endpoint of a business in a release, for Streamable HTTP without sessions: each call of a tool
// becomes the REST request of the operation, with the same headers, and rest's answer becomes the result. So whatever holds
// for REST, idempotency and negotiation included, holds here. The name and version are told to clients that ask.
//
// A business outcome is a result with structuredContent; an answer with a status of 400 and more is a JSON-RPC error with
// UCP's codes, and the HTTP status too is that of the answer. What is no request at all is a JSON-RPC error as well.
// JSON-RPC without tools, as release 2026-01-11 has it, is understood too. The handler blocks as long as rest does and is
// safe for concurrent use if rest is. A panic of rest is a status of 500 and goes to the log, or to slog.Default() if that is nil.
func NewHandler(rest http.Handler, release wire.Release, name, version string, log *slog.Logger) http.Handler {
	if log == nil {
		log = slog.Default()
	}
	b := &business{rest, release, log}
	server := mcp.NewServer(&mcp.Implementation{Name: name, Version: version}, nil)
	for _, o := range operations {
		server.AddTool(&mcp.Tool{
			Name: string(o.tool), Description: o.description, InputSchema: o.schema(release), OutputSchema: o.resultSchema(release),
			Annotations: &mcp.ToolAnnotations{
				ReadOnlyHint: o.reads, IdempotentHint: o.reads || o.key,
			},
		}, func(ctx context.Context, call *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var header http.Header
			if call.Extra != nil {
				header = call.Extra.Header
			}
			text, failed := b.serve(ctx, o, header, call.Params.Arguments)
			if failed != nil {
				data, err := json.Marshal(failed.Data)
				if err != nil {
					return nil, err
				}
				return nil, &jsonrpc.Error{Code: int64(failed.Code), Message: failed.Message, Data: data}
			}
			return &mcp.CallToolResult{
				StructuredContent: text, Content: []mcp.Content{&mcp.TextContent{Text: string(text)}},
			}, nil
		})
	}
	tools := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, MaxRequestBodyBytes: MaximumRequest,
		// A business is reached by its public name; whoever listens on loopback behind a proxy has other hosts there.
		DisableLocalhostProtection: true, PropagateRequestCancellation: true,
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost { // There are no sessions to listen to, or to end.
			w.Header().Set("Allow", http.MethodPost)
			refuseMessage(w, nil, http.StatusMethodNotAllowed, -32600, "Messages are posted.")
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaximumRequest))
		if err != nil {
			status := http.StatusBadRequest
			if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
				status = http.StatusRequestEntityTooLarge
			}
			refuseMessage(w, nil, status, -32600, "The message cannot be read.")
			return
		}
		asked, wrong := readMessage(body)
		if wrong != nil {
			refuseMessage(w, nil, http.StatusBadRequest, wrong.Code, wrong.Message)
			return
		}
		r.Header.Set("Host", r.Host) // The library hands on the headers alone, and net/http has taken the host out of them.
		if o, ok := operationOf(asked.Method); ok {
			if len(asked.ID) == 0 {
				refuseMessage(w, nil, http.StatusBadRequest, -32600, "The message has no id, so that nobody would hear of what came of it.")
				return
			}
			b.plain(r.Context(), w, o, r.Header, asked.ID, asked.Params)
			return
		}
		if takesJSON(r.Header.Values("Accept")) { // The library insists on more than is needed.
			r.Header.Set("Accept", "application/json, text/event-stream")
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		buffered := &recorder{header: http.Header{}}
		tools.ServeHTTP(buffered, r)
		buffered.send(w, asked)
	})
}

// business is what the tools are of.
type business struct {
	rest    http.Handler
	release wire.Release
	log     *slog.Logger
}

// plain answers JSON-RPC whose methods are the operations.
func (b *business) plain(ctx context.Context, w http.ResponseWriter, o operation, header http.Header, id, params json.RawMessage) {
	answer := envelope{Version: "2.0", ID: id}
	status := http.StatusOK
	text, failed := b.serve(ctx, o, header, params)
	if failed != nil {
		answer.Error, status = failed, failed.status()
	} else {
		answer.Result = text
	}
	body, err := json.Marshal(answer)
	if err != nil {
		http.Error(w, "", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // Nobody is there to be told.
}

// Refuse answers a message, which whoever stands in front of the handler does not let through, with what REST would have
// answered: a JSON-RPC error with UCP's code. Where the message has no id that can be read, the answer has none.
func Refuse(w http.ResponseWriter, release wire.Release, message []byte, status int, header http.Header, body []byte) {
	refused := &recorder{header: header, status: status}
	refused.body.Write(body)
	asked, wrong := readMessage(message)
	if wrong != nil || len(asked.ID) == 0 {
		asked.ID = json.RawMessage("null")
	}
	failed := refused.failure(release)
	text, err := json.Marshal(envelope{Version: "2.0", ID: asked.ID, Error: failed})
	if err != nil {
		http.Error(w, "", http.StatusInternalServerError)
		return
	}
	if after := header.Get("Retry-After"); after != "" {
		w.Header().Set("Retry-After", after)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(failed.status())
	_, _ = w.Write(text) // Nobody is there to be told.
}

// serve makes the REST request of a tool call and gives the body of its answer, or what went wrong.
func (b *business) serve(ctx context.Context, o operation, header http.Header, given json.RawMessage) (json.RawMessage, *failure) {
	a, members, err := readArguments(given)
	if err != nil {
		return nil, unfit(b.release, -32602, "invalid_request", "The arguments of "+string(o.tool)+" cannot be read.")
	}
	body, wrong := o.body(a, members)
	switch {
	case wrong != "":
	case !a.agrees(header):
		wrong = "The argument meta has another ucp-agent or idempotency-key than the headers."
	case o.identified && a.ID == "":
		wrong = "The argument id is missing."
	case o.key && a.key() == "" && header.Get("Idempotency-Key") == "":
		wrong = "The argument meta has no idempotency-key."
	}
	if wrong != "" {
		return nil, unfit(b.release, -32602, "invalid_request", wrong)
	}
	if a.profile() == "" && len(header.Values("UCP-Agent")) == 0 {
		return nil, unfit(b.release, -32001, "invalid_profile_url", "The argument meta has no ucp-agent with a profile.")
	}
	method, path := o.tool.REST(a.ID)
	request, err := http.NewRequestWithContext(ctx, method, path, bytes.NewReader(body))
	if err != nil {
		return nil, unfit(b.release, -32602, "invalid_request", "The id cannot be part of a request.")
	}
	request.Header = header.Clone()
	if request.Header == nil {
		request.Header = http.Header{}
	}
	request.Host = request.Header.Get("Host")
	for _, name := range []string{"Host", "Content-Length", "Mcp-Session-Id", "Mcp-Protocol-Version", "Accept", "Content-Type", "Content-Digest", "Signature", "Signature-Input", "If-None-Match"} {
		request.Header.Del(name)
	}
	request.Header.Set("Accept", "application/json")
	if len(body) > 0 {
		request.Header.Set("Content-Type", "application/json")
	}
	if profile := a.profile(); profile != "" {
		request.Header.Set("UCP-Agent", negotiation.Agent{Profile: profile}.String())
	}
	if key := cmp.Or(a.key(), request.Header.Get("Idempotency-Key")); key != "" {
		request.Header.Set("Idempotency-Key", key)
	} else if !o.reads {
		// REST requires a key; over MCP creating and updating may go without, which is the same as a key used once.
		request.Header.Set("Idempotency-Key", uuid.NewString())
	}
	if request.Header.Get("Request-Id") == "" {
		request.Header.Set("Request-Id", uuid.NewString())
	}
	// 2026-01-11 requires the header on REST; over JSON-RPC there is none. Whether signatures are good is for whoever
	// stands in front of this handler to say, for it is this transport's request that is signed.
	if request.Header.Get("Request-Signature") == "" {
		request.Header.Set("Request-Signature", "unsigned")
	}
	answer := &recorder{header: http.Header{}}
	answer.record(b.rest, request, b.log)
	if answer.code() < http.StatusBadRequest {
		return answer.body.Bytes(), nil
	}
	return nil, answer.failure(b.release)
}

// unfit is the failure of a call that does not come to a request.
func unfit(release wire.Release, code int, name, content string) *failure {
	data := &failureData{Code: name, Content: content, HTTPStatus: http.StatusBadRequest}
	data.explain(release, nil)
	return &failure{Code: code, Message: content, Data: data}
}

// body gives the body of the REST request. In 2026-01-11 the members of the checkout may stand beside _meta.
func (o operation) body(a arguments, members enactment.Values) ([]byte, string) {
	if o.payload == "" {
		return nil, ""
	}
	if len(a.Checkout) > 0 {
		if a.Checkout[0] != '{' {
			return nil, "The argument checkout is no object."
		}
		return a.Checkout, ""
	}
	if a.Legacy == nil {
		return nil, "The argument checkout is missing."
	}
	rest := maps.Clone(members)
	for _, name := range []string{"_meta", "meta", "idempotency_key"} {
		delete(rest, name)
	}
	if o.key {
		delete(rest, "id")
	}
	text, err := json.Marshal(rest)
	if err != nil {
		return nil, "The parameters cannot be read."
	}
	return text, ""
}

// recorder keeps an answer.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// record has a handler answer. The library calls this in a goroutine of its own, where a panic would end the process; so
// it becomes what net/http makes of one, a request that failed, and is logged as there.
func (r *recorder) record(by http.Handler, request *http.Request, log *slog.Logger) {
	defer func() {
		wrong := recover()
		if wrong == nil {
			return
		}
		if wrong != http.ErrAbortHandler {
			log.ErrorContext(request.Context(), "ucp: mcp: panic", "path", request.URL.Path, "panic", wrong, "stack", string(debug.Stack()))
		}
		*r = recorder{header: http.Header{}, status: http.StatusInternalServerError}
	}()
	by.ServeHTTP(r, request)
}

func (r *recorder) Header() http.Header { return r.header }

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
}

func (r *recorder) Write(p []byte) (int, error) { return r.body.Write(p) }

func (r *recorder) code() int { return cmp.Or(r.status, http.StatusOK) }

// failure makes a JSON-RPC error of an answer.
func (r *recorder) failure(release wire.Release) *failure {
	status := r.code()
	var said struct {
		Code        string          `json:"code"`
		Content     string          `json:"content"`
		Detail      json.RawMessage `json:"detail"`
		ContinueURL string          `json:"continue_url"`
		Messages    []struct {
			reason
			Content string `json:"content"`
		} `json:"messages"`
	}
	data := &failureData{HTTPStatus: status}
	if json.Unmarshal(r.body.Bytes(), &said) == nil {
		var detail string
		if json.Unmarshal(said.Detail, &detail) != nil {
			detail = ""
		}
		data.Code, data.Content, data.ContinueURL = strings.ToLower(said.Code), cmp.Or(said.Content, detail), said.ContinueURL
		data.Body = bytes.Clone(r.body.Bytes())
	}
	if after := r.header.Get("Retry-After"); after != "" {
		var number json.Number
		if json.Unmarshal([]byte(after), &number) == nil {
			data.RetryAfter = json.RawMessage(after)
		} else if text, err := json.Marshal(after); err == nil {
			data.RetryAfter = text
		}
	}
	reasons := make([]reason, 0, len(said.Messages))
	for _, message := range said.Messages {
		message.Message = message.Content
		reasons = append(reasons, message.reason)
	}
	data.explain(release, reasons)
	return &failure{
		Code: rpcCode(status, data.Code), Message: cmp.Or(data.Content, fmt.Sprintf("%d %s", status, http.StatusText(status))),
		Data: data,
	}
}

// send passes an answer of the library to a message on, with the HTTP status of what the JSON-RPC error says (UCP
// 2026-04-08, overview, transport bindings). What the library refuses in plain words becomes a JSON-RPC error.
func (r *recorder) send(w http.ResponseWriter, asked incoming) {
	status := r.code()
	var answer struct {
		Error *failure `json:"error"`
	}
	switch sound := json.Unmarshal(r.body.Bytes(), &answer) == nil; {
	case status >= http.StatusBadRequest && !sound:
		code := -32600
		if status == http.StatusBadRequest && !served[asked.Method] {
			code, status = -32601, http.StatusNotFound
		}
		refuseMessage(w, asked.ID, status, code, strings.TrimSpace(r.body.String()))
		return
	case status == http.StatusOK && sound && answer.Error != nil && answer.Error.Data != nil && answer.Error.Data.HTTPStatus != 0:
		status = answer.Error.status()
		if after := answer.Error.Data.RetryAfter; len(after) > 0 {
			w.Header().Set("Retry-After", strings.Trim(string(after), `"`))
		}
	}
	for name, values := range r.header {
		w.Header()[name] = values
	}
	w.WriteHeader(status)
	_, _ = w.Write(r.body.Bytes()) // Nobody is there to be told.
}
