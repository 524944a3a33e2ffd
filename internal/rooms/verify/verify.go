// Package verify owns what a file or a link claims of runs, and where runs that are made again differ from it.
//
// It must not know flags and terminals, nor how runs are simulated.
package verify

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"fedsim/data"
	"fedsim/experiment"
	"fedsim/experiment/into"
	"fedsim/experiment/scenario"
	"fedsim/internal/tools/input"
	"fedsim/results"
	"fedsim/results/rundir"
)

// mostText is the largest size in bytes of a report or a figure that is searched for a claim.
const mostText = 1 << 28

// Claim is a scenario and the results that it is said to have.
type Claim struct {
	rundir.Claim
	Of   string        // the directory, the file, or "the link"
	Own  bool          // a run directory; others may come from anywhere, and must start no program
	Runs []results.Run // of a run directory, with their rounds; nil: only the hash of all runs is known

	files []rundir.FileSum // of data
}

// Read reads a claim from a run directory or its manifest.json, a report (HTML), a figure (SVG), or a link.
func Read(name string) (*Claim, error) {
	if filepath.Base(name) == "manifest.json" {
		name = filepath.Dir(name)
	}
	info, err := os.Stat(name)
	switch {
	case err != nil && strings.Contains(name, "s="):
		return found("the link", []byte(name))
	case err != nil:
		return nil, fmt.Errorf("%w: must be a run directory, a report, a figure in SVG, or a link with a scenario", err)
	case !info.IsDir():
		text, err := input.ReadFile(name, mostText)
		if err != nil {
			return nil, err
		}
		return found(name, text)
	}
	dir, err := rundir.Read(name)
	if err != nil {
		return nil, err
	}
	m := &dir.Manifest
	switch {
	case m.State != rundir.Complete:
		return nil, fmt.Errorf("%s: is %s: verify it when all its runs have ended", name, m.State)
	case m.Program != nil:
		return nil, fmt.Errorf("%s: the program %s drove its runs: run it again, and use fedsim compare", name,
			m.Program.Name)
	}
	c := &Claim{rundir.Claim{Scenario: dir.Scenario, Hash: m.ResultHash, Numerics: m.Numerics}, name, true, dir.Runs,
		m.DataFiles}
	if own := rundir.HashOf(dir.Runs); own != c.Hash {
		return nil, fmt.Errorf("%s: result_hash %s is not that of the runs, %s", filepath.Join(name, "manifest.json"),
			c.Hash, own)
	}
	return c, nil
}

// found returns the claim in a text.
func found(of string, text []byte) (*Claim, error) {
	c, err := rundir.FindClaim(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", of, err)
	}
	if c == nil {
		return nil, fmt.Errorf("%s: has no scenario with a hash (s=...&h=...&n=...): it must be a report or a figure "+
			"in SVG of complete runs", of)
	}
	return &Claim{Claim: *c, Of: of}, nil
}

// Load reads the scenario of the claim. It refuses results of another numeric version.
func (c *Claim) Load() (*scenario.Scenario, error) {
	if c.Numerics != rundir.Numerics {
		return nil, fmt.Errorf("%s: has numeric version %d, but this program has %d: their bits differ; verify with "+
			"the version of fedsim that made it", c.Of, c.Numerics, rundir.Numerics)
	}
	if !c.Own {
		return scenario.Parse(c.Of, c.Scenario, nil)
	}
	s, err := scenario.ParseRecorded(c.Of, c.Scenario)
	if err != nil {
		return nil, err
	}
	return s, c.requireFiles(s)
}

// requireFiles reports a file of data that is absent, or has other bytes than that of the runs.
func (c *Claim) requireFiles(s *scenario.Scenario) error {
	there, err := into.DataFiles(s)
	if err != nil {
		return err
	}
	for _, f := range c.files {
		at := slices.IndexFunc(there, func(own rundir.FileSum) bool { return own.Name == f.Name })
		switch {
		case at < 0:
			return fmt.Errorf("%s: is absent: get the file with SHA-256 %s (docs/data.md says where published sets "+
				"are), and put it there or into the folder of %s", f.Name, f.SHA256, data.FolderVariable)
		case there[at].SHA256 != f.SHA256:
			return fmt.Errorf("%s: has SHA-256 %s, but the runs had %s: get that file (docs/data.md says where "+
				"published sets are)", f.Name, there[at].SHA256, f.SHA256)
		}
	}
	return nil
}

