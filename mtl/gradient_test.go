package mtl

import (
	"fmt"
	"math"
	"testing"

	"fedsim/data"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/rng"
)

// networkOf returns a problem of two devices with random rows, several classes or two.
func networkOf(t *testing.T, loss, model string, hidden Widths, classes int, single bool) *Problem {
	t.Helper()
	s := rng.New(3, rng.Synthetic, classes, len(loss))
	set := &data.Set{Name: "random", Features: 7}
	if classes > 2 {
		for c := range classes {
			set.Classes = append(set.Classes, fmt.Sprint(c))
		}
	}
	for range 2 {
		x := data.NewMatrix(41, 7)
		if single {
			x = data.NewSingle(41, 7)
		}
		y := make([]float64, 41)
		for i := range y {
			for j := range 7 {
				v := s.Normal()
				if single {
					x.Single[i*x.Stride+j] = float32(v)
				} else {
					x.Row(i)[j] = v
				}
			}
			y[i] = float64(2*s.IntN(2) - 1)
			if classes > 2 {
				y[i] = float64(s.IntN(classes))
			}
		}
		set.Clients = append(set.Clients, data.Client{X: x, Y: y})
	}
	cfg := Defaults()
	cfg.Loss, cfg.Model, cfg.Hidden, cfg.Regularizer = loss, model, hidden, RegIndependent
	p := expect.Value(NewProblem(cfg, data.Split{Train: set, Test: &data.Set{Features: 7}}))(t)
	return p
}

// network is a model of the tests.
type network struct {
	loss    string
	hidden  Widths
	classes int
}

// networks returns the models: those of softmax, and of every smooth loss of one score.
func networks() []network {
	all := []network{{LossSoftmax, Widths{}, 5}, {LossSoftmax, Widths{6}, 5}, {LossSoftmax, Widths{9, 4}, 3}}
	for _, loss := range SmoothLosses() {
		all = append(all, network{loss, Widths{}, 5}, network{loss, Widths{}, 2}, network{loss, Widths{5}, 2},
			network{loss, Widths{3, 8}, 4})
	}
	return all
}

// eachNetwork runs a test on every model, in both precisions, with weights and biases that
// are not zero.
func eachNetwork(t *testing.T, f func(t *testing.T, p *Problem, w []float64)) {
	for _, n := range networks() {
		for _, single := range []bool{false, true} {
			t.Run(fmt.Sprint(n.loss, n.hidden, n.classes, single), func(t *testing.T) {
				model := ModelLinear
				if n.hidden != (Widths{}) {
					model = ModelMLP
				}
				p := networkOf(t, n.loss, model, n.hidden, n.classes, single)
				s := rng.New(4, rng.Synthetic, 0, 0)
				w := make([]float64, p.Values())
				for i := range w {
					w[i] = 0.5 * s.Normal()
				}
				f(t, p, w)
			})
		}
	}
}

// slowNetwork evaluates a model on one row by its definition: the activations of all layers,
// and the loss.
func slowNetwork(p *Problem, w, x []float64, y float64) (activations [][]float64, loss float64) {
	activations = [][]float64{x}
	widths := append(p.Config.Hidden.list(), p.Outputs)
	biased, at := len(widths) > 1, 0
	for l, out := range widths {
		below, above := activations[l], make([]float64, out)
		for o := range above {
			for j, v := range below {
				above[o] += w[at+o*len(below)+j] * v
			}
		}
		at += out * len(below)
		if biased {
			for o := range above {
				above[o] += w[at+o]
			}
			at += out
		}
		if l+1 < len(widths) {
			for o := range above {
				above[o] = math.Max(0, above[o])
			}
		}
		activations = append(activations, above)
	}
	z := activations[len(widths)]
	if p.Config.Loss == LossSoftmax {
		sum := 0.0
		for _, v := range z {
			sum += math.Exp(v)
		}
		return activations, math.Log(sum) - z[int(y)]
	}
	for c, v := range z {
		sign := y
		if len(z) > 1 {
			sign = -1
			if int(y) == c {
				sign = 1
			}
		}
		loss += plainLosses[p.Config.Loss].value(v, sign)
	}
	return activations, loss
}

