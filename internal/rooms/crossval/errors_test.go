package crossval

import (
	"math"
	"testing"

	"fedsim/data"
)

func matrix(rows ...[]float64) data.Matrix {
	m := data.NewMatrix(len(rows), len(rows[0]))
	for i, row := range rows {
		copy(m.Row(i), row)
	}
	return m
}

// Computed by hand: task a has scores 1, -2 and 0 for labels 1, 1, 1; a score of 0 is an
// error. Task b has no error; task c has no rows.
func TestTaskErrors(t *testing.T) {
	set := &data.Set{Features: 2, Clients: []data.Client{
		{X: matrix([]float64{1, 0}, []float64{-2, 0}, []float64{0, 5}), Y: []float64{1, 1, 1}},
		{X: matrix([]float64{0, -3}), Y: []float64{-1}},
		{X: data.NewMatrix(0, 2)},
	}}
	models := matrix([]float64{1, 0}, []float64{0, 1}, []float64{7, 7})
	m := newTaskErrors(3)
	m.count(set, &models)
	if got, want := m.error(false), 100*(2.0/3+0)/2; math.Abs(got-want) > 1e-13 {
		t.Errorf("error of a model per task = %v, want %v", got, want)
	}
	// With one model for all tasks, task b has a score of 0: an error.
	one := matrix([]float64{1, 0})
	m = newTaskErrors(3)
	m.count(set, &one)
	if got, want := m.error(false), 100*(2.0/3+1)/2; math.Abs(got-want) > 1e-13 {
		t.Errorf("error of one model for all = %v, want %v", got, want)
	}
	// Counting all rows twice does not change the error.
	m.add(m)
	if got, want := m.error(false), 100*(2.0/3+1)/2; math.Abs(got-want) > 1e-13 || m.rows[0] != 6 {
		t.Errorf("error of rows counted twice = %v, want %v", got, want)
	}
	set.Real = true
	m = newTaskErrors(3)
	m.count(set, &models) // a: errors 0, -3, -1; b: -2
	if got, want := m.error(true), (math.Sqrt(10.0/3)+2)/2; math.Abs(got-want) > 1e-13 {
		t.Errorf("root mean square error = %v, want %v", got, want)
	}
	none := newTaskErrors(1)
	if got := none.error(false); !math.IsNaN(got) {
		t.Errorf("error without rows = %v, want none", got)
	}
}

// The standard error of 1, 2, 6: mean 3, sample variance 7, over 3.
func TestSummarize(t *testing.T) {
	paper := map[string]Reference{MTL: {Mean: 0.46, StandardError: 0.11}}
	m := summarize(MTL, []Shuffle{{Error: 1}, {Error: 2}, {Error: 6}}, paper)
	if math.Abs(m.Mean-3) > 1e-14 || math.Abs(m.StandardError-math.Sqrt(7.0/3)) > 1e-14 || *m.Paper != paper[MTL] {
		t.Errorf("mean %v, standard error %v, paper %v, want 3, %v, 0.46 (0.11)", m.Mean, m.StandardError, m.Paper, math.Sqrt(7.0/3))
	}
	if m := summarize(Local, []Shuffle{{Error: 1}}, paper); !math.IsNaN(m.StandardError) || m.Paper != nil {
		t.Errorf("one shuffle: standard error %v, paper %v, want none", m.StandardError, m.Paper)
	}
}
