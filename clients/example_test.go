package clients_test

import (
	"fmt"

	"fedsim/clients"
	"fedsim/devices"
	"fedsim/network"
)

// Three clients are asked at once for the same work. The faults say that client 1 never
// responds; the others take one second to download, compute and upload.
func Example() {
	s := clients.Setup{System: clients.System{
		Clients: 3,
		Devices: devices.Defaults(), Network: network.Defaults(), Faults: devices.DefaultFaults(),
	}}
	s.Devices.ClockGHz, s.Devices.FlopsPerCycle = 1, 2 // 2e9 FLOP/s
	s.Network.DownlinkMbps, s.Network.UplinkMbps, s.Network.RTTms = 8, 8, 0
	s.Faults.Never, s.Faults.DropPhase = []int{1}, devices.AtStart

	var c *clients.Clients
	c, err := clients.New(s, clients.Listener{
		Responded: func(client int) { fmt.Printf("%.2f s: client %d responded\n", c.Now().Seconds(), client) },
		Failed: func(client int, why clients.Reason) {
			fmt.Printf("%.2f s: client %d failed: %v\n", c.Now().Seconds(), client, why)
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	c.Begin()
	for client := range c.Len() {
		c.Start(client, clients.Attempt{BytesDown: 250e3, Work: devices.Work{FLOPs: 1e9}, BytesUp: 250e3})
	}
	c.Run()
	fmt.Printf("%.0f bytes up\n", c.Take().BytesUp)
	// Output:
	// 0.00 s: client 1 failed: dropped
	// 1.00 s: client 0 responded
	// 1.00 s: client 2 responded
	// 500000 bytes up
}
