package learning

import (
	"fmt"
	"reflect"
	"testing"

	"fedsim/data"
	"fedsim/engine"
	"fedsim/federation"
	"fedsim/mtl"
)

// seconds are the times of devices for a gradient: factors of one second.
type seconds []float64

func (s seconds) Speed(device int, _ engine.Time) (float64, engine.Time) {
	return 1 / s[device], engine.Never
}

// parabolas is F_k(w) = (w - y_k)^2/2: a gradient step with gamma = 1/2 changes w by (y_k - w)/2.
func parabolas(t *testing.T, y ...float64) *mtl.Problem {
	t.Helper()
	train := &data.Set{Name: "parabolas", Features: 1, Real: true}
	test := &data.Set{Name: "parabolas", Features: 1, Real: true}
	for k, y := range y {
		x := data.NewMatrix(1, 1)
		x.Row(0)[0] = 1
		train.Clients = append(train.Clients, data.Client{Name: fmt.Sprint(k), X: x, Y: []float64{y}})
		test.Clients = append(test.Clients, data.Client{Name: fmt.Sprint(k), X: data.NewMatrix(0, 1)})
	}
	cfg := mtl.Defaults()
	cfg.Loss, cfg.Regularizer = mtl.LossSquared, mtl.RegIndependent
	return mustProblem(t, cfg, data.Split{Train: train, Test: test})
}

// Steps, refusals and times by hand. Two devices respond after 1 and 2.5 seconds: at 1, 2, 2.5 and 3. Three respond
// after 1, 2.25 and 3.5: at 1, 2, 2.25, 3, 3.5 and 4. For asgd and two devices, w is 1/2, 3/4, 3/4 - 1 with the
// gradient at 0, and -1/4 + 1/8 with that at 3/4.
func TestGradientsByHand(t *testing.T) {
	for _, c := range []struct {
		times   seconds
		y       []float64
		method  string
		option  int // R or B
		w       float64
		refused int
	}{
		{seconds{1, 2.5}, []float64{1, -2}, "asgd", 0, -1.0 / 8, 0},
		{seconds{1, 2.5}, []float64{1, -2}, "ringmaster", 2, 7.0 / 8, 1},
		{seconds{1, 2.5}, []float64{1, -2}, "ringmaster", 3, -1.0 / 8, 0},
		{seconds{1, 2.5}, []float64{1, -2}, "rennala", 2, 1.0 / 2, 1},
		{seconds{1, 2.5}, []float64{1, -2}, "rescaled", 0, -7.0 / 8, 0},   // c = 1/2, 1/2, 3/2, 2/3
		{seconds{1, 2.5}, []float64{1, -2}, "ringleader", 0, -1.0 / 2, 0}, // steps of -1/4 at 2.5 and 3
		{seconds{1, 2.25, 3.5}, []float64{1, -2, 4}, "asgd", 0, 39.0 / 16, 0},
		{seconds{1, 2.25, 3.5}, []float64{1, -2, 4}, "ringmaster", 3, 7.0 / 16, 1},
		{seconds{1, 2.25, 3.5}, []float64{1, -2, 4}, "rennala", 2, 3.0 / 4, 2},
		{seconds{1, 2.25, 3.5}, []float64{1, -2, 4}, "rescaled", 0, 4119.0 / 1296, 0}, // c = 1/3, 1/3, 1, 4/9, 5/3, 1/2
		{seconds{1, 2.25, 3.5}, []float64{1, -2, 4}, "ringleader", 0, 1, 0},           // steps of 1/2 at 3.5 and 4
	} {
		out := run(t, world(t, c.method, federation.Asynchronous, func(s *Setup) {
			s.Problem, s.Speed, s.Schedule.Rounds = parabolas(t, c.y...), c.times, 2
			s.Network.DownlinkMbps, s.Network.UplinkMbps, s.Network.RTTms = 1e9, 1e9, 0
			// A gradient takes 4 FLOPs and its step 5 at D = 1, one second of a device.
			s.Devices.ClockGHz = 9e-9
			options := reflect.ValueOf(s.Options).Elem()
			options.FieldByName("Batch").SetInt(0)
			options.FieldByName("Step").SetFloat(0.5)
			for _, name := range []string{"Delay", "Gradients"} {
				if f := options.FieldByName(name); f.IsValid() {
					f.SetInt(int64(c.option))
				}
			}
		}))
		end := map[int]float64{2: 3, 3: 4}[len(c.y)]
		last, refused := out.Rounds[2], out.Rounds[1].Late+out.Rounds[2].Late
		if !near(last.TimeS, end, 1e-6) || refused != c.refused || !near(out.Model.Row(0)[0], c.w, 1e-12) {
			t.Errorf("%s %d on %d devices: w = %.15g at %g s, %d refused; want %.15g at %g s, %d refused",
				c.method, c.option, len(c.y), out.Model.Row(0)[0], last.TimeS, refused, c.w, end, c.refused)
		}
	}
}
