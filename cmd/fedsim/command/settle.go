package command

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"fedsim/experiment/into"
	"fedsim/experiment/scenario"
	"fedsim/internal/rooms/settle"
	"fedsim/internal/tools/plainjson"
	"fedsim/internal/tools/quote"
	"fedsim/results"
	"fedsim/results/rundir"
)

type settleFlags struct {
	runFlags
	a, b, by, target, margin, confidence string
	maxSeeds                             int
	order                                bool
	plan                                 string
	byError                              bool // of a directory without targets
}

// settlePlan judges the runs of a plan, or plans more; nil: this program has no plans.
var settlePlan func(f *settleFlags, cmd *cobra.Command) error

func init() {
	ofRooms = append(ofRooms, newSettle)
	endsOfExplain = append(endsOfExplain, into.SeedsNeeded)
}

func newSettle(line []string) *cobra.Command {
	f := settleFlags{runFlags: runFlags{line: line}}
	cmd := &cobra.Command{
		Use:   "settle SCENARIO\nsettle DIR",
		Short: "Add seeds until a comparison is certain",
		Long: `Add paired seeds until A is faster than B by the margin, B is, or no difference
above it exists (docs/results.md#seeds-until-it-is-certain). Look at the interval,
stop and go on as you like: it holds after every seed. Of more than two rows, one
must lead all others, or with --order every pair must be decided.

A row is a method, or a value of the swept key. Each block of a sweep settles alone.
Runs end at the target, which is the last of run.targets without --target. Seeds
count up from 1; those of tuning do not count. Of a run directory it says what its seeds
settle.

With --plan, seeds are made by "fedsim plan work DIR" on several machines: settle judges
those that are done, and plans the next ones, which the status 75 says, until it is settled.

The exit status is 0 if all is settled, also if there is no difference, and 4 if not.`,
		Example: `  fedsim settle quickstart --max-seeds 20
  fedsim settle deadline --a mocha --b cocoa --margin 10%
  fedsim settle --resume runs/deadline-settle --max-seeds 300
  fedsim settle runs/deadline --by error
  fedsim settle --plan plans/deadline`,
		Args: func(cmd *cobra.Command, args []string) error {
			if f.plan != "" {
				return takes(0, 0, "no scenario with --plan")(cmd, args)
			}
			return f.arguments(cmd, args)
		},
		ValidArgsFunction: first(completeScenario),
		RunE:              f.settle,
	}
	flags := cmd.Flags()
	flags.StringVar(&f.a, "a", "", "a row: a method, or a value of the swept key (default all rows)")
	flags.StringVar(&f.b, "b", "", "the other row")
	flags.StringVar(&f.by, "by", "time", "what is compared: "+strings.Join(settle.Measures, ", "))
	completeFlag(cmd, "by", oneOf(settle.Measures))
	flags.StringVar(&f.target, "target", "", "whose cost is compared: a sub-optimality, or METRIC=VALUE")
	flags.StringVar(&f.margin, "margin", "5%", "less is no difference; of errors a number, 0.005")
	flags.StringVar(&f.confidence, "confidence", "95%", "of all claims of a block")
	flags.IntVar(&f.maxSeeds, "max-seeds", 100, "most seeds that count")
	flags.BoolVar(&f.order, "order", false, "settle the order of all rows, not only the first")
	addSet(cmd, &f.set, "")
	f.directoryFlags.add(cmd, "runs/<scenario name>-settle")
	f.computeFlags.add(cmd)
	f.addQuiet(cmd)
	f.addNoFigures(cmd)
	f.addJSON(cmd)
	f.resumeFlags.add(cmd)
	addOtherProgram(cmd, &f.otherProgram, resumeOther)
	if settlePlan != nil {
		flags.StringVar(&f.plan, "plan", "", "`DIR` judge the finished runs of a plan, or plan more seeds")
		completeFlag(cmd, "plan", completeDirectory)
	}
	return cmd
}

func (f *settleFlags) settle(cmd *cobra.Command, args []string) error {
	done := len(args) > 0 && f.lookInto(cmd, args[0])
	sets, err := f.sets(cmd)
	if err != nil {
		return err
	}
	if done {
		return f.judge(cmd, args[0], sets)
	}
	f.brief = func(d *into.Directory) error {
		c, err := into.Settle(d.Scenario, d.Writer.Runs())
		if err != nil {
			return err
		}
		return f.print(cmd, c, d.Writer.Dir())
	}
	if f.plan != "" || f.resume != "" {
		for _, name := range []string{"a", "b", "by", "target", "confidence", "order"} {
			if cmd.Flags().Changed(name) {
				return usagef("--%s: cannot be combined with --resume and --plan: what is compared may not change "+
					"after a look at it, only --margin and --max-seeds", name)
			}
		}
		f.over = sets[1:] // the seeds are those of the directory
	}
	if f.plan != "" {
		return settlePlan(f, cmd)
	}
	if f.resume == "" {
		s, err := scenario.Load(args[0], f.set)
		if err != nil {
			return err
		}
		if f.out == "" {
			f.out = "runs/" + s.Name + "-settle"
		}
		return f.run(cmd, args, append(slices.Clone(f.set), sets...))
	}
	if m, err := rundir.ReadManifest(f.resume); err == nil && m.State == rundir.Complete {
		return f.again(cmd, sets)
	}
	return f.run(cmd, args, nil)
}

