package command

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"fedsim/config"
	"fedsim/data"
	"fedsim/experiment"
	"fedsim/experiment/scenario"
	"fedsim/internal/tools/columns"
	"fedsim/internal/tools/elementary"
	"fedsim/internal/tools/quote"
)

// What --optimize aims at, and the keys that forms depend on.
const (
	goalUpdates = "updates"
	goalJoules  = "joules"

	cohortKey   = "federation.clients_per_round"
	overKey     = "federation.protocol_options.over_selection"
	deadlineKey = "federation.deadline_s"
)

var (
	goals     = []string{goalUpdates, goalJoules}
	optimized = []string{cohortKey, overKey, deadlineKey}
)

// mostPoints is the number of points of the grid of a key.
const mostPoints = 64

// optimum is a search over one key of a scenario.
type optimum struct {
	*theoryFlags
	name, experiment string // of the scenario, and of its experiment
	quantity         string // whose form is the objective
	sign             float64
	standing         string   // the value of the key in the scenario
	values           []string // of the grid, in increasing order
	forms            []experiment.TwinRow
	best             int
}

// search runs the command with --optimize.
func (f *theoryFlags) search(cmd *cobra.Command, name string) error {
	o := &optimum{theoryFlags: f, name: name, quantity: "updates per second", sign: 1}
	if f.goal == goalJoules {
		o.quantity, o.sign = "joules an update", -1
	}
	s, _, err := f.load(name)
	if err != nil {
		return err
	}
	jobs := slices.Collect(scenario.Jobs(s.Experiments))
	if len(jobs) != 1 || len(jobs[0].Candidates) != 1 {
		return usagef("--optimize=%s: the scenario has %d methods and points: it must have one method, and no sweep, "+
			"sample or tuning", f.optimize, len(jobs))
	}
	o.experiment = jobs[0].Candidates[0].Experiment
	if err := o.grid(&jobs[0].Candidates[0].Settings); err != nil {
		return err
	}
	if err := o.evaluate(cmd, name); err != nil {
		return err
	}
	from, to := max(0, o.best-1), min(len(o.values)-1, o.best+1)
	points := slices.Clone(o.values[from : to+1])
	if !slices.Contains(points, o.standing) {
		points = append(points, o.standing)
	}
	if s, err = scenario.Load(name, o.swept(points)); err != nil {
		return err
	}
	return f.compare(cmd, s, false, o.report)
}

// swept returns the overrides by which the key has such values.
func (o *optimum) swept(values []string) []string {
	own := func(set string) bool { return strings.HasPrefix(set, o.optimize+"=") } // it would replace the sweep
	return append(slices.DeleteFunc(o.sets(), own),
		fmt.Sprintf("experiment.%s.sweep.%s=[%s]", o.experiment, o.optimize, strings.Join(values, ",")))
}

// grid makes the grid of the key.
func (o *optimum) grid(s *scenario.Settings) error {
	rows, _, _, _, err := data.Sizes(s.Data)
	if err != nil {
		return err
	}
	all := len(rows)
	fed, number := &s.Federation, func(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }
	wanted, _ := fed.Sizes(all)
	var values []float64
	switch o.optimize {
	case cohortKey:
		o.standing = strconv.Itoa(wanted)
		values = spaced(1, float64(all), true)
	case overKey:
		o.standing = config.Label(fed.Over)
		for asked := wanted; asked <= all; asked++ {
			values = append(values, float64(asked)/float64(wanted))
		}
	case deadlineKey:
		o.standing = config.Label(fed.DeadlineS)
		if fed.DeadlineS == 0 {
			return usagef("--optimize=%s: the scenario must have one: the grid is around it", o.optimize)
		}
		values = spaced(fed.DeadlineS/32, fed.DeadlineS*32, false)
	}
	for _, v := range values {
		text := number(v)
		if o.optimize == cohortKey {
			text = strconv.Itoa(int(v))
		}
		if len(o.values) == 0 || text != o.values[len(o.values)-1] {
			o.values = append(o.values, text)
		}
	}
	return nil
}

