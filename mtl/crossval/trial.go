package crossval

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"fedsim/data"
	"fedsim/internal/checkpoint"
)

// trial is the protocol on one set: shuffle, choose lambda by cross-validation,
// train again with it, test. A shuffle has a part for each fold and one for the
// test; each model leaves a trail on each part.
type trial struct {
	*runner
	ctx    context.Context
	cancel context.CancelFunc
	cfg    data.Config
	set    *data.Set
	label  string
	source string // where the rows come from

	kept   *checkpoint.Saver // nil: it is not kept
	digest uint64            // of set, when it is

	mu     sync.Mutex // of trails as long as there are several goroutines
	trails [][]trail  // by part and model
	fresh  bool       // they have grown since they were kept
	unkept error      // why they could not be
}

// newTrial prepares a trial that goes on with what was kept of it. It is to be run
// once, and ends with ctx.
func newTrial(ctx context.Context, r *runner, label string, from Source, set *data.Set) (*trial, error) {
	t := &trial{
		runner: r, cfg: from.Config, set: set, label: label, source: from.Text,
		kept:   r.checkpoint.Saver(ctx, fmt.Sprintf("table %s, data set %q", r.name, label)),
		trails: make([][]trail, r.table.Shuffles*(r.table.Folds+1)),
	}
	for part := range t.trails {
		t.trails[part] = make([]trail, len(r.table.Models))
	}
	t.ctx, t.cancel = context.WithCancel(ctx)
	return t, t.recall()
}

// run returns all shuffles of each model. When ctx ends, what there is is kept.
func (t *trial) run() ([][]Shuffle, error) {
	defer t.cancel()
	shuffles, err := t.validate()
	if err == nil {
		err = t.test(shuffles)
	}
	if err == nil || t.ctx.Err() != nil {
		t.leave()
	}
	if t.unkept != nil {
		return nil, t.unkept
	}
	return shuffles, err
}

// seed returns the seed of a shuffle.
func (t *trial) seed(shuffle int) uint64 { return t.cfg.SplitSeed() + uint64(shuffle) }

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
				sum := newMisses(len(t.set.Tasks))
				for fold := range folds {
					sum.add(t.trails[t.part(s, fold)][m].wrong[l])
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

// part returns the part of a fold of a shuffle; that of its test comes after its
// folds.
func (t *trial) part(shuffle, fold int) int { return shuffle*(t.table.Folds+1) + fold }

// fold trains each model under each lambda on all folds of the training rows of a
// shuffle but one, and tests it on that one. The shuffle's test rows are not looked
// at, not even to scale features.
func (t *trial) fold(shuffle, fold int, lambdas []float64) error {
	wanted := make([][]float64, len(t.table.Models))
	for m := range wanted {
		wanted[m] = lambdas
	}
	err := t.train(t.part(shuffle, fold), t.table.FoldGap, wanted, func() (*data.Split, error) {
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

// test trains each model of each shuffle on all its training rows with the
// lambda chosen for it, and sets Error from the test rows.
func (t *trial) test(chosen [][]Shuffle) error {
	return t.each(t.table.Shuffles, func(s int) error {
		// The way to lambda is that of the cross-validation.
		ways := make([][]float64, len(chosen))
		for m := range ways {
			all := chosen[m][s].Lambdas
			ways[m] = all[:slices.Index(all, chosen[m][s].Lambda)+1]
		}
		part := t.part(s, t.table.Folds)
		err := t.train(part, t.table.Gap, ways, func() (*data.Split, error) { return t.cfg.Divide(t.set, t.seed(s)) })
		if err != nil {
			return fmt.Errorf("shuffle %d, %w", s, err)
		}
		for m, way := range ways {
			chosen[m][s].Error = t.trails[part][m].wrong[len(way)-1].error(t.set.Real)
		}
		return nil
	})
}

// train follows each model on a part along its lambdas, in turn. The rows are
// divided when there is anything left to do.
func (t *trial) train(part int, gap float64, ways [][]float64, divide func() (*data.Split, error)) error {
	var split *data.Split
	for m, model := range t.table.Models {
		x := &t.trails[part][m]
		if len(x.wrong) == len(ways[m]) {
			t.had()
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
		if err := t.follow(x, newPath(t.table, model, gap, t.problem, split.Train, t.pool), split.Test, ways[m]); err != nil {
			return fmt.Errorf("model %q: %w", model, err)
		}
		t.moved(t.label, model)
	}
	return nil
}

// follow solves a model for each of the lambdas in turn that its trail does not have
// yet, and notes what it gets wrong on test rows.
func (t *trial) follow(x *trail, p *path, test *data.Set, lambdas []float64) error {
	if done := len(x.wrong); done > 0 {
		if done > len(lambdas) || !x.next.fits(p.train) {
			return t.kept.Reject(errOther)
		}
		p.next = x.next
	}
	for l := len(x.wrong); l < len(lambdas); l++ {
		w, err := p.solve(t.ctx, lambdas[l])
		if err != nil {
			return err
		}
		wrong := newMisses(len(test.Tasks))
		wrong.count(test, w)
		if l == len(lambdas)-1 {
			p.next = start{}
		}
		t.note(x, wrong, p.next)
	}
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
