package results

// OwnObjective is Run.Objective of a method that minimizes another objective than P, such as
// the mean loss of one model for all clients.
const OwnObjective = "own"

// ComparableByP reports whether P and the sub-optimality compare the runs: no method has another
// objective, and the methods at a point minimize the same P under a seed. Two that
// minimize different ones, such as those of two values of lambda, have no common optimum.
func ComparableByP(runs []Run) bool {
	type place struct {
		experiment, point string
		seed              uint64
	}
	objectives := make(map[place]string)
	for i := range runs {
		r := &runs[i]
		at := place{r.Experiment, SettingsText(r.Point), r.Seed}
		other, seen := objectives[at]
		if r.Objective == OwnObjective || seen && other != r.Objective {
			return false
		}
		objectives[at] = r.Objective
	}
	return true
}

// MeasuresP reports whether the metric of the target is P or derived from it.
func (t Target) MeasuresP() bool {
	m, _ := MetricNamed(t.Metric)
	return m.Couples
}
