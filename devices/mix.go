package devices

// Mix is the devices of a federation when they are of several classes.
type Mix struct {
	Profiles []Profile // of the classes
	Class    []uint8   // of each device: index into Profiles
	Speed    []float64 // by which each device is faster than its profile; nil: none is
}

// classes is which class each device is of; nil when there is one alone.
type classes []uint8

// of returns the class of device t.
func (c classes) of(t int) int {
	if c == nil {
		return 0
	}
	return int(c[t])
}
