package methods

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"fedsim/algorithms"
	"fedsim/algorithms/kit"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
	"fedsim/mtl"
)

// present are the clients that respond in the rounds of a period.
var present = [][]int{{0, 1}, {0}, {0, 2}, {1, 3}}

// absentMethods are the methods for absent clients, by their cases in testdata/absent.csv.
var absentMethods = []struct {
	of, name string
	set      func(algorithms.Options)
}{
	{"fedavg", "fedavg", nil},
	{"mifa-zero", "mifa", nil},
	{"mifa-wait", "mifa", func(o algorithms.Options) { o.(*mifaOptions).Unseen = unseenWait }},
	{"fedvarp", "fedvarp", nil},
	{"fedau", "fedau", nil},
	{"fedau-cutoff", "fedau", func(o algorithms.Options) { o.(*fedAUOptions).Cutoff = 3 }},
}

// startAbsent starts a method on periodicQuadratics, with K = 3 steps of a size.
func startAbsent(t *testing.T, name string, step float64,
	set func(algorithms.Options)) (algorithms.Algorithm, *mtl.Problem) {
	p, c := periodicQuadratics(t)
	return start(t, name, p, c, func(o algorithms.Options) {
		*o.(interface{ Averaged() *kit.AverageOptions }).Averaged() = kit.AverageOptions{
			LocalSGDOptions: kit.LocalSGDOptions{
				Epochs: 3, Step: step, ScheduleOptions: kit.ScheduleOptions{Schedule: kit.Constant},
			}, Weights: kit.Equally}
		if set != nil {
			set(o)
		}
	}), p
}

// absentRound runs round h of the periods.
func absentRound(a algorithms.Algorithm, p *mtl.Problem, h int) {
	round(a, p, h, algorithms.NoLimit, func(k int) bool { return slices.Contains(present[h%len(present)], k) })
}

// absentReference returns the values of testdata/absent.csv, by case, step and name.
func absentReference(t *testing.T) map[string][]float64 {
	t.Helper()
	values := map[string][]float64{}
	for _, row := range filetest.Rows(t, "testdata/absent.csv")[1:] {
		var x []float64
		for _, cell := range strings.Fields(row[6]) {
			x = append(x, filetest.Number(t, cell))
		}
		values[strings.TrimSuffix(row[0], "/P1")+" "+row[1]+" "+row[5]] = x
	}
	return values
}

// Two periods of rounds in which clients are absent have the values of another program, and so have the omegas
// of FedAU.
func TestTracesWithAbsentClients(t *testing.T) {
	reference := absentReference(t)
	for _, m := range absentMethods {
		a, p := startAbsent(t, m.name, 0.1, m.set)
		for h := range 2 * len(present) {
			absentRound(a, p, h)
			step := fmt.Sprintf("rounds-%s %d ", m.of, h+1)
			if w := a.Model().W.Row(0); m.of == "mifa-wait" && h < 3 { // client 4 has not responded
				expect.That(t, slices.Equal(w, reference[step+"w"]) && w[0] == 0, "%sw: %v", step, w)
			} else {
				nearVector(t, step+"w", w, reference[step+"w"], 1e-12)
			}
			if f, ok := a.(*fedAU); ok {
				var omega []float64
				for k := range f.gaps {
					g := f.gaps[k]
					f.cut(&g)
					omega = append(omega, g.mean())
				}
				nearVector(t, step+"omega", omega, reference[step+"omega"], 1e-12)
			}
		}
	}
}