// slowGradient adds scale times the gradient of the loss of one row, weight by weight.
func slowGradient(p *Problem, w, x []float64, y, scale float64, into []float64) {
	activations, _ := slowNetwork(p, w, x, y)
	widths := append(p.Config.Hidden.list(), p.Outputs)
	z := activations[len(widths)]
	delta := make([]float64, len(z))
	sum := 0.0
	for _, v := range z {
		sum += math.Exp(v)
	}
	for c, v := range z {
		own := 0.0
		if int(y) == c {
			own = 1
		}
		sign := 2*own - 1
		if len(z) == 1 {
			sign = y
		}
		if p.Config.Loss == LossSoftmax {
			delta[c] = math.Exp(v)/sum - own
		} else {
			delta[c] = plainLosses[p.Config.Loss].slope(v, sign)
		}
	}
	end := len(w)
	for l := len(widths) - 1; l >= 0; l-- {
		below := activations[l]
		if len(widths) > 1 {
			end -= len(delta)
			for o, d := range delta {
				into[end+o] += scale * d
			}
		}
		end -= len(delta) * len(below)
		next := make([]float64, len(below))
		for o, d := range delta {
			for j, v := range below {
				into[end+o*len(below)+j] += scale * d * v
				next[j] += d * w[end+o*len(below)+j]
			}
		}
		if l > 0 {
			for j, v := range below {
				if v == 0 {
					next[j] = 0
				}
			}
		}
		delta = next
	}
}

func TestGradientEqualsARowByRowOne(t *testing.T) {
	eachNetwork(t, func(t *testing.T, p *Problem, w []float64) {
		g := p.NewGradient()
		for _, n := range []int{1, 4, 32, 33, 41, 90} {
			s := rng.New(5, rng.Synthetic, n, 0)
			rows := make([]int32, n)
			for i := range rows {
				rows[i] = int32(s.IntN(41))
			}
			got, want := make([]float64, len(w)), make([]float64, len(w))
			for i := range got {
				got[i] = 0.25 // which is not added to
			}
			task := p.Train.Open(1)
			g.Sum(task.Client, rows, w, 0.7, got)
			space := make([]float64, 7)
			for _, i := range rows {
				slowGradient(p, w, task.X.Values(int(i), space), task.Y[i], 0.7, want)
			}
			task.Close()
			for i := range want {
				expect.Must(t, math.Abs(got[i]-want[i]) <= 1e-12*float64(n),
					"%d rows: element %d of the gradient is %.17g, want %.17g", n, i, got[i], want[i])
			}
		}
	})
}

// The gradient equals central differences of the independent loss, extrapolated once.
func TestGradientEqualsFiniteDifferences(t *testing.T) {
	eachNetwork(t, func(t *testing.T, p *Problem, w []float64) {
		task := p.Train.Open(0)
		defer task.Close()
		rows := []int32{0, 3, 17}
		got := make([]float64, len(w))
		p.NewGradient().Sum(task.Client, rows, w, 1, got)
		space := make([]float64, 7)
		total := func() (sum float64) {
			for _, i := range rows {
				_, loss := slowNetwork(p, w, task.X.Values(int(i), space), task.Y[i])
				sum += loss
			}
			return sum
		}
		difference := func(i int, h float64) float64 {
			at := w[i]
			w[i] = at + h
			up := total()
			w[i] = at - h
			down := total()
			w[i] = at
			return (up - down) / (2 * h)
		}
		for i := range w {
			const h = 1.5e-3
			a, b, c := difference(i, h), difference(i, h/2), difference(i, h/4)
			ab, bc := (4*b-a)/3, (4*c-b)/3
			if want := (16*bc - ab) / 15; math.Abs(got[i]-want) > 1e-10 {
				t.Errorf("element %d of the gradient is %.15g, by differences %.15g", i, got[i], want)
			}
		}
	})
}

// Evaluation uses the same model.
func TestScoresAndLossOfNetworks(t *testing.T) {
	eachNetwork(t, func(t *testing.T, p *Problem, w []float64) {
		task := p.Train.Open(0)
		defer task.Close()
		space := make([]float64, 7)
		sum := 0.0
		scores := p.NewGradient().Scores(task.Client, 30, 41, w)
		for i := range 41 {
			activations, loss := slowNetwork(p, w, task.X.Values(i, space), task.Y[i])
			sum += loss
			if i < 30 {
				continue
			}
			for c, z := range activations[len(activations)-1] {
				got := scores[(i-30)*p.Outputs+c]
				expect.That(t, math.Abs(got-z) <= 1e-12, "score %d of row %d is %.17g, want %.17g", c, i, got, z)
			}
		}
		if got := p.LocalLoss(0, w); math.Abs(got-sum/41) > 1e-12 {
			t.Errorf("the mean loss is %.17g, want %.17g", got, sum/41)
		}
	})
}

