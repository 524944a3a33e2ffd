package federation_test

import (
	"fmt"

	"fedsim/clients"
	"fedsim/devices"
	"fedsim/federation"
	"fedsim/network"
)

// echo is a driver whose clients do the same work in every round.
type echo struct{ server *federation.Server }

func (e *echo) Solve(clients []int32) bool {
	for _, t := range clients {
		if e.server.Solves(int(t)) {
			e.server.SetWork(int(t), 1, devices.Work{FLOPs: 1e9}, 250e3)
		}
	}
	return true
}

func (e *echo) Commit(client int, _ float64) { fmt.Printf("client %d took part\n", client) }

func (e *echo) Discard(int) {}

// A server with its driver: two rounds of the first response of three clients.
func Example() {
	s := federation.Setup{
		System: clients.System{
			Clients: 3, Rows: []int32{1, 1, 1},
			Devices: devices.Defaults(), Network: network.Defaults(), Faults: devices.DefaultFaults(),
		},
		Config: federation.Defaults(),
	}
	s.Config.Protocol, s.Config.Clients, s.Config.Over = federation.First, 1, 3
	s.Network.Jitter = 0.5
	driver := &echo{}
	server, err := federation.New(s, federation.Workload{
		Name: "echo", StepFLOPs: 1e9, Bytes: func(int) (down, up float64) { return 250e3, 250e3 },
	}, driver)
	if err != nil {
		fmt.Println(err)
		return
	}
	driver.server = server
	server.Begin()
	for range 2 {
		round := server.Start()
		round.Await()
		server.Clients().SetBytesDown(250e3)
		played, ok := round.Play(federation.Cohort{Clients: server.Select(), Wanted: 3}, nil)
		if !ok {
			fmt.Println(server.Stalled())
			return
		}
		r := played.Close().Account()
		fmt.Printf("round %d: %d taken, %d late, %.2f s\n", r.Round, r.Participants, r.Late, r.TimeS)
	}
	// Output:
	// client 2 took part
	// round 1: 1 taken, 2 late, 0.33 s
	// client 0 took part
	// round 2: 1 taken, 2 late, 0.95 s
}
