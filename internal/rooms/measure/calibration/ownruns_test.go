package calibration

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"fedsim/config"
	"fedsim/devices"
	"fedsim/devices/fleets"
	"fedsim/experiment/into"
	"fedsim/experiment/scenario"
	"fedsim/internal/rooms/measure/attemptlog"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
)

// task is what the devices do in a simulated run.
type task struct {
	method   string
	features int
	epochs   int
}

// simulated runs fedsim on the devices of a truth, without nominal rates and traffic, and imports the rows by device.
// Uplinks have half of the rate of downlinks. Clients have 100 to 600 rows. Every run has its own seed, since runs of
// one seed have the same jitter.
func (tr *truth) simulated(t *testing.T, seed uint64, rounds int, tasks ...task) *attemptlog.Log {
	t.Helper()
	f := fleets.Fleet{Description: "drawn"}
	var names []string
	var rows []int
	for i, factor := range tr.factors {
		names, rows = append(names, fmt.Sprint("c", i)), append(rows, 100*(i+1))
		f.Classes = append(f.Classes, fleets.Class{
			Name: names[i], Share: 1 / float64(len(tr.factors)), ClockGHz: tr.rate / factor, FlopsPerCycle: 1, IdleW: 1,
			ComputeW: 2, BatteryWh: -1, Link: "ethernet", DownlinkMbps: tr.mbps[i], UplinkMbps: tr.mbps[i] / 2,
			RTTms: 1000 * tr.rtt, WireFactor: tr.wire, BurstBytes: tr.burst,
			Overheads: devices.Overheads{TaskS: tr.task * factor, StepS: tr.step * factor, Jitter: tr.jitter},
		})
	}
	fleet := expect.Value(fleetText(&f, nil, nil))(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "own.toml")
	var paths []string
	for k, a := range tasks {
		text := fmt.Sprintf("[data]\nsource = \"external\"\n[data.external]\nclients = %d\nrows = %s\nfeatures = %d\n"+
			"[fleet]\nname = \"fleet.toml\"\nassignment = %s\n[network]\njitter = %v\n"+
			"[run]\nmode = \"timing\"\nrounds = %d\ndevices = true\nseeds = [%d]\n[methods.%s]\n"+
			"options = { epochs = %d }\n",
			len(rows), config.Literal(rows), a.features, config.Literal(names), tr.link, rounds, 100*seed+uint64(k),
			a.method, a.epochs)
		for name, text := range map[string]string{"fleet.toml": fleet, "own.toml": text} {
			filetest.Write(t, filepath.Join(dir, name), text)
		}
		s := expect.Value(scenario.Load(file, nil))(t)
		out := filepath.Join(dir, fmt.Sprint(k))
		expect.Value(into.Run(context.Background(), s, into.Options{Dir: out, NoFigures: true}))(t)
		paths = append(paths, filepath.Join(out, "devices.parquet"))
	}
	log := expect.Value(attemptlog.Read(paths...))(t)
	return log
}

// drawOwn returns a random truth of simulated devices, whose FLOPs take about as long as their steps.
func drawOwn(seed uint64) truth {
	w := draw(seed)
	w.rate /= 100
	if seed%2 == 0 {
		w.burst = 0
	}
	return w
}

// The parameters of 20 random runs of fedsim are in the 95 % intervals of a calibration on their rows by device in
// about 95 % of all cases: 560 correlated ones. The truth of traffic, wire factor and burst, which these rows cannot
// tell, has TestCoverage.
func TestOwnRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("runs fedsim 60 times")
	}
	inside := coverage{}
	for seed := range uint64(20) {
		w := drawOwn(seed)
		log := w.simulated(t, seed, 8, task{"mocha", 20_000, 1}, task{"mocha", 80_000, 3}, task{"mocha", 80_000, 1})
		c := expect.Value(Fit(log, Options{Resamples: 100}))(t)
		k := c.Classes[0]
		inside.check("task_overhead_s", k.TaskOverheadS, w.task)
		inside.check("step_overhead_s", k.StepOverheadS, w.step)
		inside.check("gflops", k.GFLOPS, w.rate)
		inside.check("compute_jitter", c.Jitter.Compute, w.jitter)
		for i, own := range c.Clients {
			inside.check("factor", own.Time, w.factors[i])
			inside.check("down_mbps", own.DownMbps, w.mbps[i]/w.wire)
			inside.check("up_mbps", own.UpMbps, w.mbps[i]/2/w.wire)
			inside.check("rtt_ms", own.RTTms, max(0, 1000*w.rtt-8e-3*w.burst*(1/w.mbps[i]+2/w.mbps[i])))
		}
	}
	inside.report(t, 560)
}

// What rows by device cannot tell is named.
func TestOwnRunsNotIdentified(t *testing.T) {
	w := drawOwn(1)
	one, long, large := task{"mocha", 20_000, 1}, task{"mocha", 20_000, 3}, task{"mocha", 80_000, 1}
	always := []string{"absent", "burst_bytes", "client_poll_s", "drop_probability", "launch_s", "traffic_s_per_gb",
		"wire_factor"}
	for name, c := range map[string]struct {
		log  *attemptlog.Log
		more []string
	}{
		"three runs": {w.simulated(t, 1, 2, one, long, large), nil},
		"one size":   {w.simulated(t, 1, 2, one, long), []string{"rtt_ms", "step_overhead_s"}},
		"mini-batches": {w.simulated(t, 1, 2, task{"fedavg", 20_000, 1}, task{"fedavg", 20_000, 3},
			task{"fedavg", 80_000, 1}), []string{"step_overhead_s"}},
	} {
		got := expect.Value(Fit(c.log, Options{Resamples: -1}))(t)
		var missing []string
		for _, m := range got.Missing {
			missing = append(missing, m.Term)
		}
		for _, term := range append(always, c.more...) {
			expect.That(t, slices.Contains(missing, term), "%s: %s is not among %v", name, term, missing)
		}
		for _, term := range []string{"rtt_ms", "step_overhead_s", "gflops", "down_mbps", "up_mbps"} {
			expect.That(t, !slices.Contains(missing, term) || slices.Contains(c.more, term),
				"%s: %s is not known", name, term)
		}
	}
}
