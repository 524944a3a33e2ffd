package learning

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"fedsim/algorithms"
	"fedsim/config"
	"fedsim/federation"
	"fedsim/federation/protocols"
	"fedsim/federation/servertest"
	"fedsim/internal/tools/state"
	"fedsim/mtl"
	"fedsim/results"
)

// angles is a learner that is not a linear model and knows no mtl.Problem. Client k has
// a direction a_k in the plane; one angle x for all is to have the least mean of
// 1 - cos(x - a_k), weighted by rows. A client takes gradient steps, the server averages.
type angles struct {
	algorithms.Described
	rows      []int32
	of        []float64 // a_k
	x         float64
	tentative []float64
	sum, rate float64 // of the round: weighted changes, weights
	fails     int     // the round whose End fails; 0: none
	rounds    int
}

var (
	_ algorithms.Reporter = (*angles)(nil)
	_ algorithms.Stateful = (*angles)(nil)
	_ algorithms.Batched  = (*angles)(nil)
)

func (a *angles) Begin() (algorithms.Sent, error) {
	a.sum, a.rate = 0, 0
	return algorithms.Sent{Size: 1}, nil
}

func (a *angles) Solve(r algorithms.Request) algorithms.Response {
	const steps = 5
	x := a.x
	for range steps {
		x -= 0.1 * math.Sin(x-a.of[r.Device])
	}
	a.tentative[r.Device] = x - a.x
	return algorithms.Response{Steps: steps, FLOPs: steps * a.About.Work.StepFLOPs, Values: 1}
}

func (a *angles) SolveAll([]algorithms.Request, []algorithms.Response) {
	panic("it does not say that it can")
}

func (a *angles) Commit(k int, _ float64) {
	w := float64(a.rows[k])
	a.sum += float64(w * a.tentative[k])
	a.rate += w
}

func (a *angles) Discard(k int) { a.tentative[k] = 0 }

var errAngles = errors.New("no connection")

func (a *angles) End() (float64, error) {
	a.rounds++
	if a.rate > 0 {
		a.x += a.sum / a.rate
	}
	if a.fails > 0 && a.rounds >= a.fails {
		return 0, errAngles
	}
	return 2, nil
}

func (a *angles) loss(k int) float64 { return 1 - math.Cos(a.x-a.of[k]) }

func (a *angles) Losses(clients []int32, into []float64) error {
	for i, k := range clients {
		into[i] = a.loss(int(k))
	}
	return nil
}

func (a *angles) Evaluate() (algorithms.Evaluation, error) {
	m := algorithms.Unknown()
	m.Primal, m.TestError = 0, 0.25
	total := 0.0
	for k, rows := range a.rows {
		m.Primal += float64(float64(rows) * a.loss(k))
		total += float64(rows)
	}
	m.Primal /= total
	return algorithms.Evaluation{Metrics: m, Hash: math.Float64bits(a.x)}, nil
}

func (a *angles) State(c *algorithms.Coder) {
	c.Float64(&a.x)
	c.Float64s(a.tentative)
}

// ownLearner makes a setup run angles, with no problem.
func ownLearner(t testing.TB, protocol string, change func(*Setup)) Setup {
	t.Helper()
	s := world(t, "mb-sgd", protocol, change)
	s.Clients, s.Shape = len(sizes), mtl.Shape{Features: 1, Outputs: 1}
	for _, n := range sizes {
		s.Rows = append(s.Rows, int32(n))
	}
	s.Problem, s.Coupling = nil, nil
	s.Factory = algorithms.Factory{Name: "angles",
		Describe: func(algorithms.Options, mtl.Shape) algorithms.Description {
			return algorithms.Description{
				Name: "angles", Evaluated: algorithms.ByMethod, Own: true, State: algorithms.Yes,
				Losses: algorithms.Yes,
				Work:   algorithms.Workload{StepFLOPs: 20},
			}
		},
		New: func(s algorithms.Setup, _ algorithms.Options) (algorithms.Algorithm, error) {
			a := &angles{Described: algorithms.Described{About: s.Description}, rows: s.Rows,
				of: make([]float64, len(s.Rows)), tentative: make([]float64, len(s.Rows))}
			for k := range a.of {
				a.of[k] = 1 + 0.3*float64(k-3)
			}
			return a, nil
		}}
	return s
}