// sets returns the settings of the flags that are given, that of the seeds first.
func (f *settleFlags) sets(cmd *cobra.Command) ([]string, error) {
	for _, set := range f.set {
		if key, _, _ := strings.Cut(set, "="); strings.TrimSpace(key) == "run.seeds" {
			return nil, usagef("--set %s: cannot be combined with settle, which counts seeds up from 1", set)
		}
	}
	if (f.a == "") != (f.b == "") {
		return nil, usagef("--a and --b: name both rows, or none for all")
	}
	sets := []string{`run.seeds="until-certain"`}
	add := func(flag, key, value string) {
		if cmd.Flags().Changed(flag) {
			sets = append(sets, "run.certain."+key+"="+value)
		}
	}
	margin, err := f.share(cmd, "margin", f.margin, f.by == "error")
	if err != nil {
		return nil, err
	}
	confidence, err := f.share(cmd, "confidence", f.confidence, false)
	if err != nil {
		return nil, err
	}
	target := f.target
	if metric, value, named := strings.Cut(f.target, "="); named {
		target = fmt.Sprintf("{ %s = %s }", metric, value)
	}
	add("by", "by", strconv.Quote(f.by))
	add("margin", "margin", margin)
	add("confidence", "confidence", confidence)
	add("target", "target", target)
	add("max-seeds", "max_seeds", strconv.Itoa(f.maxSeeds))
	add("order", "order", strconv.FormatBool(f.order))
	add("a", "rows", fmt.Sprintf("[%q, %q]", f.a, f.b))
	return sets, nil
}

// share parses a percentage, or a number.
func (f *settleFlags) share(cmd *cobra.Command, flag, text string, number bool) (string, error) {
	digits, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	x, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
	switch {
	case !cmd.Flags().Changed(flag):
		return "", nil
	case err != nil || number && percent || !number && !percent && x != 0:
		want := "a percentage, as 5%"
		if number {
			want = "a number in the unit of the metric, as 0.005"
		}
		return "", usagef("--%s=%s: must be %s", flag, text, want)
	case percent:
		x /= 100
	}
	return strconv.FormatFloat(x, 'g', -1, 64), nil
}

// lookInto reports whether an argument is a run directory with results. Without targets it is compared by error.
func (f *settleFlags) lookInto(cmd *cobra.Command, dir string) bool {
	m, err := rundir.ReadManifest(dir)
	if err != nil || f.resume != "" {
		return false
	}
	if !cmd.Flags().Changed("by") && f.target == "" && len(m.Targets) == 0 {
		f.by, f.byError = "error", true
	}
	return true
}

// judge prints the comparisons that the seeds of a run directory settle. They may be a list.
func (f *settleFlags) judge(cmd *cobra.Command, dir string, sets []string) error {
	there, err := rundir.Read(dir)
	if err != nil {
		return err
	}
	if f.byError {
		sets = append(sets, `run.certain.by="error"`)
	}
	s, err := scenario.Parse(dir, there.Scenario, sets)
	if err != nil {
		return err
	}
	c, err := into.Settle(s, there.Runs)
	if err == nil {
		err = f.print(cmd, c, dir)
	}
	if err == nil && !c.Settled {
		err = fmt.Errorf("%w by the seeds of this directory: settle its scenario in another one", errUnsettled)
	}
	return err
}

// again judges the runs of a complete directory, maybe by another margin.
func (f *settleFlags) again(cmd *cobra.Command, sets []string) error {
	there, err := rundir.Read(f.resume)
	if err != nil {
		return err
	}
	s, err := scenario.Parse(f.resume, there.Scenario, sets[1:])
	if err != nil {
		return err
	}
	c, err := into.Settle(s, there.Runs)
	if err == nil && c == nil {
		err = usagef("--resume %s: its seeds are a list: run settle with a scenario", f.resume)
	}
	if err == nil {
		err = f.print(cmd, c, f.resume)
	}
	if err == nil && !c.Settled {
		err = fmt.Errorf("%w by this margin; the directory is complete: settle the scenario in another one",
			errUnsettled)
	}
	return err
}

// print prints where a comparison stands.
func (f *settleFlags) print(cmd *cobra.Command, c *into.Certain, dir string) error {
	if f.json {
		return plainjson.Print(cmd.OutOrStdout(), struct {
			Directory string `json:"directory"`
			*settle.Report
		}{dir, c.Report.(*settle.Report)})
	}
	return printText(f.text(cmd), results.Sections(c.Sections).Text(textWidth())+"\nresults: "+quote.Shell(dir)+"\n")
}
