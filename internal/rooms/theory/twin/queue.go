package twin

import "fedsim/internal/tools/elementary"

// Queue is the network of papers on asynchronous optimization: a client that the server draws may be at work. Its
// tasks then wait in order.
type Queue struct {
	Rate      float64   // updates per second
	Tasks     []float64 // by client, those at it
	Staleness []float64 // by client, the updates between drawing it for a task and the update
	Busy      []float64 // by client, the share of time at work
}

// NewQueue returns the form for clients that are drawn with such probabilities and take exponential times of such
// means, for m tasks. Tasks travel for delay seconds in the mean, to client i and back, under any law; nil: not at
// all. A server takes updates in order, each for an exponential time of mean server. It is the convolution of
// J. P. Buzen (Computational algorithms for closed queueing networks, CACM 1973):
//
//	G(k) = sum over tasks of prod_i (p_i tau_i)^(tasks of i),  rate = G(m-1)/G(m),
//	staleness_i = (tasks of i, for m-1)/p_i, with those that travel or wait at the server.
//
// The second is the law of Little, counted in updates.
func NewQueue(tau, probability, delay []float64, m int, server float64) Queue {
	n, travel := len(tau), 0.0
	loads := make([]float64, n, n+1)
	for i := range tau {
		loads[i] = elementary.Log(probability[i] * tau[i])
		if delay != nil {
			travel += float64(probability[i] * delay[i])
		}
	}
	if server > 0 {
		loads = append(loads, elementary.Log(server))
	}
	g := make([]float64, m+1) // logarithms
	for k := 1; k <= m; k++ {
		g[k] = g[k-1] + elementary.Log(travel/float64(k))
	}
	for _, r := range loads {
		for k := 1; k <= m; k++ {
			g[k] = logSum(g[k], r+g[k-1])
		}
	}
	rate := func(tasks int) float64 {
		if tasks == 0 {
			return 0
		}
		return elementary.Exp(g[tasks-1] - g[tasks])
	}
	at := func(load float64, tasks int) (mean float64) {
		for j := 1; j <= tasks; j++ {
			mean += elementary.Exp(float64(float64(j)*load) + g[tasks-j] - g[tasks])
		}
		return mean
	}
	waiting := 0.0
	if server > 0 {
		waiting = at(loads[n], m-1)
	}
	q := Queue{Rate: rate(m), Tasks: make([]float64, n), Staleness: make([]float64, n), Busy: make([]float64, n)}
	for i := range tau {
		q.Tasks[i], q.Busy[i] = at(loads[i], m), probability[i]*tau[i]*q.Rate
		if q.Staleness[i] = at(loads[i], m-1)/probability[i] + waiting; delay != nil {
			q.Staleness[i] += float64(delay[i] * rate(m-1))
		}
	}
	return q
}
