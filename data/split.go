package data

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"fedsim/internal/rng"
)

// Split is a set divided into training and test rows. Both halves have the same tasks in
// the same order; a task of Test may have no rows. The halves own their values.
type Split struct{ Train, Test *Set }

// SplitSet holds out a share in [0, 1) of each task's rows, chosen by the stream (seed,
// Split, task, 0). Of n rows, floor((1-testFraction) n), at least one, are for training.
// With 0.25 that gives the 210 and 306 of the paper's Table 2 for the 281 and 409 rows
// of the smallest and largest subject of the UCI archive. Rows keep their order. It
// fails if a task has no rows.
func SplitSet(set *Set, testFraction float64, seed uint64) (*Split, error) {
	if !(testFraction >= 0 && testFraction < 1) {
		return nil, fmt.Errorf("split of %s: test fraction %v must be in [0, 1)", set.Name, testFraction)
	}
	return divide(set, func(t int) (train, test []int32) {
		return divided(set.Tasks[t].X.Rows, testFraction, seed, t)
	})
}

// divided returns the training and test rows of task t.
func divided(rows int, testFraction float64, seed uint64, t int) (train, test []int32) {
	var order []int32
	return dividedInto(&order, rows, testFraction, seed, t)
}

// dividedInto is divided with a reusable buffer for the order.
func dividedInto(order *[]int32, rows int, testFraction float64, seed uint64, t int) (train, test []int32) {
	*order = permute(*order, rows, seed, rng.Split, t)
	n := trainingRows(rows, testFraction)
	return (*order)[:n], (*order)[n:]
}

// Fold returns fold number fold, from 0, of a cross-validation: each row is tested in
// exactly one fold. The rows of a task are dealt in an order drawn from (seed,
// ClientSplit, task, 0). A task with a single row uses it for training in every fold. It
// fails if a task has no rows or there are fewer than two folds.
func Fold(set *Set, folds, fold int, seed uint64) (*Split, error) {
	if folds < 2 || fold < 0 || fold >= folds {
		return nil, fmt.Errorf("cross-validation of %s: fold %d of %d: there must be at least 2 folds, numbered from 0", set.Name, fold, folds)
	}
	return divide(set, func(t int) (train, test []int32) {
		for i, row := range permutation(set.Tasks[t].X.Rows, seed, rng.ClientSplit, t) {
			if i%folds == fold && set.Tasks[t].X.Rows > 1 {
				test = append(test, row)
			} else {
				train = append(train, row)
			}
		}
		return train, test
	})
}

// trainingRows returns the number of training rows of n. The tiny term undoes the
// rounding of 1-testFraction, which would lose a row of 10 for 0.9.
func trainingRows(n int, testFraction float64) int {
	return max(1, int(math.Floor(float64((1-testFraction)*float64(n))+1e-9)))
}

// permutation returns the rows of a task in random order.
func permutation(n int, seed uint64, purpose rng.Purpose, task int) []int32 {
	return permute(nil, n, seed, purpose, task)
}

// permute is permutation with a reusable buffer.
func permute(order []int32, n int, seed uint64, purpose rng.Purpose, task int) []int32 {
	order = slices.Grow(order[:0], n)[:n]
	for i := range order {
		order[i] = int32(i)
	}
	stream := rng.New(seed, purpose, task, 0)
	stream.Shuffle(order)
	return order
}

// divide builds both halves from the rows chosen for each task.
func divide(set *Set, choose func(t int) (train, test []int32)) (*Split, error) {
	split := &Split{Train: set.empty(), Test: set.empty()}
	for t := range set.Tasks {
		task := &set.Tasks[t]
		var train, test []int32
		if task.X.Rows > 0 {
			train, test = choose(t)
		}
		if len(train) == 0 {
			return nil, fmt.Errorf("split of %s: task %q: %w", set.Name, task.Name, errNoRows)
		}
		split.Train.Tasks[t] = task.pick(train)
		split.Test.Tasks[t] = task.pick(test)
	}
	return split, nil
}

var errNoRows = errors.New("the task has no rows: must have at least one for training")

// empty returns a set like s without the contents of its tasks.
func (s *Set) empty() *Set {
	e := *s
	e.FeatureNames = slices.Clone(s.FeatureNames)
	e.Tasks = make([]Task, len(s.Tasks))
	return &e
}

// pick returns a copy of the given rows, in the order of the task. It sorts rows.
func (t *Task) pick(rows []int32) Task {
	slices.Sort(rows)
	p := Task{Name: t.Name, Y: make([]float64, len(rows))}
	for i, row := range rows {
		p.Y[i] = t.Y[row]
	}
	if !t.X.Dense() {
		p.X = t.X.pick(rows)
		return p
	}
	p.X = newRows(t.X.Single != nil, len(rows), t.X.Cols)
	for i, row := range rows {
		p.X.copyRow(i, &t.X, int(row))
	}
	return p
}
