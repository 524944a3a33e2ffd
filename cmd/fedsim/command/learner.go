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
	"fedsim/internal/rooms"
	"fedsim/internal/rooms/outside/external"
	"fedsim/internal/rooms/outside/learnercheck"
	"fedsim/mtl"
)

func init() { ofCheck = append(ofCheck, checkLearners) }

// learnerCheckFlags are those of the checks of programs.
type learnerCheckFlags struct {
	clients, rows, rounds int
	options               []string
	timeout               float64
	real                  bool
	learner               bool   // arguments are the command of a learner
	model                 string // a scenario with an external model
}

// checkLearners adds the flags of fedsim check that start programs.
func checkLearners(cmd *cobra.Command) func(args []string) (bool, error) {
	var f learnerCheckFlags
	flags := cmd.Flags()
	flags.StringVar(&f.model, "model", "", "`FILE` check the program of the external model of this scenario")
	completeFlag(cmd, "model", completeScenario)
	flags.BoolVar(&f.learner, "learner", false, "check the learner that the command after -- starts")
	flags.IntVar(&f.clients, "clients", 5, "`N` number of clients")
	flags.IntVar(&f.rows, "rows", 100, "`N` rows of each client")
	flags.BoolVar(&f.real, "real", false,
		"the targets of the rows are real numbers: an error is a root mean square, and no share")
	flags.IntVar(&f.rounds, "rounds", 3, "`N` rounds of each run")
	flags.StringArrayVar(&f.options, "option", nil,
		"`KEY=VALUE` an option of the learner, as in --option step=0.1; repeatable")
	flags.Float64Var(&f.timeout, "timeout", 60, "`S` longest time for an answer, in seconds of real time; 0: no limit")
	learners := []string{"clients", "rows", "real", "rounds", "option", "timeout"}
	hide(cmd, learners...)
	return func(args []string) (bool, error) {
		switch {
		case f.learner && f.model != "":
			return true, usagef("--learner cannot be combined with --model")
		case f.learner && (cmd.ArgsLenAtDash() != 0 || len(args) == 0):
			return true, usagef("--learner: write the command of the learner after --, as in " +
				"fedsim check --learner -- python3 learner.py")
		case f.model != "" && len(args) > 0:
			return true, usagef("--model=%s: takes no other scenario, but %s is given", f.model, args[0])
		case f.learner || f.model != "":
			return true, f.run(cmd.Context(), args, cmd.OutOrStdout(), cmd.ErrOrStderr())
		}
		for _, name := range learners {
			if cmd.Flags().Changed(name) {
				return true, usagef("--%s: needs --learner or --model", name)
			}
		}
		return false, nil
	}
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
	if f.model != "" {
		check, err := f.modelCheck(stderr)
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
		Options: options, Clients: f.clients, Rows: f.rows, Real: f.real, Rounds: f.rounds, Dir: dir, Stderr: stderr,
		Store: learning.CheckNamed,
	}
	return conforms(ctx, stdout, "learner", check.Run)
}

// modelCheck returns the check of the external model of a scenario.
func (f *learnerCheckFlags) modelCheck(stderr io.Writer) (*learnercheck.Model, error) {
	s, err := scenario.Load(f.model, nil)
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
				Options: rooms.ModelOptions{Command: of.Problem.Command.Words(), TimeoutS: f.timeout,
					Memory: machineMemory(), Real: of.Data.Target == data.TargetReal},
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
func conforms(ctx context.Context, stdout io.Writer, what string,
	check func(context.Context, func(learnercheck.Part))) (err error) {
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
