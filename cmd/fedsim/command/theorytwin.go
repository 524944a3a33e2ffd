package command

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"fedsim/experiment"
	"fedsim/internal/tools/columns"
	"fedsim/plots"
	"fedsim/results"
	"fedsim/results/rundir"
)

// twinRounds is the number of rounds of a run beside closed forms.
const twinRounds = 4000

func (f *theoryFlags) addTwin(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.twin, "twin", false, "compare times, staleness and energy with closed forms")
	flags.IntVar(&f.rounds, "rounds", twinRounds, "`N` rounds of each run, with --twin or --optimize")
	flags.StringVar(&f.optimize, "optimize", "", "`KEY` that is set to the best value by the closed form: "+
		strings.Join(optimized, ", "))
	flags.StringVar(&f.goal, "for", goalUpdates, "`GOAL` of --optimize: "+strings.Join(goals, ", "))
	completeFlag(cmd, "optimize", oneOf(optimized))
	completeFlag(cmd, "for", oneOf(goals))
}

// twins reports whether runs are compared with closed forms.
func (f *theoryFlags) twins() bool { return f.twin || f.optimize != "" }

func (f *theoryFlags) checkTwin() error {
	switch {
	case f.twins() && f.target != 0:
		return usagef("--target=%v: cannot be combined with --twin and --optimize, which have none", f.target)
	case !f.twins() && f.rounds != twinRounds:
		return usagef("--rounds=%d: needs --twin or --optimize", f.rounds)
	case f.rounds < 1:
		return usagef("--rounds=%d: must be at least 1", f.rounds)
	case f.optimize == "" && f.goal != goalUpdates:
		return usagef("--for=%s: needs --optimize", f.goal)
	case !slices.Contains(goals, f.goal):
		return usagef("--for=%s: must be one of %s", f.goal, strings.Join(goals, ", "))
	case f.optimize != "" && !slices.Contains(optimized, f.optimize):
		return usagef("--optimize=%s: no form of updates per second or joules depends on it: must be one of %s",
			f.optimize, strings.Join(optimized, ", "))
	}
	return nil
}

// twinText returns a table for each method and point.
func twinText(found []experiment.Twin) string {
	var sections columns.Sections
	for i := range found {
		t := &found[i]
		s := columns.Section{Title: placeOf(t.Method, t.Point)}
		s.Table.Groups = []columns.Group{{Heads: []string{"closed form", "simulated", "+-", "z"}},
			{Heads: []string{"holds"}, Left: true}}
		var rows [][]string
		var reasons []string // of notes
		for k := range t.Rows {
			r := &t.Rows[k]
			holds, reason, _ := strings.Cut(r.Holds, ": ")
			if reason != "" {
				if len(reasons) == 0 || reasons[len(reasons)-1] != r.Holds {
					reasons, s.Notes = append(reasons, r.Holds), append(s.Notes, r.Holds+" ("+r.Quantity)
				} else {
					s.Notes[len(s.Notes)-1] += ", " + r.Quantity
				}
			}
			z := "-"
			if !math.IsNaN(r.Z()) {
				z = strconv.FormatFloat(r.Z(), 'f', 1, 64)
			}
			rows = append(rows, []string{r.Quantity, short(r.Form), short(r.Simulated), twoDigits(r.Error), z, holds})
		}
		for i := range s.Notes {
			s.Notes[i] += ")"
		}
		s.Table.Blocks = []columns.Block{{Rows: rows}}
		sections = append(sections, s)
	}
	return sections.Text(textWidth())
}

func twoDigits(v float64) string {
	if math.IsNaN(v) {
		return "-"
	}
	return strconv.FormatFloat(v, 'g', 2, 64)
}

// contradicted returns an error for each exact form that a simulation contradicts.
func contradicted(found []experiment.Twin) error {
	var wrong []error
	for i := range found {
		for k := range found[i].Rows {
			if r := &found[i].Rows[k]; r.Broken() {
				wrong = append(wrong, fmt.Errorf("%s: %s: simulated %.5g, the exact form is %.5g: z = %.1f",
					placeOf(found[i].Method, found[i].Point), r.Quantity, r.Simulated, r.Form, r.Z()))
			}
		}
	}
	return errors.Join(wrong...)
}