// A learner that is not a linear model runs under every protocol with rounds. Its metrics
// are recorded, and no sub-optimality.
func TestALearnerOfItsOwn(t *testing.T) {
	for _, protocol := range []string{federation.WaitForAll, protocols.Deadline, protocols.Charged,
		protocols.First} {
		for _, selection := range []string{"uniform", "power-of-choice"} {
			setup := func() Setup {
				s := ownLearner(t, protocol, func(s *Setup) {
					s.Config.Selection, s.Config.Clients.Count, s.Config.Fit = selection, 3, false
					s.Schedule.Rounds = 60
					s.Faults.DropProbability.All = 0.2
					if selection == "power-of-choice" {
						s.Config.SelectionOptions = &federation.CandidateOptions{Candidates: 5}
					}
				})
				s.Schedule.Optimum = 1 // that of another model
				return s
			}
			s := setup()
			s.Schedule.Outer, s.Schedule.Rounds = 2, 30 // there is no Omega to update in between
			saved := withCheckpoints(&s)
			whole := run(t, s)
			first, last := whole.Rounds[0], whole.Rounds[len(whole.Rounds)-1]
			least := 1 - (1+2*(math.Cos(0.3)+math.Cos(0.6)+math.Cos(0.9)))/7 // with equal rows
			if !(last.Primal < 0.5*first.Primal) || last.Primal < 0.5*least {
				t.Errorf("%s, %s: the loss goes from %g to %g", protocol, selection, first.Primal, last.Primal)
			}
			if last.TestError != 0.25 || !math.IsNaN(last.Suboptimality) || !math.IsNaN(last.Dual) ||
				whole.Model != nil {
				t.Errorf("%s, %s: %+v", protocol, selection, last)
			}
			s = setup()
			s.Schedule.Outer, s.Schedule.Rounds = 2, 30
			s.Resume = state.Reading(bytes.NewReader((*saved)[20]))
			again := run(t, s)
			if again.ModelHash != whole.ModelHash || again.EventHash != whole.EventHash {
				t.Errorf("%s, %s: resumed after round 21, the model is %x, want %x", protocol, selection,
					again.ModelHash, whole.ModelHash)
			}
		}
	}
}

// mute has none of the abilities of its method but in its description.
type mute struct{ algorithms.Algorithm }

// An instance must be what its description says.
func TestAMethodMustBeAsDescribed(t *testing.T) {
	s := ownLearner(t, federation.WaitForAll, nil)
	whole := s.Factory.New
	s.Factory.New = func(a algorithms.Setup, o algorithms.Options) (algorithms.Algorithm, error) {
		method, err := whole(a, o)
		return mute{method}, err
	}
	if _, err := New(s); err == nil || !strings.Contains(err.Error(), "needs algorithms.Reporter") {
		t.Errorf("not a Reporter: %v", err)
	}
	factory, _ := algorithms.Lookup("mocha")
	s.Factory.New = func(a algorithms.Setup, _ algorithms.Options) (algorithms.Algorithm, error) {
		a.Problem = randomProblem(t, features, sizes...)
		a.Coupling, _ = a.Problem.Regularizer.Start(nil, a.Problem.Tasks())
		a.Description = factory.Describe(factory.Options(), a.Problem.Shape)
		return factory.New(a, factory.Options())
	}
	if _, err := New(s); err == nil {
		t.Error("a linear model runs without a problem")
	}
}

// A learner that fails ends the run after the round, with its error.
func TestALearnerFails(t *testing.T) {
	s := ownLearner(t, protocols.Charged, nil)
	whole := s.Factory.New
	s.Factory.New = func(a algorithms.Setup, o algorithms.Options) (algorithms.Algorithm, error) {
		method, err := whole(a, o)
		method.(*angles).fails = 4
		return method, err
	}
	f := start(t, s)
	rounds := 0
	_, err := f.Run(t.Context(), func(results.Round) { rounds++ })
	if !errors.Is(err, errAngles) || rounds != 4 {
		t.Errorf("%d rounds are recorded, want 0 to 3; %v", rounds, err)
	}
}

// A selector that asks for losses is refused where there are none.
func TestLossesNeedALearner(t *testing.T) {
	s := ownLearner(t, federation.WaitForAll,
		func(s *Setup) { servertest.SelectBy(&s.Config, "power-of-choice", 3, 5) })
	described(&s, func(d *algorithms.Description) {
		d.Work = algorithms.Workload{StepFLOPs: 1, Steps: func(rows, allowed int) int { return min(rows, allowed) }}
	})
	s.Factory = s.Factory.Timed()
	var problem config.Problem
	if _, err := New(s); !errors.As(err, &problem) || problem.Key != "federation.selection" {
		t.Errorf("losses without learning: %v", err)
	}
}
