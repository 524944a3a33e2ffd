package federation

import (
	"fedsim/algorithms"
	"fedsim/results"
)

// thetas returns theta_t^h of every device in the round that is about to close:
// measured for those that were asked in it and have answered, 1 for all others (eq.
// localSolutionQuality2a). It returns nil in rounds that are not measured and for
// methods that cannot say. It costs no virtual time.
func (f *Federation) thetas() []results.Theta {
	if f.playing() {
		return f.tape.rounds[f.round+1].Thetas
	}
	every := f.setup.Plan.ThetaEvery
	measurer, ok := f.method.(algorithms.Measurer)
	if !ok || every == 0 || (f.round+1)%every != 0 {
		return nil
	}
	thetas := make([]results.Theta, len(f.devices))
	f.setup.Pool.For(len(thetas), func(t, _ int) {
		thetas[t] = results.Theta{Value: 1}
		if d := &f.devices[t]; d.answered && int(d.round) == f.round { // not one asked in an earlier round, about weights that are gone
			thetas[t] = results.Theta{Value: measurer.Theta(t), Answered: true}
		}
	})
	return thetas
}
