// Package plan writes down the work of a scenario, for several processes or machines: groups of
// runs, and what they need first.
//
// It must not know who does the work, when, or where.
package plan

import (
	"bytes"
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
	"slices"
	"strings"

	"fedsim/experiment"
	"fedsim/internal/atomicfile"
	"fedsim/internal/input"
	"fedsim/mtl/crossval"
	"fedsim/results/rundir"
	"fedsim/scenarios"
)

// Names of files in a plan directory.
const (
	File     = "plan.json"
	Scenario = "scenario.toml"
)

// format is the version of the layout of a plan directory.
const format = 1

// Plan is the content of plan.json. The same scenario and version of fedsim give the same plan.
type Plan struct {
	Format   int      `json:"format"`
	Version  string   `json:"fedsim"`
	Numerics int      `json:"numerics"`
	Name     string   `json:"scenario"`
	Scenario string   `json:"scenario_sha256"` // of the resolved scenario
	Command  []string `json:"command"`         // of the run that the merged directory equals
	Runs     int      `json:"runs"`
	Needs    []Need   `json:"prerequisites"`
	Groups   []Group  `json:"groups"`
	Sum      string   `json:"sha256"` // of the plan with an empty sum
}

// Need is what groups need first; see experiment.Need.
type Need struct {
	ID     string   `json:"id"`
	Kind   string   `json:"kind"`
	Of     []string `json:"of"`
	States []string `json:"states"`          // names of the files that hold it
	Needs  []string `json:"needs,omitempty"` // IDs of what comes first
}

// Group is a group of runs.
type Group struct {
	ID    string   `json:"id"`
	Runs  []string `json:"runs"`            // IDs, without tuned options
	Needs []string `json:"needs,omitempty"` // IDs of prerequisites
}

// New plans a scenario. Command is that of the run that the merged directory equals.
func New(ctx context.Context, s *scenarios.Scenario, version string, command []string) (*Plan, error) {
	resolved, err := s.Resolved()
	if err != nil {
		return nil, err
	}
	groups, needs, err := experiment.Groups(ctx, s.Experiments)
	if err != nil {
		return nil, err
	}
	p := &Plan{Format: format, Version: version, Numerics: rundir.Numerics, Name: s.Name, Scenario: sum(resolved), Command: command, Needs: []Need{}, Groups: []Group{}}
	id := func(kind string, of []string) string {
		return sum([]byte(strings.Join(append([]string{p.Scenario, version, kind}, of...), "\n")))[:16]
	}
	for _, n := range needs {
		made := Need{ID: id(n.Kind, n.Names), Kind: n.Kind, Of: n.Of}
		for _, name := range n.Names {
			made.States = append(made.States, rundir.StateFile(name))
		}
		p.Needs = append(p.Needs, made)
	}
	ids := func(of []int) (all []string) {
		for _, i := range of {
			all = append(all, p.Needs[i].ID)
		}
		return all
	}
	for i, n := range needs {
		p.Needs[i].Needs = ids(n.Needs)
	}
	names := experiment.Names(s.Experiments)
	for _, g := range groups {
		made := Group{Needs: ids(g.Needs)}
		for _, at := range g.Runs {
			made.Runs = append(made.Runs, names[at])
		}
		made.ID = id("group", made.Runs)
		p.Groups = append(p.Groups, made)
		p.Runs += len(g.Runs)
	}
	for _, t := range s.Tables { // no run needs them, so a group without runs does
		for _, set := range t.Sets {
			of := []string{t.Name, set.Label}
			need := Need{ID: id(NeedTable, of), Kind: NeedTable, Of: of, States: []string{rundir.StateFile(crossval.StateName(t.Name, set.Label))}}
			p.Needs = append(p.Needs, need)
			p.Groups = append(p.Groups, Group{ID: id("group", of), Runs: []string{}, Needs: []string{need.ID}})
		}
	}
	p.Sum, err = p.sum()
	return p, err
}

// NeedTable is the kind of a data set of a table of prediction errors; Of is the name of the
// table and the label of the set.
const NeedTable = "table"

// sum returns the SHA-256 of content in hexadecimal digits.
func sum(content []byte) string {
	s := sha256.Sum256(content)
	return hex.EncodeToString(s[:])
}

// sum returns the checksum of a plan.
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
// plan in the directory is an error; the same one is left as it is.
func (p *Plan) Write(dir string, s *scenarios.Scenario) error {
	text, err := p.text()
	if err != nil {
		return err
	}
	resolved, err := s.Resolved()
	if err != nil {
		return err
	}
	file := filepath.Join(dir, File)
	there, err := input.ReadFile(file, maxPlan)
	switch {
	case err == nil && bytes.Equal(there, text):
		return nil
	case err == nil:
		return fmt.Errorf("%s: another plan is here: choose another directory with -o", file)
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
		if err := atomicfile.Write(filepath.Join(dir, f.name), func(w io.Writer) error { _, err := w.Write(f.text); return err }); err != nil {
			return err
		}
	}
	return nil
}

// maxPlan is the most bytes of a plan.
const maxPlan = 1 << 28

// ErrChanged is wrapped by errors about a plan that does not fit its checksum, its scenario or
// this version of fedsim.
var ErrChanged = errors.New("cannot be used")

// Is reports whether a directory holds a plan.
func Is(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, File))
	return err == nil
}

// Read reads the plan of a directory and its scenario. It refuses a plan of another version of
// fedsim, and one that was changed.
func Read(dir, version string) (*Plan, *scenarios.Scenario, []byte, error) {
	file := filepath.Join(dir, File)
	text, err := input.ReadFile(file, maxPlan)
	if err != nil {
		return nil, nil, nil, err
	}
	refuse := func(why, remedy string) (*Plan, *scenarios.Scenario, []byte, error) {
		return nil, nil, nil, fmt.Errorf("%s: %w: %s: %s", file, ErrChanged, why, remedy)
	}
	const again = "plan the scenario again in another directory"
	var p Plan
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		return refuse("it is no plan of this version ("+strings.TrimPrefix(err.Error(), "json: ")+")", again)
	}
	switch want, err := p.sum(); {
	case err != nil:
		return nil, nil, nil, err
	case p.Format != format:
		return refuse(fmt.Sprintf("format = %d, and this version of fedsim reads %d", p.Format, format), again)
	case want != p.Sum:
		return refuse("it was changed after it was written: its checksum does not match", "restore it, or "+again)
	case p.Version != version:
		return refuse(fmt.Sprintf("it is of fedsim %s, and this is %s", p.Version, version), "use that version, or "+again)
	}
	path := filepath.Join(dir, Scenario)
	resolved, err := input.ReadFile(path, maxPlan)
	if err != nil {
		return nil, nil, nil, err
	}
	if sum(resolved) != p.Scenario {
		return refuse(path+" was changed: it is not the scenario that was planned", "restore it, or "+again)
	}
	s, err := scenarios.ParseRecorded(dir, resolved)
	return &p, s, resolved, err
}

// Need returns the prerequisite with an ID.
func (p *Plan) Need(id string) *Need {
	i := slices.IndexFunc(p.Needs, func(n Need) bool { return n.ID == id })
	if i < 0 {
		return nil
	}
	return &p.Needs[i]
}
