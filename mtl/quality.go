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
// client's own data; devices that share a task (data.clients_per_task) all have those of the task.
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
	Own [][]float64 // values of each of RowLoss.Metrics
}

// Quality measures weights on the rows of each client whose task is in the sample. The AUC takes
// a sort of the scores, and is left out unless it is asked for. Rows are evaluated in parallel;
// the values do not depend on the number of workers.
func (s *Sample) Quality(pool *Pool, w *data.Matrix, withAUC bool) Quality {
	p, clients := s.of, len(s.devices)
	newFits := func(n int) Fits { return newFits(n, withAUC, len(p.Metrics())) }
	q := Quality{Clients: s.devices, Train: newFits(clients)}
	measured := [3]*Fits{&q.Train}
	for i := range p.Parts()[1:] {
		fits := newFits(len(s.tests))
		measured[1+i] = &fits
	}
	for part, fits := range s.fits(pool, w, nil) {
		for i := range fits {
			measured[part].note(i, &fits[i], p.real)
		}
	}
	if withAUC {
		scratch := make([][]scored, pool.Size())
		s.each(pool, w, func(part, i, worker int, task *data.Client, w []float64) {
			rows := scratch[worker][:0]
			p.eachRow(task, w, func(i int, z []float64) { rows = append(rows, scored{z[0], task.Y[i] > 0}) })
			measured[part].AUC[i], scratch[worker] = auc(rows), rows
		})
	}
	place := make([]int32, len(p.Test.Clients))
	for i, t := range s.tests {
		place[t] = int32(i)
	}
	for i, into := range []*Fits{&q.Test, &q.Validation}[:len(p.Parts())-1] {
		*into = newFits(clients)
		for at, k := range s.devices {
			into.set(at, measured[1+i], int(place[p.testOf(int(k))]))
		}
	}
	return q
}

func newFits(n int, auc bool, own int) Fits {
	f := Fits{Rows: make([]int32, n), Error: make([]float64, n), Loss: make([]float64, n)}
	if auc {
		f.AUC = make([]float64, n)
	}
	for range own {
		f.Own = append(f.Own, make([]float64, n))
	}
	return f
}

// set copies the measures of one client.
func (f *Fits) set(i int, from *Fits, k int) {
	f.Rows[i], f.Error[i], f.Loss[i] = from.Rows[k], from.Error[k], from.Loss[k]
	if f.AUC != nil {
		f.AUC[i] = from.AUC[k]
	}
	for j := range f.Own {
		f.Own[j][i] = from.Own[j][k]
	}
}

// note sets the measures of one client but the AUC.
func (f *Fits) note(i int, sums *fit, real bool) {
	n := float64(sums.rows)
	f.Rows[i] = int32(sums.rows)
	f.Loss[i], f.Error[i] = sums.loss/n, sums.miss/n // NaN without rows
	if real {
		f.Error[i] = math.Sqrt(f.Error[i])
	}
	for j := range f.Own {
		f.Own[j][i] = math.NaN()
		if sums.own != nil {
			f.Own[j][i] = sums.own[j]
		}
	}
}

// scored is a row with its score.
type scored struct {
	score    float64
	positive bool
}

// auc returns Fits.AUC of rows, which it sorts: O(n log n).
func auc(rows []scored) float64 {
	slices.SortFunc(rows, func(a, b scored) int { return cmp.Compare(a.score, b.score) })
	if len(rows) == 0 || math.IsNaN(rows[0].score) { // NaN is lowest
		return math.NaN()
	}
	var below, positives, wins int64 // negative rows with lower scores; twice the pairs won
	for i := 0; i < len(rows); {
		var ties [2]int64 // negative and positive rows with the same score
		for score := rows[i].score; i < len(rows) && rows[i].score == score; i++ {
			if rows[i].positive {
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
