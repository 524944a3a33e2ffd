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
	"fedsim/internal/rooms/clusters/plan"
	"fedsim/results/rundir"
)

// View shows a plan directory. It is cheap to ask again: it remembers what is done. Only Retry changes
// something there, and it only reads where it may not write; see [View.State].
type View struct {
	*Dir
	now    func() time.Time
	stale  time.Duration // the age of the last heartbeat of a worker that is taken for dead
	clock  string        // the folder for a file whose modification time is that of the file server
	mu     sync.Mutex
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
	return &View{Dir: d, now: now, stale: StaleAfter, clock: filepath.Join(d.path, claimsDir),
		took: map[string]float64{}, stages: map[string]stageFile{}}
}

// fileTime returns the time of the file server, which dates the heartbeats of all machines. Where no
// file can be written, it is that of this machine.
func (v *View) fileTime() time.Time {
	f, err := os.CreateTemp(v.clock, ".time-*")
	if err != nil {
		return v.now()
	}
	_, err = f.WriteString("now\n")
	err = errors.Join(err, f.Close())
	info, failed := os.Stat(f.Name())
	_ = os.Remove(f.Name()) // it is not needed any more
	if err != nil || failed != nil {
		return v.now()
	}
	return info.ModTime()
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
	for _, name := range []string{claimsDir, needsDir, doneDir} {
		if folders[name], err = v.names(name); err != nil {
			return nil, "", err
		}
	}
	done, failed, changes := map[string]bool{}, map[string]bool{}, fnv.New64a()
	now := sync.OnceValue(v.fileTime)
	for i := range v.Plan.Items {
		of := &v.Plan.Items[i]
		item := newItem(of)
		if done[of.ID] = folders[doneDir][of.ID]; of.Kind != experiment.KindRuns {
			done[of.ID] = hasStates(of, folders[needsDir])
		}
		if done[of.ID] {
			item.Condition = Done
			v.measure(of.ID)
		} else if folders[claimsDir][of.ID] {
			if err := v.begun(&item, now, changes); err != nil {
				return nil, "", err
			}
		}
		if item.Condition == Waiting || item.Condition == Stopped {
			for _, id := range of.Needs {
				if !done[id] {
					item.WaitsFor = append(item.WaitsFor, id)
				}
				if failed[id] {
					item.Condition, item.Reason = Failed, "it needs "+id+", which has failed"
				}
			}
		}
		failed[of.ID] = item.Condition == Failed
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
		if c, err := v.Claim(id); err == nil && c != nil && c.Ended {
			v.took[id] = c.TookS
		}
	}
}

// begun sets the state of an item that is not done, by the claim of its worker or the last one.
func (v *View) begun(item *Item, now func() time.Time, changes hash.Hash64) error {
	claim, err := v.Claim(item.ID)
	if claim == nil || err != nil {
		return err
	}
	switch item.Reason = claim.Failure; {
	case !claim.Free(now(), v.stale):
		item.Condition = Running
	case item.Reason != "":
		item.Condition = Failed
	default:
		item.Condition = Stopped
	}
	item.Host, item.PID, item.Worker = claim.Host, claim.Process.PID, claim.Worker
	item.AgeS = claim.Age(now()).Seconds()
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

// Retry lets workers try failed items again.
func (v *View) Retry() error {
	s, err := v.State()
	for i := 0; err == nil && i < len(s.Items); i++ {
		var c *Claim
		if s.Items[i].Condition != Failed {
			continue
		}
		if c, err = v.Claim(s.Items[i].ID); c != nil && c.Failure != "" {
			c.Failure = ""
			err = c.write(v.claimPath(s.Items[i].ID))
		}
	}
	return err
}

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
