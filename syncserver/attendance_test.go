package syncserver_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/strabo-engine/strabo/adapter"
	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/protocols"
	"github.com/strabo-engine/strabo/syncserver"
	"github.com/strabo-engine/strabo/syncserver/embedded"
)

var (
	asking = enactment.Identity{Role: "Client", Party: "web"}
	desk   = enactment.Identity{Role: "Server", Party: "desk"}
)

// attended is a process that attends to request-reply, with an agent at the desk if it has an answer.
type attendedProcess struct {
	*syncserver.Attendance
	close func()
}

func compileRequestReply() (*enactment.Rules, error) {
	return protocols.Load("request-reply", enactment.WithParties("Client", "web"), enactment.WithParties("Server", "desk"))
}

func attend(t *testing.T, nats *embedded.Server, idle int, reply func(ctx context.Context, f *adapter.FeasibleAction) error) attendedProcess {
	t.Helper()
	rules, err := compileRequestReply()
	require.NoError(t, err)
	conn, err := nats.Connect()
	require.NoError(t, err)
	server, err := syncserver.NewServer(t.Context(), conn, rules, syncserver.ServerConfig{System: "attended"})
	require.NoError(t, err)
	a, err := server.Attend(syncserver.AttendanceConfig{Idle: idle})
	require.NoError(t, err)
	_, err = server.Attend(syncserver.AttendanceConfig{})
	require.ErrorContains(t, err, "attended already")
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	if reply != nil {
		agent, err := adapter.New(rules, "Server", a)
		require.NoError(t, err)
		agent.OnEnabled("Reply", reply)
		running.Go(func() {
			if err := agent.Run(ctx); err != nil && !errors.Is(err, adapter.ErrClosed) {
				t.Error(err)
			}
		})
	}
	closing := sync.OnceFunc(func() {
		stop()
		running.Wait()
		a.Close()
		require.NoError(t, server.Close(context.Background()))
		conn.Close()
	})
	t.Cleanup(closing)
	return attendedProcess{a, closing}
}

func requestKey(n int) enactment.Key { return enactment.Key(fmt.Sprintf(`{"ID":"%d"}`, n)) }

func request(t *testing.T, at adapter.Executor, n int) {
	t.Helper()
	outcome, err := at.Attempt(t.Context(), enactment.Attempt{
		ID: fmt.Sprint("request-", n), Identity: asking, Action: "Request", At: time.Now(),
		Values: enactment.Values{"ID": enactment.MustValue(fmt.Sprint(n)), "question": enactment.MustValue("why")},
	})
	require.NoError(t, err)
	require.NoError(t, outcome.Err())
}

// reached waits until a visit shows a number of instances.
func reached(t *testing.T, v adapter.Visit, instances int) {
	t.Helper()
	for {
		changed := v.Changed()
		if len(v.Instances()) >= instances {
			return
		}
		select {
		case <-changed:
		case <-t.Context().Done():
			require.FailNow(t, "the visit shows too little")
		}
	}
}

func answering(ctx context.Context, f *adapter.FeasibleAction) error {
	f.Bind("answer", "because")
	return f.Attempt(ctx).Err(ctx)
}

