package bridge

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/strabo-engine/strabo/enactment"
	"github.com/strabo-engine/strabo/internal/filelock"
)

// FileJournal is a durable [Journal]: a file of JSON lines that is only appended to and flushed to the disk with every
// entry. It is locked while it is open, so that nobody else has it open at the same time; the lock ends with the process,
// however that ends. It grows with what it remembers and is read into memory when it is opened. There is one on Linux,
// macOS, the BSDs, illumos and Windows; elsewhere opening fails with errors.ErrUnsupported.
type FileJournal struct {
	mu     sync.Mutex
	file   *os.File
	size   int64 // of the whole lines
	memory MemoryJournal
	failed error
}

// ErrJournalClosed is returned by a [FileJournal] that was closed.
var ErrJournalClosed = errors.New("bridge: journal closed")

// ErrJournalInUse is returned by [OpenFileJournal] while another [FileJournal], of this process or of another, has the
// file open.
var ErrJournalInUse = errors.New("bridge: the journal is in use")

// CorruptError says that a journal has a line that no journal writes. The last line may be torn, since the process may
// have died writing it; any other means that the file is not what was written.
type CorruptError struct {
	// File and Line, which counts from 1, say where.
	File string
	Line int
	// Err says what is wrong with the line.
	Err error
}

// Error says where and what.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("bridge: journal %s is damaged in line %d: %v", e.File, e.Line, e.Err)
}

// Unwrap gives Err.
func (e *CorruptError) Unwrap() error { return e.Err }

// OpenFileJournal opens a journal or creates it, readable by its owner only. A torn last line is cut off: its entry was
// never acknowledged. Any other faulty line is a [*CorruptError]. It does not wait for whoever has the file open already:
// the error is [ErrJournalInUse] then, and nothing has been changed.
func OpenFileJournal(name string) (*FileJournal, error) {
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("bridge: open journal: %w", err)
	}
	j := &FileJournal{file: file}
	if err := filelock.Try(file); err != nil {
		if errors.Is(err, filelock.ErrHeld) {
			err = ErrJournalInUse
		}
		return nil, errors.Join(fmt.Errorf("bridge: open journal %s: %w", name, err), file.Close())
	}
	if err := j.read(name); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	if err := filelock.SyncFolder(filepath.Dir(name)); err != nil {
		return nil, errors.Join(fmt.Errorf("bridge: open journal: %w", err), file.Close())
	}
	return j, nil
}

// read takes in the whole lines and cuts off what follows them.
func (j *FileJournal) read(name string) error {
	input := bufio.NewReader(j.file)
	for line := 1; ; line++ {
		text, err := input.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			if len(text) == 0 {
				return nil
			}
			break // What is left is a torn line.
		}
		if err != nil {
			return fmt.Errorf("bridge: read journal: %w", err)
		}
		var entry Entry
		decoder := json.NewDecoder(bytes.NewReader(text))
		if err := decoder.Decode(&entry); err != nil {
			return &CorruptError{File: name, Line: line, Err: err}
		}
		if entry.Kind == "" {
			return &CorruptError{File: name, Line: line, Err: errors.New("no kind of entry")}
		}
		if err := j.memory.Append(context.Background(), entry); err != nil {
			return err
		}
		j.size += int64(len(text))
	}
	// By its name, since not every system lets a file that is appended to be cut.
	if err := os.Truncate(name, j.size); err != nil {
		return fmt.Errorf("bridge: cut torn line off journal: %w", err)
	}
	return nil
}

// Load implements [Journal].
func (j *FileJournal) Load(ctx context.Context, key enactment.Key) ([]Entry, error) {
	return j.memory.Load(ctx, key)
}

// Append implements [Journal]. It blocks until the disk has the entry. After a failure the journal takes no more
// entries: what of the line was written is unknown, and another line must not be glued to it. Open it again.
func (j *FileJournal) Append(ctx context.Context, entry Entry) error {
	line, err := encodeJSON(entry)
	if err != nil {
		return fmt.Errorf("bridge: write journal: %w", err)
	}
	line = append(line, '\n')
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.failed != nil {
		return j.failed
	}
	if _, err = j.file.Write(line); err == nil {
		err = j.file.Sync()
	}
	if err != nil {
		j.failed = fmt.Errorf("bridge: write journal: %w", err)
		return j.failed
	}
	j.size += int64(len(line))
	return j.memory.Append(ctx, entry)
}

// Close closes the file. Entries can still be loaded.
func (j *FileJournal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if errors.Is(j.failed, ErrJournalClosed) {
		return nil
	}
	j.failed = ErrJournalClosed
	return j.file.Close()
}
