package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"fedsim/experiment"
	"fedsim/internal/rooms/verify"
	"fedsim/results/rundir"
)

type verifyFlags struct {
	computeFlags
	quiet  bool
	sample int
}

func init() { ofRooms = append(ofRooms, newVerify) }

func newVerify([]string) *cobra.Command {
	var f verifyFlags
	cmd := &cobra.Command{
		Use:   "verify DIR | FILE | LINK",
		Short: "Run a published scenario again: the same bits?",
		Long: `Run the scenario of published results again, and compare all bits. The results are
a run directory, its manifest.json, a report, a figure in SVG, or a link: each carries
its scenario, a hash and a numeric version (docs/verify.md). Nothing is
written.

The command prints the first run, round and column that differ. The exit status is 0 if
the bits are the same, 1 if they differ, and 2 if they cannot be compared: another
numeric version, files of data that are absent, or programs that a file or a link
must not start.`,
		Example: `  fedsim verify runs/quickstart
  fedsim verify runs/sweep --sample 20
  fedsim verify figure.svg`,
		Args:              takes(1, 1, "a run directory, a file or a link"),
		ValidArgsFunction: first(completeDirectory),
		RunE:              f.run,
	}
	cmd.Flags().IntVar(&f.sample, "sample", 0, "`N` runs of a directory, evenly spread (default all)")
	f.computeFlags.add(cmd)
	cmd.Flags().BoolVarP(&f.quiet, "quiet", "q", false, "print no progress, and nothing if the bits are the same")
	return cmd
}

func (f *verifyFlags) run(cmd *cobra.Command, args []string) error {
	if err := f.computeFlags.check(f.quiet); err != nil {
		return err
	}
	claim, err := verify.Read(args[0])
	if err != nil {
		return usageError{err}
	}
	switch {
	case f.sample < 0:
		return usagef("--sample=%d: must not be negative", f.sample)
	case f.sample > 0 && claim.Runs == nil:
		return usagef("--sample: %s has one hash for all runs: only a run directory can be sampled", claim.Of)
	}
	s, err := claim.Load()
	if err != nil {
		return usageError{err}
	}
	if f.sample > 0 && s.Settings.Run.Seeds.UntilCertain() {
		return usagef("--sample: cannot be combined with run.seeds = \"until-certain\", where a run depends on others")
	}
	if programs := programsOf(s); len(programs) > 0 && !claim.Own {
		return usagef("%s starts %s: only a scenario of your own may: save it, read it, and run it", claim.Of,
			programs[0])
	}
	if err := f.permit(cmd)(s); err != nil {
		return err
	}
	if err := checkRuns(cmd.Context(), cmd.ErrOrStderr(), s); err != nil {
		return err
	}
	p := f.display(cmd, f.quiet)
	o := f.computeFlags.options(cmd)
	o.Progress = p.update
	made, difference, err := claim.Verify(cmd.Context(), s, f.sample, o)
	p.end()
	switch {
	case experiment.Interrupted(err):
		return interrupted{"interrupted; nothing is saved", err}
	case err != nil:
		return err
	case difference != nil:
		return fmt.Errorf("%s differs: %s", claim.Of, difference)
	case f.quiet:
		return nil
	}
	of := count(made, "run")
	if n := len(claim.Runs); n > made {
		of = fmt.Sprintf("%d of %d runs", made, n)
	}
	return printf(cmd.OutOrStdout(), "same bits: %s of %s, result_hash %s, numeric version %d\n", of, claim.Of,
		claim.Hash, rundir.Numerics)
}
