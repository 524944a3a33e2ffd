package devices

import "fedsim/internal/tools/registry"

// Profile describes a kind of device. It does not change.
type Profile struct {
	Name          string
	ClockGHz      float64
	FlopsPerCycle float64
	IdleW         float64 // power while neither computing nor sending, watts
	ComputeW      float64 // power while computing, watts
	BatteryWh     float64 // 0: runs on mains
	ChargeW       float64 // power of the charger, watts
	Low           Step    // where a low battery slows it down; zero: as usual
	Source        string
}

// Step is a lower clock of a processor.
type Step struct {
	Clock float64 // share of ClockGHz, in (0, 1]
	Power float64 // share of the power beyond idling, ComputeW - IdleW
}

// half is a processor at half the clock, with dynamic power C V^2 f beyond idling (Weiser et al.,
// OSDI 1994) at 0.8 of the voltage: our choice.
var half = Step{0.5, 0.5 * 0.8 * 0.8}

// Rate returns the speed in FLOP/s.
func (p Profile) Rate() float64 { return p.ClockGHz * 1e9 * p.FlopsPerCycle }

// USBChargeW is the power of a typical USB charger of 5 V and 1 A, in watts: our choice for
// phones, and for devices without a profile.
const USBChargeW = 5

var profiles = registry.NewCatalog(func(p *Profile) string { return p.Name },
	Profile{
		Name: "phone-2010", ClockGHz: 1, FlopsPerCycle: 0.5, IdleW: 0.27, ComputeW: 1, BatteryWh: 5,
		ChargeW: USBChargeW, Low: half,
		Source: "idle power: Carroll and Heiser, USENIX ATC 2010; clock and FLOP per cycle: our choice",
	},
	Profile{
		Name: "phone-2017", ClockGHz: 2, FlopsPerCycle: 3, IdleW: 0.3, ComputeW: 1.95, BatteryWh: 11,
		ChargeW: USBChargeW, Low: half,
		Source: "on-device training at 6 to 30 GFLOP/s and 1.95 W: MNN measurements; battery: " +
			"AOSP capacities of 2915 to 4000 mAh",
	},
	Profile{
		Name: "phone-2020", ClockGHz: 2.4, FlopsPerCycle: 6, IdleW: 0.3, ComputeW: 2.5, BatteryWh: 17, ChargeW: 10,
		Low:    half,
		Source: "our choice, within the ranges of phone-2017's sources; charger: our choice, typical of 5 V and 2 A",
	},
	Profile{
		Name: "raspberry-pi-4", ClockGHz: 1.5, FlopsPerCycle: 4, IdleW: 2.89, ComputeW: 7.28, BatteryWh: 0, ChargeW: 15,
		Low: half,
		Source: "powers: the platform file of the simulator Falafels, which gives 14.4 GFLOP/s of single precision a " +
			"core at the peak; FLOP per cycle: our choice below it; charger: the official supply of 5.1 V and 3 A",
	},
)

// Profiles returns the known profiles.
func Profiles() []Profile { return profiles.All() }

// ProfileNames returns the names of the known profiles, in the order of Profiles.
func ProfileNames() []string { return profiles.Names() }

// Lookup returns the profile with a name; ok is false if there is none.
func Lookup(name string) (p Profile, ok bool) { return profiles.Lookup(name) }
