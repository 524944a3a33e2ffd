// Package plan writes down the work on a scenario, for several processes or machines, as a list of
// items: groups of runs, data sets of tables, and what they need first.
//
// It must not know which worker does an item, when, or where.
package plan

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"fedsim/config"
	"fedsim/experiment"
	"fedsim/experiment/scenario"
	"fedsim/internal/tools/atomicfile"
	"fedsim/internal/tools/formats"
	"fedsim/internal/tools/input"
	"fedsim/internal/tools/quote"
	"fedsim/results/rundir"
)

// Names of files in a plan directory.
const (
	File     = "plan.json"
	Scenario = "scenario.toml"
)

// Plan is the content of plan.json. The same scenario and numeric version give the same items.
type Plan struct {
	Format   int      `json:"format"`
	Version  string   `json:"fedsim_version"`
	Numerics int      `json:"numerics"` // numeric version: see rundir.Numerics
	Name     string   `json:"scenario"`
	Scenario string   `json:"scenario_sha256"` // of the resolved scenario
	Command  []string `json:"command"`         // of the run that the merged directory equals
	Runs     int      `json:"runs"`
	Items    []Item   `json:"items"`  // what others need comes before them
	Sum      string   `json:"sha256"` // of the plan with an empty sum
}

// Item is a piece of the work that one process makes; see experiment.Item.
type Item struct {
	ID     string   `json:"id"`
	Kind   string   `json:"kind"`
	Of     []string `json:"of"`               // IDs of runs, without tuned options; what others are of
	States []string `json:"states,omitempty"` // names of the files that hold it; runs have none
	Needs  []string `json:"needs,omitempty"`  // IDs of the items that come first
	Cost
}

// IsNeed reports whether an item is a prerequisite, made for others. The other items are groups of runs.
func (it *Item) IsNeed() bool {
	return it.Kind == experiment.KindOptimum || it.Kind == experiment.KindTuning
}

// Runs returns the IDs of the runs of an item, without tuned options; none of items of other kinds.
func (it *Item) Runs() []string {
	if it.Kind != experiment.KindRuns {
		return nil
	}
	return it.Of
}

// Subject says what an item is of: its first run, or the first run that a prerequisite is for.
func (it *Item) Subject() string {
	return it.Of[0]
}

// Cost is an estimate of the time of an item on one core, without its prerequisites: see
// experiment.Cost.
type Cost struct {
	EstimateS   float64 `json:"estimate_s"`
	MemoryBytes float64 `json:"memory_bytes"`
}

// costOf rounds a cost to two digits: more say nothing.
func costOf(c experiment.Cost) Cost { return Cost{rounded(c.Seconds), rounded(c.Bytes)} }

func rounded(x float64) float64 {
	y, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 2, 64), 64)
	return y
}

// TimeS returns the estimated seconds of all items on one core.
func (p *Plan) TimeS() (sum float64) {
	for i := range p.Items {
		sum += p.Items[i].EstimateS
	}
	return sum
}

// Groups returns the items that are made for their results. The others are prerequisites.
func (p *Plan) Groups() (items []*Item) {
	for i := range p.Items {
		if !p.Items[i].IsNeed() {
			items = append(items, &p.Items[i])
		}
	}
	return items
}

// Options are how a scenario is planned.
type Options struct {
	Version   string        // of fedsim
	Command   []string      // of the run that the merged directory equals
	GroupTime time.Duration // to which short groups are packed at most
	Places    []int         // of the runs in the scenario, of seeds that are added until results are certain; nil: all
}

// DefaultGroupTime is the longest time that short groups are packed to by default.
const DefaultGroupTime = time.Minute

// New plans a scenario.
func New(ctx context.Context, s *scenario.Scenario, o Options) (*Plan, error) {
	resolved, err := s.Resolved()
	if err != nil {
		return nil, err
	}
	if err := requireMethods(s); err != nil {
		return nil, err
	}
	items, err := experiment.Items(ctx, s, o.GroupTime.Seconds(), o.Places)
	if err != nil {
		return nil, err
	}
	p := &Plan{
		Format: formats.Plan, Version: o.Version, Numerics: rundir.Numerics, Name: s.Name, Scenario: sum(resolved),
		Command: o.Command, Runs: experiment.Total(s.Experiments), Items: make([]Item, len(items)),
	}
	for i, it := range items {
		made := Item{Kind: it.Kind, Of: it.Of, Cost: costOf(it.Cost)}
		made.ID =
			sum(
				[]byte(strings.Join(append([]string{p.Scenario, strconv.Itoa(p.Numerics), it.Kind}, it.Of...),
					"\n")))[:16]
		for _, name := range it.States {
			made.States = append(made.States, rundir.StateFile(name))
		}
		for _, need := range it.Needs {
			made.Needs = append(made.Needs, p.Items[need].ID)
		}
		if p.Items[i] = made; o.Places != nil {
			p.Runs += len(made.Runs())
		}
	}
	p.Sum, err = p.sum()
	return p, err
}

