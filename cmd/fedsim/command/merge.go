package command

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fedsim/experiment"
	"fedsim/experiment/into"
	"fedsim/internal/rooms/clusters/plan"
	"fedsim/internal/rooms/clusters/work"
	"fedsim/internal/tools/quote"
	"fedsim/results"
	"fedsim/results/rundir"
)

type mergeFlags struct {
	directoryFlags
	outputFlags
	partial      bool
	otherProgram bool // runs of external models may be those of different programs
}

func newMerge() *cobra.Command {
	var f mergeFlags
	cmd := takesOne(&cobra.Command{
		Use:   "merge DIR",
		Short: "Make the run directory of a planned scenario",
		Long: `Make the run directory of the groups in a plan directory that "fedsim plan work" has
finished, draw the figures and print the summary. The files are byte for byte those
of "fedsim run" with the planned scenario, except for wall-clock times.

If runs are missing, nothing is written, unless --partial asks for the finished ones.
A partial merge has the state "incomplete", and its manifest lists what is absent.
It is not resumed: merge again, which replaces it.

The plan directory stays as it is, so an interrupted merge can be repeated. If the run
directory is complete but for figures, they are drawn.`,
		Example: `  fedsim plan merge plans/lte
  fedsim plan merge plans/lte --out runs/lte
  fedsim plan merge plans/lte --partial --out runs/so-far`,
	}, "one plan directory", completeDirectory, f.merge)
	flags := cmd.Flags()
	f.directoryFlags.add(cmd, "runs/<scenario name>")
	flags.BoolVar(&f.partial, "partial", false, "merge the finished runs if others are missing")
	addOtherProgram(cmd, &f.otherProgram, "merge runs of an external model that are of different programs")
	f.addNoFigures(cmd)
	f.addJSON(cmd)
	f.addQuiet(cmd)
	return cmd
}

func (f *mergeFlags) merge(cmd *cobra.Command, dir string) (err error) {
	m, err := openMerging(dir)
	if err != nil {
		return err
	}
	if !m.state.Complete() && !f.partial {
		return m.missing()
	}
	o := f.options(m.Plan.Command)
	o.Whole = true
	d, err := into.Create(m.Scenario, o)
	if errors.Is(err, rundir.ErrExists) {
		return f.complete(cmd, o.DirOf(m.Scenario), m, err)
	}
	if err != nil {
		return err
	}
	defer func() { err = d.Close(err) }()
	err = takeBatches(cmd, d.Writer, dir, m)
	if err == nil && !f.otherProgram {
		err = m.oneProgram(d.Writer.Runs())
	}
	if err == nil {
		err = cmd.Context().Err()
	}
	if experiment.Interrupted(err) {
		return interrupted{"interrupted: nothing is written; merge again", err}
	}
	if err == nil {
		err = d.Complete()
	}
	if err != nil {
		return err
	}
	err = f.conclude(cmd, d)
	if errors.Is(err, errUnsettled) { // a merged run directory is not resumed
		err = fmt.Errorf("%w; more seeds: fedsim settle --plan %s --max-seeds N", errUnsettled, quote.Shell(dir))
	}
	return err
}

// complete draws the missing figures of a run directory that an earlier merge has made. Without
// any, it returns the error that there is a complete run.
func (f *mergeFlags) complete(cmd *cobra.Command, dir string, m *merging, exists error) error {
	there, err := rundir.Read(dir)
	if err != nil {
		return err
	}
	resolved, err := m.Scenario.Resolved()
	if err != nil || !bytes.Equal(there.Scenario, resolved) {
		return cmp.Or(err, exists)
	}
	if drew, err := f.drawMissing(f.text(cmd), dir, there); drew || err != nil {
		return err
	}
	return exists
}

// merging is a plan directory and the state of its groups.
type merging struct {
	*work.Dir
	state  *work.State
	places func(id string) (int, bool)
}

// takeBatches adds the finished runs of a plan, after those of earlier batches of seeds.
func takeBatches(cmd *cobra.Command, w *rundir.Writer, dir string, last *merging) error {
	batches := plan.Batches(dir)
	for _, earlier := range batches[:len(batches)-1] {
		m, err := openMerging(earlier)
		if err == nil {
			err = m.take(cmd, w)
		}
		if err != nil {
			return err
		}
	}
	return last.take(cmd, w)
}

func openMerging(dir string) (*merging, error) {
	d, err := work.Open(dir, readVersion().String())
	if err != nil {
		return nil, err
	}
	state, err := d.View(time.Now).State()
	return &merging{d, state, experiment.Places(d.Scenario.Experiments)}, err
}

