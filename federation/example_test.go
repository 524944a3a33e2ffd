package federation_test

import (
	"fmt"

	"fedsim/clients"
	"fedsim/devices"
	"fedsim/federation"
	"fedsim/federation/protocols"
	"fedsim/network"
)

// echo is a driver whose clients do the same work in every round.
type echo struct{}

func (e echo) Work(due []federation.Due, into []federation.Done) bool {
	for i := range due {
		into[i] = federation.Done{Work: devices.Work{FLOPs: 1e9}, Count: 1, BytesUp: 250e3}
	}
	return true
}

func (echo) Commit(client int, _ float64) { fmt.Printf("client %d took part\n", client) }

func (echo) Discard(int) {}

// A server with its driver: two rounds of the first response of three clients.
func Example() {
	s := federation.Setup{
		System: clients.System{
			Clients: 3, Rows: []int32{1, 1, 1},
			Devices: devices.Defaults(), Network: network.Defaults(), Faults: devices.DefaultFaults(),
		},
		Config: federation.Defaults(),
	}
	s.Config.Protocol, s.Config.Clients.Count, s.Config.Over = protocols.First, 1, 3
	s.Network.Jitter = 0.5
	server, err := federation.New(s, federation.Workload{
		Name: "echo", StepFLOPs: 1e9, Bytes: func(int) (down, up float64) { return 250e3, 250e3 },
	}, echo{})
	if err != nil {
		fmt.Println(err)
		return
	}
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
