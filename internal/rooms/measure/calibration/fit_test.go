package calibration

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fedsim/internal/rooms/measure/attemptlog"
	"fedsim/internal/tools/expect"
)

// realLog reads real logs. It skips the test if there are none.
func realLog(t testing.TB, pattern string) *attemptlog.Log {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(os.Getenv("FEDSIM_DATA"), "logs", pattern))
	if os.Getenv("FEDSIM_DATA") == "" || err != nil || len(paths) == 0 {
		t.Skip("no real logs: FEDSIM_DATA must name the folder with logs/" + pattern)
	}
	log, err := attemptlog.Read(paths...)
	expect.NoError(t, err)
	return log
}

// near checks a value against the truth, with a relative tolerance.
func near(t *testing.T, what string, v Value, truth, tolerance float64) {
	t.Helper()
	if !(math.Abs(v.Value-truth) <= tolerance*truth) {
		t.Errorf("%s = %g [%g, %g], the truth is %g, %.2f %% away", what, v.Value, v.Low, v.High, truth,
			100*math.Abs(v.Value-truth)/truth)
	}
}

// Paced logs have their constants in their headers: seconds = a + b steps + c FLOPs. Wire factor and
// burst are those of TCP over Ethernet and of the shaper.
func TestPacedConstants(t *testing.T) {
	log := realLog(t, "paced_cal*.csv")
	source := expect.Value(os.ReadFile(log.Runs[0].File))(t)
	first, _, _ := strings.Cut(string(source), "\n")
	var header struct {
		Clients []struct {
			Pace [3]float64
			Down float64
		}
	}
	expect.NoError(t, json.Unmarshal([]byte(strings.TrimPrefix(first, "#")), &header))
	c := expect.Value(Fit(log, Options{Resamples: 50}))(t)
	for i, k := range header.Clients {
		got := c.Clients[i]
		near(t, "a of client "+got.Name, got.TaskOverheadS, k.Pace[0], 0.05)
		near(t, "b of client "+got.Name, got.StepOverheadS, k.Pace[1], 0.03)
		near(t, "1/c of client "+got.Name, got.GFLOPS, 1e-9/k.Pace[2], 0.03)
		near(t, "rate of client "+got.Name, got.DownMbps, k.Down, 0.005)
	}
	near(t, "wire factor", c.Network.WireFactor, 1514./1448, 0.01)
	near(t, "burst", c.Network.BurstBytes, 4096, 0.05)
	held := expect.Value(c.HoldOut(log, ByRounds))(t)
	for _, e := range held.Errors {
		expect.That(t, e.Mean <= 0.005 && e.P95 <= 0.01,
			"%s: mean absolute error %.2f %%, P95 %.2f %%, of rounds held out", e.Part, 100*e.Mean, 100*e.P95)
	}
}

// Clients under a quota share their constants but for a factor, since the noise is larger than
// their differences. The errors are those of the machine.
func TestQuotaLogs(t *testing.T) {
	log := realLog(t, "cal*.csv")
	c := expect.Value(Fit(log, Options{Resamples: 50}))(t)
	expect.That(t, !c.Classes[0].Own, "clients have their own constants")
	near(t, "wire factor", c.Network.WireFactor, 1514./1448, 0.01)
	near(t, "burst", c.Network.BurstBytes, 4096, 0.05)
	for _, e := range c.InSample(log) {
		t.Logf("%+v", e)
		limit := map[string]float64{"download": 0.005, "upload": 0.005, "compute": 0.1, "attempt": 0.1}[e.Part]
		expect.That(t, e.Mean <= limit, "%s: mean absolute error %.2f %%", e.Part, 100*e.Mean)
	}
}

// The polls of Flower 1.41 are every 3 s and a few ms.
func TestFlowerLog(t *testing.T) {
	c := expect.Value(Fit(realLog(t, "flower*.csv"), Options{Resamples: 50}))(t)
	near(t, "client's poll", c.Waiting.ClientPollS, 3.010, 0.01)
	near(t, "server's poll", c.Waiting.ServerPollS, 3.006, 0.02) // with the time of a poll
	near(t, "launch", c.Waiting.LaunchS, 1.75, 0.1)              // with the wait for it
}
