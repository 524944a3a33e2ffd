package command

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/spf13/cobra"

	"fedsim/internal/rooms/measure/attemptlog"
	"fedsim/internal/rooms/measure/calibration"
	"fedsim/internal/rooms/measure/prediction"
	"fedsim/internal/tools/plainjson"
)

func newReplay() *cobra.Command {
	var with, out string
	cmd := &cobra.Command{
		Use:   "replay LOG...",
		Short: "Play the attempts of logs of real runs under a calibrated model",
		Long: `Play the attempts of logs of real runs under the model of "fedsim calibrate", and write
each attempt as csv: when it was sent and its response seen, and how long its parts
took, as measured and as predicted, in seconds. The simulated server follows the
settings of the log; rounds begin when the simulated round before has ended. Clients
that failed in the log are not asked.

"fedsim calibrate --check" says how large the errors are.`,
		Example: `  fedsim replay run4.csv --with cal -o replayed.csv`,
		Args:    takes(1, math.MaxInt, "one or more logs"),
		RunE: func(cmd *cobra.Command, logs []string) error {
			if with == "" {
				return usagef("--with is required: the directory of a calibration")
			}
			runs, all, err := predictLogs(cmd.Context(), cmd.ErrOrStderr(), with, logs)
			if err != nil {
				return err
			}
			return writeOut(cmd, out, func(w io.Writer) error { return writeAttempts(w, runs, all) })
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&with, "with", "", "directory of a calibration")
	flags.StringVarP(&out, "out", "o", "", "csv file for the attempts; empty: standard output")
	return cmd
}

// predictLogs predicts all runs of logs under a calibration. It prints the assumptions.
func predictLogs(
	ctx context.Context, notes io.Writer, dir string, paths []string,
) (runs []*attemptlog.Run, all []*prediction.Checked, err error) {
	c, err := calibration.Read(dir)
	if err != nil {
		return nil, nil, usageError{err}
	}
	log, err := attemptlog.Read(paths...)
	if err != nil {
		return nil, nil, err
	}
	for _, text := range log.Notes {
		printError(notes, fmt.Errorf("note: %s", text))
	}
	for _, run := range log.Runs {
		models, assumed, err := prediction.NewModels(dir, c, run)
		if err != nil {
			return nil, nil, err
		}
		for _, text := range assumed {
			printError(notes, fmt.Errorf("note: run %s: %s", run.Name, text))
		}
		checked, err := prediction.Check(ctx, run, models)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, checked)
	}
	return log.Runs, all, nil
}

// checkLogs prints how well a calibration predicts runs, and draws it unless figure is empty.
func checkLogs(cmd *cobra.Command, dir string, paths []string, figure string, asJSON bool) error {
	runs, checked, err := predictLogs(cmd.Context(), cmd.ErrOrStderr(), dir, paths)
	if err != nil {
		return err
	}
	if figure != "" {
		picture, err := prediction.Figure(checked)
		if err != nil {
			return err
		}
		if _, err := savePicture(picture, figure); err != nil {
			return err
		}
	}
	report := prediction.NewReport(runs, checked)
	if asJSON {
		return plainjson.Print(cmd.OutOrStdout(), report)
	}
	return printText(cmd.OutOrStdout(), report.Text())
}

// writeAttempts writes a line of csv for each attempt of training.
func writeAttempts(w io.Writer, runs []*attemptlog.Run, all []*prediction.Checked) error {
	out := csv.NewWriter(w)
	head := []string{"run", "round", "client", "outcome", "taken"}
	parts := []struct {
		name string
		of   func(*prediction.Attempt) float64
	}{
		{"sent_s", func(a *prediction.Attempt) float64 { return a.Sent }},
		{"seen_s", func(a *prediction.Attempt) float64 { return a.Seen }},
		{"downlink_s", func(a *prediction.Attempt) float64 { return a.Downlink }},
		{"waiting_s", func(a *prediction.Attempt) float64 { return a.Waiting }},
		{"compute_s", func(a *prediction.Attempt) float64 { return a.Compute }},
		{"uplink_s", func(a *prediction.Attempt) float64 { return a.Uplink }},
	}
	for _, p := range parts {
		head = append(head, "measured_"+p.name, "predicted_"+p.name)
	}
	if err := out.Write(head); err != nil {
		return err
	}
	for k, p := range all {
		for i, a := range prediction.Training(runs[k]) {
			measured, simulated := &p.Measured.Attempts[i], &p.Predicted.Attempts[i]
			line := []string{p.Name, strconv.Itoa(a.Round), a.Client, string(a.Outcome), strconv.FormatBool(simulated.Taken)}
			for _, part := range parts {
				line = append(line, seconds(part.of(measured)), seconds(part.of(simulated)))
			}
			if err := out.Write(line); err != nil {
				return err
			}
		}
	}
	out.Flush()
	return out.Error()
}

// seconds formats a number to nanoseconds; empty if it is not known.
func seconds(x float64) string {
	if math.IsNaN(x) {
		return ""
	}
	return strconv.FormatFloat(x, 'f', 9, 64)
}
