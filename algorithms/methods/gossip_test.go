package methods

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"fedsim/algorithms"
	"fedsim/algorithms/kit"
	"fedsim/config"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
	"fedsim/internal/tools/rng"
)

// gossipOn returns gossip on a graph, on a small problem of so many devices.
func gossipOn(t testing.TB, devices int, set func(*GossipOptions)) *gossip {
	t.Helper()
	rows := make([]int, devices)
	for k := range rows {
		rows[k] = 5 + k%4
	}
	p, c := randomProblem(t, tiedToMean, nil, 6, rows...)
	return start(t, "gossip", p, c, func(o algorithms.Options) { set(o.(*GossipOptions)) }).(*gossip)
}

// exchange is a round without local steps.
func (g *gossip) exchange(takesPart func(k int) bool) {
	g.Begin()
	for k := range g.x.Rows {
		g.local.Store(k, g.x.Row(k))
		if takesPart == nil || takesPart(k) {
			g.Commit(k, 1)
		} else {
			g.Discard(k)
		}
	}
	g.End()
}

// scatter draws the models of all devices.
func (g *gossip) scatter() {
	s := rng.New(3, rng.Synthetic, -1, 0)
	for k := range g.x.Rows {
		for i := range g.x.Row(k) {
			g.x.Row(k)[i] = s.Normal()
		}
	}
}

func (g *gossip) distance() float64 {
	said, _ := g.Evaluate()
	return said.Values[0].Value
}

// second returns the second largest modulus of the eigenvalues of W.
func (g *gossip) second(t testing.TB) float64 {
	t.Helper()
	n := g.x.Rows
	w := mat.NewSymDense(n, nil)
	for a := range n {
		own := 1.0
		for _, b := range g.neighbors[a] {
			w.SetSym(a, int(b), g.neighbors.weight(a, int(b)))
			own -= g.neighbors.weight(a, int(b))
		}
		w.SetSym(a, a, own)
	}
	var e mat.EigenSym
	expect.Must(t, e.Factorize(w, false), "no eigenvalues")
	values := e.Values(nil) // ascending, the last is 1
	return max(math.Abs(values[0]), math.Abs(values[n-2]))
}

// Without local steps the distance to consensus falls by the second eigenvalue of W in every
// round, in the end (Boyd, Ghosh, Prabhakar, Shah: Randomized Gossip Algorithms, IEEE
// Transactions on Information Theory, 2006; for W fixed: |W^h - 11'/m| = lambda^h). Those of a
// ring are (1 + 2 cos(2 pi k/m))/3, those of a torus (1 + 2 cos(2 pi k/a) + 2 cos(2 pi l/b))/5.
func TestConsensusFallsAtTheRateOfTheSecondEigenvalue(t *testing.T) {
	t.Parallel()
	cos := func(n int) float64 { return 2 * math.Cos(2*math.Pi/float64(n)) }
	for _, c := range []struct {
		graph   string
		devices int
		degree  int
		want    float64 // 0: from the matrix
	}{
		{graphRing, 12, 2, (1 + cos(12)) / 3},
		{graphRing, 9, 2, (1 + cos(9)) / 3},
		{graphTorus, 12, 4, (3 + cos(4)) / 5}, // 3 x 4
		{graphTorus, 30, 4, (3 + cos(6)) / 5}, // 5 x 6
		{graphRegular, 24, 3, 0},
		{graphRegular, 20, 5, 0},
		{graphComplete, 7, 6, 0},
	} {
		g := gossipOn(t, c.devices, func(o *GossipOptions) { o.Graph, o.Degree = c.graph, max(1, c.degree) })
		for k, neighbors := range g.neighbors {
			expect.Must(t, len(neighbors) == c.degree,
				"%s of %d: device %d has %d neighbors, want %d", c.graph, c.devices, k, len(neighbors), c.degree)
		}
		want := g.second(t)
		expect.Must(t, c.want == 0 || math.Abs(want-c.want) <= 1e-12,
			"%s of %d: the second eigenvalue is %.15g, in closed form %.15g", c.graph, c.devices, want, c.want)
		g.scatter()
		first := g.distance()
		if c.graph == graphComplete {
			if g.exchange(nil); g.distance() > 1e-15*first {
				t.Errorf("complete: the distance is %g after a round", g.distance())
			}
			continue
		}
		const rounds = 60
		for h := 1; h <= rounds; h++ {
			if g.exchange(nil); g.distance() > first*math.Pow(want, float64(h))*(1+1e-9) {
				t.Fatalf("%s of %d: the distance is %g after %d rounds, above %g^h", c.graph, c.devices, g.distance(),
					h, want)
			}
		}
		before := g.distance()
		for range 5 {
			g.exchange(nil)
		}
		if rate := math.Pow(g.distance()/before, 1.0/5); math.Abs(rate-want) > 2e-3*want {
			t.Errorf("%s of %d: the distance falls by %.6f a round, the second eigenvalue is %.6f", c.graph, c.devices,
				rate, want)
		}
	}
}

