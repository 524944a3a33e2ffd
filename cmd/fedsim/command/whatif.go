package command

import (
	"errors"
	"math"
	"time"

	"github.com/spf13/cobra"

	"fedsim/config"
	"fedsim/experiment"
	"fedsim/experiment/scenario"
	"fedsim/internal/rooms/measure/attemptlog"
	"fedsim/internal/rooms/measure/calibration"
	"fedsim/internal/rooms/measure/whatif"
	"fedsim/internal/tools/columns"
	"fedsim/internal/tools/plainjson"
)

func init() { ofRooms = append(ofRooms, newWhatIf) }

func newWhatIf([]string) *cobra.Command {
	var set []string
	var seeds int
	var figure string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "whatif LOG...",
		Short: "Ask what changes would bring to a real federation",
		Long: `Fit the times of clients and links to logs of real runs, as fedsim calibrate does, and
run the setting of the run with most attempts as it was, and with each change. Each --set
is one change; commas join settings that change together. Keys are those of scenarios:
--set federation.protocol=first,federation.clients_per_round=4 --set network.jitter=0.5

The table has the measured time, the time of the model, that with each change, and ranks
that are certain over seeds, beyond the error of the model on the logs. A change that
needs what the logs do not tell is refused, and what is missing is named.`,
		Example: `  fedsim whatif run1.csv run2.csv run3.csv \
      --set federation.protocol=deadline,federation.deadline_s=2 \
      --set federation.protocol=first,federation.clients_per_round=4
  fedsim whatif run1.csv --set run.rounds=50 --figure whatif --json`,
		Args: takes(1, math.MaxInt, "one or more logs"),
		RunE: func(cmd *cobra.Command, logs []string) error {
			if len(set) == 0 {
				return usagef("--set is required: what changes, as --set federation.protocol=first")
			}
			if _, err := pictureFiles(figure); err != nil {
				return err
			}
			changes, err := whatif.Changes(set)
			if err != nil {
				return usageError{err}
			}
			r, err := askWhatIf(cmd, logs, changes, seeds)
			if err != nil {
				return err
			}
			if figure != "" {
				picture, err := r.Figure()
				if err != nil {
					return err
				}
				if _, err := savePicture(picture, figure); err != nil {
					return err
				}
			}
			if asJSON {
				return plainjson.Print(cmd.OutOrStdout(), r)
			}
			return printText(cmd.OutOrStdout(), r.Sections().Text(columns.Width)+"\n")
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&set, "set", nil, "`KEY=VALUE,...` a change; repeat it for others")
	flags.IntVar(&seeds, "seeds", 20, "`N` seeds of the model under which each change runs")
	flags.StringVar(&figure, "figure", "", "`FILE` draw the times with their intervals: a file ending in .png or "+
		".svg, or both formats without extension")
	flags.BoolVar(&asJSON, "json", false, "print JSON (docs/reference/json.md)")
	return cmd
}

// askWhatIf fits logs, and runs changes.
func askWhatIf(cmd *cobra.Command, logs []string, changes []whatif.Change, seeds int) (*whatif.Report, error) {
	log, err := attemptlog.Read(logs...)
	if err != nil {
		return nil, err
	}
	fit := func() (*calibration.Calibration, error) {
		return calibration.Fit(log, calibration.Options{Resamples: -1})
	}
	c, err := unlessInterrupted(cmd, fit)
	if err != nil {
		return nil, calibrationError(err)
	}
	study := whatif.Study{Log: log, Calibration: c, Seeds: seeds,
		Compute: experiment.Options{Clock: time.Now, Memory: machineMemory(), Stderr: cmd.ErrOrStderr()},
		Permit: func(s *scenario.Scenario) error {
			if programs := programsOf(s); programs != nil {
				return usagef("starts %s: fedsim whatif starts no program", programs[0])
			}
			return requireMemory(s)
		}}
	r, err := study.Compare(cmd.Context(), changes)
	if _, wrong := errors.AsType[config.Problem](err); wrong || errors.Is(err, whatif.ErrNotIdentified) {
		err = usageError{err}
	}
	return r, err
}
