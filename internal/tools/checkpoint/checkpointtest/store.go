// Package checkpointtest stores checkpoints in memory, for tests.
package checkpointtest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"path/filepath"
	"strings"
	"sync"

	"fedsim/internal/tools/checkpoint"
)

var (
	// ErrFull is the error of a save that fails.
	ErrFull = errors.New("the store is full")

	// ErrRejected is wrapped by the error of a stored state that was rejected.
	ErrRejected = errors.New("rejected")
)

// Store stores checkpoints in memory. The zero value is empty.
type Store struct {
	Fails string                            // saving a name that contains this fails; empty: nothing fails
	Saved func(name string, content []byte) // called after each save; nil: not called
	Dir   string                            // of files that programs write

	mu     sync.Mutex
	states map[string][]byte
}

var _ checkpoint.Store = (*Store)(nil)

// Save stores the output of fill.
func (s *Store) Save(name string, fill func(io.Writer) error) error {
	var b bytes.Buffer
	if err := fill(&b); err != nil {
		return err
	}
	if s.Fails != "" && strings.Contains(name, s.Fails) {
		return ErrFull
	}
	s.Put(name, b.Bytes())
	if s.Saved != nil {
		s.Saved(name, b.Bytes())
	}
	return nil
}

// Put stores content under a name.
func (s *Store) Put(name string, content []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.states == nil {
		s.states = map[string][]byte{}
	}
	s.states[name] = content
}

// Load returns the last state of a name.
func (s *Store) Load(name string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.states[name], nil
}

// Path returns a path in Dir.
func (s *Store) Path(name string, number int) string {
	return filepath.Join(s.Dir, fmt.Sprintf("%s-%d", url.PathEscape(name), number))
}

// Reject returns an error that begins with the name and wraps ErrRejected and why.
func (s *Store) Reject(name string, why error) error {
	return fmt.Errorf("%s: %w: %w", name, ErrRejected, why)
}

// All returns all states by name.
func (s *Store) All() map[string][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.states)
}