// TestAttendance: what one process visits is worked on there, and another one knows of it as far as it asks.
func TestAttendance(t *testing.T) {
	nats, err := embedded.Start(embedded.Options{StoreDir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(nats.Shutdown)
	here, there := attend(t, nats, 0, answering), attend(t, nats, 0, nil)
	v, err := here.Visit(t.Context(), asking, requestKey(1), adapter.Begun)
	require.NoError(t, err)
	require.Empty(t, v.Instances())
	require.Zero(t, v.Sequence())
	other, err := there.Visit(t.Context(), asking, requestKey(1), adapter.Latest)
	require.NoError(t, err)
	require.Empty(t, other.Instances())
	request(t, here, 1)
	require.NotZero(t, v.Sequence(), "it is known before the attempt is answered")
	reached(t, v, 2)
	require.Equal(t, "Reply", v.Instances()[1].Action)

	require.Empty(t, other.Instances(), "it has not asked since")
	again, err := there.Visit(t.Context(), asking, requestKey(1), adapter.Known)
	require.NoError(t, err)
	reached(t, again, 2) // It had known nothing, so it was read.
	reached(t, other, 2) // And so does everybody who visits there.
	unseen, err := there.Visit(t.Context(), enactment.Identity{Role: "Client", Party: "eve"}, requestKey(1), adapter.Latest)
	require.NoError(t, err)
	require.Empty(t, unseen.Instances())
	for _, v := range []adapter.Visit{v, other, again, unseen} {
		v.Close(false)
		v.Close(false)
	}
	require.Nil(t, v.Instances())
	here.Close()
	<-v.Changed()
	_, err = here.Visit(t.Context(), asking, requestKey(1), adapter.Latest)
	require.ErrorIs(t, err, adapter.ErrClosed)
	_, err = here.Join(t.Context(), desk)
	require.ErrorIs(t, err, adapter.ErrClosed)
}

// TestAttendanceAlone: who is alone knows the latest without asking, and reads what it does not know.
func TestAttendanceAlone(t *testing.T) {
	nats, err := embedded.Start(embedded.Options{StoreDir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(nats.Shutdown)
	before := attend(t, nats, 0, answering)
	request(t, before, 1)
	v, err := before.Visit(t.Context(), asking, requestKey(1), adapter.Latest)
	require.NoError(t, err)
	reached(t, v, 2)
	before.close()

	rules, err := compileRequestReply()
	require.NoError(t, err)
	conn, err := nats.Connect()
	require.NoError(t, err)
	defer conn.Close()
	server, err := syncserver.NewServer(t.Context(), conn, rules, syncserver.ServerConfig{System: "attended", Alone: true})
	require.NoError(t, err)
	a, err := server.Attend(syncserver.AttendanceConfig{})
	require.NoError(t, err)
	defer func() {
		a.Close()
		require.NoError(t, server.Close(context.Background()))
	}()
	visited := func(n int) (instances int, asked uint64) {
		sent := conn.Stats().OutMsgs
		v, err := a.Visit(t.Context(), asking, requestKey(n), adapter.Latest)
		require.NoError(t, err)
		defer v.Close(false)
		return len(v.Instances()), conn.Stats().OutMsgs - sent
	}
	instances, asked := visited(1)
	require.Equal(t, 2, instances, "what was there before is read")
	require.NotZero(t, asked)
	instances, asked = visited(1)
	require.Equal(t, 2, instances)
	require.Zero(t, asked)
	request(t, a, 2)
	instances, asked = visited(2)
	require.Equal(t, 1, instances)
	require.Zero(t, asked)
}

// TestAttendanceTakesUp: an agent is offered what another process has left behind, what it failed at when it is visited
// again, and what was at hand before it joined.
func TestAttendanceTakesUp(t *testing.T) {
	nats, err := embedded.Start(embedded.Options{StoreDir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(nats.Shutdown)
	first := attend(t, nats, 0, nil)
	for n := range 20 {
		request(t, first, n)
	}
	early, err := first.Visit(t.Context(), asking, requestKey(0), adapter.Latest)
	require.NoError(t, err)
	first.close()
	early.Close(false)

	failed := make(map[enactment.Key]bool)
	var mu sync.Mutex
	second := attend(t, nats, 2, func(ctx context.Context, f *adapter.FeasibleAction) error {
		mu.Lock()
		first := !failed[f.Enactment.Key()]
		failed[f.Enactment.Key()] = true
		mu.Unlock()
		if first {
			return fmt.Errorf("the first time it fails")
		}
		return answering(ctx, f)
	})
	for n := range 20 {
		v, err := second.Visit(t.Context(), asking, requestKey(n), adapter.Latest)
		require.NoError(t, err)
		require.Eventually(t, func() bool {
			mu.Lock()
			defer mu.Unlock()
			return failed[requestKey(n)]
		}, time.Minute, time.Millisecond)
		v.Close(n%2 == 0) // Of the others there are soon too many at hand.
	}
	for n := range 18 {
		v, err := second.Visit(t.Context(), asking, requestKey(n), adapter.Known)
		require.NoError(t, err)
		reached(t, v, 2)
		v.Close(false)
	}
	_, err = second.Join(t.Context(), desk)
	require.ErrorContains(t, err, "another agent has joined")
	_, err = second.Join(t.Context(), enactment.Identity{Role: "Nobody"})
	require.Error(t, err)
}

// TestAttendanceNeedsImmediateFinalisation, for in batches another server may decide.
func TestAttendanceNeedsImmediateFinalisation(t *testing.T) {
	nats, err := embedded.Start(embedded.Options{StoreDir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(nats.Shutdown)
	conn, err := nats.Connect()
	require.NoError(t, err)
	defer conn.Close()
	rules, err := protocols.Load("request-reply")
	require.NoError(t, err)
	server, err := syncserver.NewServer(t.Context(), conn, rules, syncserver.ServerConfig{Window: time.Millisecond})
	require.NoError(t, err)
	defer func() { require.NoError(t, server.Close(context.Background())) }()
	_, err = server.Attend(syncserver.AttendanceConfig{})
	require.ErrorContains(t, err, "in batches")
}

// TestLocalVisit: an executor in memory shows the same.
func TestLocalVisit(t *testing.T) {
	rules, err := protocols.Load("request-reply", enactment.WithParties("Client", "web"))
	require.NoError(t, err)
	local := syncserver.NewLocal(rules)
	v, err := local.Visit(t.Context(), asking, requestKey(1), adapter.Begun)
	require.NoError(t, err)
	changed := v.Changed()
	require.Zero(t, v.Sequence())
	request(t, local, 1)
	<-changed
	require.Len(t, v.Instances(), 1)
	require.EqualValues(t, 1, v.Sequence())
	eve, err := local.Visit(t.Context(), enactment.Identity{Role: "Client", Party: "eve"}, requestKey(1), adapter.Latest)
	require.NoError(t, err)
	require.Empty(t, eve.Instances())
	v.Close(false)
	eve.Close(true)
	local.Close()
	_, err = local.Visit(t.Context(), asking, requestKey(1), adapter.Begun)
	require.ErrorIs(t, err, adapter.ErrClosed)
}

// TestFollower: any executor can be visited by way of one that follows all of an identity.
func TestFollower(t *testing.T) {
	rules, err := protocols.Load("request-reply", enactment.WithParties("Client", "web"))
	require.NoError(t, err)
	local := syncserver.NewLocal(rules)
	ctx, stop := context.WithCancel(t.Context())
	f, err := adapter.Follow(ctx, local, asking)
	require.NoError(t, err)
	v, err := f.Visit(t.Context(), asking, requestKey(1), adapter.Begun)
	require.NoError(t, err)
	request(t, f, 1)
	reached(t, v, 1)
	require.EqualValues(t, 1, v.Sequence())
	_, err = f.Visit(t.Context(), desk, requestKey(1), adapter.Latest)
	require.ErrorContains(t, err, "followed as")
	v.Close(false)
	stop()
	require.NoError(t, f.Close())
	_, err = f.Visit(t.Context(), asking, requestKey(1), adapter.Latest)
	require.Error(t, err)
	local.Close()
}
