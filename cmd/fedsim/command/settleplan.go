package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"fedsim/experiment"
	"fedsim/experiment/into"
	"fedsim/experiment/scenario"
	"fedsim/internal/rooms/clusters/plan"
	"fedsim/internal/rooms/clusters/work"
	"fedsim/internal/tools/quote"
	"fedsim/results"
)

func init() { settlePlan = (*settleFlags).ofPlan }

// ofPlan judges the runs of the batches of a plan. If more can be decided after more seeds, it plans them.
func (f *settleFlags) ofPlan(cmd *cobra.Command) error {
	m, err := openMerging(f.plan)
	if err != nil {
		return err
	}
	dir := quote.Shell(f.plan)
	if !m.Scenario.Settings.Run.Seeds.UntilCertain() {
		return usagef("--plan %s: its seeds are a list: plan with --set run.seeds='\"until-certain\"'", dir)
	}
	if !m.state.Complete() {
		return interrupted{fmt.Sprintf("not settled so far: %d of %s of %s done: fedsim plan work %s",
			m.state.RunsDone, count(m.state.Runs, "run"), quote.Shell(m.Path()), dir), context.Canceled}
	}
	runs, err := f.planned(cmd, m)
	if err != nil {
		return err
	}
	resolved, err := m.Scenario.Resolved()
	if err != nil {
		return err
	}
	s, err := scenario.Parse(filepath.Join(m.Path(), plan.Scenario), resolved, f.over)
	if err != nil {
		return err
	}
	c, err := into.Settle(s, runs)
	if err == nil {
		err = f.print(cmd, c, f.plan)
	}
	if err != nil {
		return err
	}
	if len(c.Places) > 0 {
		return f.planMore(cmd, m, without(c.Places, m.places, runs))
	}
	if !f.json {
		err = printf(f.text(cmd), "run directory: fedsim plan merge %s\n", dir)
	}
	if err == nil && !c.Settled {
		err = fmt.Errorf("%w; more seeds: fedsim settle --plan %s --max-seeds N", errUnsettled, dir)
	}
	return err
}

// planned returns the runs of all batches.
func (f *settleFlags) planned(cmd *cobra.Command, m *merging) (runs []results.Run, err error) {
	temporary, err := os.MkdirTemp("", "fedsim-settle-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temporary)) }()
	d, err := into.Create(m.Scenario, into.Options{Dir: filepath.Join(temporary, "runs"), Whole: true,
		Compute: experiment.Options{Clock: time.Now}, Version: readVersion().String(), Command: m.Plan.Command})
	if err != nil {
		return nil, err
	}
	defer func() { err = d.Close(err) }()
	err = takeBatches(cmd, d.Writer, f.plan, m)
	return d.Writer.Runs(), err
}

// without returns the places of runs that are not there.
func without(places []int, place func(id string) (int, bool), runs []results.Run) []int {
	had := map[int]bool{}
	for i := range runs {
		at, ok := place(runs[i].ID)
		had[at] = had[at] || ok
	}
	return slices.DeleteFunc(slices.Clone(places), func(at int) bool { return had[at] })
}

// planMore plans the runs that are needed next, in a further batch.
func (f *settleFlags) planMore(cmd *cobra.Command, last *merging, places []int) error {
	p, err := plan.New(cmd.Context(), last.Scenario, plan.Options{Version: readVersion().String(),
		Command: last.Plan.Command, GroupTime: plan.DefaultGroupTime, Places: places})
	if err != nil {
		return err
	}
	dir := plan.Batch(f.plan, len(plan.Batches(f.plan))+1)
	if err := p.Write(dir, last.Scenario); err != nil {
		return err
	}
	next, err := work.Open(dir, readVersion().String())
	if err == nil {
		err = next.Inherit(last.Dir)
	}
	if err == nil && !f.json {
		err = printPlan(cmd, p, dir)
	}
	if err != nil {
		return err
	}
	work := quote.Shell(f.plan)
	return interrupted{fmt.Sprintf("not settled so far: fedsim plan work %s, then fedsim settle --plan %s", work, work),
		context.Canceled}
}
