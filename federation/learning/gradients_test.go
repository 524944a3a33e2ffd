package learning

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"fedsim/clients"
	"fedsim/data"
	"fedsim/devices"
	"fedsim/engine"
	"fedsim/federation"
	"fedsim/federation/protocols"
	"fedsim/internal/tools/filetest"
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

// wholeGradients makes devices send gradients of all rows, without the time of messages. A gradient and its step take
// a second. R or B is an option of the method, if it has one.
func wholeGradients(s *Setup, gamma float64, option int, stop bool) {
	s.Network.DownlinkMbps, s.Network.UplinkMbps, s.Network.RTTms = 1e9, 1e9, 0
	options := reflect.ValueOf(s.Options).Elem()
	options.FieldByName("Batch").SetInt(0)
	options.FieldByName("Step").SetFloat(gamma)
	stopsOld(s, option, stop)
	rows := s.Problem.Train.Clients[0].X.Rows
	work := s.Factory.Describe(s.Options, s.Problem.Shape).Work
	s.Devices.ClockGHz = work.Of(rows, rows) * 1e-9
}

// stopsOld sets R or B of a method that refuses old gradients, and whether it stops their devices.
func stopsOld(s *Setup, option int, stop bool) {
	options := reflect.ValueOf(s.Options).Elem()
	f := options.FieldByName("Stop")
	if !f.IsValid() || f.Kind() != reflect.Bool {
		return
	}
	f.SetBool(stop)
	for _, name := range []string{"Delay", "Gradients"} {
		if f := options.FieldByName(name); f.IsValid() {
			f.SetInt(int64(option))
		}
	}
}

// taken are the responses that a server takes, the clients that it asks, and those whose work it stops.
type taken struct {
	who            []int
	at, failed     []float64 // seconds, the latter of clients that drop out
	asked, stopped []int32
}

func (ta *taken) Note(e federation.Entry) {
	switch {
	case e.Kind == federation.UpdateTaken:
		ta.who, ta.at = append(ta.who, int(e.Device)+1), append(ta.at, e.To.Seconds())
	case e.Kind == federation.AttemptFailed && e.Why == clients.DroppedOut:
		ta.failed = append(ta.failed, e.To.Seconds())
	case e.Kind == federation.AttemptStarted:
		ta.asked = append(ta.asked, e.Device+1)
	case e.Kind == federation.AttemptFailed && e.Why == clients.Canceled:
		ta.stopped = append(ta.stopped, e.Device+1)
	}
}

// Two devices respond after 1 and 2.5 seconds, and no gradient of two steps ago is taken. The second device is
// stopped behind the steps at 2 and 4 seconds, and w is 1/2, 3/4, 7/8, 15/16. With B = 2 Rennala stops it behind
// the same steps, to 1/2 and 3/4, but would refuse gradients of one step ago.
func TestStopsByHand(t *testing.T) {
	for _, c := range []struct {
		method string
		w      float64
	}{{"ringmaster", 15.0 / 16}, {"rennala", 3.0 / 4}} {
		var seen taken
		out := run(t, world(t, c.method, protocols.Asynchronous, func(s *Setup) {
			s.Problem, s.Speed, s.Schedule.Rounds, s.Journal = parabolas(t, 1, -2), seconds{1, 2.5}, 2, &seen
			wholeGradients(s, 0.5, 2, true)
		}))
		flops, down, up, energy, late := 0.0, 0.0, 0.0, 0.0, 0
		for _, r := range out.Rounds {
			flops, down, up, energy, late = flops+r.FLOPs, down+r.BytesDown, up+r.BytesUp, energy+r.EnergyJ, late+r.Late
		}
		if w := out.Model.Row(0)[0]; !near(w, c.w, 1e-12) || !near(out.Rounds[2].TimeS, 4, 1e-6) {
			t.Errorf("%s: w = %.15g at %g s, want %.15g at 4 s", c.method, w, out.Rounds[2].TimeS, c.w)
		}
		if !slices.Equal(seen.who, []int{1, 1, 1, 1}) || !slices.Equal(seen.stopped, []int32{2, 2}) || late != 2 {
			t.Errorf("%s: takes %v, stops %v, %d late", c.method, seen.who, seen.stopped, late)
		}
		// Four gradients, of 4 FLOPs and 5 for the step at D = 1, and twice two of 2.5 seconds of one. Messages of a
		// header of 64 bytes and a value; those that are sent at the end do not count. Both devices compute all the
		// time.
		if want := 9*4 + 9*2*2/2.5; !near(flops, want, 1e-6) {
			t.Errorf("%s: %.9g FLOPs, want %.9g", c.method, flops, want)
		}
		if down != 6*(64+8)+64 || up != 4*(64+8) {
			t.Errorf("%s: %g bytes down and %g up", c.method, down, up)
		}
		if !near(energy, 2*4*computeW, 1e-6) {
			t.Errorf("%s: %g J, want %g", c.method, energy, 2*4*computeW)
		}
	}
}

