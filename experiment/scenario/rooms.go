package scenario

// The folders of what scenarios name: each package registers its names, and each room itself.
import (
	_ "fedsim/algorithms/methods"
	_ "fedsim/data/formats"
	_ "fedsim/federation/protocols"
	_ "fedsim/federation/selectors"
	_ "fedsim/internal/rooms/carbon"
	_ "fedsim/internal/rooms/compress"
	_ "fedsim/internal/rooms/outside/external"
	_ "fedsim/internal/rooms/privacy"
	_ "fedsim/internal/rooms/settle"
	_ "fedsim/internal/rooms/upkeep"
)