// For any set of participants, weights stay symmetric and doubly stochastic: models equal to each other
// stay, the sum of all stays, and so do models of devices that take no part.
func TestGossipWithDropsIsDoublyStochastic(t *testing.T) {
	t.Parallel()
	const n = 14
	for _, graph := range []string{graphRing, graphRegular, graphComplete} {
		for h := range 20 {
			in := func(k int) bool { return chance(k, h, 0.6) }
			// Column j of W is what unit model j becomes.
			var columns [n][n]float64
			for j := range n {
				g := gossipOn(t, n, func(o *GossipOptions) { o.Graph, o.Degree = graph, 3 })
				for k := range n {
					clear(g.x.Row(k))
				}
				g.x.Row(j)[0] = 1
				g.exchange(in)
				for k := range n {
					columns[j][k] = g.x.Row(k)[0]
				}
			}
			for a := range n {
				row, column := 0.0, 0.0
				for b := range n {
					w := columns[b][a]
					row += w
					column += columns[a][b]
					expect.Must(t, w >= 0 && math.Abs(w-columns[a][b]) <= 1e-15,
						"%s, round %d: W[%d, %d] = %g, W[%d, %d] = %g", graph, h, a, b, w, b, a, columns[a][b])
					expect.Must(t, a == b || w <= 0 || in(a) && in(b),
						"%s, round %d: devices %d and %d exchange, and one of them took no part", graph, h, a, b)
				}
				expect.Must(t, math.Abs(row-1) <= 1e-15 && math.Abs(column-1) <= 1e-15,
					"%s, round %d: row %d sums to %.17g, column to %.17g", graph, h, a, row, column)
			}
		}
	}
}

// On the complete graph, gossip is federated averaging with equal weights.
func TestGossipOnTheCompleteGraphIsFedAvg(t *testing.T) {
	t.Parallel()
	p, c := randomProblem(t, tiedToMean, nil, 7, 9, 14, 5, 30, 8, 21)
	for _, evaluate := range []string{evaluateClients, evaluateMean} {
		g := start(t, "gossip", p, c, func(o algorithms.Options) {
			smaller(o)
			o.(*GossipOptions).Graph, o.(*GossipOptions).Evaluate = graphComplete, evaluate
		})
		average := start(t, "fedavg", p, c, func(o algorithms.Options) {
			smaller(o)
			o.(*fedAvgOptions).Weights = kit.Equally
		})
		for h := range 20 {
			round(average, p, h, algorithms.NoLimit, nil)
			round(g, p, h, algorithms.NoLimit, nil)
			want, got := average.Model().W.Row(0), g.Model().W
			for k := range got.Rows {
				for i, x := range got.Row(k) {
					expect.Must(t, math.Abs(x-want[i]) <= 1e-12*math.Max(1, math.Abs(want[i])),
						"round %d: W[%d, %d] = %.17g, fedavg has %.17g", h, k, i, x, want[i])
				}
			}
			d := g.(*gossip).distance()
			expect.Must(t, d <= 1e-12, "round %d: the consensus distance is %g", h, d)
		}
	}
}

// A device receives what its neighbors have sent: nothing before the first round, afterwards a
// model of each neighbor that took part with it, and again if it did not take part since.
// Timing mode has the same messages and work.
func TestGossipMessages(t *testing.T) {
	p, c := randomProblem(t, tiedToMean, nil, 7, 9, 14, 5, 30, 8, 21)
	f, _ := algorithms.Lookup("gossip")
	o := f.Options().(*GossipOptions)
	g := start(t, "gossip", p, c, nil).(*gossip)
	timed := expect.Value(f.Timed().Start(algorithms.Setup{Rows: p.RowCounts(), Shape: p.Shape}, o))(t)
	d := p.Values()
	want := [][]int{{0, 0, 0, 0, 0, 0}, {2, 2, 2, 2, 2, 2}, {2, 2, 1, 2, 1, 2}, {2, 2, 1, 2, 1, 2}}
	absent := []int{-1, 3, 3, -1} // by round: the device that takes no part
	for h := range 4 {
		for _, a := range []algorithms.Algorithm{g, timed} {
			sent, _ := a.Begin()
			for k := range p.Clients() {
				if got := sent.To(k); got != want[h][k]*d {
					t.Errorf("round %d: device %d is sent %d values, want %d models of %d", h, k, got, want[h][k], d)
				}
			}
		}
		for k := range p.Clients() {
			response, took := g.Solve(request(k, h, algorithms.NoLimit, 0)),
				timed.Solve(request(k, h, algorithms.NoLimit, 0))
			expect.That(t, response == took && response.Values == 2*d,
				"round %d: device %d: %+v, in timing mode %+v, want %d values", h, k, response, took, 2*d)
			// One mini-batch of all rows.
			flops := float64(response.Steps*4*d) + 5*float64(d) + 3*float64(want[h][k]*d)
			expect.That(t, response.FLOPs == flops, "round %d: device %d: %g FLOPs, want %g",
				h, k, response.FLOPs, flops)
			for _, a := range []algorithms.Algorithm{g, timed} {
				if k == absent[h] {
					a.Discard(k)
				} else {
					a.Commit(k, 1)
				}
			}
		}
		g.End()
		timed.End()
	}
}

