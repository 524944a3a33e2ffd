package crossval

import (
	"context"
	"fmt"
	"sync"

	"fedsim/data"
	"fedsim/internal/checkpoint"
	"fedsim/internal/parallel"
	"fedsim/mtl"
)

// Options say how a table is made; none of them changes its figures.
type Options struct {
	Workers  int            // 0: one per core
	Folder   string         // where files are looked for that are not found as they are named; empty: nowhere
	Progress func(Progress) // nil: none; calls do not overlap

	// Checkpoint keeps how far each set has come, when a model is solved for one lambda more,
	// when the set is through, and when ctx ends; and the table goes on with what was
	// kept. It refuses what was kept of other rows.
	Checkpoint checkpoint.Policy
}

// Progress is how far a table has come.
type Progress struct {
	Done, Total int // models solved for all lambdas, over all sets
	Set, Model  string
}

// Run makes the table for a problem whose loss, loss scaling and regularizer all
// models share, its lambda aside. Nothing is loaded unless the data of every set
// are there. When ctx ends so does Run, with ctx's error.
func (t *Table) Run(ctx context.Context, problem mtl.Config, o Options) (*Result, error) {
	result := &Result{Name: t.Name, Config: t.Config}
	sources := make([]Source, len(t.Sets))
	for i := range t.Sets {
		var err error
		if sources[i], err = t.Sets[i].Locate(o.Folder); err != nil {
			return nil, err
		}
	}
	r := &runner{
		name: t.Name, table: &t.Config, problem: problem, checkpoint: o.Checkpoint, pool: parallel.NewPool(o.Workers), report: o.Progress,
		total: len(t.Sets) * len(t.Models) * t.Shuffles * (t.Folds + 1),
	}
	for i := range t.Sets {
		column, err := r.column(ctx, &t.Sets[i], sources[i])
		if err != nil {
			return nil, fmt.Errorf("table %s, data set %q: %w", t.Name, t.Sets[i].Label, err)
		}
		result.Columns = append(result.Columns, *column)
	}
	return result, nil
}

// runner computes the columns of a table.
type runner struct {
	name       string
	table      *Config
	problem    mtl.Config
	checkpoint checkpoint.Policy
	pool       *parallel.Pool

	mu     sync.Mutex
	report func(Progress)
	done   int
	total  int
}

// column computes the errors of all models on a set.
func (r *runner) column(ctx context.Context, s *Set, from Source) (*Column, error) {
	set, err := parallel.Await(ctx, func() (*data.Set, error) { return data.Load(from.Config) })
	if err != nil {
		return nil, err
	}
	c, err := newTrial(ctx, r, s.Label, from, set)
	if err != nil {
		return nil, err
	}
	shuffles, err := c.run()
	if err != nil {
		return nil, err
	}
	column := &Column{
		Label: s.Label, Source: from.Text, Generated: from.Generated || set.Generated,
		Tasks: len(set.Tasks), Real: set.Real,
	}
	for i, model := range r.table.Models {
		column.Models = append(column.Models, summarize(model, shuffles[i], s.Paper))
	}
	return column, nil
}

// moved passes progress on.
func (r *runner) moved(set, model string) {
	if r.report == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done++
	r.report(Progress{Done: r.done, Total: r.total, Set: set, Model: model})
}

// had counts a model that was solved before an interruption, which is no progress.
func (r *runner) had() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done++
}
