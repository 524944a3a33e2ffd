package algorithms

// Weighted is an Algorithm whose server can take the work of a device with a weight.
type Weighted interface {
	Algorithm
	// CommitWeighted is Commit with the device's change multiplied by a weight.
	CommitWeighted(device int, weight float64)
}

// Deviating is an Algorithm that compares the updates of devices, which the server has
// received and neither committed nor discarded.
type Deviating interface {
	Algorithm
	// Deviations writes the squared distance of each of the late updates from the mean of the
	// fresh ones, of which there is at least one.
	Deviations(fresh, late []int32, into []float64)
}
