package crossval

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"fedsim/data"
	"fedsim/internal/checkpoint"
)

// trial computes the errors on one data set: for each shuffle, choose lambda by
// cross-validation, train with it on all training rows, and test. A shuffle has one part
// for each fold and one for the test. Each model has a path on each part.
type trial struct {
	*runner
	ctx    context.Context
	cancel context.CancelFunc
	cfg    data.Config
	set    *data.Set
	label  string
	source string // origin of the rows

	checkpoint *checkpoint.Saver // nil: none
	whole      *checkpoint.Saver // of the complete state; nil: it is not shared, or was restored
	from       *checkpoint.Saver // that the state was restored from; nil: none
	digest     uint64            // of set; 0 without a checkpoint

	mu      sync.Mutex    // guards the fields below
	paths   [][]pathState // by part and model
	unsaved bool          // paths has grown since the last checkpoint
	saveErr error         // of the first checkpoint that failed
}

// newTrial prepares a trial and restores its checkpoint. A trial runs once and ends with
// ctx.
func newTrial(ctx context.Context, r *runner, label string, from Source, set *data.Set) (*trial, error) {
	name := StateName(r.name, label)
	t := &trial{
		runner: r, cfg: from.Config, set: set, label: label, source: from.Text,
		checkpoint: r.checkpoint.Saver(ctx, name), whole: r.shared.Saver(ctx, name),
		paths: make([][]pathState, r.table.Shuffles*(r.table.Folds+1)),
	}
	for part := range t.paths {
		t.paths[part] = make([]pathState, len(r.table.Models))
	}
	t.ctx, t.cancel = context.WithCancel(ctx)
	return t, t.restore()
}

// run returns all shuffles of each model. It saves a checkpoint when ctx ends.
func (t *trial) run() ([][]Shuffle, error) {
	defer t.cancel()
	shuffles, err := t.validate()
	if err == nil {
		err = t.test(shuffles)
	}
	if err == nil || t.ctx.Err() != nil {
		t.saveRest()
	}
	if err == nil && t.saveErr == nil && t.whole != nil {
		t.saveErr = t.whole.Save(t.state)
	}
	if t.saveErr != nil {
		return nil, t.saveErr
	}
	return shuffles, err
}

// seed returns the seed of a shuffle.
func (t *trial) seed(shuffle int) uint64 { return t.cfg.SplitSeed() + uint64(shuffle) }

// lambdas returns the candidates, the largest first.
func (t *trial) lambdas() []float64 {
	descending := slices.Clone(t.table.Lambdas)
	slices.Sort(descending)
	slices.Reverse(descending)
	return descending
}

// validate chooses lambda for each model and shuffle: the one with the lowest error on
// the held-out rows of all folds together. Each fold is prepared once for all models.
func (t *trial) validate() ([][]Shuffle, error) {
	shuffles, folds, lambdas := t.table.Shuffles, t.table.Folds, t.lambdas()
	err := t.each(shuffles*folds, func(i int) error { return t.fold(i/folds, i%folds, lambdas) })
	if err != nil {
		return nil, err
	}
	chosen := make([][]Shuffle, len(t.table.Models))
	for m := range chosen {
		for s := range shuffles {
			shuffle := Shuffle{Seed: t.seed(s), Lambdas: lambdas}
			best := 0
			for l := range lambdas {
				sum := newTaskErrors(len(t.set.Tasks))
				for fold := range folds {
					sum.add(t.paths[t.part(s, fold)][m].errors[l])
				}
				shuffle.Validation = append(shuffle.Validation, sum.error(t.set.Real))
				if shuffle.Validation[l] < shuffle.Validation[best] {
					best = l
				}
			}
			shuffle.Lambda = lambdas[best]
			chosen[m] = append(chosen[m], shuffle)
		}
	}
	return chosen, nil
}

// part returns the index of the part of a fold. The test of a shuffle follows its folds.
func (t *trial) part(shuffle, fold int) int { return shuffle*(t.table.Folds+1) + fold }