// A message takes a second. The devices respond after 2 and 2.25 seconds, and Rennala's step is of both. The first has
// been asked again, for a gradient of the same model, which it does not compute. Behind a message of 64 bytes its
// next one takes (72 + 64)/72 seconds.
func TestStopsBeforeTheMessageArrives(t *testing.T) {
	out := run(t, world(t, "rennala", protocols.Asynchronous, func(s *Setup) {
		s.Problem, s.Speed, s.Schedule.Rounds = parabolas(t, 1, -2), seconds{1, 1.25}, 2
		wholeGradients(s, 0.5, 2, true)
		s.Network.DownlinkMbps = 8 * 72e-6
	}))
	if end, want := out.Rounds[2].TimeS, 2.25+136.0/72+1; !near(end, want, 1e-6) || out.Steps != 4 {
		t.Errorf("%d gradients until %.9g s, want 4 until %.9g", out.Steps, end, want)
	}
}

// A device that has failed while it computes, before 2 seconds, is asked again behind the step that makes its model
// obsolete, not when its response is overdue, at 10 seconds.
func TestStopsOfFailedDevices(t *testing.T) {
	var seen taken
	run(t, world(t, "ringmaster", protocols.Asynchronous, func(s *Setup) {
		s.Problem, s.Speed, s.Schedule.Rounds, s.Journal = parabolas(t, 1, -2), seconds{1, 10}, 2, &seen
		s.Faults.Never, s.Faults.DropPhase, s.Seed = []int{1}, devices.AtCompute, 4
		wholeGradients(s, 0.5, 2, true)
	}))
	if !slices.Equal(seen.asked, []int32{1, 2, 1, 1, 2, 1, 1, 2}) || len(seen.failed) == 0 || seen.failed[0] > 2 {
		t.Errorf("asks %v, failures at %v s", seen.asked, seen.failed)
	}
}

// A server of which a step takes 0.25 seconds stops devices when it has done it: at 2.5 seconds, before the response of
// the second device at 2.6. The first responds at 1, 2.25, 3.5 and 4.75 seconds.
func TestStopsFollowTheServersWork(t *testing.T) {
	var seen taken
	out := run(t, world(t, "ringmaster", protocols.Asynchronous, func(s *Setup) {
		s.Problem, s.Speed, s.Schedule.Rounds, s.Journal = parabolas(t, 1, -2), seconds{1, 2.6}, 2, &seen
		s.Config.ServerGFLOPS = 8e-9 // a step takes 2 FLOPs
		wholeGradients(s, 0.5, 2, true)
	}))
	if end := out.Rounds[2].TimeS; !near(end, 4.75, 1e-6) || !slices.Equal(seen.who, []int{1, 1, 1, 1}) ||
		!slices.Equal(seen.stopped, []int32{2}) {
		t.Errorf("takes %v and stops %v until %g s", seen.who, seen.stopped, end)
	}
}

