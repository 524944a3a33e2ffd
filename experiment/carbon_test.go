package experiment

import (
	"fmt"
	"math"
	"path/filepath"
	"testing"

	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
	"fedsim/results"
)

// Two places whose intensities differ by a factor of 60, and one whose intensity changes each second.
const gridRows = `device,time_s,kind,value
clean,0,grid_g_per_kwh,20
clean,86400,end,
dirty,0,grid_g_per_kwh,1200
dirty,86400,end,
hours,0,grid_g_per_kwh,100
hours,1,grid_g_per_kwh,900
hours,2,end,
`

const gridScenario = `
targets = { test_error = [0.45] }
[devices]
profile = "phone-2017"
flops_scale = 1e5
[network]
profile = "lte"
radio = "states"
bytes_scale = 100
[federation]
protocol = "deadline"
deadline_s = 4
clients_per_round = 3
server_gflops = 1e-6
[faults]
drop_probability = 0.2
[methods.fedavg]
[energy]
grid = [%q]
network_kwh_per_gb = 0.5
server_w = 100
server_place = "clean"
pue = 1.25
`

// gramsOf returns the first run of the scenario with settings.
func gramsOf(t *testing.T, dir string, set ...string) *results.Run {
	t.Helper()
	file := filetest.New(t, "grid.csv", gridRows)
	return &mustStore(t, dir, fmt.Sprintf(gridScenario, file), 1, set...).Runs[0]
}

// Devices in a place with 60 times the intensity have 60 times the grams, and everything else is the
// same. By hand, the server's grams are power times PUE times time times intensity, those of the network
// are bytes times energy times intensity, and those of devices joules times intensity.
func TestGramsOfTwoPlaces(t *testing.T) {
	dir := t.TempDir()
	clean := gramsOf(t, filepath.Join(dir, "clean"), `energy.places=["clean"]`)
	dirty := gramsOf(t, filepath.Join(dir, "dirty"), `energy.places=["dirty"]`)
	plain := gramsOf(t, filepath.Join(dir, "plain"), `energy.grid=[]`, "energy.network_kwh_per_gb=",
		"energy.server_w=", "energy.server_place=", "energy.pue=1")
	near := func(what string, got, want float64) {
		t.Helper()
		expect.That(t, math.Abs(got-want) <= 1e-9*math.Abs(want), "%s: %v, want %v", what, got, want)
	}
	before := 0.0
	for i := range clean.Rounds {
		a, b, c := &clean.Rounds[i], &dirty.Rounds[i], &plain.Rounds[i]
		near("computing", b.Value("co2_compute_g"), 60*a.Value("co2_compute_g"))
		near("sending", b.Value("co2_send_g"), 60*a.Value("co2_send_g"))
		near("waiting", b.Value("co2_wait_g"), 60*a.Value("co2_wait_g"))
		near("network", b.Value("co2_network_g"), 60*a.Value("co2_network_g"))
		near("server", b.Value("co2_server_wait_g"), a.Value("co2_server_wait_g"))
		near("devices", a.Value("co2_compute_g")+a.Value("co2_send_g")+a.Value("co2_wait_g"), a.EnergyJ/3.6e6*20)
		near("bytes", a.Value("co2_network_g"), (a.BytesDown+a.BytesUp)*100/1e9*0.5*20)
		near("power", a.Value("co2_server_compute_g")+a.Value("co2_server_wait_g"), 100*1.25*(a.TimeS-before)/3.6e6*20)
		near("total", a.Value("co2_g"), a.Value("co2_compute_g")+a.Value("co2_send_g")+a.Value("co2_wait_g")+
			a.Value("co2_network_g")+a.Value("co2_server_compute_g")+a.Value("co2_server_wait_g"))
		near("time", c.TimeS, a.TimeS)
		near("joules", c.EnergyJ, a.EnergyJ)
		if before = a.TimeS; !math.IsNaN(c.Value("co2_g")) {
			t.Errorf("round %d has %v g without grids", i, c.Value("co2_g"))
		}
	}
	if a := clean.Total(); !(a.Value("co2_compute_g") > 0 && a.Value("co2_send_g") > 0 && a.Value("co2_wait_g") > 0 &&
		a.Value("co2_server_compute_g") > 0) {
		t.Errorf("no grams: %+v", a)
	}
	expect.That(t, clean.EventHash == plain.EventHash && clean.ModelHash == plain.ModelHash,
		"counting grams changes the run")
	if got, want := clean.CostTo(results.Target{Metric: "test_error", Value: 0.45}), clean.Total(); !got.Reached ||
		!(got.Declared["co2_g"] > 0 && got.Declared["co2_g"] <= want.Value("co2_g")) {
		t.Errorf("the target costs %+v", got)
	}
}

