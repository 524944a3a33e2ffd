package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"fedsim/config"
	"fedsim/data"
	"fedsim/experiment/scenario"
	"fedsim/federation/learning"
	"fedsim/internal/rooms/outside/external"
	"fedsim/internal/rooms/outside/learnercheck"
	"fedsim/mtl"
)

func newLearner() *cobra.Command {
	return asGroup(&cobra.Command{
		Use:   "learner",
		Short: "Check learners in other processes",
		Example: `  fedsim learner check python3 learner.py
  fedsim learner check --clients 20 -- python3 learner.py`,
	}, newLearnerCheck())
}

type learnerCheckFlags struct {
	clients, rows, rounds int
	options               []string
	timeout               float64
	real                  bool
	model                 bool // the argument is a scenario with an external model
}

func newLearnerCheck() *cobra.Command {
	var f learnerCheckFlags
	cmd := &cobra.Command{
		Use:   "check COMMAND...",
		Short: "Check that a learner follows the learner protocol",
		Long: `Start a learner, drive it as a scenario with algorithm = "external" does, and print
what breaks the rules of docs/learner-protocol.md, one finding on each line, with the
request and the response (cut).

The check plays rounds with updates that are committed, discarded and late, with
requests in one line and in several. It compares the answers of two runs with the
same seed, of another process, and of a process that loads a saved state: they must be
the same. It tests what the learner says that it can do, and what it must refuse. The
standard error of the learner is passed on.

With --model SCENARIO it checks the program of an external model (problem.command, see
docs/model-protocol.md) on the rows of the scenario: that answers are the same in another
process and another order, and that gradients are those of the loss.

Flags come before COMMAND. The exit status is 1 if there is a finding.`,
		Example: `  fedsim learner check python3 learner.py
  fedsim learner check --clients 20 --option step=0.1 -- python3 learner.py
  fedsim learner check --model scenario.toml`,
		Args: takes(1, 1<<20, "the command of a learner"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), args, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault),
	}
	flags := cmd.Flags()
	flags.SetInterspersed(false)
	flags.IntVar(&f.clients, "clients", 5, "number of clients")
	flags.IntVar(&f.rows, "rows", 100, "rows of each client")
	flags.BoolVar(&f.real, "real", false, "the targets of the rows are real numbers: an error is a root mean square, and no share")
	flags.IntVar(&f.rounds, "rounds", 3, "rounds of each run")
	flags.BoolVar(&f.model, "model", false, "check the program of an external model; the argument is its scenario")
	flags.StringArrayVar(&f.options, "option", nil, "an option of the learner, as in --option step=0.1; repeatable")
	flags.Float64Var(&f.timeout, "timeout", 60, "longest time for an answer, in seconds of real time; 0: no limit")
	return cmd
}

func (f *learnerCheckFlags) run(ctx context.Context, command []string, stdout, stderr io.Writer) (err error) {
	for _, n := range []struct {
		flag  string
		value int
		least int
	}{{"clients", f.clients, 2}, {"rows", f.rows, 1}, {"rounds", f.rounds, 2}} {
		if n.value < n.least || n.value > 1_000_000 {
			return usagef("--%s=%d: must be in [%d, 1000000]", n.flag, n.value, n.least)
		}
	}
	if !(f.timeout >= 0 && f.timeout <= 1e6) {
		return usagef("--timeout=%g: must be in [0, 1e6] seconds; 0: no limit", f.timeout)
	}
	if f.model {
		check, err := f.modelCheck(command, stderr)
		if err != nil {
			return err
		}
		return conforms(ctx, stdout, "model", check.Run)
	}
	options, err := f.learnerOptions()
	if err != nil {
		return err
	}
	options.Command, options.TimeoutS = command, f.timeout
	dir, err := os.MkdirTemp("", "fedsim-check-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	check := learnercheck.Check{
		Options: options, Clients: f.clients, Rows: f.rows, Real: f.real, Rounds: f.rounds, Dir: dir, Stderr: stderr, Store: learning.CheckNamed,
	}
	return conforms(ctx, stdout, "learner", check.Run)
}

// modelCheck returns the check of the external model of a scenario.
func (f *learnerCheckFlags) modelCheck(arguments []string, stderr io.Writer) (*learnercheck.Model, error) {
	if len(arguments) != 1 {
		return nil, usagef("--model: must be followed by one scenario")
	}
	s, err := scenario.Load(arguments[0], nil)
	if err != nil {
		return nil, err
	}
	for _, e := range s.Experiments {
		for _, j := range e.Jobs {
			of := &j.Candidates[0].Settings
			if of.Problem.Model != mtl.ModelExternal {
				continue
			}
			check := &learnercheck.Model{
				Options: external.ModelOptions{Command: of.Problem.Command.Words(), TimeoutS: f.timeout, Memory: machineMemory(), Real: of.Data.Target == data.TargetReal},
				Clients: f.clients, Stderr: stderr, Store: learning.CheckProgram,
			}
			if of.Data.Source != data.SourceExternal {
				check.Split, err = data.Prepare(of.Data)
			}
			return check, err
		}
	}
	return nil, usagef("%s: has no problem.model = \"external\"", s.File)
}

// conforms runs a check, prints its parts, and returns an error unless there is no finding.
func conforms(ctx context.Context, stdout io.Writer, what string, check func(context.Context, func(learnercheck.Part))) (err error) {
	findings := 0
	var failed error
	started := time.Now()
	check(ctx, func(p learnercheck.Part) {
		findings += len(p.Findings)
		if ctx.Err() == nil && failed == nil {
			failed = writePart(stdout, &p)
		}
	})
	switch {
	case ctx.Err() != nil:
		return interrupted{"interrupted; the check is not complete", context.Cause(ctx)}
	case failed != nil:
		return failed
	case findings > 0:
		return fmt.Errorf("the %s does not conform: %s", what, count(findings, "finding"))
	}
	return printf(stdout, "the %s conforms (%s)\n", what, time.Since(started).Round(10*time.Millisecond))
}

// learnerOptions returns the options of the flags --option.
func (f *learnerCheckFlags) learnerOptions() (*external.Options, error) {
	root, err := config.Parse("", nil)
	if err != nil {
		return nil, err
	}
	for _, argument := range f.options {
		a, err := config.ParseOverride(argument)
		if err == nil {
			err = root.Set(a.Path, a.Value)
		}
		if err != nil {
			if wrong, ok := errors.AsType[config.Errors](err); ok {
				err = errors.New(wrong[0].Text)
			}
			return nil, usagef("--option %s: %w", argument, err)
		}
	}
	o := &external.Options{}
	return o, o.DecodeTOML(root, "option").Err()
}

// writePart prints the outcome of a part of a check.
func writePart(w io.Writer, p *learnercheck.Part) error {
	text := ""
	switch {
	case p.Skipped != "":
		text = fmt.Sprintf("skip   %s: %s\n", p.Name, p.Skipped)
	case len(p.Findings) == 0:
		text = fmt.Sprintf("ok     %s\n", p.Name)
	}
	for _, finding := range p.Findings {
		text += fmt.Sprintf("wrong  %s: %s", p.Name, finding.Text)
		if finding.Request != "" {
			text += "; request " + finding.Request
		}
		if finding.Response != "" {
			text += "; response " + finding.Response
		}
		text += "\n"
	}
	return printText(w, text)
}
