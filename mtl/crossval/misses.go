package crossval

import (
	"math"

	"fedsim/data"
)

// misses is what models got wrong, task by task.
type misses struct {
	sum  []float64 // rows with the wrong sign (a score of zero is), or squared errors
	rows []int
}

func newMisses(tasks int) misses {
	return misses{sum: make([]float64, tasks), rows: make([]int, tasks)}
}

// count adds the rows of a set. Row t of w is the model of task t; a single row
// is the model of all.
func (m *misses) count(set *data.Set, w *data.Matrix) {
	for t := range set.Tasks {
		task := &set.Tasks[t]
		weights := w.Row(0)
		if w.Rows > 1 {
			weights = w.Row(t)
		}
		m.rows[t] += task.X.Rows
		for i, y := range task.Y {
			z := task.X.Dot(i, weights)
			switch {
			case set.Real:
				m.sum[t] += float64((z - y) * (z - y))
			case float64(z*y) <= 0:
				m.sum[t]++
			}
		}
	}
}

// add adds what others got wrong.
func (m *misses) add(other misses) {
	for t := range m.sum {
		m.sum[t] += other.sum[t]
		m.rows[t] += other.rows[t]
	}
}

// error returns the mean over the tasks that have rows: of the share of wrong
// rows in percent, or of the root mean square error when targets are real. It is
// NaN without rows.
func (m *misses) error(real bool) float64 {
	sum, tasks := 0.0, 0
	for t, n := range m.rows {
		if n == 0 {
			continue
		}
		tasks++
		if real {
			sum += math.Sqrt(m.sum[t] / float64(n))
		} else {
			sum += 100 * m.sum[t] / float64(n)
		}
	}
	return sum / float64(tasks)
}
