package learning_test

import (
	"context"
	"fmt"
	"math"

	"fedsim/algorithms"
	"fedsim/clients"
	"fedsim/devices"
	"fedsim/federation"
	"fedsim/federation/learning"
	"fedsim/federation/protocols"
	"fedsim/mtl"
	"fedsim/network"
	"fedsim/results"
)

// Three rounds of federated averaging on four phones, timed without learning. Each round
// asks three phones and ends with two responses.
func Example() {
	fedavg, _ := algorithms.Lookup("fedavg")
	rows := []int32{100, 200, 300, 400}
	s := learning.Setup{
		Setup: federation.Setup{
			System: clients.System{
				Clients: len(rows), Rows: rows,
				Devices: devices.Defaults(), Network: network.Defaults(), Faults: devices.DefaultFaults(),
			},
			Config: federation.Defaults(),
			Pool:   mtl.NewPool(0),
		},
		Schedule: learning.Schedule{Outer: 1, Rounds: 3, EvalEvery: 1, Optimum: math.NaN()},
		Shape:    mtl.Shape{Features: 50, Outputs: 1},
		Factory:  fedavg.Timed(), Options: fedavg.Options(),
	}
	s.Config.Protocol, s.Config.Clients.Count, s.Config.Over = protocols.First, 2, 1.5
	f, err := learning.New(s)
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := f.Run(context.Background(), func(r results.Round) {
		fmt.Printf("round %d: %d responses, %d late, %.3f s\n", r.Round, r.Participants, r.Late, r.TimeS)
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(out.Status)
	// Output:
	// round 0: 0 responses, 0 late, 0.000 s
	// round 1: 2 responses, 1 late, 0.071 s
	// round 2: 2 responses, 1 late, 0.142 s
	// round 3: 2 responses, 1 late, 0.213 s
	// done
}
