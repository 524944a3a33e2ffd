package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fedsim/config"
	"fedsim/internal/rooms/fairness"
	"fedsim/internal/tools/plainjson"
	"fedsim/results"
	"fedsim/results/rundir"
)

// explainClients compares the worst 10 % of the clients with the rest, for each experiment of a
// run directory.
func (f *explainFlags) explainClients(cmd *cobra.Command, dir string) error {
	for _, flag := range []string{"without", "deadline"} {
		if cmd.Flags().Changed(flag) {
			return usagef("--%s cannot be combined with --clients", flag)
		}
	}
	read, err := f.read(cmd, dir)
	if err != nil {
		return err
	}
	runs := read.Runs
	if f.run != "" {
		runs = slices.DeleteFunc(runs, func(r results.Run) bool { return r.ID != f.run })
	}
	if err := rundir.AddClients(read.Dir, runs); err != nil {
		return err
	}
	metrics := results.ClientMetrics(runs)
	if len(metrics) == 0 {
		return fmt.Errorf("%s: %w; run the scenario again with --set 'run.client_metrics=[\"error\"]'", read.Dir, rundir.ErrNoClients)
	}
	metric := f.metric
	if metric == "" {
		metric = metrics[max(0, slices.IndexFunc(metrics, func(name string) bool { return strings.HasPrefix(name, "test_") }))]
	}
	if !slices.Contains(metrics, metric) {
		return usagef("--metric: %s", config.UnknownName("metric by client", metric, metric, metrics))
	}
	var reports []*fairness.Report
	var texts []string
	for _, own := range results.ByExperiment(runs) {
		if r := fairness.Of(own, metric); len(r.Methods) > 0 {
			reports, texts = append(reports, r), append(texts, r.Text(textWidth()))
		}
	}
	if f.json {
		return plainjson.Print(cmd.OutOrStdout(), reports)
	}
	return printText(cmd.OutOrStdout(), strings.Join(texts, "\n"))
}
