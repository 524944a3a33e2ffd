package command

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
	"fedsim/results"
	"fedsim/results/rundir"
)

// anySettings returns a small scenario with random settings that affect responses. Not
// all combinations are valid.
func anySettings(draw *rand.Rand) string {
	var text strings.Builder
	one := func(of ...string) string { return of[draw.IntN(len(of))] }
	table := func(name string, lines ...string) {
		fmt.Fprintf(&text, "[%s]\n", name)
		for _, line := range lines {
			if line != "" {
				fmt.Fprintln(&text, line)
			}
		}
	}
	method := one("mocha", "mocha", "async-mocha", "mb-sdca", "fedbuff")
	protocol := one("wait-for-all", "deadline", "deadline", "charged", "first", "first", "asynchronous")
	table("data.synthetic", "clients = 4", "features = 4", "rows_min = 6", "rows_max = 14")
	if draw.IntN(3) == 0 {
		table("data", "clients_per_task = 2")
	}
	table("problem", "optimum.sweeps = 200",
		fmt.Sprintf("loss = %q", one("smoothed-hinge", "squared-hinge", "logistic")))
	federation := []string{fmt.Sprintf("protocol = %q", protocol), one("", "clients_per_round = 2"),
		one("", "server_gflops = 0.0001", "server_gflops = 0.001")}
	if protocol != "asynchronous" {
		federation = append(federation, one("", `selection = "data"`, `selection = "speed"`))
	}
	if protocol == "deadline" || protocol == "first" && draw.IntN(2) == 0 {
		federation = append(federation, one("deadline_s = 0.03", "deadline_s = 0.06", "deadline_s = 0.3"))
	}
	if protocol == "deadline" {
		federation = append(federation, one("", "protocol_options.fit_work = false",
			"protocol_options.fit_work = false"),
			one("", "protocol_options.quantile = 0.5"))
	}
	if protocol == "deadline" || protocol == "first" {
		federation = append(federation, one("", `late = "keep"`, `late = "keep"`),
			one("", "protocol_options.retries = 3"))
	}
	if protocol == "first" {
		federation = append(federation, one("", "protocol_options.over_selection = 2"))
	}
	if protocol != "wait-for-all" && protocol != "asynchronous" {
		federation = append(federation, one("", "min_reports = 2", "min_reports = 4"))
	}
	table("federation", federation...)
	table("devices", one("clock_ghz = 0.0002", "clock_ghz = 0.001"), "flops_per_cycle = 1.0",
		one(`battery.wh = "mains"`, `battery.wh = "mains"`, "battery.wh = 0.0001"), `charging.when = "when-depleted"`,
		"charging.watts = 1", one("", "speed_spread = 0.5"), one("", "battery.return_at = 0.9"))
	table("network", fmt.Sprintf("profile = %q", one("wifi", "lte", "ble", "ethernet")), one("", "jitter = 1"),
		one("", "loss_probability = 0.2"), one("", `radio = "states"`),
		one("", "", "shared.server_up_mbps = 0.3", "hubs.size = 2"))
	table("faults", one("", "drop_probability = 0.4"), one("", `drop_phase = "upload"`),
		one("", `on_return = "resume"`),
		one("", "outage.share = 0.5\noutage.from_s = 0.05\noutage.to_s = 0.4"))
	if draw.IntN(3) == 0 {
		table("traces.availability", "mean_up_s = 0.1", "mean_down_s = 0.05")
	}
	run := []string{"rounds = 6", "targets = { suboptimality = [1e-1, 1e-2, 1e-3] }", "devices = true",
		fmt.Sprintf("seeds = [%d]", draw.IntN(1000))}
	if protocol != "asynchronous" {
		run = append(run, "theta_every = 1")
	}
	table("run", run...)
	table("methods." + method)
	return text.String() + "[[experiment]]\nname = \"x\"\n[experiment.figure]\nx = \"time_s\"\ny = \"primal\"\n"
}

