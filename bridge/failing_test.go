package bridge_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/strabo-engine/strabo/bridge"
)

// fullDisk is a journal that takes no entries, and tells when it was asked to.
type fullDisk struct {
	bridge.MemoryJournal
	asked chan bridge.Entry
}

func (j *fullDisk) Append(_ context.Context, entry bridge.Entry) error {
	j.asked <- entry
	return errors.New("disk full")
}

func TestNothingLeavesThatIsNotWrittenDown(t *testing.T) {
	s := newStage(t)
	journal := &fullDisk{asked: make(chan bridge.Entry, 10)}
	s.hotel.on(reserve, reply(201, `{"number":"n1","price":1}`))
	stop := s.start(with(journal))
	s.ask()
	assert.Equal(t, bridge.EntryOpen, receive(s, journal.asked).Kind)
	// The adapter logs what the handler returned once it has returned.
	assert.Eventually(t, func() bool { return strings.Contains(s.told(nil), "disk full") }, time.Minute, time.Millisecond)
	stop()
	assert.Empty(t, s.hotel.requests())
}

// The journal of one enactment says nothing of another.
func TestJournalsByEnactment(t *testing.T) {
	var journal bridge.MemoryJournal
	assert.NoError(t, journal.Append(t.Context(), entry("Ask", "one")))
	other, err := journal.Load(t.Context(), `{"rid":"r2"}`)
	assert.NoError(t, err)
	assert.Empty(t, other)
}
