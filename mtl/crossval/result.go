package crossval

import "math"

// Result is a table that was made.
type Result struct {
	Name string
	Config
	Columns []Column
}

// Column is a data set of a table.
type Column struct {
	Label     string
	Source    string // where the rows come from, in one line
	Generated bool   // the rows are generated, not measured
	Tasks     int
	Real      bool    // errors are root mean square errors, not percent
	Models    []Model // in the order of the table
}

// Model is a cell of a table: the error of a model on a set, in percent of a
// task's rows, or the root mean square error, as a mean over tasks.
type Model struct {
	Name          string
	Mean          float64 // over shuffles
	StandardError float64 // of the mean; NaN for a single shuffle
	Shuffles      []Shuffle
	Paper         *Reference // nil when nothing was published
}

// Shuffle is one repetition.
type Shuffle struct {
	Seed       uint64
	Lambda     float64   // chosen
	Error      float64   // on the test rows
	Lambdas    []float64 // to choose from, the largest first
	Validation []float64 // cross-validated error of each of Lambdas
}

// summarize takes the mean over shuffles.
func summarize(model string, shuffles []Shuffle, paper map[string]Reference) Model {
	m := Model{Name: model, Shuffles: shuffles}
	n := float64(len(shuffles))
	for _, s := range shuffles {
		m.Mean += s.Error / n
	}
	squares := 0.0
	for _, s := range shuffles {
		squares += float64((s.Error - m.Mean) * (s.Error - m.Mean))
	}
	m.StandardError = math.Sqrt(squares / (n - 1) / n) // 0/0 for one
	if reference, ok := paper[model]; ok {
		m.Paper = &reference
	}
	return m
}