// The server's steps and their times are those of an independent program, whose P1 has four devices of two rows.
func TestStopsOnQuadratics(t *testing.T) {
	tau := seconds{1.1875, 2.5, 4.25, 7}
	rows := filetest.Rows(t, "../../algorithms/methods/testdata/gradients.csv")
	for _, c := range []struct {
		of, method               string
		option, batch, responses int
	}{{"ringmaster-stop", "ringmaster", 3, 1, 12}, {"ringmaster-stop-R2", "ringmaster", 5, 1, 12},
		{"rennala-stop", "rennala", 5, 5, 20}} {
		var who []int
		var at []float64
		var w []string
		stopped := 0
		for _, row := range rows {
			switch {
			case row[0] != c.of || filetest.Number(t, row[1])*float64(c.batch) > float64(c.responses):
			case row[5] == "w":
				for k := range strings.FieldsSeq(row[3]) {
					who = append(who, int(filetest.Number(t, k)))
				}
				at, w = append(at, filetest.Number(t, row[2])), strings.Fields(row[6])
			default:
				stopped++
			}
		}
		var seen taken
		out := run(t, world(t, c.method, protocols.Asynchronous, func(s *Setup) {
			s.Problem, s.Speed, s.Schedule.Rounds, s.Journal = quadratics(t), tau, c.responses/len(tau), &seen
			wholeGradients(s, 0.1, c.option, true)
		}))
		if !slices.Equal(seen.who, who) || c.batch == 1 && len(seen.stopped) != stopped {
			t.Errorf("%s: takes %v and stops %d, want %v and %d", c.of, seen.who, len(seen.stopped), who, stopped)
		}
		for i, want := range at {
			if got := seen.at[i*c.batch+c.batch-1]; !near(got, want, 1e-6) {
				t.Errorf("%s: step %d at %g s, want %g", c.of, i+1, got, want)
			}
		}
		for j, x := range w {
			if got := out.Model.Row(0)[j]; !near(got, filetest.Number(t, x), 1e-10) {
				t.Errorf("%s: w_%d = %.15g, want %s", c.of, j, got, x)
			}
		}
	}
}

// quadratics is P1: the loss of two rows of a device, x = sqrt(2) U_i with U'U = A_k and y = x . b_k, is
// (w - b_k)' A_k (w - b_k)/2.
func quadratics(t *testing.T) *mtl.Problem {
	t.Helper()
	p := parabolas(t, 0, 0, 0, 0)
	train, test := *p.Train, *p.Test
	train.Features, test.Features = 2, 2
	train.Clients, test.Clients = slices.Clone(train.Clients), slices.Clone(test.Clients)
	for k, q := range []struct{ a, b, d, x, y float64 }{ // A = a b b d, b = x y
		{2, 0.5, 1, 1, -1}, {1, -0.25, 0.5, -2, 0.5}, {0.75, 0.25, 1.5, 0.5, 2}, {1.25, 0, 0.8, 3, -0.5},
	} {
		c := data.Client{X: data.NewMatrix(2, 2), Y: make([]float64, 2)}
		root := math.Sqrt(q.a)
		copy(c.X.Row(0), []float64{math.Sqrt2 * root, math.Sqrt2 * q.b / root})
		c.X.Row(1)[1] = math.Sqrt2 * math.Sqrt(q.d-q.b*q.b/q.a)
		for i := range c.Y {
			c.Y[i] = c.X.Row(i)[0]*q.x + c.X.Row(i)[1]*q.y
		}
		train.Clients[k], test.Clients[k] = c, data.Client{X: data.NewMatrix(0, 2)}
	}
	return mustProblem(t, p.Config, data.Split{Train: &train, Test: &test})
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
		out := run(t, world(t, c.method, protocols.Asynchronous, func(s *Setup) {
			s.Problem, s.Speed, s.Schedule.Rounds = parabolas(t, c.y...), c.times, 2
			wholeGradients(s, 0.5, c.option, false)
		}))
		end := map[int]float64{2: 3, 3: 4}[len(c.y)]
		last, refused := out.Rounds[2], out.Rounds[1].Late+out.Rounds[2].Late
		if !near(last.TimeS, end, 1e-6) || refused != c.refused || !near(out.Model.Row(0)[0], c.w, 1e-12) {
			t.Errorf("%s %d on %d devices: w = %.15g at %g s, %d refused; want %.15g at %g s, %d refused",
				c.method, c.option, len(c.y), out.Model.Row(0)[0], last.TimeS, refused, c.w, end, c.refused)
		}
	}
}
