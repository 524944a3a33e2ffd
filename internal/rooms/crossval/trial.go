package crossval

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"fedsim/data"
	"fedsim/internal/tools/parallel"
	"fedsim/internal/tools/state"
	"fedsim/mtl"
)

// Trial computes the errors of all models of a table on one data set: for each shuffle, it chooses lambda
// by cross-validation, trains with it on all training rows, and tests. Its parts are the folds of all
// shuffles, then a test for each shuffle. Tests need all folds. The caller makes the parts, in parallel if
// it likes.
type Trial struct {
	table   *Config
	problem mtl.Config
	set     Set
	from    Source
	rows    *data.Set
	pool    *parallel.Pool

	mu sync.Mutex // guards errors
	// errors has, by part and model, the errors of a fold for each lambda, the largest first, and the
	// errors of a test for the chosen one; nil: not trained.
	errors [][][]taskErrors
}

// NewTrial loads the rows of a data set of a table. All models share the loss, the loss scaling and the
// regularizer of the problem, but not its lambda.
func NewTrial(t *TableSpec, set *Set, from Source, problem mtl.Config, pool *parallel.Pool) (*Trial, error) {
	rows, err := data.Load(from.Config)
	if err != nil {
		return nil, err
	}
	return newTrial(&t.Config, *set, from, problem, rows, pool), nil
}

func newTrial(table *Config, set Set, from Source, problem mtl.Config, rows *data.Set, pool *parallel.Pool) *Trial {
	t := &Trial{table: table, problem: problem, set: set, from: from, rows: rows, pool: pool}
	t.errors = make([][][]taskErrors, t.Parts())
	for part := range t.errors {
		t.errors[part] = make([][]taskErrors, len(table.Models))
	}
	return t
}

// Rows returns the rows of the data set.
func (t *Trial) Rows() *data.Set { return t.rows }

// Folds returns the number of folds of all shuffles, the first parts.
func (t *Trial) Folds() int { return t.table.Shuffles * t.table.Folds }

// Parts returns the number of parts.
func (t *Trial) Parts() int { return t.Folds() + t.table.Shuffles }

// Trained returns the number of models that are trained on a part.
func (t *Trial) Trained(part int) (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for m := range t.errors[part] {
		if t.errors[part][m] != nil {
			n++
		}
	}
	return n
}

// Train trains and tests the models that are not trained on a part, and calls trained after each. An
// error of trained ends it. If ctx ends first, Train returns its error.
func (t *Trial) Train(ctx context.Context, part int, trained func(model string) error) error {
	shuffle := t.shuffle(part)
	about := fmt.Sprintf("shuffle %d", shuffle)
	if part < t.Folds() {
		about += fmt.Sprintf(", fold %d", part%t.table.Folds)
	}
	if t.Trained(part) == len(t.table.Models) {
		return nil
	}
	split, err := t.divide(part)
	if err != nil {
		return fmt.Errorf("%s, %w", about, err)
	}
	for m, model := range t.table.Models {
		if t.errors[part][m] != nil {
			continue
		}
		counts, err := t.solve(ctx, part, m, split)
		if err != nil {
			return fmt.Errorf("%s, model %q: %w", about, model, err)
		}
		t.mu.Lock()
		t.errors[part][m] = counts
		t.mu.Unlock()
		if err := trained(model); err != nil {
			return err
		}
	}
	return nil
}

func (t *Trial) shuffle(part int) int {
	if part < t.Folds() {
		return part / t.table.Folds
	}
	return part - t.Folds()
}

func (t *Trial) seed(shuffle int) uint64 { return t.from.Config.SplitSeed() + uint64(shuffle) }

// lambdas returns the candidates, the largest first.
func (t *Trial) lambdas() []float64 {
	descending := slices.Clone(t.table.Lambdas)
	slices.Sort(descending)
	slices.Reverse(descending)
	return descending
}

