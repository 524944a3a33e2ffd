package clients

import (
	"math"
	"testing"

	"fedsim/devices"
	"fedsim/engine"
)

// slowTask gives a client 0.5 s for local work, 0.02 s for a step and 3 s for a gigabyte.
func slowTask(s *Setup) {
	s.Devices.TaskS, s.Devices.StepS, s.Devices.TrafficSPerGB = 0.5, 0.02, 3
}

// local is a second of FLOPs, 10 steps and 1e8 bytes: 1 + 0.5 + 0.2 + 0.3 s.
var local = devices.Work{FLOPs: 1000, Steps: 10, Traffic: 1e8}

// Overheads are work of the processor: a low battery, its speed over time and partial work
// apply to them. Partial work takes the time of all: the task is not repeated.
func TestOverheadsAreWorkOfTheProcessor(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Setup)
		slower float64
		want   float64
	}{
		"plain":        {nil, 1, 2},
		"low battery":  {nil, 1, 4},
		"speed trace":  {func(s *Setup) { s.Speed = stairs{second, []float64{1, 0.5}} }, 1, 3},
		"partial work": {nil, 2, 0.5 + 2*1.5},
		"least work":   {func(s *Setup) { s.Least = devices.Work{FLOPs: 5000, Steps: 1} }, 1, 5.52},
		"no least":     {func(s *Setup) { s.Least = devices.Work{FLOPs: 1200} }, 1, 2},
		"scaled FLOPs": {func(s *Setup) { s.Devices.FLOPsScale = 3 }, 1, 4},
	} {
		p := processorsOf(1, func(s *Setup) {
			slowTask(s)
			if c.change != nil {
				c.change(s)
			}
		})
		p.SetSlower(0, c.slower)
		p.population.at(0).slow = name == "low battery"
		p.population.SetWork(0, local, 0)
		if got := p.computeTime(0); !near(got, engine.FromSeconds(c.want), 1) {
			t.Errorf("%s: %v, want %g s", name, got, c.want)
		}
	}
}

// The least work has no jitter: everybody is charged the same.
func TestLeastWorkHasNoJitter(t *testing.T) {
	p := processorsOf(1, func(s *Setup) {
		slowTask(s)
		s.Devices.Jitter = 0.4
		s.Least = devices.Work{FLOPs: 5000, Steps: 1}
	})
	p.population.SetWork(0, local, 0)
	for number := range 10 {
		p.drawJitter(0, number, 0)
		if got := p.computeTime(0); !near(got, engine.FromSeconds(5.52), 1) {
			t.Errorf("attempt %d: %v, want 5.52 s", number, got)
		}
	}
}

// What plans has no jitter, and what happens does: the drawn factor multiplies FLOPs and overheads.
func TestPlansAreMeans(t *testing.T) {
	c := start(t, setup(2, func(s *Setup) { slowTask(s); s.Devices.Jitter = 0.4 }), Listener{})
	for number := range 5 {
		c.PrepareDownlink(1, number, 0)
		c.SetWork(1, local, 0)
		c.PrepareUplink(1)
		drawn := c.Fleet().Jitter(1, number, 0)
		if got, want := c.State(1).Compute, engine.FromSeconds(2*drawn); drawn == 1 || !near(got, want, 1) {
			t.Errorf("attempt %d computes %v, want %v", number, got, want)
		}
		for name, got := range map[string]engine.Time{
			"present": c.PresentCompute(1, 0, local), "usual": c.UsualCompute(1, local),
			"response": c.ExpectedResponse(1, 0, local, 0) - c.ExpectedDownlink(1, 0) - c.ExpectedUplink(1, 0),
		} {
			if !near(got, 2*second, 1) {
				t.Errorf("the %s time is %v, want 2 s", name, got)
			}
		}
		if !c.Within(1, local, 0, 2) || c.Within(1, local, 0, 1.999) {
			t.Error("what fits is not what takes 2 s in the mean")
		}
	}
}

// A client with overheads that is interrupted continues where it was, and another try of the same
// attempt draws another factor.
func TestOverheadsOfAnInterruptedAttempt(t *testing.T) {
	ended := engine.Never
	var c *Clients
	s := setup(1, func(s *Setup) {
		slowTask(s)
		s.Devices.Jitter = 0.4
		s.Faults.OutageShare, s.Faults.OutageFromS, s.Faults.OutageToS, s.Faults.OnReturn = 1, 0.5, 2.5, devices.Resume
		s.NoMessages = true
	})
	c = start(t, s, Listener{Responded: func(int) { ended = c.Now() }})
	c.Start(0, Attempt{Number: 3, Work: local})
	c.RunUntil(20 * second)
	if want := engine.FromSeconds(2*c.Fleet().Jitter(0, 3, 0)) + 2*second; !near(ended, want, 10) {
		t.Errorf("the attempt ends at %v, want %v", ended, want)
	}
	first := c.State(0).Compute
	c.Retry(0)
	if got, want := c.State(0).Compute, engine.FromSeconds(2*c.Fleet().Jitter(0, 3, 1)); got == first ||
		!near(got, want, 1) {
		t.Errorf("the next try computes %v, want %v", got, want)
	}
}

// The spans of computing give the share of overheads, cut ones too; without overheads it is 0.
func TestSpansTellOverheads(t *testing.T) {
	for want, change := range map[float64]func(*Setup){0.5: slowTask, 0: func(*Setup) {}} {
		var p page
		s := setup(1, func(s *Setup) { change(s); s.Journal = &p })
		c := start(t, s, Listener{})
		c.Start(0, Attempt{Work: local})
		c.RunUntil(second / 2)
		c.CutSpans()
		c.RunUntil(5 * second)
		spans := 0
		for _, e := range p {
			if e.Kind == Span && e.Activity == Compute {
				spans++
			} else if e.Overhead != 0 {
				t.Errorf("%+v has overheads", e)
			}
			if e.Kind == Span && e.Activity == Compute && math.Abs(e.Overhead-want) > 1e-12 {
				t.Errorf("%g of a span are overheads, want %g", e.Overhead, want)
			}
		}
		if spans != 2 {
			t.Errorf("%d spans of computing, want 2", spans)
		}
	}
}
