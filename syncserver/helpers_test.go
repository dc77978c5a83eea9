package syncserver_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/internal/leak"
	"github.com/strabo-engine/strabo/internal/played"
	"github.com/strabo-engine/strabo/internal/testspeed"
	"github.com/strabo-engine/strabo/langshaw"
	"github.com/strabo-engine/strabo/syncserver"
)

// TestMain also runs servers in processes of their own: see runChild.
func TestMain(m *testing.M) {
	if text := os.Getenv(childVariable); text != "" {
		if err := runChild(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	testspeed.Raise()
	leak.Main(m)
}

func compile(text string) (*enactment.Rules, error) {
	protocol, diagnostics := langshaw.Parse([]byte(text))
	if diagnostics.HasErrors() {
		return nil, diagnostics
	}
	return enactment.Compile(protocol)
}

// local makes an executor that ends with the test.
func local(t testing.TB, options ...syncserver.Option) *syncserver.Local {
	t.Helper()
	l := syncserver.NewLocal(played.Rules(t, played.Purchase), options...)
	t.Cleanup(l.Close)
	return l
}

// accepted attempts and demands acceptance.
func accepted(t testing.TB, l *syncserver.Local, a enactment.Attempt) enactment.Outcome {
	t.Helper()
	outcome, err := l.Attempt(context.Background(), a)
	require.NoError(t, err)
	require.NoError(t, outcome.Err(), "%s", a.Action)
	return outcome
}

// together attempts at the same time and gives the codes of refusal in the order of the attempts, empty for acceptance.
// The attempts arrive in the order given only if they are alone in their windows.
func together(t testing.TB, l *syncserver.Local, attempts ...enactment.Attempt) []enactment.Code {
	t.Helper()
	codes := make([]enactment.Code, len(attempts))
	failures := make([]error, len(attempts))
	done := make(chan struct{})
	for i, a := range attempts {
		go func() {
			defer func() { done <- struct{}{} }()
			var outcome enactment.Outcome
			outcome, failures[i] = l.Attempt(context.Background(), a)
			if outcome.Rejection != nil {
				codes[i] = outcome.Rejection.Code
			}
		}()
	}
	for range attempts {
		<-done
	}
	require.NoError(t, errors.Join(failures...))
	return codes
}

func join(t testing.TB, l *syncserver.Local, as enactment.Identity) adapter.Feed {
	t.Helper()
	feed, err := l.Join(context.Background(), as)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, feed.Close()) })
	return feed
}

// drain receives everything that there is to receive. It must be called in a synctest bubble, where an hour passes as
// soon as nothing else can happen.
func drain(t testing.TB, feed adapter.Feed) []adapter.Delivery {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	var all []adapter.Delivery
	for {
		delivery, err := feed.Receive(ctx)
		if errors.Is(err, context.DeadlineExceeded) {
			return all
		}
		require.NoError(t, err)
		all = append(all, delivery)
	}
}

// brief is a delivery in one line: enactment, sequence, actions and flags.
func brief(deliveries []adapter.Delivery) []string {
	lines := make([]string, len(deliveries))
	for i, d := range deliveries {
		line := fmt.Sprintf("%s %d", strings.Trim(d.Key.Values()["ID"].String(), `"`), d.Finalisation.Sequence)
		for _, instance := range d.Finalisation.Instances {
			line += " " + instance.Action
		}
		for _, flag := range []struct {
			set  bool
			name string
		}{
			{d.Finalisation.Completed, "completed"}, {d.Handled, "handled"}, {d.More, "more"}, {d.Revoked, "revoked"},
		} {
			if flag.set {
				line += " " + flag.name
			}
		}
		lines[i] = line
	}
	return lines
}

// kinds is records in one line each.
func kinds(records []enactment.Record) []string {
	lines := make([]string, len(records))
	for i, r := range records {
		lines[i] = fmt.Sprintf("%s %s %d %s", r.Kind, r.Enactment, r.Sequence, r.Action)
		if r.Reason != nil {
			lines[i] += " " + string(r.Reason.Code)
		}
		if len(r.Hidden) > 0 {
			lines[i] += fmt.Sprintf(" hidden %v", slices.Sorted(slices.Values(r.Hidden)))
		}
	}
	return lines
}
