package methods

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fedsim/algorithms"
	"fedsim/data"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
	"fedsim/mtl"
)

// periodicQuadratics is problem P1 of testdata/gradients.csv: the loss of two rows of a device, x = sqrt(2) U_i with
// U'U = A_k and y = x . b_k, is (w - b_k)' A_k (w - b_k)/2.
func periodicQuadratics(t testing.TB) (*mtl.Problem, mtl.Coupling) {
	t.Helper()
	set := &data.Set{Name: "quadratics", Features: 2, Real: true, Generated: true}
	for _, q := range []struct{ a, b, d, x, y float64 }{ // A = a b b d, b = x y
		{2, 0.5, 1, 1, -1}, {1, -0.25, 0.5, -2, 0.5}, {0.75, 0.25, 1.5, 0.5, 2}, {1.25, 0, 0.8, 3, -0.5},
	} {
		c := data.Client{X: data.NewMatrix(2, 2), Y: make([]float64, 2)}
		root := math.Sqrt(q.a)
		copy(c.X.Row(0), []float64{math.Sqrt2 * root, math.Sqrt2 * q.b / root})
		c.X.Row(1)[1] = math.Sqrt2 * math.Sqrt(q.d-q.b*q.b/q.a)
		for i := range c.Y {
			c.Y[i] = c.X.Row(i)[0]*q.x + c.X.Row(i)[1]*q.y
		}
		set.Clients = append(set.Clients, c)
	}
	return problemOn(t, set, func(c *mtl.Config) { c.Loss = mtl.LossSquared })
}

// wholeGradients sets gradients of all rows, and the parameters of P1.
func wholeGradients(gamma float64) func(algorithms.Options) {
	return func(o algorithms.Options) {
		g := o.(interface{ gradient() *gradientOptions }).gradient()
		g.Batch, g.Step = 0, gamma
		switch o := o.(type) {
		case *ringmasterOptions:
			o.Delay = 3
		case *rennalaOptions:
			o.Gradients = 5
		}
	}
}

// reference is a row of testdata/gradients.csv.
type reference struct {
	step      int
	time      float64
	who, sent int
	name      string
	value     []float64
}

func references(t testing.TB, of string) (found []reference) {
	t.Helper()
	for _, row := range filetest.Rows(t, "testdata/gradients.csv")[1:] {
		if row[0] != of {
			continue
		}
		r := reference{name: row[5]}
		r.step, _ = strconv.Atoi(row[1])
		if row[2] != "" {
			who := strings.Fields(row[3])
			r.time, r.sent = filetest.Number(t, row[2]), int(filetest.Number(t, row[4]))
			r.who = int(filetest.Number(t, who[len(who)-1])) - 1
		}
		for _, x := range strings.Fields(row[6]) {
			r.value = append(r.value, filetest.Number(t, x))
		}
		found = append(found, r)
	}
	expect.Must(t, len(found) != 0, "there is no case %q", of)
	return found
}

// long makes a server's observed response times those of long ago, so that a few more responses do not change
// them: periods are multiples of 1/16 second.
func long(a algorithms.Algorithm, periods ...float64) {
	if r, ok := a.(*rescaled); ok {
		r.steps = 0
		for k, period := range periods {
			r.taken[k] = int(math.Round(0x1p50 / period))
			r.steps += r.taken[k]
		}
	}
}

// The server's steps, their times and the refusals are those of an independent program.
func TestGradientMethodsOnQuadratics(t *testing.T) {
	tau := []float64{1.1875, 2.5, 4.25, 7}
	p, c := periodicQuadratics(t)
	for _, of := range []string{
		"asgd", "ringmaster", "ringmaster-R2", "ringmaster-stop", "ringmaster-stop-R2", "rennala", "rennala-stop",
		"ringleader", "rescaled",
	} {
		name, second := strings.CutSuffix(of, "-R2")
		name, stop := strings.CutSuffix(name, "-stop")
		a := start(t, name, p, c, func(o algorithms.Options) {
			wholeGradients(0.1)(o)
			switch o := o.(type) {
			case *ringmasterOptions:
				if o.Stop = stop; second {
					o.Delay = 5
				}
			case *rennalaOptions:
				o.Stop = stop
			}
		})
		long(a, tau...)
		model := a.(interface {
			staleness(int) int
			version() int
		})
		first, course := model.version(), newCourse(a, p, func(k, _ int) float64 { return tau[k] })
		course.begin()
		stopped, last := 0, 0
		for _, want := range references(t, of) {
			if want.name == "c" {
				for k, c := range want.value {
					got := a.(*rescaled).scale(k)
					expect.That(t, near(got, c, 1e-10), "c_%d is %.15g, want %.15g", k, got, c)
				}
				continue
			}
			who, sent, refused := want.who, want.sent, course.refused
			for course.now < want.time {
				who = slices.Index(course.due, slices.Min(course.due))
				sent = model.version() - first - model.staleness(who)
				course.next()
			}
			if want.name == "w" {
				if course.refused > 0 && stop || stopped != last {
					t.Errorf("%s: %d are stopped before %g, want %d; %d are refused", of, last, want.time, stopped,
						course.refused)
				}
				if stopped, last = 0, len(course.stopped); name == "rennala" {
					last = 0 // all that were at work
				}
			}
			version := model.version() - first
			if course.now != want.time || who != want.who || sent != want.sent || version != want.step {
				t.Fatalf("%s: device %d responds at %g with version %d, which makes %d; want %+v", of, who, course.now,
					sent, version, want)
			}
			switch want.name {
			case "w":
				nearVector(t, of, a.Model().W.Row(0), want.value, 1e-10)
			case "discarded":
				if stale := version - sent; course.refused == refused || float64(stale) != want.value[0] {
					t.Errorf("%s: a response of %d steps ago is taken at %g, want %+v", of, stale, course.now, want)
				}
			case "stopped-and-restarted":
				if !slices.Contains(course.stopped, want.who) || course.due[want.who] != want.time+tau[want.who] {
					t.Errorf("%s: at %g devices %v are stopped, want %d", of, course.now, course.stopped, want.who)
				}
				stopped++
			case "counts":
				for k, n := range want.value { // behind the last step of a round the table is that of the next
					if got := a.(*ringleader).now.counts[k]; version%4 != 0 && float64(got) != n {
						t.Errorf("step %d: %d gradients of device %d, want %g", want.step, got, k, n)
					}
				}
			}
		}
	}
}

