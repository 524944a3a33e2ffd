package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"runtime/debug"
	"time"

	"fedsim/algorithms"
	"fedsim/config"
	"fedsim/experiment"
	"fedsim/experiment/into"
	"fedsim/experiment/scenario"
	"fedsim/mtl"
	"fedsim/results"
)

const (
	file       = "scenario.toml"  // that the text of the page stands for
	mostMemory = 3e9              // bytes of all, of the 4 GiB of WebAssembly
	mostData   = mostMemory / 2.5 // "million" takes 6.1 GB, 2.5 times what experiment.LeastMemory says
	mostDrawn  = 1e7              // bytes of data that are generated to learn how long a scenario takes
	mostTime   = 120              // seconds

	// slower is the time in a page over that of the estimate, which is of one core with AVX2: 0.8 to 4.5 for the
	// shipped scenarios that suit a page. begins is the time in seconds before the first round.
	slower = 2.5
	begins = 0.5
)

// problem is an error of a scenario. Line 0 stands for all of it.
type problem struct {
	Line   int    `json:"line"`
	Column int    `json:"column"` // in bytes, from 1
	Text   string `json:"text"`
}

// problemsOf returns the problems of an error.
func problemsOf(err error) (list []problem) {
	all, ok := errors.AsType[config.Errors](err)
	if !ok {
		text := err.Error()
		if errors.Is(err, fs.ErrNotExist) {
			text += ": a page reads no files: " + elsewhere
		}
		return []problem{{Text: text}}
	}
	for _, l := range all {
		list = append(list, problem{l.Place.Line, l.Place.Column, l.Text})
	}
	return list
}

// elsewhere ends texts about scenarios that a page does not run.
const elsewhere = "save it, and run: fedsim run " + file

// checked says what a scenario would do.
type checked struct {
	Problems []problem `json:"problems,omitempty"`
	Refused  string    `json:"refused,omitempty"` // why a page does not run it, and what does
	Notes    []string  `json:"notes,omitempty"`
	Runs     int       `json:"runs"`    // 0: until results are certain
	Seconds  float64   `json:"seconds"` // in a page, about; 0: not known
}

// check reads a scenario and says what it would do.
func check(ctx context.Context, text string, sets []string) (*scenario.Scenario, checked) {
	s, err := scenario.Parse(file, []byte(text), sets)
	if err != nil {
		return nil, checked{Problems: problemsOf(err)}
	}
	c := checked{Runs: experiment.Total(s.Experiments), Refused: refused(s)}
	if c.Refused != "" {
		return s, c
	}
	notes, err := experiment.Check(ctx, s.Experiments)
	if err != nil {
		c.Problems = problemsOf(err)
		return s, c
	}
	for _, source := range s.DataSources(true) {
		c.Notes = append(c.Notes, "data: "+source)
	}
	c.Notes = append(append(c.Notes, s.Notes...), notes...)
	if c.Seconds = estimate(ctx, s); c.Seconds > mostTime {
		c.Refused = fmt.Sprintf("would take about %.0f minutes here, and a page runs %d at most: %s",
			math.Ceil(c.Seconds/60), mostTime/60, elsewhere)
	}
	return s, c
}

// refused says why a page never runs a scenario: it starts programs, reads files or has much data.
func refused(s *scenario.Scenario) string {
	need := experiment.LeastMemory(s.Experiments)
	for j := range scenario.Jobs(s.Experiments) {
		for i := range j.Candidates {
			run := &j.Candidates[i]
			d, inPlaceOf := run.Settings.Data.OrFallback()
			_, outside := run.Options.(algorithms.Outside)
			switch {
			case outside || run.Settings.Problem.Model == mtl.ModelExternal:
				return "starts a program, and a page starts none: " + elsewhere
			case d.Path != "":
				return fmt.Sprintf("reads the file %q, and a page reads none: %s", d.Path, elsewhere)
			case !d.SizesKnown() && (inPlaceOf != "" || need > mostDrawn):
				return "divides many generated rows among clients, and a page generates few: " + elsewhere
			}
		}
	}
	if need > mostData {
		return fmt.Sprintf("needs at least %s of memory for its data alone, and a page has %s for all: %s",
			results.Scaled(need, "B"), results.Scaled(mostMemory, "B"), elsewhere)
	}
	return ""
}

// estimate returns the seconds that a scenario takes in a page, about; 0: not known.
func estimate(ctx context.Context, s *scenario.Scenario) (seconds float64) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	o := experiment.Options{Workers: 1, Clock: time.Now, Next: next(s, func() []results.Run { return nil }),
		Estimate: func(e experiment.Estimate) {
			figures := experiment.FigureSeconds(s.Experiments)
			seconds = begins + float64(slower*(e.Optima+e.Tuning+e.Runs+figures))
			cancel()
		}}
	_ = experiment.Run(ctx, s.Experiments, o) // it ends with the estimate
	return seconds
}

// next returns the function that chooses the runs of a scenario whose seeds are added until results are certain; nil
// for others.
func next(s *scenario.Scenario, runs func() []results.Run) func() ([]int, error) {
	if !s.Settings.Run.Seeds.UntilCertain() {
		return nil
	}
	return func() ([]int, error) {
		c, err := into.Settle(s, runs())
		if err != nil {
			return nil, err
		}
		return c.Places, nil
	}
}

// version returns the version of the program.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
