package approval

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/strabo-engine/strabo/internal/filelock"
)

// DefaultKeep is how long a store keeps what has been decided or has expired.
const DefaultKeep = 30 * 24 * time.Hour

const (
	// firstPoll and longestPoll are how soon a decision of another process is noticed.
	firstPoll   = 50 * time.Millisecond
	longestPoll = time.Second

	pruneEvery  = time.Hour
	lockName    = ".lock"
	suffix      = ".json"
	temporary   = ".tmp-"
	largestFile = 2 << 20
)

// FileOptions configure a [FileStore]. The zero value is fine.
type FileOptions struct {
	// Keep is how long a question is kept once nothing more can come of it; [DefaultKeep] if 0. After that, asking the
	// same is a new question.
	Keep time.Duration
	// NoSync leaves it to the system when the disk gets what is written, so that a change survives the end of the process,
	// but perhaps not that of the machine. Otherwise every change is flushed before it is reported.
	NoSync bool
}

// FileStore is a [Store] in a directory, which several processes may use at once: a file for each question, readable by
// its owner only, written anew as a whole with every change. Changes take turns by a lock; a
// process that dies meanwhile leaves the question as it was before or after. [FileStore.Wait] notices what another
// process decides within a second: it looks at the one file, first after 50 ms and then at growing intervals. Where files
// cannot be locked, see package filelock, opening fails with errors.ErrUnsupported.
type FileStore struct {
	dir     string
	options FileOptions
	// turn has room for the one who holds the lock in this process, which is on an open file, not on a goroutine.
	turn chan struct{}
	lock *os.File

	mu      sync.Mutex
	changed chan struct{} // closed when something changed in this process
	pruned  time.Time
}

// OpenFileStore opens a store, and makes the directory if there is none. It waits for other processes that are at work in
// it, for a moment each. The error is that of the file system.
func OpenFileStore(dir string, options FileOptions) (*FileStore, error) {
	if options.Keep <= 0 {
		options.Keep = DefaultKeep
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("approval: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("approval: open lock: %w", err)
	}
	s := &FileStore{dir: dir, options: options, turn: make(chan struct{}, 1), lock: lock, changed: make(chan struct{})}
	if err := s.locked(context.Background(), s.sweep); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return s, nil
}

// Close closes the lock. The store is not to be used afterwards.
func (s *FileStore) Close() error {
	if err := s.lock.Close(); err != nil {
		return fmt.Errorf("approval: %w", err)
	}
	return nil
}

// locked does something while nobody else changes anything.
func (s *FileStore) locked(ctx context.Context, do func() error) (err error) {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.turn }()
	if err := filelock.Lock(ctx, s.lock); err != nil {
		return fmt.Errorf("approval: %w", err)
	}
	defer func() { err = errors.Join(err, filelock.Unlock(s.lock)) }()
	return do()
}

// Ask implements [Store].
func (s *FileStore) Ask(ctx context.Context, request Request) (Decision, error) {
	var decision Decision
	err := s.locked(ctx, func() error {
		if err := s.prune(); err != nil {
			return err
		}
		var stored *Entry
		switch old, err := s.load(request.ID); {
		case err == nil:
			stored = &old
		case !errors.Is(err, ErrNotFound):
			return err
		}
		now := time.Now()
		entry, isNew, err := Asked(stored, request, now)
		if err == nil && isNew {
			err = s.store(entry)
		}
		decision = entry.Standing(now).Decision
		return err
	})
	return decision, err
}

// Decide implements [Store].
func (s *FileStore) Decide(ctx context.Context, id string, verdict Verdict) error {
	return s.locked(ctx, func() error {
		old, err := s.load(id)
		if err != nil {
			return err
		}
		entry, err := Decided(old, verdict, time.Now())
		if err != nil {
			return fmt.Errorf("%s: %w", id, err)
		}
		return s.store(entry)
	})
}

// Get implements [Store].
func (s *FileStore) Get(_ context.Context, id string) (Entry, error) {
	entry, err := s.load(id)
	if err != nil {
		return Entry{}, err
	}
	return entry.Standing(time.Now()), nil
}

// List implements [Store].
func (s *FileStore) List(ctx context.Context) ([]Entry, error) {
	names, err := s.names()
	if err != nil {
		return nil, err
	}
	var entries []Entry
	var failed []error
	now := time.Now()
	for _, name := range names {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		switch entry, err := s.read(name); {
		case err == nil:
			entries = append(entries, entry.Standing(now))
		case !errors.Is(err, ErrNotFound): // It may just have been removed.
			failed = append(failed, err)
		}
	}
	slices.SortFunc(entries, Order)
	return entries, errors.Join(failed...)
}

