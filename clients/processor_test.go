package clients

import (
	"testing"

	"pgregory.net/rapid"

	"fedsim/devices"
	"fedsim/engine"
)

// stairs is a speed of steps of so many seconds, one after the other; the last one lasts.
type stairs struct {
	every   engine.Time
	factors []float64
}

func (s stairs) Speed(_ int, at engine.Time) (factor float64, until engine.Time) {
	i := int(at / s.every)
	if i >= len(s.factors)-1 {
		return s.factors[len(s.factors)-1], engine.Never
	}
	return s.factors[i], engine.Time(i+1) * s.every
}

// processorsOf returns processors of 1000 FLOP/s alone, without attempts and energy.
func processorsOf(n int, change func(*Setup)) *processors {
	s := setup(n, change)
	h, _ := newHardware(&s, nil)
	all := newPopulation(&s)
	p := newProcessors(&s, &all, &h, engine.New(n, engine.Options{}))
	return &p
}

// workOf returns some work of a client.
func workOf(p *processors, client int, flops float64) work {
	p.population.SetWork(client, devices.Work{FLOPs: flops}, 0)
	return p.population.work(client)
}

// Work that ends within a nanosecond ends behind it: 10 s, and a third of a second at 3.
func TestComputeEndsBehindAFraction(t *testing.T) {
	p := processorsOf(1, func(s *Setup) { s.Speed = stairs{10 * second, []float64{1, 3}} })
	if got := p.computeLength(workOf(p, 0, 11_000), 0, 1); got != 10_333_333_334 {
		t.Errorf("%v", got)
	}
}

// Work ends where a sum over milliseconds says, within one of them.
func TestComputeAgainstSlowTwin(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		speed := stairs{second, rapid.SliceOfN(rapid.SampledFrom([]float64{0, 0.25, 1, 3}), 0, 6).Draw(rt, "speeds")}
		speed.factors = append(speed.factors, 1)
		p := processorsOf(1, func(s *Setup) { s.Speed = speed })
		w := workOf(p, 0, float64(rapid.IntRange(1, 5000).Draw(rt, "FLOPs")))
		from := engine.Time(rapid.IntRange(0, 3000).Draw(rt, "ms")) * second / 1000
		done, at := 0.0, from
		for ; done < w.FLOPs; at += second / 1000 {
			factor, _ := speed.Speed(0, at)
			done += factor // FLOPs in a millisecond
		}
		if got := from + p.computeLength(w, from, 1); !near(got, at, second/1000) {
			rt.Errorf("%v, want %v", got, at)
		}
	})
}

// A client that is slower takes so many times as long, and a computation takes at least the
// time of the least work.
func TestSlowerClients(t *testing.T) {
	p := processorsOf(2, func(s *Setup) { s.Least.FLOPs = 100 })
	p.SetSlower(1, 3)
	for _, c := range []struct {
		client int
		flops  float64
		want   engine.Time
	}{{0, 2000, 2 * second}, {1, 2000, 6 * second}, {0, 10, second / 10}, {1, 40, second * 12 / 100}} {
		if got := p.computeLength(workOf(p, c.client, c.flops), 0, 1); got != c.want {
			t.Errorf("client %d takes %v for %g FLOPs, want %v", c.client, got, c.flops, c.want)
		}
	}
	// at half the clock rate
	if got := p.computeLength(work{Work: devices.Work{FLOPs: 1000}, slow: true, jitter: 1}, 0, 1); got != 2*second {
		t.Errorf("half the clock takes %v", got)
	}
	if got := p.PresentCompute(0, 0, devices.Work{FLOPs: 500}); got != second/2 {
		t.Errorf("500 FLOPs take %v now", got)
	}
}

// nervous is a speed that changes every nanosecond.
type nervous struct{}

func (nervous) Speed(_ int, at engine.Time) (float64, engine.Time) { return 1e-9, at + 1 }

// A loop over a speed that changes too often is ended when somebody gives up.
func TestGivingUp(t *testing.T) {
	asked := 0
	p := processorsOf(1, func(s *Setup) { s.Speed, s.GiveUp = nervous{}, func() bool { asked++; return asked == 2 } })
	if got := p.computeLength(workOf(p, 0, 1e9), 0, 1); got != engine.Never || asked != 2 {
		t.Errorf("%v after %d questions", got, asked)
	}
}
