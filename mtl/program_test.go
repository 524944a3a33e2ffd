package mtl

import (
	"errors"
	"math"
	"strings"
	"sync/atomic"
	"testing"

	"fedsim/data"
)

// pointProgram is an external model of a point w, with the loss 1/2 |w - k|^2 for each row of client
// k, of elements of whatever part. It fails from a request on.
type pointProgram struct {
	asked, evaluated atomic.Int32
	failsAt          int32
}

var errPoint = errors.New("out of memory")

func (p *pointProgram) ask() error {
	if n := p.asked.Add(1); p.failsAt > 0 && n >= p.failsAt {
		return errPoint
	}
	return nil
}

func (p *pointProgram) Sizes() Sizes { return Sizes{Values: 2, RowFLOPs: 7, RowTraffic: 3} }

func (p *pointProgram) Initial(seed uint64, w []float64) error {
	w[0], w[1] = float64(seed), 1
	return p.ask()
}

func (p *pointProgram) Gradient(client int, _ []int32, w []float64, _ uint64, g []float64) (loss float64, err error) {
	for j := range g {
		g[j] = w[j] - float64(client)
		loss += g[j] * g[j] / 2
	}
	return loss, p.ask()
}

func (p *pointProgram) Evaluate(_ int, elements []int32, w []float64, into []Measure) error {
	p.evaluated.Add(1)
	for i, k := range elements {
		loss, _ := p.Gradient(int(k), nil, w, 0, make([]float64, 2))
		into[i] = Measure{Rows: 3, Loss: loss, Square: loss * loss, Misses: float64(k)}
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
	problem, err := NewExternalProblem(cfg, *data.RowsElsewhere(false, rows, rows, nil), p)
	if err != nil {
		t.Fatal(err)
	}
	return problem
}

// The sizes, starting values, gradients, losses and errors of an external model are those of its program.
func TestAnExternalModel(t *testing.T) {
	program := new(pointProgram)
	p := pointProblem(t, program)
	if p.Values() != 2 || p.RowFLOPs() != 7 || p.StepFLOPs() != 7 || p.RowTraffic() != 3 || p.BatchTraffic() != 4 {
		t.Errorf("%d values, %g and %g FLOPs, traffic %g and %g", p.Values(), p.RowFLOPs(), p.StepFLOPs(), p.RowTraffic(), p.BatchTraffic())
	}
	w := make([]float64, 2)
	if p.Initial(5, w); w[0] != 5 || w[1] != 1 {
		t.Errorf("starts at %v", w)
	}
	// Twice the sum over three rows of (5 - 2, 1 - 2), added to (1, 1).
	g, into := p.NewGradient(), []float64{1, 1}
	g.For(2, Stream{})
	if g.Add(nil, []int32{0, 1, 2}, w, 2, into); into[0] != 19 || into[1] != -5 {
		t.Errorf("the gradient is %v", into)
	}
	// At (1, 1): losses 1, 0 and 1, each of three rows; c_t = 1/3. Errors 0/3, 1/3 and 2/3.
	one := data.NewMatrix(1, 2)
	one.Data[0], one.Data[1] = 1, 1
	coupling, err := p.Regularizer.Start(nil, 3)
	if err != nil {
		t.Fatal(err)
	}
	program.evaluated.Store(0)
	o := p.Evaluate(nil, coupling, &one, nil, nil)
	if loss := o.Primal - valueOf(coupling, &one, nil); math.Abs(loss-2) > 1e-12 || math.Abs(o.TrainError-1.0/3) > 1e-12 || o.TestError != o.TrainError {
		t.Errorf("the loss is %g, the errors %g and %g", loss, o.TrainError, o.TestError)
	}
	if n := program.evaluated.Load(); n != 2 {
		t.Errorf("%d requests for two parts with one model", n)
	}
	if mean, rms := p.LocalRMS(2, []float64{1, 1}); mean != 1 || rms != 1 {
		t.Errorf("client 2 has the mean loss %g, rms %g", mean, rms)
	}
	if start := p.StartLoss(); start != 0+1+4 {
		t.Errorf("P(0) is %g", start)
	}
	if p.Err() != nil {
		t.Error(p.Err())
	}
}

// After its first error a program is asked no more.
func TestAnExternalModelFailsOnce(t *testing.T) {
	program := &pointProgram{failsAt: 3}
	p := pointProblem(t, program)
	g, into := p.NewGradient(), make([]float64, 2)
	g.For(1, Stream{})
	for range 10 {
		g.Add(nil, []int32{0}, []float64{0, 0}, 1, into)
	}
	if p.Err() != errPoint || program.asked.Load() != 3 || into[0] != -2 {
		t.Errorf("%v after %d requests, the sum is %v", p.Err(), program.asked.Load(), into)
	}
	p = pointProblem(t, new(pointProgram))
	p.NewGradient().Add(nil, []int32{0}, []float64{0, 0}, 1, into)
	if err := p.Err(); err == nil || !strings.Contains(err.Error(), "it must call mtl.Gradient.For") {
		t.Errorf("a method that names no client: %v", err)
	}
}