// Wait implements [Store].
func (s *FileStore) Wait(ctx context.Context, id string) (Decision, error) {
	digest := ""
	for poll := firstPoll; ; poll = min(2*poll, longestPoll) {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		entry, err := s.load(id)
		if err != nil {
			return Decision{}, err
		}
		now := time.Now()
		switch standing := entry.Standing(now); {
		case digest != "" && digest != entry.Request.Digest:
			return Decision{}, fmt.Errorf("%s: %w", id, ErrChanged)
		case standing.Decision.State != Pending:
			return standing.Decision, nil
		}
		digest = entry.Request.Digest
		wait := poll
		if expires := entry.Request.Expires; !expires.IsZero() {
			wait = min(wait, expires.Sub(now))
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-changed:
			timer.Stop()
		case <-ctx.Done():
			timer.Stop()
			return Decision{}, ctx.Err()
		}
	}
}

// place is the name of the file of a question. An id may have characters that a name may not.
func (s *FileStore) place(id string) string {
	sum := sha256.Sum256([]byte(id))
	return filepath.Join(s.dir, hex.EncodeToString(sum[:])+suffix)
}

func (s *FileStore) load(id string) (Entry, error) {
	entry, err := s.read(s.place(id))
	if errors.Is(err, ErrNotFound) {
		return Entry{}, fmt.Errorf("%w: %q", ErrNotFound, id)
	}
	return entry, err
}

func (s *FileStore) read(name string) (Entry, error) {
	file, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return Entry{}, ErrNotFound
	}
	if err != nil {
		return Entry{}, fmt.Errorf("approval: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(file, largestFile))
	if err := errors.Join(err, file.Close()); err != nil {
		return Entry{}, fmt.Errorf("approval: %w", err)
	}
	var entry Entry
	if err := json.Unmarshal(text, &entry); err != nil {
		return Entry{}, fmt.Errorf("approval: %s is damaged: %w", name, err)
	}
	if err := entry.Request.Validate(); err != nil || s.place(entry.Request.ID) != name {
		return Entry{}, fmt.Errorf("approval: %s is damaged", name)
	}
	return entry, nil
}

// store writes an entry. The lock must be held.
func (s *FileStore) store(entry Entry) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(entry); err != nil {
		return fmt.Errorf("approval: %w", err)
	}
	file, err := os.CreateTemp(s.dir, temporary+"*")
	if err != nil {
		return fmt.Errorf("approval: %w", err)
	}
	_, err = file.Write(text.Bytes())
	if err == nil && !s.options.NoSync {
		err = file.Sync()
	}
	err = errors.Join(err, file.Close())
	if err == nil {
		err = os.Rename(file.Name(), s.place(entry.Request.ID))
	}
	if err != nil {
		return errors.Join(fmt.Errorf("approval: %w", err), os.Remove(file.Name()))
	}
	if !s.options.NoSync {
		if err := filelock.SyncFolder(s.dir); err != nil {
			return fmt.Errorf("approval: %w", err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.changed)
	s.changed = make(chan struct{})
	return nil
}

// names lists the files of questions.
func (s *FileStore) names() ([]string, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, fmt.Errorf("approval: %w", err)
	}
	var names []string
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), suffix) {
			names = append(names, filepath.Join(s.dir, entry.Name()))
		}
	}
	return names, nil
}

// sweep removes what a process left that died while it wrote. The lock must be held.
func (s *FileStore) sweep() error {
	left, err := os.ReadDir(s.dir)
	if err != nil {
		return fmt.Errorf("approval: %w", err)
	}
	for _, file := range left {
		if !strings.HasPrefix(file.Name(), temporary) {
			continue
		}
		if err := os.Remove(filepath.Join(s.dir, file.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("approval: %w", err)
		}
	}
	return s.prune()
}

// prune removes, once an hour, what is old. The lock must be held.
func (s *FileStore) prune() error {
	now := time.Now()
	if now.Sub(s.pruned) < pruneEvery {
		return nil
	}
	s.pruned = now
	names, err := s.names()
	if err != nil {
		return err
	}
	for _, name := range names {
		entry, err := s.read(name)
		if err != nil {
			continue // A damaged one is left for somebody to look at.
		}
		if finished := entry.Finished(now); !finished.IsZero() && now.Sub(finished) > s.options.Keep {
			if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("approval: %w", err)
			}
		}
	}
	return nil
}
