package experiment

import (
	"context"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fedsim/experiment/scenario"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/racetest"
	"fedsim/internal/tools/recordtest"
	"fedsim/results"
)

// deviceRows stores the rows by device of runs.
type deviceRows struct {
	mu   sync.Mutex
	runs map[int]*runRows
}

type runRows struct {
	about results.Run
	rows  []results.DeviceRow
}

// recorder returns a recorder with a function that receives the runs.
func (d *deviceRows) recorder(end func(int, results.Run) error) *recordtest.Recorder {
	about := map[int]results.Run{}
	return &recordtest.Recorder{
		Rounds: func(index int, run results.Run) func(results.Round) {
			d.mu.Lock()
			defer d.mu.Unlock()
			about[index] = run
			return nil
		},
		Devices: func(index int, rows []results.DeviceRow) error {
			d.mu.Lock()
			defer d.mu.Unlock()
			if d.runs[index] == nil {
				d.runs[index] = &runRows{about: about[index]}
			}
			r := d.runs[index]
			r.rows = append(r.rows, rows...)
			return nil
		},
		End: func(index int, run results.Run) error {
			d.mu.Lock()
			defer d.mu.Unlock()
			return end(index, run)
		},
	}
}

// rowsOf runs experiments and returns the runs and their rows by device.
func rowsOf(e []scenario.Experiment, workers int) (runs map[int]results.Run, rows map[int]*runRows, err error) {
	runs, k := map[int]results.Run{}, deviceRows{runs: map[int]*runRows{}}
	err = Run(context.Background(), e,
		Options{Workers: workers, Clock: time.Now, Recorder: k.recorder(func(i int, r results.Run) error {
			runs[i] = r
			return nil
		})})
	return runs, k.runs, err
}

// checkRows requires the rows of a run to add up to its rounds, and the seconds of
// each to the time since the round before.
func checkRows(run *results.Run, rows []results.DeviceRow, devices int) error {
	rounds := run.Rounds[1:]
	if len(rows) != devices*len(rounds) {
		return fmt.Errorf("%d rows for %d devices and %d rounds", len(rows), devices, len(rounds))
	}
	near := func(got, want float64) bool { return math.Abs(got-want) <= 1e-9*max(1, math.Abs(want)) }
	for h, want := range rounds {
		var sum results.Round
		took := want.TimeS - run.Rounds[h].TimeS
		for client, r := range rows[h*devices : (h+1)*devices] {
			if r.Device != client || r.Round != want.Round || r.TimeS != want.TimeS {
				return fmt.Errorf("row of device %d, round %d, %g s in place of device %d, round %d, %g s", r.Device,
					r.Round, r.TimeS, client, want.Round, want.TimeS)
			}
			seconds := []float64{r.DownlinkS, r.ComputeS, r.UplinkS, r.PollS, r.WaitS, r.UnavailableS, r.DepletedS}
			all := 0.0
			for _, s := range seconds {
				if !(s >= 0) {
					return fmt.Errorf("round %d, device %d: seconds %v", want.Round, client, seconds)
				}
				all += s
			}
			if !near(all, took) {
				return fmt.Errorf("round %d, device %d: seconds %v add up to %g, the round took %g", want.Round, client,
					seconds, all, took)
			}
			if came := !math.IsNaN(r.ResponseS); came != (r.Responses > 0) ||
				came && !(r.ResponseS >= 0 && r.ResponseS <= took*(1+1e-9)) {
				return fmt.Errorf("round %d, device %d: %d answers, the last at %g of %g s",
					want.Round, client, r.Responses, r.ResponseS, took)
			}
			if (r.Outcome == results.OutcomeAccepted) != (r.Taken > 0) || r.Taken > r.Responses {
				return fmt.Errorf("round %d, device %d: %s, %d taken of %d", want.Round, client, r.Outcome, r.Taken,
					r.Responses)
			}
			if r.BytesDown != math.Trunc(r.BytesDown) || r.BytesUp != math.Trunc(r.BytesUp) {
				return fmt.Errorf("round %d, device %d: %g bytes down, %g up: must be whole", want.Round, client,
					r.BytesDown, r.BytesUp)
			}
			theta := math.NaN()
			if want.Thetas != nil {
				theta = want.Thetas[client]
			}
			if r.Theta != theta && !(math.IsNaN(r.Theta) && math.IsNaN(theta)) {
				return fmt.Errorf("round %d, device %d: theta %g", want.Round, client, r.Theta)
			}
			sum.Participants += r.Taken
			sum.Dropped += r.Dropped
			sum.Late += r.Late
			sum.FLOPs += r.FLOPs
			sum.BytesDown += r.BytesDown
			sum.BytesUp += r.BytesUp
			sum.EnergyJ += r.EnergyJ
		}
		if sum.Participants != want.Participants || sum.Dropped != want.Dropped || sum.Late != want.Late ||
			!near(sum.FLOPs, want.FLOPs) || !near(sum.BytesDown, want.BytesDown) || !near(sum.BytesUp, want.BytesUp) ||
			!near(sum.EnergyJ, want.EnergyJ) {
			return fmt.Errorf("round %d: the rows add up to %+v, the round is %+v", want.Round, sum, want)
		}
	}
	return nil
}

