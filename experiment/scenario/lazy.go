package scenario

import (
	"fmt"

	"fedsim/algorithms/compress"
	"fedsim/config"
	"fedsim/data"
	"fedsim/devices"
	"fedsim/federation"
	"fedsim/network"
)

// checkLazy reports settings that a lazy population does not go with: those that need state of all
// clients, or that change clients which nobody has asked.
func (s *Settings) checkLazy(c *config.Checker) {
	f := &s.Federation
	if !f.Lazy() {
		return
	}
	must := func(ok bool, key string, value any, want string) {
		c.Require(ok, key, value, fmt.Sprintf("must be %s with federation.population = %q", want, federation.Lazy))
	}
	must(s.Run.Mode == Timing, "run.mode", s.Run.Mode, `"timing"`)
	must(s.Run.Devices != Yes, "run.devices", true, "false")
	must(s.Data.Source == data.SourceExternal || s.Data.Source == data.SourceSynthetic && s.Data.SizesKnown(), "data.source", s.Data.Source,
		`"external" or "synthetic", without skew, partition and clients_per_task,`)
	by, known := federation.LookupSelector(f.Selection)
	must(by.Unlisted || !known, "federation.selection", f.Selection,
		fmt.Sprintf("one by rejection, such as \"uniform-rejection\": %q needs all clients,", f.Selection))
	must(f.Clients > 0 || f.Fraction < 1, "federation.clients_per_round", f.Clients, "positive, or fraction below 1,")
	must(f.MinAvailable == 0, "federation.min_available", f.MinAvailable, "0")
	must(f.PartialShare == 0, "federation.partial_share", f.PartialShare, "0")
	must(f.Cost == federation.Physical, "federation.cost", f.Cost, `"physical"`)
	must(s.Compression.Down == compress.None, "compression.down", s.Compression.Down, `"none"`)
	for _, t := range s.traits() {
		must(t.AnyClients, t.Key, t.Value, t.Off)
	}
	must(!s.Privacy.On(), "privacy.mechanism", s.Privacy.Mechanism, "\"none\", without secure_aggregation,")
	s.checkLazyDevices(must)
	s.checkLazyLinks(must)
}

func (s *Settings) checkLazyDevices(must func(ok bool, key string, value any, want string)) {
	d := &s.Devices
	if _, known := devices.Lookup(d.Profile); known {
		must(d.Device().BatteryWh == 0, "devices.battery_wh", d.BatteryWh, "-1: a battery would be empty before anybody asks its device,")
	}
	must(d.Model == "", "devices.model", d.Model, "empty")
	must(d.Overheads == (devices.Overheads{}), "devices.task_overhead_s", d.TaskS, "0, and the other overheads and compute_jitter too,")
	must(s.Fleet.Loaded == nil, "fleet.name", s.Fleet.Name, "empty, and fleet.file too,")
	must(len(s.Traces.Files) == 0, "traces.files", s.Traces.Files, "empty")
	must(len(s.Traces.Fading.Levels) == 0, "traces.fading.levels", s.Traces.Fading.Levels, "empty")
}

func (s *Settings) checkLazyLinks(must func(ok bool, key string, value any, want string)) {
	n := &s.Network
	runtime := n.InForce()
	must(n.HubSize == 0, "network.hub_size", n.HubSize, "0")
	must(!n.SharesLinks() && !n.TCPSlowStart, "network.server_up_mbps", n.ServerUpMbps, "0, as for all shared links, and tcp_slow_start false,")
	must(n.Radio != network.RadioStates, "network.radio", n.Radio, `"active"`)
	must(!runtime.Adds(), "network.runtime", n.Runtime, "empty, and its keys 0,")
	must(n.Model == "", "network.model", n.Model, "empty")
}
