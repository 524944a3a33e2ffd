package fleets_test

import (
	"fmt"

	"fedsim/devices/fleets"
)

// The classes of the first devices of a run of ten phones, and how much faster or slower each
// is than its class.
func Example() {
	phones, _ := fleets.BuiltIn("phones-2020")
	mix, _ := phones.Assemble(10, nil, 1)
	for device := range 3 {
		fmt.Printf("device %d: %s, speed x%.2f\n", device, phones.Classes[mix.Class[device]].Name, mix.Speed[device])
	}
	// Output:
	// device 0: middle-lte, speed x0.63
	// device 1: high-wifi, speed x1.55
	// device 2: middle-lte, speed x0.71
}
