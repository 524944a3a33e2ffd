package experiment

import (
	"slices"
	"strings"

	"fedsim/clients"
	"fedsim/devices"
	"fedsim/federation/learning"
	"fedsim/results"
)

// joins adds to the metrics of new clients what one takes to get its model: bytes, seconds and joules. Each is the mean
// over the devices of the run, alone on their links, at their usual rates and without jitter and losses. It costs no
// virtual time.
type joins struct {
	metrics  []results.NamedMetric // of the run
	clients  *clients.Clients
	physical bool // there are joules
	// watts of each device, with a radio that has rested; nil: there are no new clients
	down, compute []float64
}

// The metrics that are read, and those that are added, each with the number of rows.
const (
	joinFLOPs  = "new_flops_"
	joinValues = "new_values_"
	joinBytes  = "new_bytes_"
	joinTime   = "new_time_s_"
	joinEnergy = "new_energy_j_"
)

// newJoins returns what it adds to a run. Its metrics are those of the run where there are no new clients.
func newJoins(f *learning.Federation, relative bool) *joins {
	j := &joins{metrics: f.Metrics(), clients: f.Clients(), physical: !relative}
	for _, m := range f.Metrics() {
		if rows, is := strings.CutPrefix(m.Name, joinValues); is {
			j.metrics = append(slices.Clip(j.metrics),
				results.NamedMetric{Name: joinBytes + rows, Better: "lower", Unit: "B"},
				results.NamedMetric{Name: joinTime + rows, Better: "lower"})
			if j.physical && j.down == nil {
				j.rested()
			}
			if j.physical {
				j.metrics = append(j.metrics, results.NamedMetric{Name: joinEnergy + rows, Better: "lower", Unit: "J"})
			}
		}
	}
	return j
}

// rested notes the power of devices before any message: that of a radio depends on its last one.
func (j *joins) rested() {
	for k := range j.clients.Fleet().Len() {
		j.down = append(j.down, j.clients.Power(k, clients.Downlink))
		j.compute = append(j.compute, j.clients.Power(k, clients.Compute))
	}
}

// add adds the values to a round that was evaluated.
func (j *joins) add(r *results.Round) {
	flops := map[string]float64{}
	for _, v := range r.Metrics {
		if rows, is := strings.CutPrefix(v.Name, joinFLOPs); is {
			flops[rows] = v.Value
		}
	}
	for _, v := range slices.Clone(r.Metrics) {
		if rows, is := strings.CutPrefix(v.Name, joinValues); is {
			bytes, seconds, joules := j.cost(v.Value, flops[rows])
			r.Metrics = append(r.Metrics, results.NamedValue{Name: joinBytes + rows, Value: bytes},
				results.NamedValue{Name: joinTime + rows, Value: seconds})
			if j.physical {
				r.Metrics = append(r.Metrics, results.NamedValue{Name: joinEnergy + rows, Value: joules})
			}
		}
	}
}

// cost returns the bytes, the seconds and the joules of a message of so many numbers and of work on it.
func (j *joins) cost(values, flops float64) (bytes, seconds, joules float64) {
	work, n := devices.Work{FLOPs: flops}, j.clients.Fleet().Len()
	if values > 0 {
		bytes = j.clients.MessageBytes(int(values + 0.5))
	}
	for k := range n {
		down, compute := 0.0, 0.0
		if bytes > 0 {
			down = j.clients.UsualDownlink(k, bytes).Seconds()
		}
		if flops > 0 {
			compute = j.clients.UsualCompute(k, work).Seconds()
		}
		seconds += (down + compute) / float64(n)
		if j.physical {
			joules += (float64(j.down[k]*down) + float64(j.compute[k]*compute)) / float64(n)
		}
	}
	return bytes, seconds, joules
}
