package mtl

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"testing"

	"fedsim/data"
	"fedsim/internal/tools/expect"
)

// pointProgram is an external model of a point w, with the loss 1/2 |w - k|^2 for each row of client
// k, of elements of whatever part. It fails from a request on.
type pointProgram struct {
	asked, evaluated atomic.Int32
	failsAt          int32
	metrics          []NamedMetric
}

var errPoint = errors.New("out of memory")

func (p *pointProgram) ask() error {
	if n := p.asked.Add(1); p.failsAt > 0 && n >= p.failsAt {
		return errPoint
	}
	return nil
}

func (p *pointProgram) Sizes() Sizes { return Sizes{Values: 2, RowFLOPs: 7, RowTraffic: 3} }

func (p *pointProgram) ValueName(i int) string { return fmt.Sprintf("value %d", i) }

func (p *pointProgram) Metrics() []NamedMetric { return p.metrics }

func (p *pointProgram) Initial(seed uint64, w []float64) error {
	w[0], w[1] = float64(seed), 1
	return p.ask()
}

func (p *pointProgram) Gradient(client int, _ []int32, _, w []float64, _ uint64, scale float64,
	into, _ []float64) (loss float64, err error) {
	if err := p.ask(); err != nil {
		return 0, err
	}
	for j := range into {
		g := w[j] - float64(client)
		into[j] = scale * g
		loss += g * g / 2
	}
	return loss, nil
}

// Losses has the loss of each row above that of the row before by 1, the target k, and w_0 for what predicts it.
func (p *pointProgram) Losses(_, k int, w []float64) (data.Matrix, error) {
	loss, err := p.Gradient(k, nil, nil, w, 0, 1, make([]float64, 2), nil)
	of := data.NewMatrix(3, 3)
	for i := range of.Rows {
		copy(of.Row(i), []float64{loss + float64(i), float64(k), w[0]})
	}
	return of, err
}

func (p *pointProgram) Evaluate(part int, elements []int32, w []float64, into []Measure) error {
	p.evaluated.Add(1)
	for i, k := range elements {
		loss, _ := p.Gradient(int(k), nil, nil, w, 0, 1, make([]float64, 2), nil)
		into[i] = Measure{Rows: 3, Loss: loss, Square: loss * loss, Misses: float64(k)}
		if p.metrics != nil {
			into[i].Own = []float64{float64(k) + w[0], float64(part)}
		}
	}
	return p.ask()
}

// pointProblem is a problem of a program on three clients with three rows each, which fedsim does not
// have.
func pointProblem(t *testing.T, p *pointProgram) *Problem {
	t.Helper()
	cfg := Defaults()
	cfg.Model, cfg.Regularizer = ModelExternal, RegIndependent
	rows := []int32{3, 3, 3}
	problem := expect.Value(NewExternalProblem(cfg, *data.RowsElsewhere(false, rows, rows, nil), p))(t)
	return problem
}

// The sizes, starting values, gradients, losses and errors of an external model are those of its program.
func TestAnExternalModel(t *testing.T) {
	program := new(pointProgram)
	p := pointProblem(t, program)
	if p.Values() != 2 || p.RowFLOPs() != 7 || p.StepFLOPs() != 7 || p.RowTraffic() != 3 || p.BatchTraffic() != 4 {
		t.Errorf("%d values, %g and %g FLOPs, traffic %g and %g", p.Values(), p.RowFLOPs(), p.StepFLOPs(),
			p.RowTraffic(), p.BatchTraffic())
	}
	w := make([]float64, 2)
	if p.Initial(5, w); w[0] != 5 || w[1] != 1 {
		t.Errorf("starts at %v", w)
	}
	// Twice the sum over three rows of (5 - 2, 1 - 2).
	g, into := p.NewGradient(), []float64{1, 1}
	g.For(2, Stream{})
	if g.Sum(nil, []int32{0, 1, 2}, w, 2, into); into[0] != 18 || into[1] != -6 {
		t.Errorf("the gradient is %v", into)
	}
	// At (1, 1): losses 1, 0 and 1, each of three rows; c_t = 1/3. Errors 0/3, 1/3 and 2/3.
	one := data.NewMatrix(1, 2)
	one.Data[0], one.Data[1] = 1, 1
	coupling := expect.Value(p.Regularizer.Start(nil, 3))(t)
	program.evaluated.Store(0)
	o := p.Evaluate(nil, coupling, &one, nil, nil)
	if loss := o.Primal - valueOf(coupling, &one, nil); math.Abs(loss-2) > 1e-12 ||
		math.Abs(o.TrainError-1.0/3) > 1e-12 || o.TestError != o.TrainError {
		t.Errorf("the loss is %g, the errors %g and %g", loss, o.TrainError, o.TestError)
	}
	n := program.evaluated.Load()
	expect.That(t, n == 2, "%d requests for two parts with one model", n)
	mean, rms := p.LocalRMS(2, []float64{1, 1})
	expect.That(t, mean == 1 && rms == 1, "client 2 has the mean loss %g, rms %g", mean, rms)
	start := p.StartLoss()
	expect.That(t, start == 0+1+4, "P(0) is %g", start)
	expect.That(t, p.Err() == nil, "%v", p.Err())
}

