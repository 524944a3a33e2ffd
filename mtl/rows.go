package mtl

import (
	"fmt"
	"math"

	"fedsim/data"
)

// Rows are the rows of a problem and the constants of its devices. Each device belongs to one
// task, and by default each task has one device.
type Rows struct {
	data.Split             // Train has an element for each device, Test and Validation one for each task
	Scale      []float64   // c of each device's rows: 1, or 1/n_t with n_t the rows of its task
	Norms      [][]float64 // |x|^2 of each device's rows, one arena
	tasks      int
	sharing    []int // devices of each task; nil when every device has its own
}

// newRows counts the rows and precomputes their constants, with norms if they are needed. It fails
// without tasks, for a device without rows, and for labels of a single class over all tasks.
func newRows(split data.Split, scaling string, norms bool) (*Rows, error) {
	train := split.Train
	n := len(train.Clients)
	if n == 0 {
		return nil, fmt.Errorf("data set %q has no task: a federation needs at least one device", train.Name)
	}
	r := &Rows{Split: split, Scale: make([]float64, n), Norms: make([][]float64, n), tasks: n}
	r.countTasks()
	if err := r.count(scaling); err != nil {
		return nil, err
	}
	if norms {
		r.measure()
	}
	return r, nil
}

// bytes returns the size of the training rows in memory, in bytes.
func (r *Rows) bytes() int {
	bytes := 0
	for k := range r.Train.Clients {
		bytes += r.Train.Clients[k].X.Bytes()
	}
	return bytes
}

// countTasks counts the tasks and the devices of each.
func (r *Rows) countTasks() {
	if r.Train.Owner == nil {
		return
	}
	r.tasks = 0
	for _, t := range r.Train.Owner {
		r.tasks = max(r.tasks, t+1)
	}
	r.sharing = make([]int, r.tasks)
	for _, t := range r.Train.Owner {
		r.sharing[t]++
	}
}

// count checks the rows and computes the scales.
func (r *Rows) count(scaling string) error {
	rows := make([]int, r.tasks)
	arena := make([]float64, r.Train.Rows())
	low, high := math.Inf(1), math.Inf(-1)
	for k := range r.Train.Clients {
		task := &r.Train.Clients[k]
		n := task.X.Rows
		if n == 0 {
			return fmt.Errorf("task %q of data set %q has no training row", task.Name, r.Train.Name)
		}
		rows[r.TaskOf(k)] += n
		r.Norms[k], arena = arena[:n:n], arena[n:]
		for _, y := range task.Y {
			low, high = min(low, y), max(high, y)
		}
	}
	if !r.Train.Real && low == high { // without labels, low is above high
		return fmt.Errorf("data set %q has labels of one class only: a classifier needs both", r.Train.Name)
	}
	for k := range r.Scale {
		r.Scale[k] = 1
		if scaling == Mean {
			r.Scale[k] = 1 / float64(rows[r.TaskOf(k)])
		}
	}
	return nil
}

// measure computes the norms on all cores: rows that are not in memory are generated again.
func (r *Rows) measure() {
	pool := NewPool(0)
	spaces := data.NewMatrix(pool.Size(), r.Train.Features) // a row for each worker
	pool.For(len(r.Norms), func(k, worker int) {
		task := r.Train.Open(k)
		defer task.Close()
		for i := range r.Norms[k] {
			r.Norms[k][i] = task.X.SquaredNorm(i, spaces.Row(worker))
		}
	})
}

// Clients returns the number of clients.
func (r *Rows) Clients() int { return len(r.Train.Clients) }

// Tasks returns m.
func (r *Rows) Tasks() int { return r.tasks }

// TaskOf returns the task of a device.
func (r *Rows) TaskOf(device int) int { return r.Train.TaskOf(device) }

// devices returns the devices of each task, in order.
func (r *Rows) devices() [][]int {
	of := make([][]int, r.tasks)
	for k := range r.Clients() {
		of[r.TaskOf(k)] = append(of[r.TaskOf(k)], k)
	}
	return of
}

// RowCounts returns n_t, the number of training rows of each device.
func (r *Rows) RowCounts() []int32 {
	rows := make([]int32, r.Clients())
	for k := range rows {
		rows[k] = int32(r.Train.Clients[k].X.Rows)
	}
	return rows
}

// testOf returns the element of the test set with the rows held out of a device's data. The
// devices of an element are consecutive, and each element has the same number.
func (r *Rows) testOf(device int) int {
	return device / (len(r.Train.Clients) / len(r.Test.Clients))
}
