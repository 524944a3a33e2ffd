package learning

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"fedsim/algorithms/methods"
	"fedsim/data"
	"fedsim/engine"
	"fedsim/federation"
	"fedsim/federation/protocols"
	"fedsim/internal/tools/filetest"
	"fedsim/mtl"
)

// quartet are the four quadratic clients of testdata/compass.csv as least squares: two rows sqrt(2) L' with
// A = L L', so that their mean loss is 1/2 (w - b)' A (w - b).
func quartet(t *testing.T) *mtl.Problem {
	set := &data.Set{Name: "quartet", Features: 2, Real: true}
	for _, q := range []struct{ a, b, c, x, y float64 }{ // A = (a b; b c), b = (x, y)
		{2, 0.5, 1, 1, -1}, {1, -0.25, 0.5, -2, 0.5}, {0.75, 0.25, 1.5, 0.5, 2}, {1.25, 0, 0.8, 3, -0.5},
	} {
		l := math.Sqrt(q.a)
		task := data.Client{X: data.NewMatrix(2, 2), Y: make([]float64, 2)}
		copy(task.X.Row(0), []float64{math.Sqrt2 * l, math.Sqrt2 * q.b / l})
		copy(task.X.Row(1), []float64{0, math.Sqrt2 * math.Sqrt(q.c-q.b*q.b/q.a)})
		for i := range task.Y {
			task.Y[i] = task.X.Row(i)[0]*q.x + task.X.Row(i)[1]*q.y
		}
		set.Clients = append(set.Clients, task)
	}
	cfg := mtl.Defaults()
	cfg.Regularizer, cfg.Loss = mtl.RegIndependent, mtl.LossSquared
	return mustProblem(t, cfg, data.Split{Train: set, Test: set})
}

// paced makes a mini-batch of the quartet take the times of testdata/compass.csv.
type paced struct{ flops float64 }

func (p paced) Speed(device int, at engine.Time) (float64, engine.Time) {
	factor := p.flops / rate / []float64{0.1, 0.17, 0.29, 0.43}[device]
	slows := engine.FromSeconds(10.15) // after its second response
	switch {
	case device != 2:
		return factor, engine.Never
	case at < slows:
		return factor, slows
	}
	return factor / 2.3, engine.Never
}

// The scheduler gives the steps of the authors' scheduler in virtual time, at its instants, and the server has the
// model of another program after each of its steps: groups, a timer and a late response are among them.
func TestCompassOnTheQuartet(t *testing.T) {
	type moment struct {
		at     float64
		client int // 0: the server took a step
		values []float64
	}
	var got, want []moment
	for _, row := range filetest.Rows(t, "testdata/compass.csv")[1:] {
		m := moment{at: filetest.Number(t, row[2])}
		for _, cell := range strings.Fields(row[6]) {
			m.values = append(m.values, filetest.Number(t, cell))
		}
		switch row[5] {
		case "steps,group":
			m.client, m.values = int(filetest.Number(t, row[3])), m.values[:1]
			want = append(want, m)
		case "w":
			want = append(want, m)
		}
	}
	var f *Federation
	now, w, attempts := 0.0, []float64{0, 0}, []int{0, 0, 0, 0}
	look := func() {
		if present := f.method.Model().W.Row(0); !slices.Equal(w, present) {
			w = slices.Clone(present)
			got = append(got, moment{now, 0, w})
		}
		for k := range attempts {
			if n := f.clients.Number(k); n > attempts[k] {
				attempts[k] = n
				budget := f.server.Attempt(k).Limit
				got = append(got, moment{now, k + 1, []float64{float64(budget) / 2}})
			}
		}
	}
	s := world(t, "fedcompass", protocols.Compass, func(s *Setup) {
		s.Problem = quartet(t)
		o := s.Options.(*methods.FedCompassOptions)
		o.Batch, o.Shuffle, o.Step = 0, false, 0.02
		s.Config.ProtocolOptions = compassOptions(t, 4, 20, 1.2)
		s.Network.DownlinkMbps, s.Network.UplinkMbps, s.Network.RTTms = 1e9, 1e9, 0
		about := s.Factory.Describe(s.Options, s.Problem.Shape)
		s.Speed = paced{about.Work.Of(2, 2)}
		s.Hooks = &engine.Hooks{Fired: func(e engine.Event) { look(); now = e.At.Seconds() }}
		s.Schedule.Rounds = 7
	})
	f = start(t, s)
	finish(t, f)
	order := func(a, b moment) int { // of an instant, the step and then clients
		if math.Abs(a.at-b.at) > 1e-6 {
			return int(math.Copysign(1, a.at-b.at))
		}
		return a.client - b.client
	}
	slices.SortFunc(got, order)
	slices.SortFunc(want, order)
	if len(got) < len(want) {
		t.Errorf("%d moments, want %d", len(got), len(want))
	}
	for i, m := range want[:min(len(want), len(got))] {
		ok := math.Abs(got[i].at-m.at) < 1e-6 && got[i].client == m.client
		for j := range m.values {
			ok = ok && math.Abs(got[i].values[j]-m.values[j]) < 1e-10
		}
		if !ok {
			t.Fatalf("moment %d is %+v, want %+v", i, got[i], m)
		}
	}
}

// compassOptions are options of the scheduler.
func compassOptions(t testing.TB, fewest, most int, latest float64) any {
	t.Helper()
	factory, _ := federation.LookupProtocol(protocols.Compass)
	o := factory.Options()
	v := reflect.ValueOf(o).Elem()
	v.FieldByName("MinSteps").SetInt(int64(fewest))
	v.FieldByName("MaxSteps").SetInt(int64(most))
	v.FieldByName("LatestFactor").SetFloat(latest)
	return o
}
