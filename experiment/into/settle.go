package into

import (
	"slices"

	"fedsim/config"
	"fedsim/data"
	"fedsim/experiment/scenario"
	"fedsim/internal/rooms/settle"
	"fedsim/results"
)

func init() {
	untilCertain = certain
	ofRooms = append(ofRooms, func(s *scenario.Scenario, runs []results.Run) results.Sections {
		if c, err := Settle(s, runs); err == nil && c != nil {
			return c.Sections
		}
		return nil // Complete has the error
	})
}

// certain judges the runs of a scenario whose seeds are added until it is certain.
func certain(s *scenario.Scenario, runs []results.Run) (*Certain, error) {
	c, _ := settle.Of(s.Settings.ForRooms())
	jobs, first, err := jobsOf(s, &c)
	if err != nil {
		return nil, err
	}
	report, err := settle.New(c, jobs, runs)
	if err != nil {
		return nil, err
	}
	of := &Certain{Settled: report.Settled, Report: report, Sections: report.Sections(), Leaders: report.Leaders(),
		Caption: report.Caption}
	report.Needs(func(job, seed int) { of.Places = append(of.Places, first[job]+seed) })
	slices.Sort(of.Places)
	return of, report.Unrecorded()
}

// SeedsNeeded says about how many seeds would make the comparisons of a list of seeds certain, by time to the last
// target; empty: nothing can be said.
func SeedsNeeded(s *scenario.Scenario, runs []results.Run) results.Sections {
	c, on := settle.Of(s.Settings.ForRooms())
	jobs, _, err := jobsOf(s, &c)
	if on || err != nil || !c.Target.IsSet() {
		return nil
	}
	return settle.Needed(c, jobs, runs)
}

// jobsOf returns the jobs of a scenario, which all have the same run.certain, and the place of the first run of each.
func jobsOf(s *scenario.Scenario, c *settle.Config) (jobs []settle.Job, first []int, err error) {
	_, on := settle.Of(s.Settings.ForRooms())
	n := 0
	for i := range s.Experiments {
		e := &s.Experiments[i]
		for k := range e.Jobs {
			run := &e.Jobs[k].Candidates[0]
			own, ok := settle.Of(run.Settings.ForRooms())
			if own.Target = c.Target; ok != on || own.Text() != c.Text() {
				return nil, nil, config.Problem{Key: "run.seeds", Value: e.Name,
					Want: `must be "until-certain" in all experiments of a file, with one run.certain`}
			}
			j := settle.Job{Run: results.Run{Experiment: e.Name, Method: run.Label, Point: run.Point,
				Vary: run.Settings.Run.Vary}, Name: run.Method}
			given, _ := run.Settings.Data.OrFallback()
			j.Given = !given.Generates() || given.Source == data.SourceExternal
			if len(e.Jobs[k].Candidates) > 1 {
				if j.Folds = e.Tuning.Folds; j.Folds == 0 {
					j.Tuned, j.TunedTo = uint64(e.Tuning.Seeds), e.Tuning.Target
				}
			}
			jobs, first = append(jobs, j), append(first, n)
			n += len(e.Jobs[k].Seeds)
		}
	}
	return jobs, first, nil
}
