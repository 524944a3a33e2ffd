package traces

import (
	"fmt"
	"strings"
)

// Kind is the quantity of a step function.
type Kind uint8

// The kinds, by their names in a file.
const (
	Available    Kind = iota // available: the device can take part, 1 or 0
	Charging                 // charging: the charger is plugged in, 1 or 0
	BatteryLevel             // battery_level: charge of the battery as a share of full
	DownMbps                 // down_mbps: rate from the server to the device, 10^6 bit/s
	UpMbps                   // up_mbps: rate from the device to the server, 10^6 bit/s
	Speed                    // speed: factor of the rate of the processor
	GridGPerKWh              // grid_g_per_kwh: carbon intensity of the grid of a place, g CO2e per kWh
	Share                    // share: share of its capacity that is left to a shared link
	RTTms                    // rtt_ms: round trip time in milliseconds
	Loss                     // loss: probability that a transfer does not arrive
	kinds
)

var kindNames = [kinds]string{"available", "charging", "battery_level", "down_mbps", "up_mbps", "speed",
	"grid_g_per_kwh", "share", "rtt_ms", "loss"}

// AllKinds returns every kind, in order.
func AllKinds() []Kind {
	all := make([]Kind, kinds)
	for i := range all {
		all[i] = Kind(i)
	}
	return all
}

// String returns the kind's name in a file.
func (k Kind) String() string {
	if k >= kinds {
		return fmt.Sprintf("Kind(%d)", uint8(k))
	}
	return kindNames[k]
}

// Binary reports whether values of the kind are 1 (on) or 0 (off).
func (k Kind) Binary() bool { return k == Available || k == Charging }

// maxValue limits rates and speeds, so that sums over a trace do not overflow.
const maxValue = 1e12

const maxRTTms = 1e9 // as network.rtt_ms

// refuse returns why a value of the kind is invalid, or "".
func (k Kind) refuse(v float64) string {
	switch {
	case k.Binary() && v != 0 && v != 1:
		return "must be 0 (off) or 1 (on)"
	case k == BatteryLevel && !(v >= 0 && v <= 1):
		return "must be in [0, 1], a share of full"
	case (k == Share || k == Loss) && !(v >= 0 && v <= 1):
		return "must be in [0, 1]"
	case k == RTTms && !(v >= 0 && v <= maxRTTms):
		return "must be in [0, 1e9]"
	case !(v >= 0 && v <= maxValue):
		return "must be in [0, 1e12]"
	default:
		return ""
	}
}

// Kinds is a set of kinds.
type Kinds uint16

// Has reports whether k is in the set.
func (ki Kinds) Has(k Kind) bool { return ki>>k&1 == 1 }

func (ki Kinds) with(k Kind) Kinds { return ki | 1<<k }

// String lists the names, separated by commas.
func (ki Kinds) String() string {
	var names []string
	for k, name := range kindNames {
		if ki.Has(Kind(k)) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}
