package heterogeneity

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
)

// oracle returns the numbers of a row of testdata/flhetbench.csv, whose first line names the source.
func oracle(t *testing.T, name string) (numbers []float64) {
	t.Helper()
	for line := range strings.Lines(string(filetest.Read(t, "testdata/flhetbench.csv"))) {
		cells := strings.Split(strings.TrimSpace(line), ",")
		if len(cells) < 6 || cells[4] != name {
			continue
		}
		for _, text := range strings.Fields(cells[5]) {
			x := expect.Value(strconv.ParseFloat(text, 64))(t)
			numbers = append(numbers, x)
		}
	}
	expect.Must(t, numbers != nil, "no row %s", name)
	return numbers
}

// DevMC and StatMC are those of FLHetBench's code. All ready clients are chosen, so that nothing is
// random.
func TestFLHetBench(t *testing.T) {
	of := oracle(t, "size;ddl;rounds;c;t_break;trips;r")
	s := Setting{Chosen: 5, DeadlineS: of[1], Rounds: int(of[2]), Cap: int(of[3]), BreakS: of[4], Trips: int(of[5]),
		SlowShare: of[6]}
	expect.That(t, of[0]*1024 == ModelBytes, "the model has %d bytes", ModelBytes)
	near := func(what string, got, want float64) {
		t.Helper()
		expect.That(t, math.Abs(got-want) <= 1e-10*want, "%s is %.15g, want %.15g", what, got, want)
	}
	costs := oracle(t, "speeds")
	for i, want := range oracle(t, "t_cost") {
		costs[i] = of[0]/costs[i] + of[0]/costs[i]
		near("cost", costs[i], want)
	}
	r, time := s.DevMC(costs)
	near("DevMC-R", r, oracle(t, "DevMC-R")[0])
	near("DevMC-T", time, oracle(t, "DevMC-T")[0])
	var one Intervals
	for i, on := range oracle(t, "trace") { // by second
		if at := float64(i); on == 1 && len(one.On) > 0 && one.On[len(one.On)-1][1] == at {
			one.On[len(one.On)-1][1]++
		} else if on == 1 {
			one.On = append(one.On, [2]float64{at, at + 1})
		}
		one.Period++
	}
	clients, sum := []Intervals{one, one, one, one, one}, 0.0
	tried := oracle(t, "costs")
	for _, cost := range tried {
		n := oracle(t, fmt.Sprintf("S_i(t_cost=%g)", cost))[0]
		got := s.successes(5, func(i int, at float64) (float64, bool) { return clients[i].trip(at, cost) })
		near("successes", got, math.Log(1+5*n)/math.Log(1+float64(s.Cap)*5))
		sum += got
	}
	near("StatMC-R", sum/float64(len(tried)), oracle(t, "StatMC-R")[0])
}

// Clients that are always available and whose trips take no time are ideal: by hand 1. Where nobody is
// available, R is 0 and T infinite. A trip of 10 s makes a round 30 s instead of 20.
func TestBounds(t *testing.T) {
	s := Default()
	s.Trips, s.Rounds, s.Cap = 1000, 300, 60
	always := make([]Intervals, 100)
	for i := range always {
		always[i] = Intervals{On: [][2]float64{{0, 60}}, Period: 60}
	}
	if r, time := s.DevMC(make([]float64, 100)); time != 1 || !(r > 0.95 && r <= 1) {
		t.Errorf("ideal devices have %v and %v", r, time)
	}
	if r, time := s.StatMC(always); math.Abs(time-7) > 1e-12 || !(r > 0.95 && r <= 1) { // a mean round of 120 + 20 s
		t.Errorf("always available: %v and %v", r, time)
	}
	if r, time := s.StatMC(make([]Intervals, 100)); r != 0 || !math.IsInf(time, 1) {
		t.Errorf("never available: %v and %v", r, time)
	}
	var begins []float64
	s.Rounds = 3
	s.successes(1, func(_ int, at float64) (float64, bool) { begins = append(begins, at); return 500, true })
	if want := []float64{20, 160, 300}; !slices.Equal(begins, want) { // a trip that fails takes the deadline
		t.Errorf("rounds begin at %v, want %v", begins, want)
	}
	got := P90P10([]float64{11, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
	expect.That(t, got == 5, "P90/P10 of 1 to 11 is %v", got)
}
