package experiment

import (
	"math"
	"testing"

	"fedsim/algorithms"
	"fedsim/devices"
	"fedsim/experiment/scenario"
	"fedsim/federation"
	"fedsim/federation/protocols"
	"fedsim/network"
)

// Estimates know overheads. At 1000 FLOP/s, 12 rows of 24 FLOPs in 3 mini-batches take 0.288 s, 0.5 s
// for the task and 0.6 s for the mini-batches. Of a deadline of 10 s, 9.5 s are left for steps of
// 0.074 s each.
func TestEstimatesHaveOverheads(t *testing.T) {
	s := &scenario.Settings{Devices: devices.Defaults(), Network: network.Defaults(), Federation: federation.Defaults()}
	s.Devices.ClockGHz, s.Devices.FlopsPerCycle, s.Devices.TaskS, s.Devices.StepS = 1e-6, 1, 0.5, 0.2
	s.Devices.Spread, s.Devices.SpreadWidth = devices.LogNormal, 2
	load := &algorithms.Workload{
		StepFLOPs: 24, Steps: func(rows, allowed int) int { return min(rows, allowed) },
		Batches: func(_, steps int) int { return (steps + 3) / 4 },
	}
	run := &scenario.RunSpec{Settings: *s}
	about := &algorithms.Description{Work: *load, Messages: algorithms.Messages{None: true}}
	if got := responseSeconds(run, about, []int32{12, 12}, 5); math.Abs(got-1.388) > 1e-12 {
		t.Errorf("the mean device computes %g s, want 1.388", got)
	}
	s.Federation.Protocol, s.Federation.DeadlineS = protocols.Deadline, 10
	if got := allowedSteps(s, load, 12, 12); got != 128 { // 9.5/0.074 = 128.4
		t.Errorf("%d steps, want 128", got)
	}
	s.Devices.Overheads = devices.Overheads{}
	if got := allowedSteps(s, load, 12, 12); got != 416 { // 10/0.024 = 416.7
		t.Errorf("%d steps without overheads, want 416", got)
	}
}
