package serve

import (
	"time"

	"fedsim/internal/rooms/clusters/plan"
	"fedsim/internal/rooms/clusters/work"
	"fedsim/internal/rooms/report"
)

func init() { ofRooms = append(ofRooms, openPlan) }

// openPlan returns a plan directory as a source.
func openPlan(dir, version string, clock func() time.Time) (s Source, is bool, err error) {
	if !plan.Is(dir) {
		return s, false, nil
	}
	d, err := work.Open(dir, version)
	if err == nil {
		s = PlanSource(d.View(clock))
	}
	return s, true, err
}

// PlanSource returns a plan directory as a source: its state, and all its runs so far.
func PlanSource(v *work.View) Source {
	return Source{Dir: v.Path(), Stat: v.Stat, Read: func() (*report.Report, error) {
		found, state, err := v.Live()
		if err != nil {
			return nil, err
		}
		r, err := report.Of(v.Path(), &found.Results)
		if err != nil {
			return nil, err
		}
		r.SetPlan(state)
		return r, nil
	}}
}
