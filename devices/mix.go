package devices

// Mix assigns devices to classes.
type Mix struct {
	Profiles []Profile // by class
	Class    []uint8   // by device: index into Profiles
	Speed    []float64 // by device: factor of its speed; nil: all 1

	Overheads []Overheads  // by class; nil: none
	Heat      []HeatConfig // likewise
}

// classes is the class of each device; nil if there is one class.
type classes []uint8

func (c classes) of(device int) int {
	if c == nil {
		return 0
	}
	return int(c[device])
}
