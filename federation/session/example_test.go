package session_test

import (
	"fmt"

	"fedsim/clients"
	"fedsim/devices"
	"fedsim/engine"
	"fedsim/federation"
	"fedsim/federation/session"
	"fedsim/network"
)

// The shortest useful driver: it sends a message to every client, waits for two responses,
// takes them, and closes the round.
func ExampleSession() {
	s := session.Setup{Setup: federation.Setup{
		System: clients.System{
			Clients: 3, Rows: []int32{1, 1, 1},
			Devices: devices.Defaults(), Network: network.Defaults(), Faults: devices.DefaultFaults(),
		},
		Config: federation.Defaults(),
	}}
	s.Devices.ClockGHz, s.Devices.FlopsPerCycle = 1, 2 // 2e9 FLOP/s
	s.Network.DownlinkMbps, s.Network.UplinkMbps, s.Network.RTTms = 8, 8, 0
	driver, err := session.New(s)
	if err != nil {
		fmt.Println(err)
		return
	}
	var id int64
	for round := 1; round <= 2; round++ {
		var messages []session.Message
		var ids, taken []int64
		for client := range 3 {
			id++
			ids = append(ids, id)
			messages = append(messages,
				session.Message{ID: id, Client: client, BytesDown: 250e3,
					Work: devices.Work{FLOPs: float64(client+1) * 1e9}, BytesUp: 250e3})
		}
		if _, err := driver.Send(round, session.Train, messages); err != nil {
			fmt.Println(err)
			return
		}
		notices, _, err := driver.Wait(ids, 2, engine.Never, nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, n := range notices {
			fmt.Printf("%.2f s: client %d: %v\n", n.At.Seconds(), n.Client, n.Kind)
			taken = append(taken, n.ID)
		}
		if err := driver.Cancel(ids); err != nil {
			fmt.Println(err)
			return
		}
		r, err := driver.Close(round, taken, 0)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("round %d: %d taken, %d late, %.2f s\n", r.Round, r.Participants, r.Late, r.TimeS)
	}
	// Output:
	// 1.00 s: client 0: response
	// 1.50 s: client 1: response
	// round 1: 2 taken, 1 late, 1.50 s
	// 2.50 s: client 0: response
	// 3.00 s: client 1: response
	// round 2: 2 taken, 1 late, 3.00 s
}
