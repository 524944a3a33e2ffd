package methods

import (
	"math"
	"testing"

	"fedsim/algorithms"
	"fedsim/internal/tools/expect"
	"fedsim/mtl"
)

// tiered starts hierarchical averaging behind hubs of a size.
func tiered(t testing.TB, p *mtl.Problem, c mtl.Coupling, size int) *hierFAvg {
	t.Helper()
	f, _ := algorithms.Lookup("hierfavg")
	o := f.Options()
	smaller(o)
	a := expect.Value(f.New(algorithms.Setup{Problem: p, Coupling: c, Workers: testPool.Size(), HubSize: size}, o))(t)
	return a.(*hierFAvg)
}

// hubRound does a round of the devices of a hub.
func hubRound(h *hierFAvg, p *mtl.Problem, hub, number int, takesPart func(k int) bool) {
	for k := range p.Clients() {
		if h.hub(k) != hub {
			continue
		}
		h.Solve(request(k, number, algorithms.NoLimit, 0))
		if takesPart == nil || takesPart(k) {
			h.Commit(k, 1)
		} else {
			h.Discard(k)
		}
	}
}

// The slow twin: hub models are lists of FedAvg rounds, the server weighs them by the rows of
// the devices that took part. A hub without responses has no weight, a withdrawn one neither.
func TestHierarchicalAveragingBySlowTwin(t *testing.T) {
	t.Parallel()
	p, c := randomProblem(t, tiedToMean, nil, 7, 9, 14, 5, 30, 8, 21, 11)
	const size, rounds = 3, 4
	h := tiered(t, p, c, size)
	twin := start(t, "fedavg", p, c, smaller).(*fedAvg)
	for server := range 12 {
		w := append([]float64(nil), h.Weights()...)
		want, total := make([]float64, len(w)), 0.0
		withdrawn := server % 4 // 3: none
		h.Begin()
		for hub := range 3 {
			in := func(k, i int) bool { return chance(k, 100*server+i, 0.5) && !(hub == 1 && server%5 == 2) }
			copy(twin.Weights(), w)
			took := map[int]bool{}
			for i := range rounds {
				number := server*rounds + i
				twin.Begin()
				for k := hub * size; k < min((hub+1)*size, p.Clients()); k++ {
					twin.Solve(request(k, number, algorithms.NoLimit, 0))
					if in(k, i) {
						twin.Commit(k, 1)
						took[k] = true
					} else {
						twin.Discard(k)
					}
				}
				twin.End()
				if hubRound(h, p, hub, number, func(k int) bool { return in(k, i) }); i < rounds-1 {
					h.Gather(hub)
				}
			}
			if hub == withdrawn {
				h.Withdraw(hub)
				continue
			}
			for k := range p.Clients() {
				if took[k] {
					weight := float64(p.RowCounts()[k])
					total += weight
					for j, x := range twin.Weights() {
						want[j] += weight * x
					}
				}
			}
		}
		h.End()
		for j, got := range h.Weights() {
			if x := want[j] / total; math.Abs(got-x) > 1e-12*math.Max(1, math.Abs(x)) {
				t.Fatalf("round %d: w[%d] = %.17g, want %.17g", server, j, got, x)
			}
		}
	}
}

// The server moves the first hub's model towards each other report: a difference, a product and
// a sum for each value.
func TestWorkOfHubReports(t *testing.T) {
	p, c := randomProblem(t, tiedToMean, nil, 7, 9, 14, 5, 30, 8, 21)
	for reports := range 4 {
		h := tiered(t, p, c, 2) // 3 hubs
		h.Begin()
		for hub := range reports {
			hubRound(h, p, hub, 0, nil)
		}
		want := 3.0 * 7 * float64(max(0, reports-1))
		flops, _ := h.End()
		expect.That(t, flops == want, "%d reports: the server takes %g FLOPs, counted %g", reports, flops, want)
	}
}

// With one round of hubs, hierarchical averaging is federated averaging for any responses: to
// rounding with several hubs, bit for bit with one.
func TestOneRoundOfHubsIsFedAvg(t *testing.T) {
	t.Parallel()
	p, c := randomProblem(t, tiedToMean, nil, 7, 9, 14, 5, 30, 8, 21)
	for _, size := range []int{1, 2, 4, 6, 0} {
		average, h := start(t, "fedavg", p, c, smaller), tiered(t, p, c, size)
		for round := range 30 {
			in := func(k int) bool { return chance(k, round, 0.7) }
			average.Begin()
			h.Begin()
			for k := range p.Clients() {
				for _, a := range []algorithms.Algorithm{average, h} {
					a.Solve(request(k, round, algorithms.NoLimit, 0))
					if in(k) {
						a.Commit(k, 1)
					} else {
						a.Discard(k)
					}
				}
			}
			average.End()
			h.End()
			for i, want := range average.Model().W.Row(0) {
				got := h.Model().W.Row(0)[i]
				if one := size == 0 || size >= p.Clients(); one && got != want ||
					math.Abs(got-want) > 1e-12*math.Max(1, math.Abs(want)) {
					t.Fatalf("hubs of %d, round %d: w[%d] = %.17g, fedavg has %.17g", size, round, i, got, want)
				}
			}
		}
	}
}