// spaced returns numbers of equal quotients, all whole ones if they are few.
func spaced(from, to float64, whole bool) (values []float64) {
	if whole && to-from < mostPoints {
		for v := from; v <= to; v++ {
			values = append(values, v)
		}
		return values
	}
	step := elementary.Log(to/from) / (mostPoints - 1)
	for k := range mostPoints {
		v := from * elementary.Exp(float64(float64(k)*step))
		if whole {
			v = math.Round(v)
		}
		values = append(values, min(v, to))
	}
	return values
}

// evaluate evaluates the form on the grid, and finds the best point.
func (o *optimum) evaluate(cmd *cobra.Command, name string) error {
	s, err := scenario.Load(name, o.swept(o.values))
	if err != nil {
		return err
	}
	found, err := experiment.Forms(cmd.Context(), s.Experiments)
	if err != nil {
		return err
	}
	o.best = -1
	for i := range found {
		row, ok := found[i].Row(o.quantity)
		if !ok || math.IsNaN(row.Form) {
			reason := experiment.NoForm + o.optimize
			for _, r := range found[i].Rows {
				if key, no := strings.CutPrefix(r.Holds, experiment.NoForm); no && (!ok || r.Quantity == o.quantity) {
					reason = experiment.NoForm + key
				}
			}
			return usagef("--optimize=%s: %s has %s", o.optimize, o.quantity, reason)
		}
		o.forms = append(o.forms, row)
		if o.best < 0 || float64(o.sign*row.Form) > float64(o.sign*o.forms[o.best].Form) {
			o.best = i
		}
	}
	return nil
}

// report prints the gain of the best value, whether the simulation has the same order, and the command of a search.
func (o *optimum) report(found []experiment.Twin) (string, error) {
	rows := map[string]experiment.TwinRow{} // never iterated
	best := ""
	for i := range found {
		row, _ := found[i].Row(o.quantity)
		value := found[i].Point[0].Value
		rows[value] = row
		if best == "" || float64(o.sign*row.Simulated) > float64(o.sign*rows[best].Simulated) {
			best = value
		}
	}
	at := o.values[o.best]
	form, stands := rows[at], rows[o.standing]
	text := fmt.Sprintf("%s = %s is best for %s: %s by the closed form, %s simulated", o.optimize, at, o.quantity,
		short(o.forms[o.best].Form), short(form.Simulated))
	if at != o.standing {
		text += fmt.Sprintf(", %s as the scenario stands (%s): %+.1f %%", short(stands.Simulated), o.standing,
			100*(form.Simulated/stands.Simulated-1))
	} else {
		text += ", as the scenario stands"
	}
	text += ". "
	if best == at {
		text += "The simulation has the same order."
	} else {
		text += fmt.Sprintf("The simulation has %s at %s, %.2g %% better.", short(rows[best].Simulated), best,
			100*math.Abs(rows[best].Simulated/form.Simulated-1))
	}
	if math.IsNaN(form.Form) { // of the run, whose batteries the search does not know
		text += fmt.Sprintf(" The closed form does not hold for all of the simulation (%s).", form.Holds)
	}
	set := "experiment." + o.experiment + ".sample."
	command := []string{"fedsim", "run", o.name}
	for _, given := range o.set {
		command = append(command, "--set", given)
	}
	values := strings.Join(o.around(), ",")
	search := quote.Shell(append(command, "--set", fmt.Sprintf("%ssize=%d", set, len(o.around())))...) + " \\\n    " +
		quote.Shell("--set", fmt.Sprintf("%sranges.%q=[%s]", set, o.optimize, values))
	return "\n" + columns.Wrap(text, textWidth(), 0) + "\nTo search around it for the time to a target:\n  " +
		search + "\n", nil
}

// around returns four values of the grid, the best among them, between those where the form is within a factor of four
// of the best.
func (o *optimum) around() (values []string) {
	near := func(i int) bool {
		a, b := o.forms[i].Form, o.forms[o.best].Form
		return max(a, b) <= 4*min(a, b)
	}
	from, to := o.best, o.best
	for from > 0 && near(from-1) {
		from--
	}
	for to < len(o.forms)-1 && near(to+1) {
		to++
	}
	const points = 4
	for k := range points {
		i := from + (to-from)*k/(points-1)
		if step := float64(to-from) / (points - 1); math.Abs(float64(i-o.best)) < step/2 || i == o.best {
			i = o.best
		}
		if !slices.Contains(values, o.values[i]) {
			values = append(values, o.values[i])
		}
	}
	return values
}