// version returns the server's steps.
func (m *versionedModel) version() int { return m.steps }

// Where devices differ in data and speed, plain asynchronous SGD tends to the minimum of sum F_k/T_k, and
// Rescaled comes within O(gamma) of that of sum F_k. Observed times end where known ones do.
func TestLimitsUnderCyclicResponses(t *testing.T) {
	cycle, off := []float64{1, 2, 4, 8}, []float64{0, 0.25, 0.5, 0.75}
	p, c := periodicQuadratics(t)
	limit := func(name string, gamma float64, periods int, known bool) []float64 {
		a := start(t, name, p, c, wholeGradients(gamma))
		if known {
			long(a, cycle...)
		}
		course := newCourse(a, p, func(k, n int) float64 {
			if n == 0 {
				return cycle[k] + off[k]
			}
			return cycle[k]
		})
		course.begin()
		for ended := 0; ended < periods; {
			if k, _ := course.next(); k == 3 {
				ended++
			}
		}
		return slices.Clone(a.Model().W.Row(0))
	}
	want := map[string][]float64{}
	for _, r := range references(t, "fixed-async") {
		want[r.name] = r.value
	}
	away := func(x, y []float64) float64 { return math.Hypot(x[0]-y[0], x[1]-y[1]) }
	for _, name := range []string{"asgd", "rescaled"} {
		coarse, fine := limit(name, 0.02, 300, true), limit(name, 0.002, 3000, true)
		nearVector(t, name, coarse, want[name+"-gamma=0.02"], 1e-10)
		nearVector(t, name, fine, want[name+"-gamma=0.002"], 1e-10)
		end := want[map[string]string{"asgd": "asgd-gamma->0", "rescaled": "w*-equal"}[name]]
		x, y := away(coarse, end), away(fine, end)
		expect.That(t, y <= x/9, "%s: %g from its limit with gamma 0.02, %g with 0.002", name, x, y)
	}
	if x := away(limit("rescaled", 0.02, 3000, false), want["rescaled-gamma=0.02"]); x > 1e-3 {
		t.Errorf("with observed times Rescaled ends %g from its limit", x)
	}
	// Ringleader ends at the minimum itself, whatever gamma is.
	nearVector(t, "ringleader", limit("ringleader", 0.1, 300, false), want["w*-equal"], 1e-10)
}

// On P1 at w = 0, |grad f| and the distances of the gradients A_k b_k from it are those of the matrices; the noise
// of a mini-batch of one of two rows is half the difference of their gradients.
func TestMeasuredGradients(t *testing.T) {
	p, c := periodicQuadratics(t)
	a := start(t, "ringleader", p, c, func(o algorithms.Options) {
		wholeGradients(0.1)(o)
		o.(*weightedGradientOptions).Batch, o.(*weightedGradientOptions).Measure = 1, true
	})
	found := expect.Value(a.(algorithms.Reporter).Evaluate())(t)
	// grad F_k(0) = -A_k b_k: (-1.5, 0.5), (2.125, -0.75), (-0.875, -3.125), (-3.75, 0.4); mean (-1, -0.74375).
	noise, bias := 0.0, math.Hypot(2.125+1, -0.75+0.74375)
	for k := range p.Train.Clients {
		x, y := &p.Train.Clients[k].X, p.Train.Clients[k].Y
		half := 0.0
		for j := range 2 {
			d := x.Row(0)[j]*y[0] - x.Row(1)[j]*y[1]
			half += d * d / 4
		}
		noise = max(noise, math.Sqrt(half))
	}
	for i, want := range []algorithms.NamedValue{{Name: GradientNorm, Value: math.Hypot(1, 0.74375)},
		{Name: GradientNoise, Value: noise}, {Name: GradientBias, Value: bias}} {
		got := found.Values[i]
		expect.That(t, got.Name == want.Name && near(got.Value, want.Value, 1e-12), "%+v, want %+v", got, want)
	}
	if d := a.Describe(); len(d.Metrics) != 3 {
		t.Errorf("metrics %v", d.Metrics)
	}
}
