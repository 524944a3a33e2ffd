package devices_test

import (
	"fmt"

	"fedsim/devices"
)

// A phone computes until its battery is empty, and is restored once its charger has
// charged a fifth of it.
func Example() {
	cfg := devices.Defaults()
	cfg.Profile, cfg.Charging, cfg.ChargeW, cfg.ReturnLevel = "phone-2017", devices.WhenDepleted, 10, 0.2
	phones := devices.NewProcessors(cfg, 1, 1)
	batteries := devices.NewBatteries(cfg, 1, 1, nil)
	fmt.Println("1e12 FLOPs take", phones.ComputeTime(0, devices.Work{FLOPs: 1e12}))

	batteries.SetPower(0, 0, phones.ComputePower(0, false))
	empty, _ := batteries.EmptyAt(0)
	batteries.Deplete(0, empty)
	restored, _ := batteries.RestoreAt(0)
	fmt.Printf("empty after %.1f h, restored after %.1f h\n", empty.Seconds()/3600, restored.Seconds()/3600)
	batteries.Restore(0, restored)
	fmt.Printf("charge %.0f %%\n", 100*batteries.Level(0, restored))
	// Output:
	// 1e12 FLOPs take 2m46.666666667s
	// empty after 5.6 h, restored after 5.9 h
	// charge 20 %
}