// A budget in grams ends a run behind the round that spends it, which is evaluated.
func TestBudgetInGrams(t *testing.T) {
	dir := t.TempDir()
	whole := gramsOf(t, filepath.Join(dir, "whole"), `energy.places=["clean"]`)
	spent, middle := 0.0, len(whole.Rounds)/2
	for _, r := range whole.Rounds[:middle+1] {
		spent += r.Value("co2_g")
	}
	for i, c := range []struct {
		grams float64
		want  int
	}{{spent * (1 - 1e-9), middle}, {spent * (1 + 1e-9), middle + 1}, {1e-9, 1}, {1e9, len(whole.Rounds) - 1}} {
		r := gramsOf(t, filepath.Join(dir, fmt.Sprint(i)), `energy.places=["clean"]`,
			fmt.Sprintf("run.max_co2_g=%v", c.grams), "run.eval_every=50")
		if last := r.Rounds[len(r.Rounds)-1]; last.Round != c.want || math.IsNaN(last.TestError) ||
			r.Status != results.Done {
			t.Errorf("%g g end round %d, %s, with a test error of %g, want %d", c.grams, last.Round, r.Status,
				last.TestError, c.want)
		}
	}
}

// A resumed run has the grams of one without interruption, where intensities change each second, and the same budget.
func TestGramsOfAResumedRun(t *testing.T) {
	file := filetest.New(t, "grid.csv", gridRows)
	total := gramsOf(t, filepath.Join(t.TempDir(), "total")).Total()
	source := fmt.Sprintf("max_co2_g = %v", 0.8*total.Value("co2_g")) + fmt.Sprintf(gridScenario, file)
	whole, parts := filepath.Join(t.TempDir(), "whole"), filepath.Join(t.TempDir(), "parts")
	mustStore(t, whole, source, 1)
	_, err := store(t, parts, source, 1, 5, "fedavg")
	expect.Must(t, Interrupted(err), "not interrupted: %v", err)
	mustStore(t, parts, source, 1)
	sameFiles(t, "resumed", parts, whole, "rounds.parquet")
}

// The selector asks clients in the hours in which their grid is below the limit, in others one, and
// among clients below it those with lower intensities more often.
func TestSelectCleanHours(t *testing.T) {
	dir := t.TempDir()
	few := gramsOf(t, filepath.Join(dir, "few"), `energy.places=["hours"]`, `federation.selection="clean"`,
		"federation.selection_options.g_per_kwh_max=500", "faults.drop_probability=0", "federation.deadline_s=3")
	for i := 1; i < len(few.Rounds); i++ { // a round of 3 s and the server's time
		want := 1
		if math.Mod(few.Rounds[i-1].TimeS, 2) < 1 {
			want = 3
		}
		if got := few.Rounds[i].Participants; got != want {
			t.Errorf("round %d, which begins at %v s, asks %d, want %d", i, few.Rounds[i-1].TimeS, got, want)
		}
	}
	uniform := gramsOf(t, filepath.Join(dir, "uniform"), `energy.places=["clean", "dirty"]`)
	clean := gramsOf(t, filepath.Join(dir, "clean"), `energy.places=["clean", "dirty"]`, `federation.selection="clean"`,
		"federation.selection_options.power=3")
	a, b := uniform.Total(), clean.Total()
	expect.That(t, b.Value("co2_compute_g") < a.Value("co2_compute_g")/5,
		"clean places take %v g, and all places alike %v g", b.Value("co2_compute_g"), a.Value("co2_compute_g"))
}