// Every reader accepts every complete run directory, for random settings. The responses in
// devices.parquet add up to the counts in rounds.parquet, and a response that was used exists.
func TestReadersAcceptEveryRun(t *testing.T) {
	const wanted = 12
	dir := t.TempDir()
	path, timeline := filepath.Join(dir, "x.toml"), filepath.Join(dir, "timeline.json")
	complete := 0
	for seed := uint64(0); complete < wanted; seed++ {
		expect.Must(t, seed != 20*wanted, "%d of %d settings are rejected", int(seed)-complete, seed)
		text := anySettings(rand.New(rand.NewPCG(seed, 4)))
		filetest.Write(t, path, text)
		made := filepath.Join(dir, fmt.Sprint(seed))
		fedsim := func(args ...string) (int, string) {
			var out, errs bytes.Buffer
			status := execute(t.Context(), args, &out, &errs)
			return status, errs.String()
		}
		switch status, message := fedsim("run", path, "--out", made, "--progress=none", "--no-figures"); status {
		case exitUsage: // an invalid combination
			continue
		case exitFailed:
			t.Fatalf("settings %d: %s\n%s", seed, message, text)
		}
		complete++
		copied := filepath.Join(dir, "copied")
		expect.NoError(t, os.CopyFS(copied, os.DirFS(made)))
		readers := [][]string{
			{"show", made}, {"explain", made}, {"explain", made, "--timeline", timeline}, {"compare", made, copied},
			{"export", made, "rounds", "-o",
				filepath.Join(copied, "rounds.json")},
			{"export", made, "devices", "-o",
				filepath.Join(copied, "devices.csv")},
			{"report", made, "-o", filepath.Join(copied, "page.html")},
		}
		if complete%6 == 0 { // drawing takes longer than the rest
			readers = append(readers, []string{"plot", made})
		}
		for _, reader := range readers {
			status, message := fedsim(reader...)
			expect.That(t, status == exitDone, "settings %d: %v: %s\n%s", seed, reader, message, text)
		}
		agree(t, made, text)
		if t.Failed() {
			return
		}
		for _, name := range []string{made, copied, timeline} {
			expect.NoError(t, os.RemoveAll(name))
		}
	}
}

// agree compares the rows by device of a run with its rounds.
func agree(t *testing.T, dir, text string) {
	t.Helper()
	read := readRuns(t, dir)
	expect.NoError(t, rundir.AddClients(dir, read.Runs))
	rounds := read.Runs[0].Rounds
	sums := make([]results.Round, len(rounds))
	expect.NoError(t, rundir.Devices(dir, func(_ string, row *results.DeviceRow) error {
		if row.Taken > row.Responses || (row.Responses > 0) == math.IsNaN(row.ResponseS) || row.ResponseS < 0 {
			t.Errorf("round %d, device %d: %d answers of which %d were taken, the last after %g s\n%s", row.Round,
				row.Device, row.Responses, row.Taken, row.ResponseS, text)
		}
		if theta := rounds[row.Round].Thetas; theta != nil && row.Taken == 0 && theta[row.Device] != 1 {
			t.Errorf("round %d, device %d: no answer was taken, and theta is %v\n%s", row.Round, row.Device,
				theta[row.Device], text)
		}
		sum := &sums[row.Round]
		sum.Participants += row.Taken
		sum.Dropped += row.Dropped
		sum.Late += row.Late
		return nil
	}))
	for h := range rounds {
		got, want := sums[h], &rounds[h]
		if got.Participants != want.Participants || got.Dropped != want.Dropped || got.Late != want.Late {
			t.Errorf("round %d: %d taken, %d dropped and %d late by device, %d, %d and %d in rounds.parquet\n%s",
				h, got.Participants, got.Dropped, got.Late, want.Participants, want.Dropped, want.Late, text)
		}
	}
}
