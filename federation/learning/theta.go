package learning

import (
	"math"

	"fedsim/federation"
	"fedsim/internal/tools/state"
)

// thetas returns theta_t^h of every device in the round that is about to close: 1
// for those of which the server takes no answer, and measured for the others (eq.
// localSolutionQuality2a). An answer to an earlier round solves a subproblem that is
// gone: its theta is not known (NaN). thetas returns nil in rounds that are not
// measured and for methods that cannot say. It costs no virtual time.
func (f *Federation) thetas() []float64 {
	every := f.setup.Schedule.ThetaEvery
	if !f.method.About.Theta || every == 0 || (f.server.Rounds()+1)%every != 0 {
		return nil
	}
	thetas := make([]float64, f.setup.Clients)
	var measured []int32
	for client := range thetas {
		switch {
		case !f.server.Takes(client):
			thetas[client] = 1
		case f.clients.Number(client) != f.server.Rounds():
			thetas[client] = math.NaN()
		default:
			measured = append(measured, int32(client))
		}
	}
	f.log.Answer(func() {
		f.setup.Pool.For(len(measured), func(i, _ int) {
			client := int(measured[i])
			update := f.method.Inspected.Update(client)
			thetas[client] = update.Theta(f.setup.Problem, client)
		})
	}, func(c *state.Coder) {
		for _, client := range measured {
			c.Float64(&thetas[client])
		}
	})
	for client, theta := range thetas {
		if !math.IsNaN(theta) {
			f.server.Note(federation.ThetaMeasured, client, theta)
		}
	}
	return thetas
}
