package data

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"fedsim/config"
	"fedsim/internal/tools/quote"
)

// The kinds of the targets Y of a set.
const (
	TargetClass   = "class"   // labels of two classes, -1 and +1
	TargetClasses = "classes" // the numbers of several classes, from 0
	TargetReal    = "real"    // real numbers
)

// mostClasses limits the number of classes, so that real numbers are not taken for labels.
const mostClasses = 1 << 12

// ErrOneClass is the error for a set whose labels are all equal, so that no model can be
// learned.
var ErrOneClass = errors.New("all labels are of one class")

// ErrOneTarget is the error for a set whose real targets are all equal.
var ErrOneTarget = errors.New("all targets are the same number")

// Outputs returns the number of scores that a model has for a row: one for each of several
// classes, otherwise 1.
func (s *Set) Outputs() int { return max(1, len(s.Classes)) }

// requireVariety returns ErrOneClass unless the set has two different labels, or
// ErrOneTarget unless its real targets differ.
func (s *Set) requireVariety() error {
	low, high := math.Inf(1), math.Inf(-1)
	for t := range s.Clients {
		for _, y := range s.Clients[t].Y {
			low, high = min(low, y), max(high, y)
		}
	}
	switch {
	case low < high:
		return nil
	case s.Real:
		return ErrOneTarget
	default:
		return ErrOneClass
	}
}

// Learnable returns a *ParseError if the training rows of a file are all of one class, or have
// no feature but 0.
func (s *Split) Learnable(cfg Config) error {
	if cfg.Path == "" {
		return nil
	}
	err := s.Train.requireVariety()
	switch {
	case errors.Is(err, ErrOneClass):
	case s.Train.zero():
		err = errors.New("all features are 0 in every row (data.standardize makes constant features 0)")
	default:
		return nil
	}
	return &ParseError{File: cfg.Path, Problem: "the training rows cannot be learned from", Err: err}
}

// zero reports whether all features of all rows are 0.
func (s *Set) zero() bool {
	space := make([]float64, s.Features)
	for t := range s.Clients {
		if !s.zeroClient(t, space) {
			return false
		}
	}
	return true
}

// zeroClient is zero of the rows of a client.
func (s *Set) zeroClient(t int, space []float64) bool {
	task := s.Open(t)
	defer task.Close()
	for i := range task.X.Rows {
		if task.X.SquaredNorm(i, space) > 0 {
			return false
		}
	}
	return true
}

// setTarget makes the targets of data.target of those of the file at a path, which are
// numbers, or indices into Classes. Numbers as labels are classes in ascending order. The
// error is a *ParseError.
func (c *Config) setTarget(set *Set, path string) error {
	fail := func(problem string) error { return &ParseError{File: path, Problem: problem} }
	if c.Target == TargetReal {
		if set.Classes != nil {
			return fail(fmt.Sprintf("has labels (%s), not numbers: data.target must be \"class\" or \"classes\"",
				listClasses(set.Classes)))
		}
		set.Real = true
	} else if set.Classes == nil {
		if problem := set.numberClasses(); problem != "" {
			return fail(problem)
		}
	}
	if err := set.requireVariety(); err != nil {
		return &ParseError{File: path, Problem: "cannot be learned from", Err: err}
	}
	if c.Target != TargetClass {
		return nil
	}
	positive, err := c.positive(set.Classes)
	if err != nil {
		return fail(err.Error())
	}
	if err := set.oneAgainstRest(positive); err != nil {
		return &ParseError{File: path,
			Problem: fmt.Sprintf("with %s as the positive class (data.positive_class)", quote.Text(set.Signs[1])),
			Err:     err}
	}
	return nil
}

// numberClasses replaces numeric labels by the numbers of their classes.
func (s *Set) numberClasses() (problem string) {
	var labels []float64
	for t := range s.Clients {
		for _, y := range s.Clients[t].Y {
			at, known := slices.BinarySearch(labels, y)
			if known {
				continue
			}
			if len(labels) == mostClasses {
				return fmt.Sprintf("has more than %d different labels: data.target must be \"real\" for numbers",
					mostClasses)
			}
			labels = slices.Insert(labels, at, y)
		}
	}
	for _, y := range labels {
		s.Classes = append(s.Classes, strconv.FormatFloat(y, 'g', -1, 64))
	}
	for t := range s.Clients {
		for i, y := range s.Clients[t].Y {
			at, _ := slices.BinarySearch(labels, y)
			s.Clients[t].Y[i] = float64(at)
		}
	}
	return ""
}

// positive returns the class with label +1: the configured one, or the second of two.
func (c *Config) positive(classes []string) (int, error) {
	if c.PositiveClass == "" {
		if len(classes) == 2 {
			return 1, nil
		}
		return 0,
			fmt.Errorf("has %d classes (%s): data.positive_class must name one of them, or data.target be \"classes\"",
				len(classes), listClasses(classes))
	}
	if i := slices.Index(classes, c.PositiveClass); i >= 0 {
		return i, nil
	}
	problem := fmt.Sprintf("has no class %s (data.positive_class), it has %s", quote.Text(c.PositiveClass),
		listClasses(classes))
	if near := config.Nearest(c.PositiveClass, classes); near != "" {
		problem += fmt.Sprintf(" (did you mean %q?)", near)
	}
	return 0, errors.New(problem)
}

// oneAgainstRest makes labels +1 of a class, and -1 of the others.
func (s *Set) oneAgainstRest(positive int) error {
	s.Signs = [2]string{"the rest", s.Classes[positive]}
	if len(s.Classes) == 2 {
		s.Signs[0] = s.Classes[1-positive]
	} else {
		s.Name = fmt.Sprintf("%s (%s against the rest)", s.Name, s.Classes[positive])
	}
	s.Classes = nil
	for t := range s.Clients {
		for i, y := range s.Clients[t].Y {
			s.Clients[t].Y[i] = -1
			if int(y) == positive {
				s.Clients[t].Y[i] = 1
			}
		}
	}
	return s.requireVariety()
}

// listClasses lists the first names of classes.
func listClasses(names []string) string { return quote.List(names, 12) }
