package algorithms

// Weighted is an Algorithm whose server can take the work of a device with a weight.
type Weighted interface {
	Algorithm
	// CommitWeighted is Commit with the device's change multiplied by a weight.
	CommitWeighted(device int, weight float64)
}
