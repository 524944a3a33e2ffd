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
func (a *Store) Save(name string, fill func(io.Writer) error) error {
	var b bytes.Buffer
	if err := fill(&b); err != nil {
		return err
	}
	if a.Fails != "" && strings.Contains(name, a.Fails) {
		return ErrFull
	}
	a.Put(name, b.Bytes())
	if a.Saved != nil {
		a.Saved(name, b.Bytes())
	}
	return nil
}

// Put stores content under a name.
func (a *Store) Put(name string, content []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.states == nil {
		a.states = map[string][]byte{}
	}
	a.states[name] = content
}

// Load returns the last state of a name.
func (a *Store) Load(name string) ([]byte, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.states[name], nil
}

// Path returns a path in Dir.
func (a *Store) Path(name string, number int) string {
	return filepath.Join(a.Dir, fmt.Sprintf("%s-%d", url.PathEscape(name), number))
}

// Reject returns an error that begins with the name and wraps ErrRejected and why.
func (a *Store) Reject(name string, why error) error {
	return fmt.Errorf("%s: %w: %w", name, ErrRejected, why)
}

// All returns all states by name.
func (a *Store) All() map[string][]byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.states)
}
