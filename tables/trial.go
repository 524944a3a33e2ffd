package tables

import (
	"context"
	"fmt"
	"slices"

	"fedsim/data"
)

// trial is the protocol on one set: shuffle, choose lambda by cross-validation,
// train again with it, test.
type trial struct {
	*runner
	ctx   context.Context
	cfg   data.Config
	set   *data.Set
	label string
}

// seed returns the seed of a shuffle.
func (t *trial) seed(shuffle int) uint64 { return t.cfg.Seed + uint64(shuffle) }

// lambdas returns the values to choose from, the largest first.
func (t *trial) lambdas() []float64 {
	descending := slices.Clone(t.table.Lambdas)
	slices.Sort(descending)
	slices.Reverse(descending)
	return descending
}

// validate chooses lambda for each model and shuffle: the one whose models err
// least on the rows that their fold has left out, all folds taken together. Each
// fold is prepared once for all models.
func (t *trial) validate() ([][]Shuffle, error) {
	shuffles, folds, lambdas := t.table.Shuffles, t.table.Folds, t.lambdas()
	parts := make([][][]misses, shuffles*folds) // by shuffle and fold, model, lambda
	err := t.each(len(parts), func(i int) (err error) {
		parts[i], err = t.fold(i/folds, i%folds, lambdas)
		return err
	})
	if err != nil {
		return nil, err
	}
	chosen := make([][]Shuffle, len(t.table.Models))
	for m := range chosen {
		for s := range shuffles {
			shuffle := Shuffle{Seed: t.seed(s), Lambdas: lambdas}
			best := 0
			for l := range lambdas {
				sum := newMisses(len(t.set.Tasks))
				for _, part := range parts[s*folds : (s+1)*folds] {
					sum.add(part[m][l])
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

// fold returns what each model gets wrong under each lambda on a fold of the
// training rows of a shuffle, after training on the other folds. The shuffle's
// test rows are not looked at, not even to scale features.
func (t *trial) fold(shuffle, fold int, lambdas []float64) ([][]misses, error) {
	split, err := t.cfg.Divide(t.set, t.seed(shuffle))
	if err != nil {
		return nil, err
	}
	if split, err = data.Fold(split.Train, t.table.Folds, fold, t.seed(shuffle)); err != nil {
		return nil, err
	}
	if err := t.cfg.Transform(split); err != nil {
		return nil, err
	}
	wrong := make([][]misses, len(t.table.Models))
	for m, model := range t.table.Models {
		wrong[m] = make([]misses, len(lambdas))
		err := t.follow(model, t.table.FoldGap, split.Train, lambdas, func(l int, w *data.Matrix) {
			wrong[m][l] = newMisses(len(split.Test.Tasks))
			wrong[m][l].count(split.Test, w)
		})
		if err != nil {
			return nil, fmt.Errorf("shuffle %d, fold %d, model %q: %w", shuffle, fold, model, err)
		}
	}
	return wrong, nil
}

// test trains each model of each shuffle on all its training rows with the
// lambda chosen for it, and sets Error from the test rows.
func (t *trial) test(chosen [][]Shuffle) error {
	return t.each(t.table.Shuffles, func(s int) error {
		split, err := t.cfg.Divide(t.set, t.seed(s))
		if err != nil {
			return err
		}
		if err := t.cfg.Transform(split); err != nil {
			return err
		}
		for m, model := range t.table.Models {
			shuffle := &chosen[m][s]
			// The way to lambda is that of the cross-validation.
			last := slices.Index(shuffle.Lambdas, shuffle.Lambda)
			err := t.follow(model, t.table.Gap, split.Train, shuffle.Lambdas[:last+1], func(l int, w *data.Matrix) {
				if l == last {
					wrong := newMisses(len(split.Test.Tasks))
					wrong.count(split.Test, w)
					shuffle.Error = wrong.error(t.set.Real)
				}
			})
			if err != nil {
				return fmt.Errorf("shuffle %d, model %q: %w", s, model, err)
			}
		}
		return nil
	})
}

// follow solves a model for each lambda in turn and shows its W.
func (t *trial) follow(model string, gap float64, train *data.Set, lambdas []float64, show func(l int, w *data.Matrix)) error {
	p := newPath(t.table, model, gap, t.problem, train, t.pool)
	for l, lambda := range lambdas {
		w, err := p.solve(t.ctx, lambda)
		if err != nil {
			return err
		}
		show(l, w)
	}
	t.moved(t.label, model)
	return nil
}

// each spreads n pieces of work over the workers and returns the error of the
// first that failed.
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
