package mtl

import (
	"cmp"
	"math"
	"slices"

	"fedsim/data"
)

// Quality is how well a model fits the rows of each client.
type Quality struct {
	Clients     []int32 // in increasing order
	Train, Test Fits
	Validation  Fits // without clients if there are no validation rows
}

// Fits are measures by client. Test and validation rows are those that were held out of the
// client's own data; devices that share a task (data.devices_per_task) all have those of the task.
// A client without rows has NaN.
type Fits struct {
	Rows  []int32
	Error []float64 // share of wrong predictions, or root mean square error of real targets
	Loss  []float64 // mean loss of the rows
	// AUC is the area under the ROC curve: the share of pairs of a positive and a negative
	// row in which the positive one has the higher score, a tie counting one half (Mann and
	// Whitney's U over the number of pairs). It is NaN without rows of both classes, or with a
	// score that is NaN; nil: not asked for.
	AUC []float64
}

// Quality measures weights on the rows of each client whose task is in the sample; nil: of
// all clients. The AUC takes a sort of the scores, and is left out unless it is asked for.
// Rows are evaluated in parallel; the values do not depend on the number of workers.
func (p *Problem) Quality(pool *Pool, s *Sample, w *data.Matrix, auc bool) Quality {
	if s == nil {
		s = &p.everything
	}
	clients, tests, sets := len(s.devices), len(s.tests), p.held()
	q := Quality{Clients: s.devices, Train: newFits(clients, auc)}
	held := make([]Fits, len(sets))
	for i := range held {
		held[i] = newFits(tests, auc)
	}
	scratch := make([]ranking, pool.Size())
	pool.For(clients+len(sets)*tests, func(i, worker int) {
		set, into, at, task := p.Train, &q.Train, i, 0
		if i >= clients {
			k := (i - clients) / tests
			set, into, at = sets[k], &held[k], (i-clients)%tests
			task = int(s.tests[at])
		} else {
			task = int(s.devices[at])
		}
		of := set.Open(task)
		defer of.Close()
		p.measure(of.Task, ModelRow(w, set.TaskOf(task)), into, at, &scratch[worker])
	})
	place := make([]int32, len(p.Test.Tasks))
	for i, t := range s.tests {
		place[t] = int32(i)
	}
	for set, into := range []*Fits{&q.Test, &q.Validation}[:len(sets)] {
		*into = newFits(clients, auc)
		for i, k := range s.devices {
			into.set(i, &held[set], int(place[p.testOf(int(k))]))
		}
	}
	return q
}

// testOf returns the element of the test set with the rows held out of a device's data. The
// devices of an element are consecutive, and each element has the same number.
func (p *Problem) testOf(device int) int {
	return device / (len(p.Train.Tasks) / len(p.Test.Tasks))
}

func newFits(n int, auc bool) Fits {
	f := Fits{Rows: make([]int32, n), Error: make([]float64, n), Loss: make([]float64, n)}
	if auc {
		f.AUC = make([]float64, n)
	}
	return f
}

// set copies the measures of one client.
func (f *Fits) set(i int, from *Fits, k int) {
	f.Rows[i], f.Error[i], f.Loss[i] = from.Rows[k], from.Error[k], from.Loss[k]
	if f.AUC != nil {
		f.AUC[i] = from.AUC[k]
	}
}

// measure measures weights on the rows of a task.
func (p *Problem) measure(task *data.Task, w []float64, into *Fits, at int, r *ranking) {
	f := p.fit(task, w, nil)
	n := float64(f.rows)
	into.Rows[at] = int32(f.rows)
	into.Loss[at], into.Error[at] = f.loss/n, f.miss/n // NaN without rows
	if p.Train.Real {
		into.Error[at] = math.Sqrt(into.Error[at])
	}
	if into.AUC != nil {
		r.reset()
		p.eachRow(task, w, func(i int, z []float64) { r.add(z[0], task.Y[i] > 0) })
		into.AUC[at] = r.auc()
	}
}

// ranking are the scores of some rows.
type ranking struct{ rows []scored }

type scored struct {
	score    float64
	positive bool
}

func (r *ranking) reset() { r.rows = r.rows[:0] }

func (r *ranking) add(score float64, positive bool) {
	r.rows = append(r.rows, scored{score, positive})
}

// auc returns Fits.AUC of the rows, which it sorts: O(n log n).
func (r *ranking) auc() float64 {
	slices.SortFunc(r.rows, func(a, b scored) int { return cmp.Compare(a.score, b.score) })
	if len(r.rows) == 0 || math.IsNaN(r.rows[0].score) { // NaN is lowest
		return math.NaN()
	}
	var below, positives, wins int64 // negative rows with lower scores; twice the pairs won
	for i := 0; i < len(r.rows); {
		var ties [2]int64 // negative and positive rows with the same score
		for score := r.rows[i].score; i < len(r.rows) && r.rows[i].score == score; i++ {
			if r.rows[i].positive {
				ties[1]++
			} else {
				ties[0]++
			}
		}
		wins += ties[1] * (2*below + ties[0])
		below += ties[0]
		positives += ties[1]
	}
	return float64(wins) / float64(2*positives*below)
}
