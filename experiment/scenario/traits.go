package scenario

import (
	"sync"

	"fedsim/devices"
	"fedsim/internal/rooms"
	"fedsim/network"
)

// trait is what a key claims when it is in use: one of a room, or of the tables of Settings.
type trait struct {
	*rooms.Trait
	used func(s *Settings) (value any, used bool)
}

// allTraits lists the traits of the keys of rooms, then those of optional parts of the server and its system.
var allTraits = sync.OnceValue(func() (list []trait) {
	for _, room := range rooms.All() {
		for i := range room.Traits {
			t := &room.Traits[i]
			list = append(list, trait{t, func(s *Settings) (any, bool) { return t.Used(s.ForRooms()) }})
		}
	}
	return append(append(list, ofParts()...), ofCosts()...)
})

// ofParts lists the traits of optional parts of the tables of Settings.
func ofParts() []trait {
	named := func(v string) (any, bool) { return v, v != "" }
	// A state of each client, or a model of it, is what a lazy population has not.
	state := func(key, off string, used func(s *Settings) (any, bool)) trait {
		return trait{&rooms.Trait{Key: key, Off: off, AnyCost: true, AnyProgram: true, Shares: true, AllRounds: true},
			used}
	}
	partial := state("federation.partial_share", "0",
		func(s *Settings) (any, bool) { return s.Federation.PartialShare, s.Federation.PartialShare != 0 })
	partial.With, partial.Shares = []string{"federation.partial"}, false
	return []trait{
		partial,
		state("federation.min_available", "0",
			func(s *Settings) (any, bool) { return s.Federation.MinAvailable, s.Federation.MinAvailable != 0 }),
		state("devices.model", "empty", func(s *Settings) (any, bool) { return named(s.Devices.Model) }),
		state("fleet.name", "empty",
			func(s *Settings) (any, bool) { return s.Fleet.Name, s.Fleet.Loaded != nil }),
		state("traces.files", "empty",
			func(s *Settings) (any, bool) { return s.Traces.Files, len(s.Traces.Files) > 0 }),
		state("traces.fading.levels", "empty",
			func(s *Settings) (any, bool) { return s.Traces.Fading.Levels, len(s.Traces.Fading.Levels) > 0 }),
		state("network.hubs.size", "left out",
			func(s *Settings) (any, bool) { return s.Network.HubSize, s.Network.HubSize != 0 }),
		state("network.shared.server_up_mbps", "left out, as all shared links, and network.wire.slow_start false,",
			func(s *Settings) (any, bool) {
				return s.Network.ServerUpMbps, s.Network.SharesLinks() || s.Network.TCPSlowStart
			}),
		state("network.wire.timeout_s", "left out, as network.wire.idle_timeout_s,",
			func(s *Settings) (any, bool) { return s.Network.TimeoutS, s.Network.TimesOut() }),
		state("network.radio", `"active"`,
			func(s *Settings) (any, bool) { return s.Network.Radio, s.Network.Radio == network.RadioStates }),
		state("overhead.runtime", "empty, and its keys 0,", func(s *Settings) (any, bool) {
			runtime := s.Network.InForce()
			return s.Network.Runtime, runtime.Adds()
		}),
		state("network.model", "empty", func(s *Settings) (any, bool) { return named(s.Network.Model) }),
	}
}

// ofCosts lists the traits of keys in seconds, FLOPs and bytes, for which relative costs have no place.
func ofCosts() []trait {
	const (
		steps = "whose times are those of steps of the paper and not of a processor"
		sizes = "whose times are not those of FLOPs and bytes"
	)
	positive := func(v float64) (any, bool) { return v, v != 0 }
	cost := func(key, off, why string, anyClients bool, used func(s *Settings) (any, bool)) trait {
		return trait{&rooms.Trait{Key: key, Off: off, Why: why, AnyClients: anyClients, AnyProgram: true, Shares: true,
			AllRounds: true}, used}
	}
	return []trait{
		cost("devices.flops_scale", "1", sizes, true,
			func(s *Settings) (any, bool) { return s.Devices.FLOPsScale, s.Devices.FLOPsScale != 1 }),
		cost("devices.heat.k_per_w", "left out", sizes, true,
			func(s *Settings) (any, bool) { return s.Devices.KPerW, s.Heated() }),
		cost("network.bytes_scale", "1", sizes, true,
			func(s *Settings) (any, bool) { return s.Network.BytesScale, s.Network.BytesScale != 1 }),
		cost("overhead.task_s", "0", steps, false,
			func(s *Settings) (any, bool) { return positive(s.Devices.Overheads.TaskS) }),
		cost("overhead.step_s", "0", steps, false,
			func(s *Settings) (any, bool) { return positive(s.Devices.Overheads.StepS) }),
		cost("overhead.s_per_gb", "0", steps, false,
			func(s *Settings) (any, bool) { return positive(s.Devices.Overheads.TrafficSPerGB) }),
		cost("overhead.compute_jitter", "0", steps, false,
			func(s *Settings) (any, bool) { return positive(s.Devices.Overheads.Jitter) }),
		cost("overhead.compute_distribution", `"log-normal"`, steps, false,
			func(s *Settings) (any, bool) {
				return s.Overhead.Distribution, s.Overhead.Distribution != devices.LogNormal
			}),
	}
}