// Over many periods FedAvg ends far from where all clients together end, and the others there, or at their own
// limits by another program. FedAU estimates its omegas to O(1/rounds), and ends O(eta) from the optimum.
func TestLimitsWithAbsentClients(t *testing.T) {
	reference := absentReference(t)
	end := func(name string, step float64, periods int) []float64 {
		a, p := startAbsent(t, name, step, nil)
		for h := range periods * len(present) {
			absentRound(a, p, h)
		}
		return a.Model().W.Row(0)
	}
	for _, c := range []struct {
		name, limit string
		tolerance   float64
	}{
		{"fedavg", "fedavg-end-of-period", 1e-10},
		{"mifa", "mifa=fedvarp=full-participation", 1e-10},
		{"fedvarp", "mifa=fedvarp=full-participation", 1e-10},
		{"fedau", "fedau-cutoff=inf-end-of-period", 2e-3},
	} {
		nearVector(t, c.name, end(c.name, 0.1, 1000), reference["fixed-rounds limit "+c.limit], c.tolerance)
	}
	optimum := reference["fixed-rounds limit w*-equal(eta->0 of the others)"]
	off := func(name string, step float64) float64 {
		w := end(name, step, int(20/step))
		return math.Hypot(w[0]-optimum[0], w[1]-optimum[1])
	}
	if rough, fine := off("fedau", 0.01), off("fedau", 0.001); fine > rough/5 || fine > 0.005 {
		t.Errorf("FedAU ends %g from the optimum with steps of 0.01, %g with 0.001", rough, fine)
	}
	biased := off("fedavg", 0.001)
	expect.That(t, biased >= 0.3, "FedAvg ends %g from the optimum: it should be biased", biased)
}

// With everyone present the methods are FedAvg with equal weights.
func TestNobodyAbsent(t *testing.T) {
	for _, m := range absentMethods {
		a, p := startAbsent(t, m.name, 0.1, m.set)
		fedAvg, _ := startAbsent(t, "fedavg", 0.1, nil)
		for h := range 50 {
			round(a, p, h, algorithms.NoLimit, nil)
			round(fedAvg, p, h, algorithms.NoLimit, nil)
			nearVector(t, m.of, a.Model().W.Row(0), fedAvg.Model().W.Row(0), 1e-13)
		}
	}
}

// A change that MIFA remembers has the step size of its own round: the step of a round takes it in the size of
// the present one.
func TestMIFARemembersGradients(t *testing.T) {
	a, p := startAbsent(t, "mifa", 0.1, func(o algorithms.Options) {
		o.(kit.LocalOptions).Local().ScheduleOptions = scheduled(kit.Stages, 1, 0.5, 0)
	})
	f := a.(*mifa)
	var changes [4][]float64
	want := []float64{0, 0}
	for h, scale := range []float64{1, 0.5} { // of the changes of round 0
		a.Begin()
		for k := range p.Clients() >> (2 * h) { // client 1 alone in round 1
			a.Solve(request(k, h, algorithms.NoLimit, 0))
			changes[k] = slices.Clone(f.Update(k).Values)
			for j := range changes[k] {
				changes[k][j] /= scale
			}
			a.Commit(k, 1)
		}
		a.End()
		for _, d := range changes {
			for j := range want {
				want[j] += scale * d[j] / 4
			}
		}
		nearVector(t, fmt.Sprintf("w after round %d", h), a.Model().W.Row(0), want, 1e-14)
	}
}

// The server's step of FedVARP scales both parts: the mean of the differences from the last changes, and the mean of
// these.
func TestFedVARPServerStep(t *testing.T) {
	a, p := startAbsent(t, "fedvarp", 0.1, func(o algorithms.Options) { o.(*fedVARPOptions).ServerStep = 0.5 })
	f := a.(*fedVARP)
	var last [4][2]float64
	want := []float64{0, 0}
	for h := range 3 {
		var step [2]float64
		for _, y := range last {
			for j := range step {
				step[j] += y[j] / 4
			}
		}
		a.Begin()
		asked := p.Clients() >> h // 4, 2, 1
		for k := range asked {
			a.Solve(request(k, h, algorithms.NoLimit, 0))
			for j, d := range f.Update(k).Values {
				step[j] += (d - last[k][j]) / float64(asked)
				last[k][j] = d
			}
			a.Commit(k, 1)
		}
		a.End()
		for j := range want {
			want[j] += 0.5 * step[j]
		}
		nearVector(t, fmt.Sprintf("w after round %d", h), a.Model().W.Row(0), want, 1e-14)
	}
}
