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
	// ErrFull is the error of what an Attic does not keep.
	ErrFull = errors.New("the attic is full")

	// ErrUseless is wrapped by the error of what was kept and was refused.
	ErrUseless = errors.New("it is of no use")
)

// Attic keeps things in memory. The zero value is empty.
type Attic struct {
	Fails string                            // names with this in them cannot be kept; empty: all can
	Told  func(name string, content []byte) // of each thing that is kept; nil: nothing is told

	mu     sync.Mutex
	things map[string][]byte
}

var _ checkpoint.Keeper = (*Attic)(nil)

// Keep keeps what fill writes.
func (a *Attic) Keep(name string, fill func(io.Writer) error) error {
	var b bytes.Buffer
	if err := fill(&b); err != nil {
		return err
	}
	if a.Fails != "" && strings.Contains(name, a.Fails) {
		return ErrFull
	}
	a.Put(name, b.Bytes())
	if a.Told != nil {
		a.Told(name, b.Bytes())
	}
	return nil
}

// Put puts content there as if it had been kept.
func (a *Attic) Put(name string, content []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.things == nil {
		a.things = map[string][]byte{}
	}
	a.things[name] = content
}

// Kept returns what was kept last.
func (a *Attic) Kept(name string) ([]byte, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.things[name], nil
}

// Refuse returns an error that wraps ErrUseless and why, and begins with the name.
func (a *Attic) Refuse(name string, why error) error {
	return fmt.Errorf("%s: %w: %w", name, ErrUseless, why)
}

// Things returns all that is kept, by name.
func (a *Attic) Things() map[string][]byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.things)
}