// requireMethods refuses runs that another program drives: that program starts them.
func requireMethods(s *scenario.Scenario) error {
	for j := range scenario.Jobs(s.Experiments) {
		if run := &j.Candidates[0]; run.Algorithm == scenario.Driven {
			return config.Problem{Key: "methods." + run.Method + ".algorithm", Value: scenario.Driven,
				Want: "must be a method of " +
					"fedsim: a program that drives a run starts it itself, so it cannot be planned"}
		}
	}
	return nil
}

// sum returns the SHA-256 of content in hexadecimal digits.
func sum(content []byte) string {
	s := sha256.Sum256(content)
	return hex.EncodeToString(s[:])
}

func (p Plan) sum() (string, error) {
	p.Sum = ""
	text, err := p.text()
	return sum(text), err
}

func (p *Plan) text() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	err := e.Encode(p)
	return b.Bytes(), err
}

// Write writes a plan and its scenario to a directory, which it makes if necessary. Another
// plan in the directory is an error; the same one is not written again.
func (p *Plan) Write(dir string, s *scenario.Scenario) error {
	text, err := p.text()
	if err != nil {
		return err
	}
	resolved, err := s.Resolved()
	if err != nil {
		return err
	}
	file := filepath.Join(dir, File)
	there, err := input.ReadOwn(file, maxPlan)
	switch {
	case err == nil && bytes.Equal(there, text):
		return nil
	case err == nil:
		var other Plan
		if json.Unmarshal(there, &other) != nil || other.Version == "" {
			return fmt.Errorf("%s: is no plan of fedsim: choose another directory with -o", file)
		}
		return fmt.Errorf("%s: is another plan, of %s by fedsim %s: continue it with fedsim plan work %s, "+
			"or choose another directory with -o",
			file, other.Name, other.Version, quote.Shell(dir))
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	for _, f := range []struct {
		name string
		text []byte
	}{{Scenario, resolved}, {File, text}} {
		if err := atomicfile.Write(filepath.Join(dir, f.name),
			func(w io.Writer) error { _, err := w.Write(f.text); return err }); err != nil {
			return err
		}
	}
	return nil
}

// maxPlan is the most bytes of a plan.
const maxPlan = 1 << 28

// Batch returns the directory of a batch of seeds, from 1 on: seeds that are added until results are certain have a
// plan for each.
func Batch(dir string, k int) string { return filepath.Join(dir, strconv.Itoa(k)) }

// Batches returns the directories of the plans in a directory: itself, or those of its batches. None has a plan that
// is no plan directory.
func Batches(dir string) (list []string) {
	is := func(dir string) bool { _, err := os.Stat(filepath.Join(dir, File)); return err == nil }
	if is(dir) {
		return []string{dir}
	}
	for k := 1; is(Batch(dir, k)); k++ {
		list = append(list, Batch(dir, k))
	}
	return list
}

// Is reports whether a directory holds a plan, or batches.
func Is(dir string) bool { return len(Batches(dir)) > 0 }

// Read reads the plan of a directory and its scenario. It refuses a plan that was changed, and one
// of a version of fedsim with another format or numeric version than this one. It ignores fields of later
// versions.
func Read(dir, version string) (*Plan, *scenario.Scenario, []byte, error) {
	file := filepath.Join(dir, File)
	text, err := input.ReadOwn(file, maxPlan)
	if err != nil {
		return nil, nil, nil, err
	}
	refuse := func(why, remedy string) (*Plan, *scenario.Scenario, []byte, error) {
		return nil, nil, nil, fmt.Errorf("%s: cannot be used: %s: %s", file, why, remedy)
	}
	const again = "plan the scenario again in another directory"
	var p Plan
	var head struct {
		Version *string `json:"fedsim_version"`
	}
	if err := cmp.Or(json.Unmarshal(text, &p), json.Unmarshal(text, &head)); err != nil {
		return refuse("it is no plan ("+strings.TrimPrefix(err.Error(), "json: ")+")", again)
	}
	if err := formats.Check(p.Format, formats.Plan, head.Version); err != nil {
		return refuse(err.Error(), "use that fedsim, or "+again)
	}
	if p.Numerics != rundir.Numerics {
		return refuse(fmt.Sprintf("it is of fedsim %s with numeric version %d, and this is %s with %d", p.Version,
			p.Numerics, version, rundir.Numerics), "use that fedsim, or "+again)
	}
	if sum(bytes.Replace(text, []byte(p.Sum), nil, 1)) != p.Sum {
		return refuse("it was changed after it was written: its checksum does not match", "restore it, or "+again)
	}
	path := filepath.Join(dir, Scenario)
	resolved, err := input.ReadOwn(path, maxPlan)
	if err != nil {
		return nil, nil, nil, err
	}
	if sum(resolved) != p.Scenario {
		return refuse(path+" was changed: it is not the scenario that was planned", "restore it, or "+again)
	}
	s, err := scenario.ParseRecorded(dir, resolved)
	return &p, s, resolved, err
}
