package syncserver

import (
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/strabo-engine/strabo/enactment"
)

// What holds for a [Server] and a [Client] where their configuration says nothing else.
const (
	// DefaultServerRetention is how long refusals are kept.
	DefaultServerRetention = 24 * time.Hour
	// DefaultLease is how long an agent that has fallen silent keeps its enactments.
	DefaultLease = 10 * time.Second
	// DefaultTimeout bounds one write to the log.
	DefaultTimeout = 5 * time.Second
	// DefaultCache is how many instances a server keeps of enactments that nobody uses at the moment.
	DefaultCache = 1 << 18
	// DefaultMaxAttempt is how many bytes an attempt may have.
	DefaultMaxAttempt = 256 << 10
	// DefaultMaxInFlight is how many attempts a server decides at the same time.
	DefaultMaxInFlight = 4096
	// DefaultClockTolerance is how far an attempt's time may lie in the future.
	DefaultClockTolerance = time.Minute
)

// ServerConfig says how a [Server] works. The zero value of a field stands for the default that it names.
type ServerConfig struct {
	// System names the system: servers and clients of one name belong together. The default is the name of the protocol
	// in lower case, with - for what is neither letter nor digit.
	System string
	// Replicas is how many servers of a NATS cluster keep each stream; 1 by default. It counts when the streams are
	// made.
	Replicas int
	// Memory keeps the streams in memory: they are lost when the NATS server stops. It counts when the streams are made.
	Memory bool
	// Alone tells that no other server of the system runs as long as this one does, and nothing is removed ([Archive.Prune]), as
	// where NATS is inside the process and takes no connections. Then what this one knows of an enactment is the latest, and is shown without looking into the
	// log. If it is not so, visits to enactments may show what was true a while ago; nothing else depends on it.
	Alone bool
	// Window makes finalisation batch instead of immediate: attempts of one enactment that arrive within it are judged
	// together. WindowCount closes a window as soon as it holds that many, if it is positive.
	Window      time.Duration
	WindowCount int
	// Retention is how long a refusal is kept, so that an attempt that arrives again gets it; attempts made longer ago
	// are refused as expired. [DefaultServerRetention].
	Retention time.Duration
	// Lease is how long the enactments of an agent that has fallen silent stay its own. [DefaultLease].
	Lease time.Duration
	// Timeout bounds one write to the log. [DefaultTimeout].
	Timeout time.Duration
	// Cache is how many instances are kept of enactments that nobody uses at the moment; one with more than a KiB of
	// values counts as one for each KiB. Of an eighth as many enactments of each identity that has a feed here it is kept
	// in memory which agent has them. [DefaultCache].
	Cache int
	// MaxAttempt is how many bytes an attempt may have. [DefaultMaxAttempt]. Whatever it says, an attempt is refused by
	// which something would happen that has more than 5/8 of the largest payload of a message of NATS, with what is known.
	MaxAttempt int
	// MaxInFlight is how many attempts may be on their way at once; more are told to come back. [DefaultMaxInFlight].
	MaxInFlight int
	// ClockTolerance is how far an attempt's time may lie in the future. [DefaultClockTolerance].
	ClockTolerance time.Duration
	// Keys seal the values that are secret before they are stored. They are needed where the protocol has secrets.
	Keys *Keyring
	// Recorder is told of what happened, was refused and became complete by this server's judgement, in the manner of
	// [WithRecorder], but for one thing: what is written may be delivered before it is recorded, for any server may read
	// it. It is recorded before this server answers the attempt, and before its Close returns. It may be nil.
	Recorder func(enactment.Record)
	// Tracer makes a span for each attempt that is decided here and for each write to the log, in the trace of whoever
	// attempted. They tell protocol, action and outcome, no values. No spans if nil.
	Tracer trace.TracerProvider
	// Logger is where the server logs; slog.Default() if nil.
	Logger *slog.Logger

	// clock tells the time of day, by which attempts are late or early, and which the log says. Tests have it jump. What
	// lasts a while, such as a lease, is measured by the monotonic clock of package time, which does not.
	clock func() time.Time
}

func (c ServerConfig) withDefaults(rules *enactment.Rules) ServerConfig {
	if c.System == "" {
		c.System = SystemName(rules)
	}
	positive(&c.Retention, DefaultServerRetention)
	positive(&c.Lease, DefaultLease)
	positive(&c.Timeout, DefaultTimeout)
	positive(&c.ClockTolerance, DefaultClockTolerance)
	positive(&c.Cache, DefaultCache)
	positive(&c.MaxAttempt, DefaultMaxAttempt)
	positive(&c.MaxInFlight, DefaultMaxInFlight)
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.clock == nil {
		c.clock = time.Now
	}
	return c
}

func positive[T int | time.Duration](value *T, otherwise T) {
	if *value <= 0 {
		*value = otherwise
	}
}

// windowCount is how many attempts close a window.
func windowCount(c ServerConfig) int {
	if c.WindowCount <= 0 || c.WindowCount > MostInWindow {
		return MostInWindow
	}
	return c.WindowCount
}
