package scenario

import (
	"fmt"

	"fedsim/config"
	"fedsim/data"
	"fedsim/devices"
	"fedsim/federation"
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
	must(s.Data.Source == data.SourceExternal || s.Data.Source == data.SourceSynthetic && s.Data.SizesKnown(),
		"data.source", s.Data.Source,
		`"external" or "synthetic", without skew, partition and clients_per_task,`)
	by, known := federation.LookupSelector(f.Selection)
	must(by.Unlisted || !known, "federation.selection", f.Selection,
		fmt.Sprintf("one by rejection, such as \"uniform-rejection\": %q needs all clients,", f.Selection))
	must(!f.AsksAll(), "federation.clients_per_round", f.Clients, "less than all")
	must(f.Cost == federation.Physical, "federation.cost", f.Cost, `"physical"`)
	for t, value := range s.traits() {
		must(t.AnyClients, t.Key, value, t.Off)
	}
	if _, known := devices.Lookup(s.Devices.Profile); known {
		d := &s.Devices
		must(d.Device().BatteryWh == 0, "devices.battery.wh", d.BatteryWh,
			"\"mains\": a battery would be empty before anybody asks its device,")
	}
}
