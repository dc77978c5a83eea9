package audit

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"slices"
	"time"

	"github.com/strabo-engine/strabo/internal/pause"
)

// maxLine is how long a line is read: longer than any that [Encode] writes.
const maxLine = 4 << 20

// pollEvery is how often a file that is followed is looked at. Watching it by the system would not work on every file
// system, and costs another dependency.
const pollEvery = 200 * time.Millisecond

// DamagedError says that a line of a file is no record: whoever wrote it died meanwhile, or somebody changed it.
type DamagedError struct {
	// File and Line, which counts from 1, say where.
	File string
	Line int
	Err  error
}

// Error says where and why.
func (e *DamagedError) Error() string { return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err) }

// Unwrap gives Err.
func (e *DamagedError) Unwrap() error { return e.Err }

// ReadFile gives the records of an audit that a [File] wrote, those of full files first, as they were written. With
// follow it goes on with what is written meanwhile, looking 5 times a second, until the context ends, also when there is
// no file yet. A line that is no record is given as a [*DamagedError], and reading goes on; any other error is the last
// that is given. A torn line at the end that may still be being written is not given unless something follows it.
func ReadFile(ctx context.Context, name string, filter Filter, follow bool) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		r := &fileReader{name: name, filter: filter, follow: follow, yield: yield}
		err := r.read(ctx)
		if r.file != nil {
			err = errors.Join(err, r.file.Close())
		}
		if err != nil && !r.stopped {
			yield(Record{}, err)
		}
	}
}

type fileReader struct {
	name    string
	filter  Filter
	follow  bool
	yield   func(Record, error) bool
	stopped bool // by whoever reads

	file  *os.File
	input *bufio.Reader
	line  int
	part  []byte // of a line that is not whole
	long  bool   // whether the line has been longer than any, and part is its beginning
}

func (r *fileReader) read(ctx context.Context) error {
	for {
		found, err := r.next()
		switch {
		case err != nil:
			return err
		case !found && !r.follow:
			return nil
		case !found:
			if pause.For(ctx, pollEvery) != nil {
				return ctx.Err()
			}
			continue
		}
		for last := false; !last; {
			if last, err = r.isFull(); err != nil {
				return err
			}
			// What was written before the file was full is there by now.
			if err := r.drain(ctx); err != nil || r.stopped {
				return err
			}
			if !last && !r.follow {
				return nil
			}
			if !last && pause.For(ctx, pollEvery) != nil {
				return ctx.Err()
			}
		}
		if len(r.part) > 0 && !r.give() { // torn for good
			return nil
		}
	}
}

// next opens the file that follows the open one, or the first, and tells whether there is one.
func (r *fileReader) next() (bool, error) {
	for {
		full, err := rotated(r.name)
		if err != nil {
			return false, err
		}
		files := append(full, r.name)
		at, err := r.after(files)
		if err != nil || at == len(files) {
			return false, err
		}
		file, err := os.Open(files[at])
		if again, listErr := rotated(r.name); listErr == nil && !slices.Equal(again, full) {
			// A file was renamed meanwhile, and this may not be the one that was meant.
			if err == nil {
				err = file.Close()
			}
			if err == nil || errors.Is(err, fs.ErrNotExist) {
				continue
			}
		}
		switch {
		case errors.Is(err, fs.ErrNotExist) && (r.follow || at > 0 || r.file != nil):
			return false, nil // There is none yet.
		case err != nil:
			return false, fmt.Errorf("audit: %w", err)
		}
		closing := r.file
		r.file, r.input, r.line, r.part, r.long = file, bufio.NewReader(file), 0, nil, false
		if closing != nil {
			if err := closing.Close(); err != nil {
				return false, fmt.Errorf("audit: %w", err)
			}
		}
		return true, nil
	}
}

// after gives the place of the file that follows the open one. If that has been removed, as the oldest are, all others
// follow it.
func (r *fileReader) after(files []string) (int, error) {
	if r.file == nil {
		return 0, nil
	}
	open, err := r.file.Stat()
	if err != nil {
		return 0, fmt.Errorf("audit: %w", err)
	}
	return 1 + slices.IndexFunc(files, func(name string) bool {
		about, err := os.Stat(name)
		return err == nil && os.SameFile(open, about)
	}), nil
}

// isFull tells whether the open file is no longer the one that is written to.
func (r *fileReader) isFull() (bool, error) {
	open, err := r.file.Stat()
	if err != nil {
		return false, fmt.Errorf("audit: %w", err)
	}
	named, err := os.Stat(r.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil // It is being renamed.
	case err != nil:
		return false, fmt.Errorf("audit: %w", err)
	}
	return !os.SameFile(open, named), nil
}

// drain gives what is there of the open file.
func (r *fileReader) drain(ctx context.Context) error {
	for ctx.Err() == nil {
		piece, err := r.input.ReadSlice('\n')
		if len(r.part)+len(piece) > maxLine {
			piece, r.long = piece[:max(0, maxLine-len(r.part))], true
		}
		r.part = append(r.part, piece...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("audit: %w", err)
		}
		if !r.give() {
			return nil
		}
	}
	return ctx.Err()
}

// give hands on what was read as one line, and tells whether more is wanted.
func (r *fileReader) give() bool {
	line, long := bytes.TrimSuffix(r.part, []byte("\n")), r.long
	r.part, r.long = nil, false
	r.line++
	record, err := Decode(line)
	if long {
		err = errors.New("the line is longer than any that is written")
	}
	switch {
	case err != nil:
		r.stopped = !r.yield(Record{}, &DamagedError{File: r.file.Name(), Line: r.line, Err: err})
	case r.filter.Chooses(record):
		r.stopped = !r.yield(record, nil)
	}
	return !r.stopped
}
