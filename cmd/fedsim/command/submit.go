package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fedsim/config"
	"fedsim/data"
	"fedsim/experiment/scenario"
	"fedsim/internal/rooms/clusters/submit"
	"fedsim/internal/rooms/clusters/work"
	"fedsim/internal/tools/quote"
)

// engineLocal is the engine of workers in this process. The others are templates.
const engineLocal = "local"

type submitFlags struct {
	engine, template string
	tasks, cores     int
	print            bool
	programs         computeFlags // --allow-external
}

func newSubmit() *cobra.Command {
	var f submitFlags
	cmd := &cobra.Command{
		Use:   "submit DIR --engine ENGINE [-- ENGINE OPTIONS]",
		Short: "Send the missing groups of a plan to a scheduler, or do them here",
		Long: `Send the groups of a plan that are not done to an engine:

  local       workers on this machine; waits for them
  slurm       a job array of Slurm (sbatch)
  kubernetes  an indexed Job of Kubernetes (kubectl)

All tasks are the same worker ("fedsim plan work DIR --no-wait"), by default one for
each five minutes of work on one core. If nothing is missing, nothing is sent.
Groups that failed are tried again.

For a scheduler, the command writes a script or manifest to DIR/submitted and
submits it. --print only prints it. --template names a file to use in its place,
for another scheduler or for what a site needs (docs/clusters.md). Options after
-- go to the scheduler; kubernetes needs --image and --claim there.

The limit of time of a task is ten minutes and twice its share of the estimates.
Its memory is one and a half times the estimate of the largest group, and 256 MiB.

The exit status of local is 75 if it is interrupted. The same command continues.`,
		Example: `  fedsim plan submit plans/lte --engine local
  fedsim plan submit plans/lte --engine slurm --tasks 40 -- --partition=short
  fedsim plan submit plans/lte --engine slurm --print > job.sh
  fedsim plan submit p --engine kubernetes -- --image=fedsim --claim=plans`,
		Args:              beforeDash(takes(1, 1, "one plan directory")),
		ValidArgsFunction: first(completeDirectory),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.submit(cmd, args[0], args[1:])
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.engine, "engine", "", "`NAME` "+strings.Join(engines(), ", "))
	completeFlag(cmd, "engine", oneOf(engines()))
	flags.StringVar(&f.template, "template", "", "`FILE` template of an engine of your own")
	flags.IntVar(&f.tasks, "tasks", 0, "`N` tasks, each a worker (default: see above; of local one for each core)")
	flags.IntVar(&f.cores, "cores", 1, "`N` cores of a task")
	flags.BoolVar(&f.print, "print", false, "print what would be submitted, and do nothing")
	f.programs.addAllow(cmd)
	return cmd
}

// mostCores is more cores than a machine has.
const mostCores = 1 << 16

func engines() []string { return append([]string{engineLocal}, submit.Engines()...) }

// beforeDash checks only the arguments before --.
func beforeDash(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if dash := cmd.ArgsLenAtDash(); dash >= 0 {
			args = args[:dash]
		}
		return check(cmd, args)
	}
}

// find returns the engine of the flags; nil for local.
func (f *submitFlags) find() (*submit.Engine, error) {
	switch {
	case f.tasks < 0:
		return nil, usagef("--tasks=%d: must not be negative", f.tasks)
	case f.cores < 1 || f.cores > mostCores:
		return nil, usagef("--cores=%d: must be in [1, %d]", f.cores, mostCores)
	case f.engine != "" && f.template != "":
		return nil, usagef("--engine cannot be combined with --template: the template is the engine")
	case f.template != "":
		e, err := submit.Load(f.template)
		if err != nil {
			return nil, usageError{err}
		}
		return e, nil
	case f.engine == "":
		return nil, usagef("--engine is missing: must be one of %s", strings.Join(engines(), ", "))
	case f.engine == engineLocal && f.print:
		return nil,
			usagef("--print cannot be combined with --engine %s, which starts workers without a script", engineLocal)
	case f.engine == engineLocal:
		return nil, nil
	}
	e := submit.Shipped(f.engine)
	if e == nil {
		return nil, usagef("%s", config.UnknownName("engine", "--engine="+f.engine, f.engine, engines()))
	}
	return e, nil
}

// submission describes the missing groups of a plan directory, which are sent.
type submission struct {
	*work.Dir
	view   *work.View
	state  *work.State // before it is sent
	groups int         // the number of those that are not done
}

func (f *submitFlags) submit(cmd *cobra.Command, dir string, options []string) error {
	engine, err := f.find()
	if err != nil {
		return err
	}
	d, err := work.Open(dir, readVersion().String())
	if err != nil {
		return err
	}
	of := &submission{Dir: d, view: d.View(time.Now)}
	if of.state, err = of.view.State(); err != nil {
		return err
	}
	of.groups = of.state.Groups.Total - of.state.Groups.Done
	if of.groups == 0 {
		out := cmd.OutOrStdout()
		if f.print { // a script, which is empty then
			out = cmd.ErrOrStderr()
		}
		return printf(out, "nothing is missing: all %s are done; next: fedsim plan merge %s\n",
			count(of.state.Groups.Total, "group"), quote.Shell(dir))
	}
	if engine == nil && len(options) > 0 {
		return usagef("engine %s takes no options, but %s is given", engineLocal, options[0])
	}
	if err := f.programs.allow(cmd, d.Scenario); err != nil {
		return err
	}
	if engine == nil {
		return f.local(cmd, of)
	}
	j, err := f.job(of)
	if err == nil {
		err = j.SetOptions(options)
	}
	if _, ok := errors.AsType[*submit.OptionError](err); ok {
		return usageError{err}
	}
	if err != nil {
		return err
	}
	return f.send(cmd, engine, of, j)
}

