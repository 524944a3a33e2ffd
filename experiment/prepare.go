package experiment

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"runtime"
	"sync"

	"fedsim/data"
	"fedsim/experiment/scenario"
	"fedsim/internal/rooms"
	"fedsim/internal/rooms/traces"
	"fedsim/internal/tools/checkpoint"
	"fedsim/internal/tools/parallel"
	"fedsim/internal/tools/state"
	"fedsim/mtl"
	"fedsim/results"
)

// prepared is the problem of a run with its first coupling and its reference optimum.
// Runs with the same data and problem share it and never change it.
type prepared struct {
	problem    *mtl.Problem
	coupling   mtl.Coupling
	optimum    float64 // P*; NaN: no reference optimum
	constant   float64 // R(0) under the coupling of the optimum
	optimumGap float64
	solution   *data.Matrix // W at the optimum; nil: there is no reference
	clients    int
	rows       []int32          // by client, or one number for all in a lazy population
	shape      mtl.Shape        // of a task's model, without hidden layers where problem is nil
	about      *results.DataSet // see results.Run
	test       *results.TestRows
	served     served
}

// Preparation holds data, problems and traces, each computed once. The zero value is empty.
type Preparation struct {
	loaded   memo[data.Config, *data.Set] // whole sets of which folds are made
	splits   memo[data.Config, *data.Split]
	deferred memo[data.Config, *data.Split] // rows that programs of external models read
	problems memo[problemKey, *prepared]
	sizes    memo[sizesKey, *prepared]
	traces   memo[string, []*traces.Set]
	features memo[string, any] // what rooms load once
}

// preparer computes what its Preparation lacks. It fails with the error of its context when
// that ends.
type preparer struct {
	*Preparation
	ctx     context.Context
	pool    *parallel.Pool
	workers int                                                       // of the pool before growFor
	policy  checkpoint.Policy                                         // of states that several processes share
	saver   func(state string) (saver *checkpoint.Saver, shared bool) // see runner.stateSaver
	memory  float64                                                   // of the machine, in bytes; 0: not known

	// Problems with external models, whose programs end with this call; the processes of them; and
	// whether another program than before an interruption is accepted.
	served       memo[problemKey, *prepared]
	sizedModels  memo[problemKey, *prepared] // of runs without learning
	models       memo[modelKey, rooms.Model]
	given        sync.Map       // by problemKey: the mtl.Shape of external models whose programs have started
	programs     sync.Mutex     // held while the program of a model is compared with that of a checkpoint
	others       rooms.Programs // nil: no room has any
	otherProgram bool
}

// aboutData describes the set of a run beyond its scenario; nil: nothing to add.
func aboutData(cfg *data.Config, set *data.Set, rows []int32) *results.DataSet {
	d := &results.DataSet{Name: set.Name, MissingValues: set.Missing.Values}
	for _, label := range set.Labels() {
		d.Labels = append(d.Labels, results.Label(label))
	}
	if set.Missing.Dropped {
		d.DroppedRows = set.Missing.Rows
	} else {
		d.FilledRows = set.Missing.Rows
	}
	if names := cfg.Names(set); names != nil {
		d.Clients = &results.ClientList{Names: names, Rows: rows}
	}
	if d.Labels == nil && d.MissingValues == 0 && d.Clients == nil {
		return nil
	}
	return d
}

// testRows describes the test rows of a split; nil: there are none.
func testRows(s *data.Split) *results.TestRows {
	answer := constantAnswer(s.Train)
	about := &results.TestRows{}
	wrong, rows := 0.0, 0
	for k := range s.Test.Clients {
		y := s.Test.Clients[k].Y
		if n := len(y); n > 0 {
			rows, about.Clients = rows+n, about.Clients+1
			if n < results.FewTestRows {
				about.Few++
			}
		}
		for _, v := range y {
			switch {
			case s.Test.Real:
				wrong += float64((v - answer) * (v - answer))
			case v != answer:
				wrong++
			}
		}
	}
	if rows == 0 {
		return nil
	}
	if about.Constant = wrong / float64(rows); s.Test.Real {
		about.Constant = math.Sqrt(about.Constant)
	}
	return about
}

// constantAnswer returns the most frequent label of a set, the lowest of equal ones; for real targets their mean.
func constantAnswer(set *data.Set) float64 {
	counts, sum, rows, answer := map[float64]int{}, 0.0, 0, math.Inf(1)
	for k := range set.Clients {
		for _, v := range set.Clients[k].Y {
			sum += v
			rows++
			if !set.Real {
				counts[v]++
			}
		}
	}
	if set.Real {
		return sum / float64(rows)
	}
	most := 0
	for v, n := range counts {
		if n > most || n == most && v < answer {
			most, answer = n, v
		}
	}
	return answer
}

// dataOf describes the data of a run, with the classes of its clients in its fleet.
func dataOf(run *scenario.RunSpec, p *prepared) *results.DataSet {
	fleet := run.Settings.Fleet.Fleet()
	if !p.about.NamesClients() || fleet == nil {
		return p.about
	}
	about, list := *p.about, *p.about.Clients
	machines, _ := fleet.Assemble(len(list.Names), nil, run.System) // the class of a device does not depend on its data
	for _, class := range machines.Class {
		list.Classes = append(list.Classes, fleet.Classes[class].Name)
	}
	about.Clients = &list
	return &about
}

type problemKey struct {
	data    data.Config
	problem mtl.Config
	outer   int // outer iterations: the optimum of several differs from that of one
}

type sizesKey struct {
	data data.Config
	lazy bool
}

func keyOf(s *scenario.Settings) problemKey {
	return problemKey{s.Data, s.Problem, s.Run.Outer}
}

