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
)

// FileJournal is a durable [Journal]: a file of JSON lines that is only appended to and flushed to the disk with every
// entry. One process may have it open at a time. It grows with what it remembers and is read into memory when it is
// opened.
type FileJournal struct {
	mu     sync.Mutex
	file   *os.File
	size   int64 // of the whole lines
	memory MemoryJournal
	failed error
}

// ErrJournalClosed is returned by a [FileJournal] that was closed.
var ErrJournalClosed = errors.New("bridge: journal closed")

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
// never acknowledged. Any other faulty line is a [*CorruptError].
func OpenFileJournal(name string) (*FileJournal, error) {
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("bridge: open journal: %w", err)
	}
	j := &FileJournal{file: file}
	if err := j.read(name); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	if err := syncFolder(filepath.Dir(name)); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return j, nil
}

// read takes in the whole lines and cuts off what follows them.
func (j *FileJournal) read(name string) error {
	input := bufio.NewReader(j.file)
	for line := 1; ; line++ {
		text, err := input.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			break // What is left, if anything, is a torn line.
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
	if err := j.file.Truncate(j.size); err != nil {
		return fmt.Errorf("bridge: cut torn line off journal: %w", err)
	}
	if _, err := j.file.Seek(j.size, io.SeekStart); err != nil {
		return fmt.Errorf("bridge: read journal: %w", err)
	}
	return nil
}

// syncFolder makes sure that a file which was just created is found again.
func syncFolder(name string) error {
	folder, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("bridge: open folder of journal: %w", err)
	}
	if err := errors.Join(folder.Sync(), folder.Close()); err != nil {
		return fmt.Errorf("bridge: flush folder of journal: %w", err)
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
