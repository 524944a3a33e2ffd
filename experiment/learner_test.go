package experiment

import (
	"errors"
	"math"
	"testing"

	"fedsim/algorithms"
	"fedsim/config"
	"fedsim/internal/tools/expect"
	"fedsim/mtl"
)

// stump is a learner that is not a linear model: it predicts the majority label of all
// rows whose clients have responded so far, and reports its share of errors.
type stump struct {
	algorithms.Described
	problem   *algorithms.Setup
	votes     []float64 // by client: the sum of its labels
	counted   []bool
	tentative []bool
	total     float64
}

type stumpOptions struct{}

func (stumpOptions) Validate(*config.Checker) {}

func init() {
	algorithms.Register(algorithms.Factory{
		Name: "stump", Summary: "the majority label", Reference: "none",
		Describe: func(algorithms.Options, mtl.Shape) algorithms.Description {
			return algorithms.Description{Evaluated: algorithms.ByMethod, Own: true,
				Work: algorithms.Workload{StepFLOPs: 1}}
		},
		Options: func() algorithms.Options { return &stumpOptions{} },
		New: func(s algorithms.Setup, _ algorithms.Options) (algorithms.Algorithm, error) {
			n := len(s.Rows)
			return &stump{Described: algorithms.Described{About: s.Description}, problem: &s, votes: make([]float64, n),
				counted: make([]bool, n), tentative: make([]bool, n)}, nil
		},
	})
}

func (s *stump) Begin() (algorithms.Sent, error) { return algorithms.Sent{Size: 1}, nil }
func (s *stump) Solve(r algorithms.Request) algorithms.Response {
	s.votes[r.Device] = 0
	for _, y := range s.problem.Problem.Train.Clients[r.Device].Y {
		s.votes[r.Device] += y
	}
	n := int(s.problem.Rows[r.Device])
	return algorithms.Response{Steps: n, FLOPs: float64(n), Values: 1}
}
func (s *stump) Discard(int)           {}
func (s *stump) End() (float64, error) { return 1, nil }
func (s *stump) Commit(k int, _ float64) {
	if !s.counted[k] {
		s.counted[k] = true
		s.total += s.votes[k]
	}
}

func (s *stump) Evaluate() (algorithms.Evaluation, error) {
	m := algorithms.Unknown()
	wrong, rows := 0.0, 0.0
	for _, task := range s.problem.Problem.Train.Clients {
		for _, y := range task.Y {
			if rows++; y != math.Copysign(1, s.total) {
				wrong++
			}
		}
	}
	m.TrainError = wrong / rows
	return algorithms.Evaluation{Metrics: m, Hash: math.Float64bits(s.total)}, nil
}

// A learner that is not a linear model runs from a scenario. Its runs record the metrics
// that it reports, whether they share a recording or not.
func TestALearnerRunsFromAScenario(t *testing.T) {
	const scenario = "[methods.stump]\n"
	for _, protocol := range []string{"wait-for-all", "charged"} {
		runs := expect.Value(gather(t.Context(), parse(t, scenario, "federation.protocol="+protocol), Options{}))(t)
		expect.Must(t, len(runs) == 1 && len(runs[0].Rounds) == 31, "%s: %d runs", protocol, len(runs))
		r := runs[0]
		for h, x := range r.Rounds {
			if !(x.TrainError >= 0 && x.TrainError <= 1) || !math.IsNaN(x.Suboptimality) || !math.IsNaN(x.Primal) {
				t.Errorf("%s, round %d: %+v", protocol, h, x)
			}
			expect.That(t, h == 0 || x.FLOPs != 0 && x.TimeS > r.Rounds[h-1].TimeS && x.TrainError <= 0.5,
				"%s, round %d: %+v", protocol, h, x)
		}
		expect.That(t, r.ModelHash != 0, "%s: the hash of the model is not recorded", protocol)
	}
	_, err := gather(t.Context(), parse(t, scenario, "run.save_model=true"), Options{})
	var problem config.Problem
	expect.That(t, errors.As(err, &problem) && problem.Key == "run.save_model",
		"a model that is not linear is to be written: %v", err)
}
