package work

import (
	"errors"
	"fmt"
	"hash"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"fedsim/experiment"
	"fedsim/internal/clusters/plan"
	"fedsim/results/rundir"
)

// View shows a plan directory. It is cheap to ask again: it remembers what is done. It changes
// nothing, and only reads where it may not write; see [View.State].
type View struct {
	*Dir
	now    func() time.Time
	mu     sync.Mutex
	clock  *serverClock
	took   map[string]float64   // the seconds of items that are done, by ID
	stages map[string]stageFile // of groups, by ID
	seen   rundir.Info          // the result of the last call of Stat
	looked time.Time
}

// stageFile is a stage, and the file that it was read from.
type stageFile struct {
	path  string
	size  int64
	at    time.Time
	stage *rundir.Stage
}

// View returns a view of the directory; now is the clock.
func (d *Dir) View(now func() time.Time) *View {
	clock := d.clock(fmt.Sprintf("look-%d-%x", os.Getpid(), now().UnixNano()), now)
	return &View{Dir: d, now: now, clock: clock, took: map[string]float64{}, stages: map[string]stageFile{}}
}

// names returns the names in a folder without hidden ones; none if the folder is absent.
func (v *View) names(folder string) (map[string]bool, error) {
	f, err := os.Open(filepath.Join(v.path, folder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	list, err := f.Readdirnames(-1)
	names := make(map[string]bool, len(list))
	for _, name := range list {
		if !strings.HasPrefix(name, ".") {
			names[strings.TrimSuffix(name, ".json")] = true
		}
	}
	return names, errors.Join(err, f.Close())
}

// State returns the state of the directory. It may change at any time: what vanishes during the
// call has moved on, and the call sees either. Ages are differences of times of the file
// server, which writing a file tells. Where that is not allowed, the time is that of this machine.
func (v *View) State() (*State, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	s, _, err := v.look()
	return s, err
}

// Stat returns the status of the directory: Finished if all groups are done. It looks at most
// once a second.
func (v *View) Stat() (rundir.Info, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if now := v.now(); v.looked.IsZero() || now.Sub(v.looked) >= time.Second {
		s, version, err := v.look()
		if err != nil {
			return rundir.Info{}, err
		}
		v.looked = now
		if v.seen = (rundir.Info{Status: rundir.Writing, Version: version}); s.Complete() {
			v.seen.Status = rundir.Finished
		}
	}
	return v.seen, nil
}

// look returns the state, and a text that changes with the state or the results.
func (v *View) look() (s *State, version string, err error) {
	s = &State{Kind: "plan", Directory: v.path, Scenario: v.Plan.Name, Runs: v.Plan.Runs}
	folders := map[string]map[string]bool{}
	// An item that moves on meanwhile moves from the first to the last of these folders.
	for _, name := range []string{claimsDir, endedDir, needsDir, doneDir} {
		if folders[name], err = v.names(name); err != nil {
			return nil, "", err
		}
	}
	done, changes := map[string]bool{}, fnv.New64a()
	for i := range v.Plan.Items {
		of := &v.Plan.Items[i]
		item := newItem(of)
		if done[of.ID] = folders[doneDir][of.ID]; of.Kind != experiment.KindRuns {
			done[of.ID] = hasStates(of, folders[needsDir])
		}
		if done[of.ID] {
			item.Condition = Done
			v.measure(of.ID)
		} else if err := v.begun(&item, folders, changes); err != nil {
			return nil, "", err
		}
		if item.Condition == Waiting || item.Condition == Stopped {
			for _, id := range of.Needs {
				if !done[id] {
					item.WaitsFor = append(item.WaitsFor, id)
				}
			}
		}
		fmt.Fprint(changes, item.ID, item.Condition)
		s.Items = append(s.Items, item)
	}
	s.count(v.Plan, v.took)
	return s, fmt.Sprintf("%016x", changes.Sum64()), nil
}

// hasStates reports whether all states of a prerequisite are there.
func hasStates(it *plan.Item, there map[string]bool) bool {
	for _, name := range it.States {
		if !there[name] {
			return false
		}
	}
	return true
}

// maxMeasured is the most done items whose time is read.
const maxMeasured = 64

// measure reads how long a done item took.
func (v *View) measure(id string) {
	if _, ok := v.took[id]; !ok && len(v.took) < maxMeasured {
		v.took[id] = 0
		if c, err := v.Ended(id); err == nil && c != nil {
			v.took[id] = c.TookS
		}
	}
}

// begun sets the state of an item that is not done, by the claim of its worker or the last one.
func (v *View) begun(item *Item, folders map[string]map[string]bool, changes hash.Hash64) (err error) {
	var claim *Claim
	if folders[claimsDir][item.ID] {
		if claim, err = v.Claim(item.ID); err != nil {
			return err
		}
	}
	now := v.clock.now()
	switch {
	case claim != nil && claim.Expired(now, StaleAfter):
		item.Condition = Stopped
	case claim != nil:
		item.Condition = Running
	case folders[endedDir][item.ID]:
		if claim, err = v.Ended(item.ID); err != nil {
			return err
		}
		item.Condition = Stopped
	}
	if claim == nil {
		return nil
	}
	if item.Reason = claim.Failure; item.Reason != "" {
		item.Condition = Failed
	}
	item.Host, item.PID, item.Worker = claim.Host, claim.Process.PID, claim.Worker
	item.AgeS = claim.Age(now).Seconds()
	item.Progress, item.TookS = claim.Share, claim.TookS
	if item.Condition == Running {
		item.TookS += item.AgeS // since the last heartbeat
	}
	fmt.Fprint(changes, claim.written.UnixNano())
	if info, err := rundir.StatStage(v.attempt(item)); err == nil {
		fmt.Fprint(changes, info.Size(), info.ModTime().UnixNano())
	}
	return nil
}

// attempt returns the run directory of the last worker of a group.
func (v *View) attempt(item *Item) string { return filepath.Join(v.AttemptsDir(item.ID), item.Worker) }

// Live returns the runs of the scenario that exist, finished or under way, and the state.
func (v *View) Live() (*rundir.Live, *State, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	s, _, err := v.look()
	if err != nil {
		return nil, nil, err
	}
	var stages []*rundir.Stage
	for i := range s.Items {
		if s.Items[i].Kind != groupKind {
			continue
		}
		stage, err := v.stage(&s.Items[i])
		if err != nil {
			return nil, nil, err
		}
		if stage != nil {
			stages = append(stages, stage)
		}
	}
	live, err := rundir.Union(rundir.About{
		Version: v.Plan.Version, Command: v.Plan.Command, Seeds: v.Scenario.Settings.Run.Seeds, Scenario: v.resolved,
		Targets: v.Scenario.Settings.Run.Targets, Runs: v.Plan.Runs,
	}, stages)
	return live, s, err
}

// stage returns the stage of a group, nil when there is none. It reads only what is new.
func (v *View) stage(item *Item) (*rundir.Stage, error) {
	last := v.stages[item.ID]
	path := v.attempt(item)
	if item.Condition == Done {
		if path = v.DoneDir(item.ID); last.path == path {
			return last.stage, nil
		}
	} else if item.Worker == "" {
		return nil, nil
	}
	// A worker may be creating or moving an attempt; the next look finds it.
	info, err := rundir.StatStage(path)
	if err == nil && (last.path != path || last.size != info.Size() || !last.at.Equal(info.ModTime())) {
		last = stageFile{path: path, size: info.Size(), at: info.ModTime()}
		if last.stage, err = rundir.ReadStage(path); err == nil {
			v.stages[item.ID] = last
		}
	}
	if err != nil {
		if item.Condition == Done {
			return nil, err
		}
		return nil, nil
	}
	last.stage.Writing = item.Condition == Running
	return last.stage, nil
}
