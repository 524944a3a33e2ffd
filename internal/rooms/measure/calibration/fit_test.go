package calibration

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fedsim/internal/rooms/measure/attemptlog"
)

// realLog reads real logs. It skips the test if there are none.
func realLog(t testing.TB, pattern string) *attemptlog.Log {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(os.Getenv("FEDSIM_DATA"), "logs", pattern))
	if os.Getenv("FEDSIM_DATA") == "" || err != nil || len(paths) == 0 {
		t.Skip("no real logs: FEDSIM_DATA must name the folder with logs/" + pattern)
	}
	log, err := attemptlog.Read(paths...)
	if err != nil {
		t.Fatal(err)
	}
	return log
}

// near checks a value against the truth, with a relative tolerance.
func near(t *testing.T, what string, v Value, truth, tolerance float64) {
	t.Helper()
	if !(math.Abs(v.Value-truth) <= tolerance*truth) {
		t.Errorf("%s = %g [%g, %g], the truth is %g, %.2f %% away", what, v.Value, v.Low, v.High, truth, 100*math.Abs(v.Value-truth)/truth)
	}
}

// Paced logs have their constants in their headers: seconds = a + b steps + c FLOPs. Wire factor and
// burst are those of TCP over Ethernet and of the shaper.
func TestPacedConstants(t *testing.T) {
	log := realLog(t, "paced_cal*.csv")
	source, err := os.ReadFile(log.Runs[0].File)
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(source), "\n")
	var header struct {
		Clients []struct {
			Pace [3]float64
			Down float64
		}
	}
	if err := json.Unmarshal([]byte(strings.TrimPrefix(first, "#")), &header); err != nil {
		t.Fatal(err)
	}
	c, err := Fit(log, Options{Resamples: 50})
	if err != nil {
		t.Fatal(err)
	}
	for i, k := range header.Clients {
		got := c.Clients[i]
		near(t, "a of client "+got.Name, got.TaskOverheadS, k.Pace[0], 0.05)
		near(t, "b of client "+got.Name, got.StepOverheadS, k.Pace[1], 0.03)
		near(t, "1/c of client "+got.Name, got.GFLOPS, 1e-9/k.Pace[2], 0.03)
		near(t, "rate of client "+got.Name, got.DownMbps, k.Down, 0.005)
	}
	near(t, "wire factor", c.Network.WireFactor, 1514./1448, 0.01)
	near(t, "burst", c.Network.BurstBytes, 4096, 0.05)
	held, err := c.HoldOut(log, ByRounds)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range held.Errors {
		if e.Mean > 0.005 || e.P95 > 0.01 {
			t.Errorf("%s: mean absolute error %.2f %%, P95 %.2f %%, of rounds held out", e.Part, 100*e.Mean, 100*e.P95)
		}
	}
}

// Clients under a quota share their constants but for a factor, since the noise is larger than
// their differences. The errors are those of the machine.
func TestQuotaLogs(t *testing.T) {
	log := realLog(t, "cal*.csv")
	c, err := Fit(log, Options{Resamples: 50})
	if err != nil {
		t.Fatal(err)
	}
	if c.Classes[0].Own {
		t.Error("clients have their own constants")
	}
	near(t, "wire factor", c.Network.WireFactor, 1514./1448, 0.01)
	near(t, "burst", c.Network.BurstBytes, 4096, 0.05)
	for _, e := range c.InSample(log) {
		t.Logf("%+v", e)
		if limit := map[string]float64{"download": 0.005, "upload": 0.005, "compute": 0.1, "attempt": 0.1}[e.Part]; e.Mean > limit {
			t.Errorf("%s: mean absolute error %.2f %%", e.Part, 100*e.Mean)
		}
	}
}

// The polls of Flower 1.41 are every 3 s and a few ms.
func TestFlowerLog(t *testing.T) {
	c, err := Fit(realLog(t, "flower*.csv"), Options{Resamples: 50})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "client's poll", c.Waiting.ClientPollS, 3.010, 0.01)
	near(t, "server's poll", c.Waiting.ServerPollS, 3.006, 0.02) // with the time of a poll
	near(t, "launch", c.Waiting.LaunchS, 1.75, 0.1)              // with the wait for it
}