// drawTwins draws each quantity of all clients over the swept key with the most numbers: a panel for each method and
// point of the other keys.
func drawTwins(w *rundir.Writer, found []experiment.Twin) (files []string, err error) {
	key := sweptKey(found)
	if key == "" {
		return nil, nil
	}
	var panels, quantities []string
	for i := range found {
		_, panel, _ := placeAlong(&found[i], key)
		panels = append(panels, panel)
		for _, r := range found[i].Rows {
			if !math.IsNaN(r.Form) && !math.IsNaN(r.Simulated) && !strings.Contains(r.Quantity, ":") {
				quantities = append(quantities, r.Quantity)
			}
		}
	}
	distinct := func(names []string) (list []string) {
		for _, name := range names {
			if !slices.Contains(list, name) {
				list = append(list, name)
			}
		}
		return list
	}
	panels = distinct(panels)
	dir, err := w.FiguresDir()
	if err != nil {
		return nil, err
	}
	for _, quantity := range distinct(quantities) {
		name := "theory-" + strings.ReplaceAll(quantity, " ", "-")
		chart := plots.Chart{File: name, Title: "Closed form and simulation", XLabel: key, YLabel: quantity,
			LinearY: true, Lines: []string{"simulated", "closed form"},
			Bands: "band: 95 % confidence interval"}
		for _, name := range panels {
			chart.Panels = append(chart.Panels, twinPanel(found, key, name, quantity))
		}
		names, failed := plots.SaveChart(dir, chart)
		files, err = append(files, names...), errors.Join(err, failed)
	}
	return files, err
}

// twinPanel returns the panel of a quantity over a key: its simulated values, and its closed form.
func twinPanel(found []experiment.Twin, key, name, quantity string) plots.ChartPanel {
	at := func(t *experiment.Twin) float64 { v, _, _ := placeAlong(t, key); return v }
	p := plots.ChartPanel{Title: name, Lines: make([]plots.ChartLine, 2)}
	own := slices.DeleteFunc(slices.Clone(found), func(t experiment.Twin) bool {
		_, panel, _ := placeAlong(&t, key)
		return panel != name
	})
	slices.SortStableFunc(own, func(a, b experiment.Twin) int { return cmp.Compare(at(&a), at(&b)) })
	for i := range own {
		r, ok := own[i].Row(quantity)
		if !ok || math.IsNaN(r.Form) || math.IsNaN(r.Simulated) || math.IsNaN(r.Error) {
			continue
		}
		const normal = 1.96
		simulated, form := &p.Lines[0], &p.Lines[1]
		x := at(&own[i])
		simulated.X, simulated.Y = append(simulated.X, x), append(simulated.Y, r.Simulated)
		simulated.Low = append(simulated.Low, r.Simulated-float64(normal*r.Error))
		simulated.High = append(simulated.High, r.Simulated+float64(normal*r.Error))
		form.X, form.Y = append(form.X, x), append(form.Y, r.Form)
	}
	return p
}

// placeAlong returns the value of a key at the point of a comparison, and what names the rest of its place; ok is
// false without a number.
func placeAlong(t *experiment.Twin, key string) (value float64, rest string, ok bool) {
	others := slices.Clone(t.Point)
	i := slices.IndexFunc(others, func(s results.Setting) bool { return s.Key == key })
	if i < 0 {
		return math.NaN(), "", false
	}
	value, err := strconv.ParseFloat(others[i].Value, 64)
	return value, placeOf(t.Method, slices.Delete(others, i, i+1)), err == nil
}

// sweptKey returns the swept key with the most values, all of which are numbers; empty: there is none with two.
func sweptKey(found []experiment.Twin) (key string) {
	most := 1
	for _, s := range found[0].Point {
		var values []float64
		for i := range found {
			v, _, ok := placeAlong(&found[i], s.Key)
			if !ok {
				values = nil
				break
			}
			if !slices.Contains(values, v) {
				values = append(values, v)
			}
		}
		if len(values) > most {
			key, most = s.Key, len(values)
		}
	}
	return key
}
