package work

import (
	"cmp"
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

	"fedsim/results"
	"fedsim/results/rundir"
)

// View shows a plan directory. It is cheap to ask again: it remembers what is done. It changes
// nothing, and only reads where it may not write; see [View.State].
type View struct {
	*Dir
	now      func() time.Time
	probe    string // name of a file that tells the time of the file server
	mu       sync.Mutex
	probed   time.Time                // when the file server was asked; zero: never
	ahead    time.Duration            // of the file server's clock, compared with now
	known    bool                     // ahead is known
	last     map[string]*Claim        // of groups that are done
	finished map[string]*rundir.Stage // of groups that are done
	underWay map[string]stageOf       // of other groups
	seen     rundir.Info              // of the last call of Stat
	looked   time.Time
}

// stageOf is a stage with the file that it was read from.
type stageOf struct {
	path  string
	size  int64
	at    time.Time
	stage *rundir.Stage
}

// View returns a view of the directory; now is the clock.
func (d *Dir) View(now func() time.Time) *View {
	return &View{
		Dir: d, now: now, probe: fmt.Sprintf("look-%d-%x", os.Getpid(), now().UnixNano()),
		last: map[string]*Claim{}, finished: map[string]*rundir.Stage{}, underWay: map[string]stageOf{},
	}
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
			names[name] = true
		}
	}
	return names, errors.Join(err, f.Close())
}

// State returns the state of the directory. It may change at any time: what vanishes during the
// call has moved on, and the call sees either. Ages are differences of times of the file
// server, which writing a file tells, once a minute. Where that is not allowed, the time is
// that of this machine or of the latest heartbeat, whichever is later.
func (v *View) State() (*State, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	s, _, err := v.settled()
	return s, err
}

