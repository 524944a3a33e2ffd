// Package data holds federated data sets: one task per device, each with its
// own rows. It owns the formats, the importers, the generators, the split into
// training and test rows and the preparation of features.
//
// It must not know of losses, models, devices, links or time.
package data

// Task is the data of one device: X has one row per example, Y its label (-1 or
// +1) or its real target.
type Task struct {
	Name string
	X    Matrix
	Y    []float64
}

// Set is a federated data set. Every task has the same number of features.
type Set struct {
	Name         string
	Features     int
	FeatureNames []string // empty when the source names none
	Tasks        []Task   // one for each device, see Open; several may belong to one task, see Owner
	// Owner is the task that each element of Tasks belongs to when several
	// devices share tasks (paper, remark 4): numbers from 0 up without a gap. It
	// is nil when every device has a task of its own.
	Owner     []int
	Real      bool // targets are real numbers, not classes
	Generated bool // made by a generator, also when it has come from a file since
	// remake makes rows that are not kept: the Matrices of Tasks then have no values.
	remake *remaker
}

// TaskOf returns the task of a device.
func (s *Set) TaskOf(device int) int {
	if s.Owner == nil {
		return device
	}
	return s.Owner[device]
}

// Rows returns the number of examples over all tasks.
func (s *Set) Rows() int {
	n := 0
	for t := range s.Tasks {
		n += s.Tasks[t].X.Rows
	}
	return n
}
