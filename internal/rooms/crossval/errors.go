package crossval

import (
	"math"

	"fedsim/data"
	"fedsim/mtl"
)

// taskErrors counts prediction errors by task.
type taskErrors struct {
	sum  []float64 // rows whose score has the wrong sign or is zero, or of the wrong class; or the sum of squared errors
	rows []int     // rows tested
}

func newTaskErrors(tasks int) taskErrors {
	return taskErrors{sum: make([]float64, tasks), rows: make([]int, tasks)}
}

// count adds the errors on the rows of a set. Row t of w is the model of task t; a single
// row is the model of all tasks.
func (m *taskErrors) count(set *data.Set, w *data.Matrix) {
	for t := range set.Clients {
		task := &set.Clients[t]
		weights := mtl.ModelRow(w, t)
		m.rows[t] += task.X.Rows
		scores := make([]float64, set.Outputs())
		for i, y := range task.Y {
			for c := range scores {
				scores[c] = task.X.Dot(i, weights[c*set.Features:(c+1)*set.Features])
			}
			z := scores[0]
			switch {
			case set.Classes != nil:
				if mtl.Class(scores) != int(y) {
					m.sum[t]++
				}
			case set.Real:
				m.sum[t] += float64((z - y) * (z - y))
			case float64(z*y) <= 0:
				m.sum[t]++
			}
		}
	}
}

// add adds the counts of other.
func (m *taskErrors) add(other taskErrors) {
	for t := range m.sum {
		m.sum[t] += other.sum[t]
		m.rows[t] += other.rows[t]
	}
}

// error returns the mean over the tasks that have rows: of the percentage of wrong rows,
// or of the root mean square error when targets are real. It is NaN without rows.
func (m *taskErrors) error(real bool) float64 {
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