// A network starts with weights within the bounds of Glorot and Bengio, the same for the same
// seed, and biases of 0; a linear model starts at 0.
func TestInitialModels(t *testing.T) {
	p := networkOf(t, LossSoftmax, ModelMLP, Widths{300, 20}, 5, false)
	w, again, other := make([]float64, p.Values()), make([]float64, p.Values()), make([]float64, p.Values())
	again[0] = 3
	p.Initial(1, w)
	p.Initial(1, again)
	p.Initial(2, other)
	expect.That(t, fmt.Sprint(w) == fmt.Sprint(again) && w[0] != other[0], "the start is not a function of the seed")
	at := 0
	for _, l := range [][2]int{{7, 300}, {300, 20}, {20, 5}} {
		in, out := l[0], l[1]
		bound, most, squares := math.Sqrt(6/float64(in+out)), 0.0, 0.0
		for _, x := range w[at:][:in*out] {
			most = math.Max(most, math.Abs(x))
			squares += x * x
		}
		if variance := squares / float64(in*out) / (bound * bound / 3); most > bound || most < 0.95*bound ||
			variance < 0.8 || variance > 1.2 {
			t.Errorf("layer %d x %d: largest weight %g of %g, variance %g of the uniform one", out, in, most, bound,
				variance)
		}
		for _, b := range w[at+in*out:][:out] {
			expect.That(t, b == 0, "layer %d x %d: a bias is %g", out, in, b)
		}
		at += out * (in + 1)
	}
	expect.That(t, at == len(w), "%d values, want %d", len(w), at)
	linear := networkOf(t, LossSoftmax, ModelLinear, Widths{}, 5, false)
	w = w[:linear.Values()]
	linear.Initial(1, w)
	for _, x := range w {
		expect.Must(t, x == 0, "a linear model starts at %g", x)
	}
}

func TestShape(t *testing.T) {
	for _, c := range []struct {
		shape      Shape
		values     int
		row, coord float64
	}{
		{Shape{Features: 9, Outputs: 1}, 9, 36, 44},
		{Shape{Features: 784, Outputs: 10}, 7840, 31360, 31440},
		// 4 x 784 x 128 + 2 x 128 + 6 x 128 x 10 + 2 x 10.
		{Shape{Features: 784, Outputs: 10, Hidden: Widths{128}}, 101_770, 409_364, 409_364},
		// 4 x 20 x 8 + 2 x 8 + 6 x 8 x 5 + 2 x 5 + 6 x 5 x 3 + 2 x 3.
		{Shape{Features: 20, Outputs: 3, Hidden: Widths{8, 5}}, 20*8 + 8 + 8*5 + 5 + 5*3 + 3, 1002, 1002},
	} {
		if v, r, s := c.shape.Values(), c.shape.RowFLOPs(), c.shape.StepFLOPs(); v != c.values || r != c.row ||
			s != c.coord {
			t.Errorf("%+v: %d values, %g FLOPs a row, %g a step, want %d, %g and %g", c.shape, v, r, s, c.values, c.row,
				c.coord)
		}
	}
}

// R of equal rows needs no matrix of them.
func TestValueOfEqualRows(t *testing.T) {
	const m = 9
	s := rng.New(6, rng.Synthetic, 0, 0)
	for _, name := range []string{RegIndependent, RegMean, RegClustered, RegProbabilistic, RegGraphical} {
		cfg := Defaults()
		cfg.Regularizer, cfg.PriorPrecision, cfg.Convention = name, 0.5, ConventionPaper
		r := expect.Value(regularizerOf(cfg, m, 4))(t)
		c := expect.Value(r.Start(testPool, m))(t)
		couplings := []Coupling{c}
		w := data.NewMatrix(m, 4)
		for i := range w.Rows {
			for j := range w.Cols {
				w.Row(i)[j] = s.Normal()
			}
		}
		if learned, err := r.Update(testPool, &w, 0.1); err == nil {
			couplings = append(couplings, learned)
		}
		for _, c := range couplings {
			one, all := data.NewMatrix(1, 4), data.NewMatrix(m, 4)
			copy(one.Row(0), w.Row(3))
			for i := range m {
				copy(all.Row(i), w.Row(3))
			}
			got, want := valueOf(c, &one, nil), c.Value(&all, nil)
			expect.That(t, math.Abs(got-want) <= 1e-11*math.Abs(want),
				"%s, %T: R of equal rows is %.15g, want %.15g", name, c, got, want)
		}
	}
}