// fold trains each model with each lambda on all folds of a shuffle's training rows but
// one, and tests it on that fold. It never uses the shuffle's test rows, not even to scale
// features.
func (t *trial) fold(shuffle, fold int, lambdas []float64) error {
	each := make([][]float64, len(t.table.Models))
	for m := range each {
		each[m] = lambdas
	}
	err := t.train(t.part(shuffle, fold), t.table.FoldGap, each, func() (*data.Split, error) {
		split, err := t.cfg.Divide(t.set, t.seed(shuffle))
		if err != nil {
			return nil, err
		}
		return data.Fold(split.Train, t.table.Folds, fold, t.seed(shuffle))
	})
	if err != nil {
		return fmt.Errorf("shuffle %d, fold %d, %w", shuffle, fold, err)
	}
	return nil
}

// test trains each model of each shuffle on all its training rows with the chosen lambda,
// and sets Error from the test rows.
func (t *trial) test(chosen [][]Shuffle) error {
	return t.each(t.table.Shuffles, func(s int) error {
		// Warm starts come from the larger lambdas, as in the cross-validation.
		lambdas := make([][]float64, len(chosen))
		for m := range lambdas {
			all := chosen[m][s].Lambdas
			lambdas[m] = all[:slices.Index(all, chosen[m][s].Lambda)+1]
		}
		part := t.part(s, t.table.Folds)
		err := t.train(part, t.table.Gap, lambdas, func() (*data.Split, error) { return t.cfg.Divide(t.set, t.seed(s)) })
		if err != nil {
			return fmt.Errorf("shuffle %d, %w", s, err)
		}
		for m := range lambdas {
			chosen[m][s].Error = t.paths[part][m].errors[len(lambdas[m])-1].error(t.set.Real)
		}
		return nil
	})
}

// train solves each model on a part for its lambdas, in turn. It divides the rows only
// when the checkpoint does not hold all results.
func (t *trial) train(part int, gap float64, lambdas [][]float64, divide func() (*data.Split, error)) error {
	var split *data.Split
	for m, model := range t.table.Models {
		x := &t.paths[part][m]
		if len(x.errors) == len(lambdas[m]) {
			t.skip()
			continue
		}
		if split == nil {
			var err error
			if split, err = divide(); err != nil {
				return err
			}
			if err = t.cfg.Transform(split); err != nil {
				return err
			}
		}
		if err := t.solve(x, newPath(t.table, model, gap, t.problem, split.Train, t.pool), split.Test, lambdas[m]); err != nil {
			return fmt.Errorf("model %q: %w", model, err)
		}
		t.advance(t.label, model)
	}
	return nil
}

// solve solves a model for each lambda that its state does not have yet, and records its
// errors on the test rows.
func (t *trial) solve(x *pathState, p *path, test *data.Set, lambdas []float64) error {
	if done := len(x.errors); done > 0 {
		if done > len(lambdas) || !x.next.fits(p.train) {
			return t.from.Reject(errMismatch)
		}
		p.next = x.next
	}
	for l := len(x.errors); l < len(lambdas); l++ {
		w, err := p.solve(t.ctx, lambdas[l])
		if err != nil {
			return err
		}
		errors := newTaskErrors(len(test.Tasks))
		errors.count(test, w)
		if l == len(lambdas)-1 {
			p.next = warmStart{}
		}
		t.record(x, errors, p.next)
	}
	return nil
}

// each runs work for 0, ..., n-1 on the workers and returns the error with the lowest
// index.
func (t *trial) each(n int, work func(i int) error) error {
	failed := make([]error, n)
	t.pool.For(n, func(i, _ int) {
		if failed[i] = t.ctx.Err(); failed[i] == nil {
			failed[i] = work(i)
		}
	})
	for _, err := range failed {
		if err != nil {
			return err
		}
	}
	return nil
}