// divide returns the training and test rows of a part. A fold never uses the shuffle's test rows, not
// even to scale features.
func (t *Trial) divide(part int) (*data.Split, error) {
	seed := t.seed(t.shuffle(part))
	split, err := t.from.Config.Divide(t.rows, seed)
	if err == nil && part < t.Folds() {
		split, err = data.Fold(split.Train, t.table.Folds, part%t.table.Folds, seed)
	}
	if err != nil {
		return nil, err
	}
	return split, t.from.Config.Transform(split)
}

// solve trains a model on a part, with each lambda of a fold, or with the chosen one. Its warm starts come
// from the larger lambdas. It returns the errors on the test rows.
func (t *Trial) solve(ctx context.Context, part, model int, split *data.Split) (all []taskErrors, err error) {
	lambdas, gap := t.lambdas(), t.table.FoldGap
	if part >= t.Folds() {
		chosen := t.choose(t.shuffle(part), model).Lambda
		lambdas, gap = lambdas[:slices.Index(lambdas, chosen)+1], t.table.Gap
	}
	p := newPath(t.table, t.table.Models[model], gap, t.problem, split.Train, t.pool)
	for l, lambda := range lambdas {
		w, err := p.solve(ctx, lambda)
		if err != nil {
			return nil, err
		}
		if part >= t.Folds() && l < len(lambdas)-1 {
			continue
		}
		counts := newTaskErrors(len(split.Test.Clients))
		counts.count(split.Test, w)
		all = append(all, counts)
	}
	return all, nil
}

// choose chooses lambda for a model and a shuffle: the one with the lowest error on the held-out rows of
// all folds together.
func (t *Trial) choose(shuffle, model int) Shuffle {
	s := Shuffle{Seed: t.seed(shuffle), Lambdas: t.lambdas()}
	best := 0
	for l := range s.Lambdas {
		sum := newTaskErrors(len(t.rows.Clients))
		for fold := range t.table.Folds {
			sum.add(t.errors[shuffle*t.table.Folds+fold][model][l])
		}
		s.Validation = append(s.Validation, sum.error(t.rows.Real))
		if s.Validation[l] < s.Validation[best] {
			best = l
		}
	}
	s.Lambda = s.Lambdas[best]
	return s
}

// Column returns the column of the table. All parts must be trained.
func (t *Trial) Column() Column {
	column := Column{
		Label: t.set.Label, Source: t.from.Text, Generated: t.from.Generated || t.rows.Generated,
		Tasks: len(t.rows.Clients), Real: t.rows.Real,
	}
	for m, model := range t.table.Models {
		var shuffles []Shuffle
		for s := range t.table.Shuffles {
			chosen := t.choose(s, m)
			chosen.Error = t.errors[t.Folds()+s][m][0].error(t.rows.Real)
			shuffles = append(shuffles, chosen)
		}
		column.Models = append(column.Models, summarize(model, shuffles, t.set.Paper))
	}
	return column
}

// errMismatch says that a state does not match the table.
var errMismatch = errors.New("it belongs to another table")

// State encodes or decodes the shape of the table and the origin of the rows, which must be the same, and
// the errors of the parts so far.
func (t *Trial) State(c *state.Coder) {
	t.mu.Lock()
	defer t.mu.Unlock()
	shape := []int{t.table.Shuffles, t.table.Folds, len(t.table.Models), len(t.table.Lambdas)}
	coded := slices.Clone(shape)
	if c.Ints(coded); !slices.Equal(coded, shape) {
		c.Fail(errMismatch)
	}
	source := t.from.Text
	if c.String(&source); source != t.from.Text {
		c.Fail(fmt.Errorf("its rows are from %q, those of the table from %q", source, t.from.Text))
	}
	for part := range t.errors {
		want := 1
		if part < t.Folds() {
			want = len(t.table.Lambdas)
		}
		for m := range t.errors[part] {
			n := c.Count(len(t.errors[part][m]))
			if n != 0 && n != want {
				c.Fail(errMismatch)
			}
			for l := 0; l < n && c.Err() == nil; l++ {
				if c.Reads() {
					t.errors[part][m] = append(t.errors[part][m], newTaskErrors(len(t.rows.Clients)))
				}
				c.Float64s(t.errors[part][m][l].sum)
				c.Ints(t.errors[part][m][l].rows)
			}
		}
	}
}