// Under whatever protocol, links, faults, batteries and comings and goings: the
// rows of the devices add up to the rounds, are the same for one worker and for
// three, and change nothing.
func TestRowsByDeviceAddUp(t *testing.T) {
	racetest.Skip(t, "compares many small runs; other tests run as much in parallel")
	rapid.Check(t, func(rt *rapid.T) {
		one := func(key string, values ...string) string {
			return key + "=" + rapid.SampledFrom(values).Draw(rt, key)
		}
		set := []string{
			one("federation.protocol", "wait-for-all", "deadline", "charged", "first"),
			one("faults.drop_probability", "0", "0.3"),
			one("faults.drop_phase", "start", "compute", "upload", "uniform"),
			one("faults.on_return", "discard", "resume"), one("network.jitter", "0", "0.5"),
			one("network.loss_probability", "0", "0.2"), one("network.shared.server_down_mbps", "", "0.5"),
			one("network.profile", "lte", "3g", "wifi"), one("traces.availability.mean_up_s", "", "2"),
			"traces.availability.mean_down_s=1", one("overhead.client_poll_s", "0", "0.17"),
			one("overhead.launch_poll_s", "0", "0.05"), one("overhead.server_poll_s", "0", "0.11"),
			one("federation.late", "drop", "keep"), one("federation.clients_per_round", "100 %", "60 %"),
			one("federation.server_gflops", "", "1e-6"), one("devices.battery.wh", "mains", "2e-4"),
			"devices.charging.when=when-depleted", "devices.charging.watts=1",
			one("devices.battery.low", "", "0.4"), one("run.theta_every", "", "4"),
			one("run.mode", "learning", "learning", "timing"), "run.rounds=12", "problem.optimum.when=never",
		}
		method, protocol := "mocha", set[0]
		switch {
		case rapid.IntRange(0, 4).Draw(rt, "asynchronous") == 0:
			method, protocol = "async-mocha", "federation.protocol=asynchronous"
			set = append(set, one("methods.async-mocha.options.max_staleness", "0", "3"))
		case protocol == "federation.protocol=deadline":
			set = append(set, one("federation.deadline_s", "0.2", "0.6"),
				one("federation.protocol_options.retries", "0", "2"))
		case protocol == "federation.protocol=first":
			set = append(set, "federation.protocol_options.over_selection=1.5", one("federation.min_reports", "0", "2"),
				"federation.deadline_s=5")
		}
		set[0] = protocol
		e, ok := tryParse(rt, "[methods."+method+"]\n", append(set, "run.devices=true"))
		if !ok {
			rt.Skip("these settings do not go together")
		}
		runs, rows, err := rowsOf(e, 1)
		if err != nil {
			rt.Skip(err) // found by the federation
		}
		again, rowsAgain, err := rowsOf(e, 3)
		expect.NoError(rt, err)
		bare, err := gather(context.Background(), e, Options{})
		expect.NoError(rt, err)
		run := runs[0]
		expect.Must(rt, text(run) == text(again[0]) && text(run) == text(bare[0]), "rows by device change the run")
		if rows[0] == nil && rowsAgain[0] == nil { // such as batteries that are empty before the first round
			n := len(run.Rounds)
			expect.Must(rt, n <= 1, "%d rounds without a row", n-1)
			return
		}
		a, b := fmt.Sprintf("%v", rows[0].rows), fmt.Sprintf("%v", rowsAgain[0].rows)
		expect.Must(rt, a == b, "three workers make other rows than one")
		expect.Must(rt, rows[0].about.ID == run.ID, "rows of %q, of run %q", rows[0].about.ID, run.ID)
		expect.NoError(rt, checkRows(&run, rows[0].rows, 5))
	})
}

