package scenario

// The folders of what scenarios name: each package registers its names.
import (
	_ "fedsim/data/formats"
)
