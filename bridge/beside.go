package bridge

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/bridge/audit"
	"github.com/strabo-engine/strabo/enactment"
)

// Query asks the remote party for something that no observation is about, such as what has become of an order since.
type Query struct {
	// Operation is one that is declared to read only, and on which nobody has to agree.
	Operation string
	// Arguments are the parameters in the path of its declaration, as text.
	Arguments map[string]string
	// About is the instance on whose behalf it is asked. In the audit the query stands under its action and Step.
	About enactment.Instance
	Step  string
}

// ErrNoQuery says that an operation cannot be asked for beside the mapping: it is not declared, does not only read, needs
// an approval, or has a parameter that no argument is given for.
var ErrNoQuery = errors.New("bridge: not an operation that can be asked for")

// Ask makes one call beside the mapping: with its headers, under the policy, and with a record in the audit, which does
// not have what was said. It blocks until the response is there or the operation's timeout is over. The error wraps
// [ErrNoQuery] or a [*policy.DeniedError], or says why there is no response; nothing is asked again.
func (b *Bridge) Ask(ctx context.Context, e adapter.Enactment, q Query) (Response, error) {
	operation, err := b.options.Policy.Operation(q.Operation)
	if err != nil {
		return Response{}, fmt.Errorf("%w: %w", ErrNoQuery, err)
	}
	declared, ok := operation.Declared()
	contract := operation.Contract
	if !ok || !contract.Readonly.Value || contract.ApprovalRequired.Value || len(contract.When) > 0 {
		return Response{}, fmt.Errorf("%w: %s", ErrNoQuery, q.Operation)
	}
	path, arguments, err := q.path(declared.Path)
	if err != nil {
		return Response{}, err
	}
	r := &run{
		bridge: b, plan: &plan{action: q.About.Action}, key: e.Key(), observed: q.About, lastStep: q.Step,
		world: map[string]any{rootSettings: b.settings},
	}
	if r.principal, err = b.options.Principal(ctx, r.key, q.About); err != nil {
		return Response{}, fmt.Errorf("bridge: on whose behalf: %w", err)
	}
	if r.scrub, err = newScrubber(b.rules, e.Instances()); err != nil {
		return Response{}, err
	}
	rule := &governed{Operation: operation, declared: true}
	if _, err := rule.Permit(r.principal, arguments); err != nil {
		r.denied(ctx, rule, err)
		return Response{}, err
	}
	x := &exchange{run: r}
	if err := x.admit(ctx, rule, false); err != nil {
		return Response{}, err
	}
	headers, err := x.headers(&call{}, "", false)
	if err != nil {
		return Response{}, fmt.Errorf("bridge: %w", err)
	}
	return x.askBeside(ctx, rule, Request{
		Method: declared.Method, URL: b.base + path, Header: headers, Enactment: r.key, Action: q.About.Action, Step: q.Step, Query: true,
	})
}

// path fills in the path of a declaration.
func (q Query) path(declared string) (string, enactment.Values, error) {
	segments, arguments := strings.Split(declared, "/"), make(enactment.Values)
	for i, segment := range segments {
		name, isParameter := strings.CutPrefix(segment, "{")
		if !isParameter {
			continue
		}
		name = strings.TrimSuffix(name, "}")
		value := q.Arguments[name]
		if value == "" || value == "." || value == ".." {
			return "", nil, fmt.Errorf("%w: %s needs %s", ErrNoQuery, q.Operation, name)
		}
		segments[i], arguments[name] = url.PathEscape(value), enactment.MustValue(value)
	}
	return strings.Join(segments, "/"), arguments, nil
}

func (x *exchange) askBeside(ctx context.Context, rule *governed, request Request) (Response, error) {
	done, err := x.bridge.options.Policy.Reach(x.bridge.target)
	if err != nil {
		x.left(ctx, rule, err)
		return Response{}, &NotSentError{err}
	}
	waiting, cancel := context.WithTimeout(ctx, rule.Contract.Timeout.Value)
	defer cancel()
	record := x.record(audit.StatusQuery, rule)
	began := time.Now()
	response, err := x.bridge.options.Caller.Call(waiting, request)
	done(health(ctx, response, err))
	record.Latency, record.Method, record.Status = time.Since(began), request.Method, response.Status
	record.URL = rule.ShownURL(x.scrub.text(request.URL, true))
	if record.Outcome = string(Known); err != nil {
		record.Outcome, record.Detail = string(Unknown), x.scrub.text(err.Error(), true)
	} else if response.Status >= http.StatusInternalServerError {
		record.Outcome = string(Unknown)
	}
	x.tell(ctx, record)
	return response, err
}

// Report attempts what the remote party says of its own accord, which answers no observation: a change of an order that
// a webhook has told of, for example. Secrets that it quotes are cut out. The id makes it one attempt, however often it is
// reported. It blocks until that is decided; the error is the attempt's, a [*enactment.Rejection] if it was refused.
func (b *Bridge) Report(ctx context.Context, e adapter.Enactment, answer Answer) error {
	scrub, err := newScrubber(b.rules, e.Instances())
	if err != nil {
		return err
	}
	r, values := &run{scrub: scrub}, make(adapter.Values, len(answer.Values))
	for name, value := range answer.Values {
		plain, err := decoded(value)
		if err != nil {
			return fmt.Errorf("bridge: report %s: %s: %w", answer.Action, name, err)
		}
		if values[name], err = r.written(plain); err != nil {
			return fmt.Errorf("bridge: report %s: %s: %w", answer.Action, name, err)
		}
	}
	return b.adapter.Attempt(ctx, answer.Action, values, adapter.WithAttemptID(answer.ID)).Err(ctx)
}

// Diverged tells of something that the remote party says and that does not fit the protocol, as OnDiverged is told of
// what answers an observation.
func (b *Bridge) Diverged(ctx context.Context, d Divergence) { b.diverged(ctx, d) }