// Each outcome in a scenario that brings it about.
func TestEveryOutcomeHappens(t *testing.T) {
	for outcome, set := range map[results.Outcome][]string{
		results.OutcomeAccepted: {"federation.protocol=wait-for-all"},
		results.OutcomeRefused: {"federation.protocol=deadline", "federation.deadline_s=0.6",
			"faults.drop_probability=0.5", "federation.min_reports=4"},
		results.OutcomeUnderWay: {"federation.protocol=first", "federation.clients_per_round=60 %",
			"federation.protocol_options.over_selection=1.5", "federation.late=keep", "network.jitter=0.5"},
		results.OutcomeDropped:     {"federation.protocol=first", "faults.never=[2]"},
		results.OutcomeMessageLost: {"federation.protocol=first", "network.loss_probability=0.5"},
		results.OutcomeUnavailable: {"federation.protocol=first", "traces.availability.mean_up_s=1",
			"traces.availability.mean_down_s=1"},
		results.OutcomeDepleted: {"federation.protocol=first", "devices.battery.wh=2e-4",
			"devices.charging.when=when-depleted", "devices.charging.watts=1"},
		results.OutcomeLowBattery: {"federation.protocol=first", "devices.battery.wh=1e-3", "devices.battery.low=0.6",
			"devices.battery.return_at=0.7", "devices.charging.watts=0.5", "devices.charging.when=daily",
			"devices.charging.from_h=0"},
		results.OutcomeLate: {"federation.protocol=first", "federation.protocol_options.over_selection=1.5",
			"federation.clients_per_round=60 %", "network.jitter=0.5"},
		results.OutcomeNoTime: {"federation.protocol=deadline", "federation.deadline_s=0.13",
			"network.jitter=0.5"},
		results.OutcomeNotSelected: {"federation.protocol=first", "federation.clients_per_round=60 %"},
	} {
		e := parse(t, "[methods.mocha]\n", append(set, "run.devices=true", "problem.optimum.when=never")...)
		runs, rows, err := rowsOf(e, 1)
		if err != nil {
			t.Errorf("%s: %v", outcome, err)
			continue
		}
		run, seen := runs[0], map[results.Outcome]int{}
		for _, r := range rows[0].rows {
			seen[r.Outcome]++
		}
		if err := checkRows(&run, rows[0].rows, 5); err != nil || seen[outcome] == 0 {
			t.Errorf("%s: %v, %v", outcome, seen, err)
		}
	}
}

// tryParse is parse of settings that may not go together.
func tryParse(t *rapid.T, source string, set []string) ([]scenario.Experiment, bool) {
	s, err := scenario.Parse("small.toml", []byte(small+source), set)
	if err != nil {
		t.Logf("%v", err)
		return nil, false
	}
	return s.Experiments, true
}