// Devices that share a task: the run evaluates the mean of their models.
func TestGossipEvaluatesTheMeanOfATask(t *testing.T) {
	p, c := randomProblem(t, tiedToMean, []int{0, 1, 0, 2, 1, 0}, 7, 9, 14, 5, 30, 8, 21)
	g := start(t, "gossip", p, c, nil).(*gossip)
	for h := range 3 {
		round(g, p, h, algorithms.NoLimit, nil)
	}
	w := g.Model().W
	expect.Must(t, w.Rows == 3, "%d models, want one for each of 3 tasks", w.Rows)
	for i := range p.Values() {
		want := (g.x.Row(0)[i] + g.x.Row(2)[i] + g.x.Row(5)[i]) / 3
		expect.That(t, w.Row(0)[i] == want, "W[0, %d] = %g, want %g", i, w.Row(0)[i], want)
	}
}

func TestGraphsOfFiles(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"0 1\n1 2 # a path\n\n2 3\n", ""},
		{"0 1\n1 0\n1 2\n2 1\n3 2\n2 3\n", ""},
		{"0 1\n1 0\n1 2\n2 3\n", ":4\": must be there in both directions"},
		{"0 1\n2 3\n", "must be connected: from device 0, 2 of 4"},
		{"0 1\n1 4\n", ":2\": must hold two numbers of devices from 0 to 3"},
		{"0 1\n1 -1\n", ":2\": must hold two numbers"},
		{"0 1 2\n", ":1\": must hold two numbers"},
		{"0 a\n", ":1\": must hold two numbers"},
		{"1 1\n", ":1\": must hold two different devices"},
		{"0 1\n1 2\n0 1\n", ":3\": must not repeat line 1"},
	} {
		path := filepath.Join(t.TempDir(), "graph.txt")
		filetest.Write(t, path, c.text)
		g, err := newGraph(&GossipOptions{Graph: path}, 4, 0)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%q: %v", c.text, err)
		case c.want == "" && (len(g[0]) != 1 || len(g[1]) != 2 || g[1][0] != 0 || g[1][1] != 2 || len(g[3]) != 1):
			t.Errorf("%q: %v", c.text, g)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%q: %v, want %q", c.text, err, c.want)
		}
	}
	if _, err := newGraph(&GossipOptions{Graph: "./nothing"}, 4, 0); err == nil {
		t.Error("a file that is not there is accepted")
	}
}

// Random regular graphs depend on the seed alone; impossible ones are refused.
func TestGraphsOfSeeds(t *testing.T) {
	draw := func(devices, degree int, seed uint64) (graph, error) {
		return newGraph(&GossipOptions{Graph: graphRegular, Degree: degree}, devices, seed)
	}
	a, _ := draw(50, 4, 1)
	b, _ := draw(50, 4, 1)
	other, _ := draw(50, 4, 2)
	equal := func(a, b graph) bool {
		for k := range a {
			for i := range a[k] {
				if a[k][i] != b[k][i] {
					return false
				}
			}
		}
		return true
	}
	expect.That(t, equal(a, b) && !equal(a, other), "the graph does not depend on the seed alone")
	if _, err := draw(8, 7, 5); err != nil {
		t.Errorf("the complete graph: %v", err)
	}
	for _, c := range []struct {
		o       GossipOptions
		devices int
		want    string
	}{
		{GossipOptions{Graph: graphRegular, Degree: 3}, 7, "their product even"},
		{GossipOptions{Graph: graphRegular, Degree: 7}, 7, "must be below 7"},
		{GossipOptions{Graph: graphRegular, Degree: 1}, 8, "gave no connected graph"},
		{GossipOptions{Graph: graphTorus}, 7, "a torus needs a*b"},
		{GossipOptions{Graph: graphTorus}, 8, "a torus needs a*b"},
	} {
		if _, err := newGraph(&c.o, c.devices, 0); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v of %d devices: %v, want %q", c.o, c.devices, err, c.want)
		}
	}
	for n := 1; n <= 3; n++ {
		g, err := newGraph(&GossipOptions{Graph: graphRing}, n, 0)
		expect.That(t, err == nil && len(g[0]) == n-1, "a ring of %d: %v, %v", n, g, err)
	}
}

// pending is the tentative change of a device.
func (g *gossip) pending(device int) []float64 {
	change := slices.Clone(g.local.At(device, nil))
	for i, x := range g.x.Row(device) {
		change[i] -= x
	}
	return change
}

func TestGossipNamesTheNewValueOfEvaluate(t *testing.T) {
	o := &GossipOptions{LocalSGDOptions: kit.DefaultLocalSGD(), Graph: graphRing, Degree: 4, Evaluate: "devices"}
	c := config.NewChecker()
	o.Validate(c)
	found := c.Problems()
	expect.That(t, len(found) == 1 && found[0].Key == "evaluate" && strings.Contains(found[0].Want, `"clients"`),
		"evaluate = \"devices\": %v, want one problem that names \"clients\"", found)
}