// prepare returns the problem of a run.
func (p *preparer) prepare(s *scenario.Settings) (*prepared, error) {
	of := keyOf(s)
	problems := &p.problems
	if s.Problem.Model == mtl.ModelExternal && s.Run.Mode == scenario.Timing {
		return p.timed(s)
	} else if s.Problem.Model == mtl.ModelExternal {
		problems = &p.served
	} else if s.Data.Source == data.SourceExternal {
		return p.sizesOf(s)
	}
	if s.Run.Mode == scenario.Timing {
		return p.sizesOf(s)
	}
	return problems.get(of, func() (*prepared, error) {
		r := p.newReference(of)
		made, err := parallel.Await(p.ctx, func() (*prepared, error) {
			rows := of
			rows.data = of.data.AnyMemory()
			split, err := p.rowsOf(&rows)
			if err != nil {
				return nil, err
			}
			return r.limited(split)
		})
		if err != nil {
			return nil, err
		}
		return made, r.save(made)
	})
}

// sizesOf returns the sizes of the data of a run, without a problem.
func (p *preparer) sizesOf(s *scenario.Settings) (*prepared, error) {
	of := sizesKey{s.Data, s.Federation.Lazy()}
	return p.sizes.get(of, func() (*prepared, error) {
		return parallel.Await(p.ctx, func() (*prepared, error) {
			sized := &prepared{optimum: math.NaN(), optimumGap: math.NaN()}
			if of.lazy {
				if clients, rows, features, outputs, ok := data.EqualSizes(of.data); ok {
					sized.clients, sized.rows, sized.shape = clients, []int32{rows},
						mtl.Shape{Features: features, Outputs: outputs}
					return sized, nil
				}
			}
			rows, names, features, outputs, err := data.Sizes(of.data)
			sized.clients, sized.rows, sized.shape = len(rows), rows, mtl.Shape{Features: features, Outputs: outputs}
			if names != nil {
				sized.about = &results.DataSet{Name: filepath.Base(of.data.Path),
					Clients: &results.ClientList{Names: names, Rows: rows}}
			}
			return sized, err
		})
	})
}

// split returns the data of a run. It rejects a file whose rows have changed since the
// interruption: runs resume from checkpoints that belong to the old rows.
func (p *preparer) split(of data.Config, prepare func(data.Config) (*data.Split, error)) (*data.Split, error) {
	split, err := prepare(of)
	if err != nil || of.Source == data.SourceSynthetic {
		return split, err
	}
	runtime.GC() // frees the content of the file: with rows that fill the heap, the next collection is far
	if err := split.Learnable(of); err != nil {
		return nil, err // before there is a checkpoint: other rows cannot resume
	}
	return split, p.unchanged(fmt.Sprintf("data %+v", of), split.Parts())
}

// unchanged rejects sets with other rows than before an interruption, when they were saved under a name.
func (p *preparer) unchanged(name string, sets []*data.Set) error {
	saver := p.policy.Saver(p.ctx, name)
	if saver == nil {
		return nil
	}
	rows := func(c *state.Coder) {
		for _, set := range sets {
			sameRows(c, set)
		}
	}
	found, err := saver.Load(rows)
	if err == nil && !found {
		err = saver.Save(rows)
	}
	return err
}

// whole returns the configuration of the rows before they are divided.
func whole(of data.Config) data.Config {
	of.Split, of.Folds, of.Fold, of.Pool = 0, 0, 0, false
	return of
}

// divided returns the data of a run, or of a fold, from a set that is read once for all of them.
func (p *preparer) divided(of data.Config) (*data.Split, error) {
	all := whole(of)
	set, err := p.loaded.get(all, func() (*data.Set, error) {
		set, err := data.Load(all)
		if err != nil || all.Source == data.SourceSynthetic {
			return set, err
		}
		return set, p.unchanged(fmt.Sprintf("loaded %+v", all), []*data.Set{set})
	})
	if err != nil {
		return nil, err
	}
	return data.PrepareLoaded(set, of)
}

// forget drops the rows and the problem of a run that no other run needs.
func (p *preparer) forget(s *scenario.Settings) {
	p.splits.forget(s.Data.AnyMemory())
	p.problems.forget(keyOf(s))
}

// sameRows encodes the digest of a set, or requires it to equal the decoded one.
func sameRows(c *state.Coder, set *data.Set) {
	now := set.Digest()
	digest := now
	if c.Uint64(&digest); digest != now {
		c.Fail(errOtherRows)
	}
}

// memo computes a value for each key once. Other callers wait for it. After an error a later
// caller tries again.
type memo[K comparable, V any] struct {
	mu    sync.Mutex
	known map[K]*memoEntry[V]
}

type memoEntry[V any] struct {
	once  sync.Once
	value V
	err   error
}

// has reports whether a value is computed, or is being so.
func (m *memo[K, V]) has(key K) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.known[key] != nil
}

// forget drops a value, which is computed again if it is asked for.
func (m *memo[K, V]) forget(key K) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.known, key)
}

func (m *memo[K, V]) get(key K, make_ func() (V, error)) (V, error) {
	m.mu.Lock()
	if m.known == nil {
		m.known = map[K]*memoEntry[V]{}
	}
	e := m.known[key]
	if e == nil {
		e = &memoEntry[V]{}
		m.known[key] = e
	}
	m.mu.Unlock()
	e.once.Do(func() {
		if e.value, e.err = make_(); e.err != nil {
			m.mu.Lock()
			defer m.mu.Unlock()
			delete(m.known, key)
		}
	})
	return e.value, e.err
}
