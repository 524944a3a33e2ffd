package federation

import (
	"math"

	"fedsim/results"
)

// thetas returns theta_t^h of every device in the round that is about to close: 1
// for those of which the server takes no answer, and measured for the others (eq.
// localSolutionQuality2a). An answer to an earlier round solves a subproblem that is
// gone: its theta is not known (NaN). thetas returns nil in rounds that are not
// measured and for methods that cannot say. It costs no virtual time.
func (f *Federation) thetas() []results.Theta {
	if f.replaying() {
		return f.log.rounds[f.round+1].Thetas
	}
	every := f.setup.Plan.ThetaEvery
	if !f.method.About.Theta || every == 0 || (f.round+1)%every != 0 {
		return nil
	}
	thetas := make([]results.Theta, len(f.devices))
	f.setup.Pool.For(len(thetas), func(t, _ int) {
		thetas[t] = results.Theta{Value: 1, Accepted: f.takes(t)}
		if !thetas[t].Accepted {
			return
		}
		if thetas[t].Value = math.NaN(); f.clients.Number(t) == f.round {
			update := f.method.Inspected.Update(t)
			thetas[t].Value = update.Theta(f.setup.Problem, t)
		}
	})
	return thetas
}
