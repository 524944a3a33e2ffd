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
	"fedsim/internal/tools/atomicfile"
	"fedsim/internal/tools/columns"
	"fedsim/internal/tools/plainjson"
)

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

// checkLogs prints how well a calibration predicts runs. It draws it unless figure is empty, and writes all
// attempts unless attempts is.
func checkLogs(cmd *cobra.Command, dir string, paths []string, figure, attempts string, asJSON bool) error {
	runs, checked, err := predictLogs(cmd.Context(), cmd.ErrOrStderr(), dir, paths)
	if err != nil {
		return err
	}
	if attempts != "" {
		write := func(w io.Writer) error { return writeAttempts(w, runs, checked) }
		if err := atomicfile.Write(attempts, write); err != nil {
			return err
		}
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
	return printText(cmd.OutOrStdout(), report.Sections().Text(columns.Width))
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
			line := []string{p.Name, strconv.Itoa(a.Round), a.Client, string(a.Outcome),
				strconv.FormatBool(simulated.Taken)}
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
