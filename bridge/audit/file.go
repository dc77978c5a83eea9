package audit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/strabo-engine/strabo/internal/filelock"
)

// DefaultMaxSize is how many bytes a file of an audit has before the next is begun.
const DefaultMaxSize = 64 << 20

// FileOptions configure a [File]. The zero value is fine.
type FileOptions struct {
	// MaxSize is how many bytes the file may have before another is begun; [DefaultMaxSize] if 0.
	MaxSize int64
	// Keep is how many full files are kept besides; all if 0. Those that are older are removed when a file is full.
	Keep int
	// NoSync leaves it to the system when the disk gets what is written: then a record survives the end of the process,
	// but perhaps not that of the machine. Otherwise every record is flushed before [File.Record] returns.
	NoSync bool
}

// File is a [Sink] that appends to a file, a record on a line as JSON, readable by its owner only. Nothing that was
// written is changed. When the file is full it is renamed, with the time added to its name, and a new one is begun:
// NAME.20261130T120000.000000000Z. Several processes may append to one file, each with a File of its own: they take
// turns by a lock on NAME.lock, and one that dies while it writes leaves a torn line, which is ended by the next and
// which readers report. Where files cannot be locked, see package filelock, opening fails with errors.ErrUnsupported.
type File struct {
	name    string
	options FileOptions

	mu   sync.Mutex
	lock *os.File
	file *os.File // nil if it has to be opened
	// closed tells that the file is no longer to be used.
	closed bool
}

// ErrClosed is returned by a [File] that was closed.
var ErrClosed = errors.New("audit: file closed")

// OpenFile opens the file of an audit, or creates it. It waits for other processes that write to it, for a moment each.
// The error is that of the file system.
func OpenFile(name string, options FileOptions) (*File, error) {
	if options.MaxSize <= 0 {
		options.MaxSize = DefaultMaxSize
	}
	lock, err := os.OpenFile(name+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("audit: open lock: %w", err)
	}
	f := &File{name: name, options: options, lock: lock}
	if err := filelock.Lock(context.Background(), lock); err != nil {
		return nil, errors.Join(fmt.Errorf("audit: %w", err), lock.Close())
	}
	err = f.open()
	if err := errors.Join(err, filelock.Unlock(lock)); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// open makes sure that the open file is the one that has the name. The lock must be held.
func (f *File) open() error {
	if f.file != nil {
		open, err := f.file.Stat()
		if err != nil {
			return fmt.Errorf("audit: %w", err)
		}
		if named, err := os.Stat(f.name); err == nil && os.SameFile(open, named) {
			return nil
		}
		// Another process has begun a new one.
		closing := f.file
		f.file = nil
		if err := closing.Close(); err != nil {
			return fmt.Errorf("audit: %w", err)
		}
	}
	_, missing := os.Stat(f.name)
	file, err := os.OpenFile(f.name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	if missing != nil {
		if err := filelock.SyncFolder(filepath.Dir(f.name)); err != nil {
			return errors.Join(fmt.Errorf("audit: %w", err), file.Close())
		}
	}
	f.file = file
	return nil
}

// Record implements [Sink]. It waits for its turn, and then for the disk. What of a record is there after an error is
// unknown; it may be written again.
func (f *File) Record(ctx context.Context, r Record) (err error) {
	line, err := Encode(r)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return ErrClosed
	}
	if err := filelock.Lock(ctx, f.lock); err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	defer func() { err = errors.Join(err, filelock.Unlock(f.lock)) }()
	if err := f.open(); err != nil {
		return err
	}
	return f.write(append(line, '\n'))
}

// write appends a line. The lock must be held.
func (f *File) write(line []byte) error {
	about, err := f.file.Stat()
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	size := about.Size()
	if size > 0 && size+int64(len(line)) > f.options.MaxSize {
		if err := f.rotate(); err != nil {
			return err
		}
		size = 0
	}
	if size > 0 {
		var last [1]byte
		if _, err := f.file.ReadAt(last[:], size-1); err != nil {
			return fmt.Errorf("audit: %w", err)
		}
		if last[0] != '\n' { // Whoever wrote it died.
			line = append([]byte{'\n'}, line...)
		}
	}
	if _, err := f.file.Write(line); err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	if f.options.NoSync {
		return nil
	}
	if err := f.file.Sync(); err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	return nil
}

// rotatedFormat sorts by time as text.
const rotatedFormat = "20060102T150405.000000000Z"

// rotate renames the file and begins another. The lock must be held.
func (f *File) rotate() error {
	full, err := rotated(f.name)
	if err != nil {
		return err
	}
	at := time.Now().UTC()
	for {
		name := f.name + "." + at.Format(rotatedFormat)
		if len(full) == 0 || name > full[len(full)-1] {
			if err := os.Rename(f.name, name); err != nil {
				return fmt.Errorf("audit: %w", err)
			}
			full = append(full, name)
			break
		}
		// The clock went back; the order of the names must be that of the records.
		latest, err := time.Parse(rotatedFormat, strings.TrimPrefix(full[len(full)-1], f.name+"."))
		if err != nil {
			return fmt.Errorf("audit: %w", err)
		}
		at = latest.Add(time.Nanosecond)
	}
	if err := f.open(); err != nil {
		return err
	}
	for f.options.Keep > 0 && len(full) > f.options.Keep {
		if err := os.Remove(full[0]); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("audit: %w", err)
		}
		full = full[1:]
	}
	if err := filelock.SyncFolder(filepath.Dir(f.name)); err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	return nil
}

// rotated lists the full files of an audit, the oldest first.
func rotated(name string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Dir(name))
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	var found []string
	for _, entry := range entries {
		if suffix, ok := strings.CutPrefix(entry.Name(), filepath.Base(name)+"."); ok {
			if _, err := time.Parse(rotatedFormat, suffix); err == nil {
				found = append(found, name+"."+suffix)
			}
		}
	}
	slices.Sort(found)
	return found, nil
}

// Close closes the file.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil
	}
	f.closed = true
	err := f.lock.Close()
	if f.file != nil {
		err = errors.Join(err, f.file.Close())
	}
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	return nil
}