// A mixture of the points (0, 0) and (2, 2) with the shares 1/4 and 3/4 has the losses -log sum_m pi_m exp(-loss_m),
// and predicts 3/2.
func TestAMixtureOfAnExternalModel(t *testing.T) {
	cfg := Defaults()
	cfg.Model, cfg.Regularizer = ModelExternal, RegIndependent
	rows := []int32{3, 3, 3}
	program := new(pointProgram)
	p := expect.Value(NewExternalProblem(cfg, *data.RowsElsewhere(true, rows, rows, nil), program))(t)
	mixture := []float64{0, 0, 2, 2, 0.25, 0.75}
	for client, first := range []float64{-math.Log(0.25 + 0.75*math.Exp(-4)), 1, -math.Log(0.25*math.Exp(-4) + 0.75)} {
		want := math.Sqrt((first*first + (first+1)*(first+1) + (first+2)*(first+2)) / 3)
		mean, rms := p.LocalRMS(client, mixture)
		expect.That(t, math.Abs(mean-first-1) < 1e-14 && math.Abs(rms-want) < 1e-14,
			"client %d has the mean loss %g, rms %g, want %g and %g", client, mean, rms, first+1, want)
	}
	all := data.NewMatrix(1, len(mixture))
	copy(all.Row(0), mixture)
	o := p.Evaluate(nil, expect.Value(p.Regularizer.Start(nil, 3))(t), &all, nil, nil)
	want := math.Sqrt((1.5*1.5 + 0.5*0.5 + 0.5*0.5) / 3)
	expect.That(t, math.Abs(o.TestError-want) < 1e-14, "the error is %g, want %g", o.TestError, want)
	program.failsAt = 1
	mean, _ := p.LocalRMS(0, mixture)
	expect.That(t, errors.Is(p.Err(), errPoint), "the mean loss is %g, the error %v", mean, p.Err())
}

// The metrics of a program's own are means over rows, of elements in their order, and values of each
// client; those of clients without rows are NaN.
func TestMetricsOfAProgram(t *testing.T) {
	program := &pointProgram{metrics: []NamedMetric{{Name: "sum"}, {Name: "part"}}}
	cfg := Defaults()
	cfg.Model, cfg.Regularizer = ModelExternal, RegIndependent
	p := expect.Value(NewExternalProblem(cfg, *data.RowsElsewhere(false, []int32{1, 2, 5}, []int32{0, 4, 1}, nil),
		program))(t)
	w := data.NewMatrix(3, 2)
	w.Row(0)[0], w.Row(1)[0], w.Row(2)[0] = 10, 20, 30 // a model for each client
	coupling := expect.Value(p.Regularizer.Start(nil, 3))(t)
	// The elements have 3 rows each, as pointProgram says, where the set has any.
	o := p.Evaluate(NewPool(2), coupling, &w, nil, nil)
	want := [3][]float64{{(10 + 21 + 32) / 3.0, 0}, {(21 + 32) / 2.0, 1}, {math.NaN(), math.NaN()}}
	expect.That(t, fmt.Sprint(o.Own) == fmt.Sprint(want), "the metrics are %v, want %v", o.Own, want)
	q := p.NewSample(0, 0).Quality(NewPool(1), &w, false)
	if got, want := fmt.Sprint(q.Train.Own, q.Test.Own), "[[10 21 32] [0 0 0]] [[NaN 21 32] [NaN 1 1]]"; got != want {
		t.Errorf("the clients have %s, want %s", got, want)
	}
	if means := p.ownMeans([]fit{{rows: 1, own: []float64{1, 2}}, {}, {rows: 3, own: []float64{5, 4}}}); fmt.Sprint(
		means) != "[4 3.5]" {
		t.Errorf("the means over 1 and 3 rows are %v", means)
	}
}

// After its first error a program is asked no more.
func TestAnExternalModelFailsOnce(t *testing.T) {
	program := &pointProgram{failsAt: 3}
	p := pointProblem(t, program)
	g, into := p.NewGradient(), make([]float64, 2)
	g.For(1, Stream{})
	for range 10 {
		g.Sum(nil, []int32{0}, []float64{0, 0}, 1, into)
	}
	expect.That(t, p.Err() == errPoint && program.asked.Load() == 3 && into[0] == -1,
		"%v after %d requests, the sum is %v", p.Err(), program.asked.Load(), into)
	p = pointProblem(t, new(pointProgram))
	p.NewGradient().Sum(nil, []int32{0}, []float64{0, 0}, 1, into)
	if err := p.Err(); err == nil || !strings.Contains(err.Error(), "it must call mtl.Gradient.For") {
		t.Errorf("a method that names no client: %v", err)
	}
}