// Difference is the first place where results differ from a claim.
type Difference struct {
	Run            string // its ID; empty: only the hash of all runs is known
	Round          int    // -1: not in a round
	Column         string
	Claimed, Found string
}

// Verify makes the runs of a scenario again, or a sample of so many of them, evenly spread; 0: all. It returns the
// number of runs that were made and the first difference; nil: the bits are the same. Runs are compared as
// far as the claim knows them.
func (c *Claim) Verify(ctx context.Context, s *scenario.Scenario, sample int, o experiment.Options) (
	made int, d *Difference, err error) {
	var again recorder
	o.Recorder = &again
	if sample > 0 && sample < len(c.Runs) {
		err = experiment.Do(ctx, s, experiment.KindRuns, c.sample(sample), o, experiment.Shared{})
	} else {
		if s.Settings.Run.Seeds.UntilCertain() {
			o.Next = func() ([]int, error) {
				certain, err := into.Settle(s, again.all())
				if err != nil {
					return nil, err
				}
				return certain.Places, nil
			}
		}
		err = experiment.Run(ctx, s.Experiments, o)
	}
	runs := again.all()
	if err != nil {
		return len(runs), nil, err
	}
	if c.Runs == nil {
		if hash := rundir.HashOf(runs); hash != c.Hash {
			d = &Difference{Round: -1, Column: "result_hash", Claimed: c.Hash.String(), Found: hash.String()}
		}
		return len(runs), d, nil
	}
	return len(runs), c.differ(runs, sample > 0), nil
}

// sample returns the IDs of so many runs.
func (c *Claim) sample(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = c.Runs[i*len(c.Runs)/n].ID
	}
	return ids
}

// differ returns the first difference from the claimed runs, in the order of the scenario.
func (c *Claim) differ(made []results.Run, sample bool) *Difference {
	for i := range c.Runs {
		claimed := &c.Runs[i]
		at := slices.IndexFunc(made, func(r results.Run) bool { return r.ID == claimed.ID })
		if at < 0 && sample {
			continue
		}
		if at < 0 {
			return &Difference{claimed.ID, -1, "run", "is there", "is not made"}
		}
		if d := Differ(claimed, &made[at]); d != nil {
			return d
		}
	}
	if len(made) > len(c.Runs) {
		return &Difference{made[len(made)-1].ID, -1, "run", "is absent", "is made"}
	}
	return nil
}

// recorder holds runs with their rounds in memory, by place.
type recorder struct {
	mu   sync.Mutex
	runs map[int]*results.Run
}

// all returns the runs that have ended, in the order of the scenario.
func (r *recorder) all() (runs []results.Run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	places := make([]int, 0, len(r.runs))
	for place, run := range r.runs {
		if run.Status != "" {
			places = append(places, place)
		}
	}
	slices.Sort(places)
	for _, place := range places {
		runs = append(runs, *r.runs[place])
	}
	return runs
}

func (r *recorder) Begin(index int, run results.Run) (results.Rows, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.runs == nil {
		r.runs = map[int]*results.Run{}
	}
	run.Status, run.Rounds = "", nil
	r.runs[index] = &run
	return &rows{of: r, run: &run}, nil
}

func (r *recorder) Done(string) bool { return false }

// rows records one run.
type rows struct {
	of     *recorder
	run    *results.Run
	rounds []results.Round
}

func (r *rows) Round(round *results.Round) error {
	own := *round
	own.Values, own.Metrics = slices.Clone(own.Values), slices.Clone(own.Metrics)
	own.ClientMetrics = nil
	r.rounds = append(r.rounds, own)
	return nil
}

func (r *rows) Devices([]results.DeviceRow) error              { return nil }
func (r *rows) Model(int, int, func(task int) []float64) error { return nil }
func (r *rows) State(*results.Coder)                           {}
func (r *rows) End(run results.Run) error {
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	if run.Status == "" {
		return errors.New("a run has ended without a status")
	}
	run.Rounds = r.rounds
	*r.run = run
	return nil
}
