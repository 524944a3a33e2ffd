package scenario

// The folders of what scenarios name: each package registers its names.
import (
	_ "fedsim/algorithms/methods"
	_ "fedsim/data/formats"
)
