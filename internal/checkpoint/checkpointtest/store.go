// Package checkpointtest keeps things in memory, for tests.
package checkpointtest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"sync"

	"fedsim/internal/checkpoint"
)

var (
	// ErrFull is the error of what an Store does not keep.
	ErrFull = errors.New("the attic is full")

	// ErrRejected is wrapped by the error of what was kept and was refused.
	ErrRejected = errors.New("it is of no use")
)

// Store keeps things in memory. The zero value is empty.
type Store struct {
	Fails string                            // names with this in them cannot be kept; empty: all can
	Saved func(name string, content []byte) // of each thing that is kept; nil: nothing is told

	mu     sync.Mutex
	things map[string][]byte
}

var _ checkpoint.Store = (*Store)(nil)

// Save keeps what fill writes.
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

// Put puts content there as if it had been kept.
func (a *Store) Put(name string, content []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.things == nil {
		a.things = map[string][]byte{}
	}
	a.things[name] = content
}

// Load returns what was kept last.
func (a *Store) Load(name string) ([]byte, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.things[name], nil
}

// Reject returns an error that wraps ErrRejected and why, and begins with the name.
func (a *Store) Reject(name string, why error) error {
	return fmt.Errorf("%s: %w: %w", name, ErrRejected, why)
}

// All returns all that is kept, by name.
func (a *Store) All() map[string][]byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.things)
}