// Stat returns the status of the directory: Finished if all groups are done. It looks at most
// once a second.
func (v *View) Stat() (rundir.Info, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if now := v.now(); v.looked.IsZero() || now.Sub(v.looked) >= time.Second {
		s, version, err := v.settled()
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

// A worker has no claim between two groups. If one was done this short a time ago and nobody
// works, settled looks again, at most so often.
const (
	justDone  = 2 * time.Second
	lookAgain = 5
	pause     = 50 * time.Millisecond
)

// settled returns what look returns, with the workers that are between two groups.
func (v *View) settled() (s *State, version string, err error) {
	for i := 0; ; i++ {
		s, version, err = v.look()
		if err != nil || s.Workers > 0 || s.Complete() || i == lookAgain {
			return s, version, err
		}
		done, err := os.Stat(filepath.Join(v.path, doneDir))
		if err != nil || v.serverNow(nil).Sub(done.ModTime()) >= justDone {
			return s, version, nil
		}
		time.Sleep(pause)
	}
}

// look returns the state, and a text that changes with the state or the results.
func (v *View) look() (s *State, version string, err error) {
	s = &State{Kind: "plan", Directory: v.path, Scenario: v.Plan.Name, Runs: v.Plan.Runs, Items: items(v.Plan)}
	// A group that moves on meanwhile moves from the first to the last of these folders.
	claims, err := v.claims()
	if err != nil {
		return nil, "", err
	}
	folders := map[string]map[string]bool{}
	for _, name := range []string{attemptsDir, failedDir, needsDir, doneDir} {
		if folders[name], err = v.names(name); err != nil {
			return nil, "", err
		}
	}
	now, changes := v.serverNow(claims), fnv.New64a()
	need := map[string]bool{} // done
	var measured []timing
	var done []*Item
	for i := range s.Items {
		item := &s.Items[i]
		of := &v.Plan.Items[i]
		switch {
		case item.Kind == groupKind && folders[doneDir][item.ID]:
			item.Condition = Done
			done = append(done, item)
		case item.Kind != groupKind && all(of.States, folders[needsDir]):
			item.Condition, need[of.ID] = Done, true
		}
		if item.Condition != Done {
			if err := v.fill(item, claims[item.ID], folders, now, changes); err != nil {
				return nil, "", err
			}
		}
		if item.Condition == Waiting || item.Condition == Stopped {
			for _, id := range of.Needs {
				if !need[id] {
					item.WaitsFor = append(item.WaitsFor, id)
				}
			}
		}
		fmt.Fprint(changes, item.ID, item.Condition)
	}
	for i := range min(len(done), maxMeasured) { // evenly spread
		item := done[i*len(done)/min(len(done), maxMeasured)]
		if took := v.took(item.ID); took > 0 {
			measured = append(measured, timing{weight(item), took})
		}
	}
	s.set(measured)
	return s, fmt.Sprintf("%016x", changes.Sum64()), nil
}

// maxMeasured is the most finished groups whose time is read.
const maxMeasured = 64

// claims reads all claims.
func (v *View) claims() (map[string]*Claim, error) {
	names, err := v.names(claimsDir)
	if err != nil {
		return nil, err
	}
	found := make(map[string]*Claim, len(names))
	for name := range names {
		id, ok := strings.CutSuffix(name, ".json")
		if !ok {
			continue
		}
		c, err := v.Claim(id)
		if err != nil {
			return nil, err
		}
		if c != nil {
			found[id] = c
		}
	}
	return found, nil
}

// serverNow returns the time of the file server.
func (v *View) serverNow(claims map[string]*Claim) time.Time {
	now := v.now()
	if v.probed.IsZero() || now.Sub(v.probed) > time.Minute {
		t, err := v.Now(v.probe)
		_ = os.Remove(filepath.Join(v.path, claimsDir, "."+v.probe)) // it may not be there
		v.probed, v.known, v.ahead = now, err == nil, t.Sub(now)
	}
	if v.known {
		return now.Add(v.ahead)
	}
	for _, c := range claims {
		if c.written.After(now) {
			now = c.written
		}
	}
	return now
}

// all reports whether a set has all names.
func all(names []string, set map[string]bool) bool {
	for _, name := range names {
		if !set[name] {
			return false
		}
	}
	return true
}

// fill sets the state of an item that is not done.
func (v *View) fill(item *Item, claim *Claim, folders map[string]map[string]bool, now time.Time, changes hash.Hash64) error {
	age := func(at time.Time) results.Number { return results.Number(max(0, now.Sub(at)).Seconds()) }
	if claim != nil {
		item.Host, item.PID, item.Worker = claim.Host, claim.Process.PID, claim.Worker
		item.Progress, item.AgeS = results.Number(claim.Share), age(claim.written)
		item.TookS = results.Number(claim.TookS) + item.AgeS // since the last heartbeat
		item.Condition = Running
		if after := time.Duration(StaleAfter / beatEvery * time.Duration(claim.EveryS*float64(time.Second))); claim.stale(now, cmp.Or(after, StaleAfter)) {
			item.Condition = Stopped
		}
		fmt.Fprint(changes, claim.written.UnixNano())
	}
	if item.Condition != Running && folders[failedDir][item.ID+".json"] {
		f, err := v.Failure(item.ID)
		if err != nil {
			return err
		}
		if f != nil {
			item.Condition, item.Host, item.Reason = Failed, f.Host, f.Reason
			item.AgeS = age(f.Time)
			return nil
		}
	}
	if !folders[attemptsDir][item.ID] {
		if item.Condition == Stopped { // it saved nothing
			item.Condition = Waiting
		}
		return nil
	}
	attempt, err := v.attempt(item.ID)
	if err != nil {
		return err
	}
	if item.Condition != Running && (attempt.path != "" || item.Kind != groupKind) {
		item.Condition = Stopped
	}
	if attempt.path == "" {
		return nil
	}
	fmt.Fprint(changes, attempt.size, attempt.at.UnixNano())
	if item.Condition == Stopped && claim == nil {
		item.AgeS = age(attempt.at)
	}
	if item.Condition == Stopped {
		if c, err := readClaim(attempt.path + ".json"); err == nil && c != nil {
			item.Host, item.PID, item.Worker = c.Host, c.Process.PID, c.Worker
			item.Progress, item.TookS = results.Number(c.Share), results.Number(c.TookS)
		}
	}
	return nil
}

// attempt finds the newest attempt at a group, with the path of its run directory; without one
// the path is empty.
func (v *View) attempt(id string) (newest stageOf, err error) {
	names, err := v.names(filepath.Join(attemptsDir, id))
	for name := range names {
		path := filepath.Join(v.AttemptsDir(id), name)
		info, err := rundir.StatStage(path)
		if err != nil {
			continue // another file, or one that is being made or removed
		}
		if newest.path == "" || info.ModTime().After(newest.at) || info.ModTime().Equal(newest.at) && path > newest.path {
			newest = stageOf{path: path, size: info.Size(), at: info.ModTime()}
		}
	}
	return newest, err
}

// took returns the seconds that a finished group took, 0 if they are not known.
func (v *View) took(id string) float64 {
	c, ok := v.last[id]
	if !ok {
		c, _ = v.Last(id) // unreadable: not known
		v.last[id] = c
	}
	if c == nil {
		return 0
	}
	return c.TookS
}

// Live returns the runs of the scenario that exist, finished or under way, and the state.
func (v *View) Live() (*rundir.Live, *State, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	s, _, err := v.look()
	if err != nil {
		return nil, nil, err
	}
	stages, err := v.stages(s)
	if err != nil {
		return nil, nil, err
	}
	live, err := rundir.Union(rundir.About{
		Version: v.Plan.Version, Command: v.Plan.Command, Seeds: v.Scenario.Settings.Run.Seeds, Scenario: v.resolved,
		Targets: v.Scenario.Settings.Run.Targets, Runs: v.Plan.Runs,
	}, stages)
	return live, s, err
}

// stages returns the stages of the groups that have some. It reads only what is new.
func (v *View) stages(s *State) (list []*rundir.Stage, err error) {
	for i := range s.Items {
		item := &s.Items[i]
		if item.Kind != groupKind {
			continue
		}
		if item.Condition == Done {
			stage := v.finished[item.ID]
			if stage == nil {
				if stage, err = rundir.ReadStage(v.DoneDir(item.ID)); err != nil {
					return nil, err
				}
				v.finished[item.ID] = stage
				delete(v.underWay, item.ID)
			}
			list = append(list, stage)
			continue
		}
		newest, err := v.attempt(item.ID)
		if err != nil {
			return nil, err
		}
		if newest.path == "" {
			continue
		}
		of := v.underWay[item.ID]
		if of.path != newest.path || of.size != newest.size || !of.at.Equal(newest.at) {
			// A worker may be creating or moving it; the next look finds it.
			if newest.stage, err = rundir.ReadStage(newest.path); err != nil {
				continue
			}
			of = newest
			v.underWay[item.ID] = of
		}
		of.stage.Writing = item.Condition == Running
		list = append(list, of.stage)
	}
	return list, nil
}
