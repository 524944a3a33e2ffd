package experiment

import (
	"context"
	"fmt"
	"math"
	"sync"

	"fedsim/data"
	"fedsim/devices/traces"
	"fedsim/internal/checkpoint"
	"fedsim/internal/parallel"
	"fedsim/internal/state"
	"fedsim/mtl"
	"fedsim/scenarios"
)

// prepared is what a run starts from; runs with the same data and problem share
// it and never change it.
type prepared struct {
	problem    *mtl.Problem
	coupling   mtl.Coupling
	optimum    float64 // P*; NaN when none is asked for
	constant   float64 // R(0) under the coupling of the optimum
	optimumGap float64
	rows       []int32 // by device; of a run that is timed alone, whose problem is nil
	features   int
}

// preparer makes each of its products once, whoever asks first. When its context
// ends it fails with the context's error.
type preparer struct {
	ctx      context.Context
	pool     *parallel.Pool
	policy   checkpoint.Policy
	splits   memo[data.Config, *data.Split]
	problems memo[problemKey, *prepared]
	sizes    memo[data.Config, *prepared]
	traces   memo[string, []*traces.Set]
}

// tracesOf reads the traces of a run.
func (p *preparer) tracesOf(c *traces.Config) ([]*traces.Set, error) {
	return p.traces.get(fmt.Sprintf("%q %s", c.Files, c.Format), c.Load)
}

type problemKey struct {
	data    data.Config
	problem mtl.Config
	outer   int // outer iterations: the optimum of more than one is another
}

// keyOf returns what a run's problem depends on.
func keyOf(s *scenarios.Settings) problemKey {
	return problemKey{s.Data, s.Problem, s.Run.Outer}
}

// prepare returns the problem of a run.
func (p *preparer) prepare(s *scenarios.Settings) (*prepared, error) {
	of, dataOf := keyOf(s), s.Data
	if s.Run.Mode == scenarios.Timing {
		return p.sizes.get(dataOf, func() (*prepared, error) {
			return parallel.Await(p.ctx, func() (*prepared, error) {
				rows, features, err := data.Sizes(dataOf)
				return &prepared{optimum: math.NaN(), optimumGap: math.NaN(), rows: rows, features: features}, err
			})
		})
	}
	return p.problems.get(of, func() (*prepared, error) {
		r := p.newReference(of)
		made, err := parallel.Await(p.ctx, func() (*prepared, error) {
			split, err := p.splits.get(dataOf, func() (*data.Split, error) { return p.split(dataOf) })
			if err != nil {
				return nil, err
			}
			return r.solve(split)
		})
		if err != nil {
			return nil, err
		}
		return made, r.keep(made)
	})
}

// split returns the data of a run. Those from a file must be those that the runs had
// before an interruption: other rows would go unnoticed, since runs go on by what was
// computed from the old ones.
func (p *preparer) split(of data.Config) (*data.Split, error) {
	split, err := data.Prepare(of)
	if err != nil || of.Source == data.SourceSynthetic {
		return split, err
	}
	thing := p.policy.Saver(p.ctx, fmt.Sprintf("data %+v", of))
	if thing == nil {
		return split, nil
	}
	rows := func(c *state.Coder) {
		for _, set := range []*data.Set{split.Train, split.Test} {
			sameRows(c, set)
		}
	}
	c, err := thing.Restore()
	switch {
	case err != nil:
		return nil, err
	case c == nil:
		return split, thing.Save(rows)
	}
	if rows(c); c.Err() != nil {
		return nil, thing.Reject(c.Err())
	}
	return split, nil
}

// sameRows names the rows of a set, which must be those that are read.
func sameRows(c *state.Coder, set *data.Set) {
	now := set.Digest()
	digest := now
	if c.Uint64(&digest); digest != now {
		c.Fail(errOtherRows)
	}
}

// memo computes a value for each key once; others who ask wait for it.
type memo[K comparable, V any] struct {
	mu    sync.Mutex
	known map[K]*entry[V]
}

type entry[V any] struct {
	once  sync.Once
	value V
	err   error
}

func (m *memo[K, V]) get(key K, make_ func() (V, error)) (V, error) {
	m.mu.Lock()
	if m.known == nil {
		m.known = map[K]*entry[V]{}
	}
	e := m.known[key]
	if e == nil {
		e = &entry[V]{}
		m.known[key] = e
	}
	m.mu.Unlock()
	e.once.Do(func() { e.value, e.err = make_() })
	return e.value, e.err
}
