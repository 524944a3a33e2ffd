package rundir

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"fedsim/results"
)

// Stage is the log of an unfinished run directory, which may have some of the
// runs of its scenario.
type Stage struct {
	Writing bool // a process works on it; its reader knows
	log     *progress
}

// ReadStage reads the log of an unfinished run directory. Unlike [ReadLive] it
// tests no lock, because a process on another machine may write to the directory. It
// follows no links. The error of a directory without a log wraps fs.ErrNotExist.
func ReadStage(dir string) (*Stage, error) {
	path := filepath.Join(dir, stageDir, logFile)
	for _, name := range []string{dir, filepath.Join(dir, stageDir), path} {
		if info, err := os.Lstat(name); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return nil, fmt.Errorf("%s is a link, and no run makes links: remove it", name)
		}
	}
	p, err := readLog(filepath.Dir(path))
	return &Stage{log: p}, err
}

// StatStage describes the file that [ReadStage] reads.
func StatStage(dir string) (fs.FileInfo, error) {
	return os.Stat(filepath.Join(dir, stageDir, logFile))
}

// Union returns the runs of several stages of one scenario as one run directory, in the
// order of the scenario. Of a run in several stages it has that of the first one. State is
// Running if a process works on a stage, else Incomplete. Data and Started of about are
// those of the stages.
func Union(about About, stages []*Stage) (*Live, error) {
	l := &Live{Results: Results{Scenario: about.Scenario}, Status: Stopped, Total: about.Runs}
	state, runs := Incomplete, map[int]results.Run{} // by place
	for i, s := range stages {
		if !bytes.Equal([]byte(s.log.head.Scenario), about.Scenario) {
			return nil, fmt.Errorf("run directory %d of %d has another scenario", i+1, len(stages))
		}
		head := &s.log.head.Manifest
		if about.Data = head.Data; i == 0 || head.Clock.Started.Before(about.Started) {
			about.Started = head.Clock.Started
		}
		if s.Writing {
			l.Status, state = Writing, Running
		}
		for place, run := range s.log.runs {
			if _, taken := runs[place]; !taken {
				runs[place] = run.live(s.Writing)
			}
		}
	}
	for _, place := range slices.Sorted(maps.Keys(runs)) {
		l.Runs = append(l.Runs, runs[place])
	}
	l.Manifest = newManifest(about, state, l.Runs, attached{}, nil)
	if len(stages) == 0 {
		l.Manifest.Clock = nil
	}
	return l, nil
}

// live returns the run of a log; writing says whether it can be under way.
func (e *endedRun) live(writing bool) results.Run {
	run := e.Run
	if run.Status == results.UnderWay && !writing {
		run.Status = results.Interrupted
	}
	return run
}
