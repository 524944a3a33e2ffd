package command

import (
	"bytes"
	"errors"
	"math"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"fedsim/config"
	"fedsim/internal/rooms/measure/attemptlog"
	"fedsim/internal/rooms/measure/calibration"
	"fedsim/internal/rooms/report"
	"fedsim/internal/tools/columns"
)

func init() { ofRooms = append(ofRooms, newCalibrate) }

func newCalibrate([]string) *cobra.Command {
	var out, hold, with, figure, attempts string
	var force, check, asJSON bool
	var o calibration.Options
	cmd := &cobra.Command{
		Use:   "calibrate LOG...",
		Short: "Fit times to logs of a real federation, and check predictions",
		Long: `Fit the times of clients and links to logs of real runs, with confidence intervals.
A log has one row for each attempt of a client; docs/real.md lists its columns. What
a log cannot tell apart is named and keeps its default.

DIR gets calibration.json (all estimates), fleet.toml (a class for each client),
nominal.toml (the same clients by their nominal values, if the log has them),
scenario.toml (the setting of the run with most attempts, in timing mode), report.txt,
which is printed, report.html, which has the figures too, and figures/, as PNG and SVG.
An existing DIR is never replaced without --force.

With --check the logs are predicted by an earlier calibration, and the errors are
printed, beside those of nominal values and, for repeated runs, the noise floor. The
simulated server follows the settings of the log; rounds begin when the simulated
round before has ended. Clients that failed in the log are not asked.`,
		Example: `  fedsim calibrate run1.csv run2.csv run3.csv -o cal --hold-out rounds
  fedsim run cal/scenario.toml
  fedsim calibrate --check run4.csv run5.csv --with cal --figure check
  fedsim calibrate --check run4.csv --with cal --attempts attempts.csv`,
		Args: takes(1, math.MaxInt, "one or more logs"),
		RunE: func(cmd *cobra.Command, logs []string) error {
			if err := checkCalibrateFlags(out, hold, with, figure, attempts, check, force, asJSON); err != nil {
				return err
			}
			if check {
				return checkLogs(cmd, with, logs, figure, attempts, asJSON)
			}
			if err :=
				checked(func(c *config.Checker) {
					c.OneOfOrEmpty("hold-out", hold, calibration.ByRounds, calibration.ByRuns)
				}); err != nil {
				return err
			}
			return calibrate(cmd, logs, out, hold, force, o)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&out, "out", "o", "", "`DIR` directory for the results")
	flags.StringVar(&hold, "hold-out", "", "`BY` also predict parts of the log by fits to the rest: rounds or runs")
	flags.BoolVar(&check, "check", false, "say how well the calibration of --with predicts the logs")
	flags.StringVar(&with, "with", "", "`DIR` directory of the calibration for --check")
	flags.BoolVar(&asJSON, "json", false, "print what --check says as JSON (docs/reference/json.md)")
	flags.StringVar(&figure, "figure", "",
		"`FILE` draw predicted against measured times of --check: a file ending in .png or .svg, "+
			"or both formats without extension")
	flags.StringVar(&attempts, "attempts", "",
		"`FILE` with --check: write each attempt as csv, as measured and as predicted, in seconds")
	flags.BoolVar(&force, "force", false, "replace an existing calibration")
	flags.Uint64Var(&o.Seed, "seed", 1, "`N` seed of the resamples of the confidence intervals")
	completeFlag(cmd, "hold-out", oneOf([]string{calibration.ByRounds, calibration.ByRuns}))
	return cmd
}

// checkCalibrateFlags reports flags that do not go together.
func checkCalibrateFlags(out, hold, with, figure, attempts string, check, force, asJSON bool) error {
	switch {
	case check && with == "":
		return usagef("--check needs --with DIR, the directory of a calibration")
	case check && (out != "" || hold != "" || force):
		return usagef("--check writes no calibration: leave out --out, --hold-out and --force")
	case !check && with != "":
		return usagef("--with goes with --check")
	case !check && asJSON:
		return usagef("--json goes with --check; calibration.json has the estimates")
	case !check && figure != "":
		return usagef("--figure goes with --check; --out gets the figures of a calibration")
	case !check && attempts != "":
		return usagef("--attempts goes with --check")
	case !check && out == "":
		return usagef("--out is required: the directory for the results")
	}
	_, err := pictureFiles(figure)
	return err
}

// calibrate fits logs and writes a directory.
func calibrate(cmd *cobra.Command, paths []string, dir, hold string, force bool, o calibration.Options) error {
	if err := calibration.CheckFree(dir, force); err != nil {
		return calibrationError(err)
	}
	f, err := unlessInterrupted(cmd, func() (fitted, error) { return fitLogs(filepath.Base(dir), paths, hold, o) })
	if err != nil {
		return calibrationError(err)
	}
	if err := f.Write(dir, f.log, f.results, force); err != nil {
		return calibrationError(err)
	}
	return printf(cmd.OutOrStdout(), "%s\nresults: %s; run the setting with: fedsim run %s\n",
		f.results.Text, dir, filepath.Join(dir, calibration.ScenarioFile))
}

// fitted is a calibration with its log and its results.
type fitted struct {
	*calibration.Calibration
	log     *attemptlog.Log
	results calibration.Results
}

// fitLogs fits logs, and makes the results of a name.
func fitLogs(name string, paths []string, hold string, o calibration.Options) (f fitted, err error) {
	if f.log, err = attemptlog.Read(paths...); err != nil {
		return f, err
	}
	if f.Calibration, err = calibration.Fit(f.log, o); err != nil {
		return f, err
	}
	var held *calibration.HeldOut
	if hold != "" {
		if held, err = f.HoldOut(f.log, hold); err != nil {
			return f, err
		}
	}
	f.results, err = calibrationResults(name, f.Calibration, f.log, held)
	return f, err
}

// calibrationResults returns the report of a calibration, as text and as a page, and its figures.
func calibrationResults(name string, c *calibration.Calibration, log *attemptlog.Log,
	held *calibration.HeldOut) (r calibration.Results, err error) {
	sections := c.Sections(c.InSample(log), held)
	r.Text = append(columns.Sections{{Title: strings.Join(c.Summary(), "\n")}}, sections...).Text(columns.Width)
	if r.Figures, err = c.Figures(log); err != nil {
		return r, err
	}
	var page bytes.Buffer
	err = report.WriteCalibration(&page, name, c.Summary(), sections, r.Figures)
	r.Page = page.Bytes()
	return r, err
}

// calibrationError makes errors of the user usage errors.
func calibrationError(err error) error {
	if errors.Is(err, calibration.ErrTooShort) || errors.Is(err, calibration.ErrExists) {
		return usagef("%w", err)
	}
	return err
}
