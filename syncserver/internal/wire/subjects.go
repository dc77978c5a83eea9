package wire

import (
	"fmt"
	"strings"

	"github.com/strabo-engine/strabo/enactment"
)

// root is the first token of every subject of the engine.
const root = "strabo"

// Subjects names what the servers and clients of one system talk about: subjects and streams.
type Subjects struct{ system string }

// NewSubjects is for a system of that name.
func NewSubjects(system string) (Subjects, error) {
	if system == "" {
		return Subjects{}, fmt.Errorf("wire: the system has no name")
	}
	return Subjects{Token(system)}, nil
}

func (s Subjects) under(tokens ...string) string {
	return root + "." + s.system + "." + strings.Join(tokens, ".")
}

func (s Subjects) of(kind string, id enactment.Identity, more ...string) string {
	return s.under(append([]string{kind, Token(id.Role), Token(id.Party)}, more...)...)
}

// spell makes a subject of a kind, of tokens for any strings.
func (s Subjects) spell(kind string, texts ...string) string {
	var buffer [256]byte
	to := append(append(append(append(buffer[:0], root...), '.'), s.system...), '.')
	to = append(to, kind...)
	for _, text := range texts {
		to = appendToken(append(to, '.'), text)
	}
	return string(to)
}

// LogStream is the stream that holds the log of every enactment.
func (s Subjects) LogStream() string { return "STRABO_" + s.system + "_LOG" }

// Logs matches the log of every enactment.
func (s Subjects) Logs() string { return s.under("log", "*") }

// Log is the subject of an enactment's log.
func (s Subjects) Log(key enactment.Key) string { return s.spell("log", string(key)) }

// SnapshotStream holds snapshots, from which nothing is lost if they are.
func (s Subjects) SnapshotStream() string { return "STRABO_" + s.system + "_SNAPSHOTS" }

// Snapshots matches every snapshot.
func (s Subjects) Snapshots() string { return s.under("snapshot", ">") }

// Snapshot is the subject of one piece of an enactment's snapshot.
func (s Subjects) Snapshot(key enactment.Key, piece int) string {
	return s.under("snapshot", Token(string(key)), fmt.Sprint(piece))
}

// SnapshotsOf matches the pieces of an enactment's snapshot.
func (s Subjects) SnapshotsOf(key enactment.Key) string {
	return s.under("snapshot", Token(string(key)), "*")
}

// PositionStream holds who has which enactment, and how far it is handled.
func (s Subjects) PositionStream() string { return "STRABO_" + s.system + "_POSITIONS" }

// Positions matches the positions of every identity.
func (s Subjects) Positions() string { return s.under("position", "*", "*", "*") }

// PositionsOf matches the positions of an identity.
func (s Subjects) PositionsOf(id enactment.Identity) string { return s.of("position", id, "*") }

// Position is where an identity has got to in an enactment.
func (s Subjects) Position(id enactment.Identity, key enactment.Key) string {
	return s.spell("position", id.Role, id.Party, string(key))
}

// LeaseStream holds leases.
func (s Subjects) LeaseStream() string { return "STRABO_" + s.system + "_LEASES" }

// Leases matches every lease.
func (s Subjects) Leases() string { return s.under("lease", ">") }

// FeedLeases matches the leases of the feeds of an identity.
func (s Subjects) FeedLeases(id enactment.Identity) string { return s.of("lease.feed", id, "*") }

// FeedLease is the lease of one feed.
func (s Subjects) FeedLease(id enactment.Identity, feed string) string {
	return s.of("lease.feed", id, Token(feed))
}

// SequencerLease is the lease of whoever puts the attempts of a partition in order.
func (s Subjects) SequencerLease(partition int) string {
	return s.under("lease", "sequencer", fmt.Sprint(partition))
}

// SequencerLeases matches the leases of all partitions.
func (s Subjects) SequencerLeases() string { return s.under("lease", "sequencer", "*") }

// ArrivalStream holds the attempts of batch finalisation in the order of arrival.
func (s Subjects) ArrivalStream() string { return "STRABO_" + s.system + "_ARRIVALS" }

// Arrivals matches the attempts of every partition.
func (s Subjects) Arrivals() string { return s.under("arrival", "*") }

// Arrival is where the attempts of a partition arrive.
func (s Subjects) Arrival(partition int) string { return s.under("arrival", fmt.Sprint(partition)) }

// Answers is where a server is told what was decided of attempts that it took in.
func (s Subjects) Answers(server string) string { return s.under("decided", server) }

// Attempts is where servers take in attempts of every identity.
func (s Subjects) Attempts() string { return s.under("attempt", "*", "*") }

// Attempt is where an identity submits attempts.
func (s Subjects) Attempt(id enactment.Identity) string { return s.spell("attempt", id.Role, id.Party) }

// Joins is where any server takes in a feed.
func (s Subjects) Joins() string { return s.under("observe", "*", "*") }

// Join is where an identity asks for a feed.
func (s Subjects) Join(id enactment.Identity) string { return s.of("observe", id) }

// Observations is where one server serves the feeds that it took in.
func (s Subjects) Observations(server string) string { return s.under("observe", "*", "*", server) }

// Observe is where an identity asks for what there is for its feed at one server.
func (s Subjects) Observe(id enactment.Identity, server string) string {
	return s.of("observe", id, server)
}

// ObserveAny matches Observe at any server.
func (s Subjects) ObserveAny(id enactment.Identity) string { return s.of("observe", id, "*") }

// Gone is where servers tell each other that a feed has left; the message is the identity's subject of Join.
func (s Subjects) Gone() string { return s.under("gone") }

// IdentityOf gives the identity in a subject of Attempt, Join or Observe.
func (s Subjects) IdentityOf(subject string) (enactment.Identity, error) {
	tokens := strings.Split(subject, ".")
	if len(tokens) < 5 || tokens[0] != root || tokens[1] != s.system {
		return enactment.Identity{}, fmt.Errorf("wire: %q names no identity of the system", subject)
	}
	return identityOf(tokens)
}

// IdentityIn gives the identity in a subject of Attempt, Join, Observe or Position of any system.
func IdentityIn(subject string) (enactment.Identity, error) {
	tokens := strings.Split(subject, ".")
	if len(tokens) < 5 || tokens[0] != root {
		return enactment.Identity{}, fmt.Errorf("wire: %q names no identity", subject)
	}
	return identityOf(tokens)
}

func identityOf(tokens []string) (enactment.Identity, error) {
	role, err := ParseToken(tokens[3])
	if err != nil {
		return enactment.Identity{}, err
	}
	party, err := ParseToken(tokens[4])
	if err != nil {
		return enactment.Identity{}, err
	}
	return enactment.Identity{Role: role, Party: party}, nil
}
