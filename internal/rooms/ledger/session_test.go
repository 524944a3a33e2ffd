package ledger

import (
	"math"
	"testing"

	"fedsim/clients"
	"fedsim/devices"
	"fedsim/engine"
	"fedsim/federation"
	"fedsim/federation/protocols"
	"fedsim/federation/session"
	"fedsim/internal/tools/expect"
	"fedsim/network"
	"fedsim/results"
)

// Rows of a session add up to its rounds, whether the driver ends them or a protocol does.
func TestRowsOfASessionAddUp(t *testing.T) {
	const n = 12
	s := session.Setup{Setup: federation.Setup{
		System: clients.System{
			Clients: n, Rows: make([]int32, n), Seed: 5,
			Devices: devices.Defaults(), Network: network.Defaults(), Faults: devices.DefaultFaults(),
		},
		Config: federation.Defaults(),
	}}
	s.Config.Protocol, s.Config.DeadlineS, s.Config.DetectS = protocols.Deadline, 3, 1
	s.Config.ServerGFLOPS = 1e-3
	s.Faults.DropProbability.All, s.Faults.DropPhase = 0.2, devices.AtRandom
	s.Network.Jitter, s.Network.LossProbability = 0.5, 0.1
	s.Network.ClientPollS, s.Network.LaunchPollS, s.Network.ServerPollS = 0.4, 0.1, 0.3
	var rows []results.DeviceRow
	ledger := New(n, func(r []results.DeviceRow) error {
		rows = append(rows[:0], r...)
		return nil
	})
	s.Journal = ledger
	ses, err := session.New(s)
	expect.NoError(t, err)
	var seen results.Round
	id, before := int64(0), 0.0
	for round := 1; round <= 20; round++ {
		var all []session.Message
		for device := range n {
			id++
			all = append(all,
				session.Message{ID: id, Client: device, BytesDown: 1e5,
					Work: devices.Work{FLOPs: 3e9 * float64(1+device%4)}, BytesUp: 1e5})
		}
		var taken []int64
		arrived := 0
		if round%2 == 0 {
			played, _, _, err := ses.PlayRound(round, session.Train, all, nil)
			expect.NoError(t, err)
			arrived += count(played)
			all = all[:3]
			for i := range all {
				id++
				all[i].ID = id
			}
			if _, err = ses.Send(round, "evaluate", all); err != nil {
				t.Fatal(err)
			}
		} else if _, err = ses.Send(round, session.Train, all); err != nil {
			t.Fatal(err)
		}
		notices, _, err := ses.Advance(ses.Now().Add(engine.FromSeconds(2.5)), nil)
		expect.NoError(t, err)
		arrived += count(notices)
		for i, n := range notices {
			if n.Kind == session.NoticeResponse && i%5 > 0 {
				taken = append(taken, n.ID)
			}
		}
		r, err := ses.Close(round, taken, 1e5)
		expect.NoError(t, err)
		var sum results.Round
		for _, row := range rows {
			sum.Participants += row.Taken
			arrived -= row.Responses
			sum.Dropped += row.Dropped
			sum.Late += row.Late
			sum.FLOPs += row.FLOPs
			sum.BytesDown += row.BytesDown
			sum.BytesUp += row.BytesUp
			sum.EnergyJ += row.EnergyJ
			spent := row.WaitS + row.DownlinkS + row.ComputeS + row.UplinkS + row.PollS + row.UnavailableS +
				row.DepletedS
			expect.That(t, row.Round == round && math.Abs(spent-(r.TimeS-before)) <= 1e-9,
				"round %d, client %d: %g s add up, the round takes %g s", row.Round, row.Device, spent, r.TimeS-before)
		}
		expect.That(t, arrived == 0, "round %d: %d responses are in no row", round, arrived)
		before = r.TimeS
		if sum.Participants != r.Participants || sum.Dropped != r.Dropped || sum.Late != r.Late {
			t.Errorf("round %d: rows have %d taken, %d dropped, %d late; the round %d, %d, %d", round, sum.Participants,
				sum.Dropped, sum.Late, r.Participants, r.Dropped, r.Late)
		}
		for _, x := range [][2]float64{{sum.BytesDown, r.BytesDown}, {sum.BytesUp, r.BytesUp}, {sum.EnergyJ, r.EnergyJ},
			{sum.FLOPs, r.FLOPs}} {
			expect.That(t, math.Abs(x[0]-x[1]) <= 1e-9*math.Max(1, x[1]),
				"round %d: rows add up to %g, the round has %g", round, x[0], x[1])
		}
		seen.Participants += r.Participants
		seen.Dropped += r.Dropped
		seen.Late += r.Late
	}
	expect.That(t, seen.Participants >= 60 && seen.Dropped >= 20 && seen.Late >= 20,
		"%d taken, %d dropped, %d late: too few to see anything", seen.Participants, seen.Dropped, seen.Late)
}

// count returns how many responses have arrived.
func count(all []session.Notice) (n int) {
	for _, x := range all {
		if x.Kind == session.NoticeResponse {
			n++
		}
	}
	return n
}