// take adds the finished runs to the run directory. It records what unfinished groups lack, and
// refuses groups that are done without some of their runs.
func (m *merging) take(cmd *cobra.Command, w *rundir.Writer) error {
	var finished []string // the directories of groups of runs that are done
	for i := range m.Plan.Items {
		if it := &m.Plan.Items[i]; it.Kind == experiment.KindRuns && m.isDone(i) {
			finished = append(finished, m.DoneDir(it.ID))
		}
	}
	if err := w.Take(cmd.Context(), m.places, finished...); err != nil {
		return err
	}
	for i := range m.Plan.Items {
		if it := &m.Plan.Items[i]; it.Kind == experiment.KindRuns && !m.isDone(i) {
			if err := m.takeUnfinished(cmd, w, it); err != nil {
				return err
			}
		}
	}
	had := map[int]bool{}
	for _, r := range w.Runs() {
		at, _ := m.places(r.ID)
		had[at] = true
	}
	var absent []string
	for i := range m.Plan.Items {
		it := &m.Plan.Items[i]
		for _, id := range it.Runs() {
			if at, ok := m.places(id); ok && had[at] {
				continue
			}
			if dir := m.DoneDir(it.ID); m.isDone(i) {
				return fmt.Errorf("%s: cannot be merged: the group is done and lacks %s: "+
					"delete %s and finish the work with fedsim plan work %s", dir, id, dir, m.Path())
			}
			absent = append(absent, id)
		}
	}
	if len(absent) > 0 && len(w.Runs()) == 0 {
		return fmt.Errorf("%s: nothing is finished yet: start it with fedsim plan work %s", m.Path(), m.Path())
	}
	w.Lack(absent)
	return nil
}

func (m *merging) isDone(i int) bool { return m.state.Items[i].Condition == work.Done }

// oneProgram requires runs of an external model at one point of an experiment to be those of one
// program, as their fingerprints have it.
func (m *merging) oneProgram(runs []results.Run) error {
	first := map[string]*results.Run{}
	for i := range runs {
		r := &runs[i]
		at := fmt.Sprint(r.Experiment, r.Point)
		if r.External == nil {
			continue
		}
		if of := first[at]; of == nil {
			first[at] = r
		} else if of.External.Program != r.External.Program {
			return fmt.Errorf("%s: cannot be merged: %s is of the program %q, and %s of %q: "+
				"do the work with one program, or add --allow-other-program", m.Path(), of.ID, of.External.Program,
				r.ID, r.External.Program)
		}
	}
	return nil
}

// takeUnfinished adds the finished runs of the attempts at a group. The worker may finish the
// group meanwhile.
func (m *merging) takeUnfinished(cmd *cobra.Command, w *rundir.Writer, it *plan.Item) error {
	attempts, err := os.ReadDir(m.AttemptsDir(it.ID))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	dirs := []string{m.DoneDir(it.ID)}
	for _, a := range attempts {
		dirs = append([]string{filepath.Join(m.AttemptsDir(it.ID), a.Name())}, dirs...)
	}
	for _, dir := range dirs {
		if _, err := rundir.StatStage(dir); err != nil {
			continue // it has not begun, or was moved
		}
		err := w.Take(cmd.Context(), m.places, dir)
		if _, gone := os.Stat(dir); err != nil && !errors.Is(gone, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// missing returns the error of groups that are not done: the first few, and why.
func (m *merging) missing() error {
	const named = 3
	var texts []string
	runs := 0
	for i := range m.state.Items {
		item := &m.state.Items[i]
		if m.Plan.Items[i].IsNeed() || item.Condition == work.Done {
			continue
		}
		runs += item.Runs
		why := string(item.Condition)
		switch item.Condition {
		case work.Running:
			why += " on " + item.Host
		case work.Failed:
			why += ": " + item.Reason
		}
		texts = append(texts, item.What()+" ("+why+")")
	}
	more := ""
	if n := len(texts) - named; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	again := ""
	if m.state.Groups.Failed > 0 {
		again = " --retry"
	}
	return fmt.Errorf("%s: cannot be merged: %d of %s missing: %s%s: finish the work with fedsim plan work %s%s, "+
		"or merge the finished runs with --partial",
		m.Path(), runs, count(m.Plan.Runs, "run"), strings.Join(texts[:min(len(texts), named)], ", "), more, m.Path(),
		again)
}