// job returns the job of the missing groups, without the limits of a task.
func (f *submitFlags) job(of *submission) (*submit.Job, error) {
	dir, err := filepath.Abs(of.Path())
	if err != nil {
		return nil, err
	}
	binary, err := os.Executable()
	if err != nil {
		return nil, err
	}
	folder := os.Getenv(data.FolderVariable)
	if folder != "" {
		if folder, err = filepath.Abs(folder); err != nil {
			return nil, err
		}
	}
	here, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	for _, path := range []string{dir, binary, folder, here} {
		if strings.ContainsAny(path, "\r\n") {
			return nil, usagef("%s: has a line break in its name", quote.Text(path))
		}
	}
	p, programs := of.Plan, len(programsOf(of.Scenario)) > 0
	j := &submit.Job{ID: p.Sum[:16], Name: jobName(p.Name), Version: p.Version, Cores: f.cores, Binary: binary,
		Dir: dir, Here: here, Data: folder, AllowExternal: programs}
	j.Command = []string{binary, "plan", "work", dir, "--workers", strconv.Itoa(f.cores), "--no-wait"}
	if programs {
		j.Command = append(j.Command, "--allow-external")
	}
	return j, nil
}

// jobName returns the name of a scenario in letters that all schedulers accept.
func jobName(name string) string {
	name = regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(name), "-")
	return strings.Trim(name[:min(len(name), 40)], "-")
}

// begin lets workers try failed groups again, and notes the groups that run now.
func (s *submission) begin(cmd *cobra.Command) error {
	if n := s.state.Groups.Running; n > 0 {
		printLine(cmd.ErrOrStderr(),
			fmt.Sprintf("note: %d of %s run now; they are sent too, and a worker does what nobody is at", n,
				count(s.groups, "missing group")), false)
	}
	return s.view.Retry()
}

func (f *submitFlags) send(cmd *cobra.Command, engine *submit.Engine, of *submission, j *submit.Job) error {
	seconds := j.Fit(of.Plan, of.state, f.tasks)
	j.Place(engine)
	text, command, err := engine.Render(j)
	if _, ok := errors.AsType[*submit.OptionError](err); ok || err != nil && f.template != "" {
		return usageError{err}
	}
	if err != nil {
		return err
	}
	if f.print {
		return printText(cmd.OutOrStdout(), text)
	}
	if err := missingData(of.Scenario); err != nil {
		printError(cmd.ErrOrStderr(), fmt.Errorf("warning: data.path: %w: tasks need it too", err))
	}
	if err := of.begin(cmd); err != nil {
		return err
	}
	printed, err := submit.Send(cmd.Context(), j, text, command)
	if err != nil {
		return err
	}
	return printf(cmd.OutOrStdout(), "sent: %s, %s, about %s on one core; %s\n",
		count(j.Tasks, "task"), count(of.groups, "group"), planTime(seconds), printed)
}

// missingData returns the error of the first data file that is not here.
func missingData(s *scenario.Scenario) error {
	for _, e := range s.Experiments {
		for _, j := range e.Jobs {
			if of := j.Candidates[0].Settings.Data; of.Path != "" && of.Fallback == "" {
				if _, err := data.Locate(of.Path); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// local does the missing groups with workers in this process.
func (f *submitFlags) local(cmd *cobra.Command, of *submission) error {
	if err := requireMemory(of.Scenario); err != nil {
		return err
	}
	n := f.tasks
	if n == 0 {
		n = max(runtime.GOMAXPROCS(0)/f.cores, 1)
	}
	n = min(n, of.groups) // the others have nothing to do
	if err := of.begin(cmd); err != nil {
		return err
	}
	dir := quote.Shell(of.Path())
	printLine(cmd.ErrOrStderr(),
		fmt.Sprintf("%s begin; \"fedsim show %s --watch\" shows how far they are", count(n, "worker"), dir), false)
	w := workFlags{computeFlags: computeFlags{workers: f.cores}}
	w.quiet, w.checkpoint = true, checkpointEvery
	failed := w.start(cmd, of.Dir, n)
	state, err := of.view.State()
	switch {
	case err != nil:
		return err
	case state.Complete():
		printError(cmd.ErrOrStderr(), failed) // others did what this worker could not
		return printf(cmd.OutOrStdout(), "done: %s by %s; next: fedsim plan merge %s\n",
			count(of.groups, "group"), count(n, "worker"), dir)
	case cmd.Context().Err() != nil:
		return interrupted{
			fmt.Sprintf("interrupted: %s left; the same command continues",
				count(state.Groups.Total-state.Groups.Done, "group")), context.Canceled,
		}
	default:
		return failed
	}
}
