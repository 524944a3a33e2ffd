// Package data provides federated data sets, with the rows of each device in a task. It
// owns formats, importers, generators, the split into training and test rows, and the
// preparation of features.
//
// A Set has Tasks with a Matrix of features and targets. Prepare returns the Split of a
// configuration. Open returns the rows of a device, which a set that is not resident
// generates again.
//
// The package must not know of losses, models, device hardware, links or time.
package data

// Client is the data of one client: X has one row per example, and Y its label (-1 or +1),
// the number of its class, or its real target. The last Held rows of a loaded task are the
// source's own test rows; after a split there are none.
type Client struct {
	Name string
	X    Matrix
	Y    []float64
	Held int
	// selected are the rows of which X has only the numbers of rows and features, until it is given
	// their values; nil: it has them
	selected *selection
}

// Set is a federated data set. Every task has the same number of features.
type Set struct {
	Name         string
	Features     int
	FeatureNames []string // empty if the source has none
	Clients      []Client // see Open; several may belong to one task, see Owner
	// Owner is the task of each element of Clients if several clients share tasks (paper,
	// remark 4), numbered from 0 without gaps. It is nil if every client has its own
	// task.
	Owner []int
	Real  bool // targets are real numbers, not classes
	// Classes are the names of several classes, of which Y has the numbers, from 0. It is
	// nil for labels -1 and +1 and for real targets.
	Classes   []string
	Signs     [2]string // names of the classes with the labels -1 and +1; empty if they have none
	Missing   Missing   // values that the file does not have
	Generated bool      // made by a generator, even if read from a file
	// generates rows again if they are not in memory; the Matrices of Clients then have no
	// values
	remake *remaker
	// late prepares selected rows when they are opened; nil: rows are prepared
	late *lateRows
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
	for t := range s.Clients {
		n += s.Clients[t].X.Rows
	}
	return n
}
