package crossval

import "math"

// Result is a computed table.
type Result struct {
	Name string
	Config
	Columns []Column
}

// Column holds the errors on one data set.
type Column struct {
	Label     string
	Source    string // origin of the rows, one line
	Generated bool   // the rows are generated, not measured
	Tasks     int
	Real      bool         // errors are root mean square errors, not percentages
	Models    []ModelError // in the order of the table
}

// ModelError is a cell of a table: the error of a model on a data set, as a mean over tasks.
// The error of a task is a percentage of its rows, or its root mean square error.
type ModelError struct {
	Name          string
	Mean          float64 // over shuffles
	StandardError float64 // of the mean; NaN for a single shuffle
	Shuffles      []Shuffle
	Paper         *Reference // nil: not published
}

// Shuffle is one repetition with its own split of the rows.
type Shuffle struct {
	Seed       uint64
	Lambda     float64   // chosen by cross-validation
	Error      float64   // on the test rows
	Lambdas    []float64 // candidates, the largest first
	Validation []float64 // cross-validated error of each of Lambdas
}

// summarize computes the mean over shuffles and its standard error.
func summarize(model string, shuffles []Shuffle, paper map[string]Reference) ModelError {
	m := ModelError{Name: model, Shuffles: shuffles}
	n := float64(len(shuffles))
	for _, s := range shuffles {
		m.Mean += s.Error / n
	}
	squares := 0.0
	for _, s := range shuffles {
		squares += float64((s.Error - m.Mean) * (s.Error - m.Mean))
	}
	m.StandardError = math.Sqrt(squares / (n - 1) / n) // NaN for one shuffle
	if reference, ok := paper[model]; ok {
		m.Paper = &reference
	}
	return m
}
