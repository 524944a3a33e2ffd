package command

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"fedsim/config"
	"fedsim/internal/tools/columns"
	"fedsim/results"
	"fedsim/results/rundir"
)

func newResults() *cobra.Command {
	return asGroup(&cobra.Command{
		Use:   "results",
		Short: "Show and export the contents of a run directory",
		Example: `  fedsim results show runs/quickstart
  fedsim results export runs/quickstart --format json --table runs -o runs.json`,
	}, newResultsShow(), newResultsExport())
}

func newResultsShow() *cobra.Command {
	return takesOne(&cobra.Command{
		Use:   "show DIR",
		Short: "Show the settings, results and files of a run directory",
		Long: `Show the settings, results and files of a run directory. For a scenario that is in
progress or was killed, show the runs that have ended.`,
		Example: "  fedsim results show runs/quickstart",
	}, "one run directory", completeDirectory, showResults)
}

func showResults(cmd *cobra.Command, dir string) error {
	place := rundir.Locate(dir)
	r, err := rundir.Read(place)
	if err != nil {
		return err
	}
	m := &r.Manifest
	files, err := m.Files(place)
	if err != nil {
		return err
	}
	var names, texts []string
	for _, line := range []struct{ name, text string }{
		{"directory", place + ": " + completeness(m)},
		{"absent", absentText(m.Absent)},
		{"command", strings.Join(m.Command, " ")},
		{"made by", fmt.Sprintf("fedsim %s, numeric version %d", m.Version, m.Numerics)},
		{"built for", fmt.Sprintf("%s/%s with %s, ran on %s", m.Platform.OS, m.Platform.Arch, m.Go, count(m.Platform.CPUs, "core"))},
		{"time", strings.TrimSuffix(took(m)+"; "+results.ProgramTimeText(r.Runs), "; ")},
		{"data", m.Data},
		{"seeds", strings.Trim(fmt.Sprint(m.Seeds), "[]")},
		{"runs", endings(m.Runs)},
		{"result", m.ResultHash.String()},
	} {
		if line.text != "" || line.name != "absent" {
			names, texts = append(names, line.name+":"), append(texts, line.text)
		}
	}
	var b strings.Builder
	b.WriteString(columns.Entries(names, texts, textWidth()))
	if len(r.Runs) > 0 {
		width := textWidth()
		b.WriteString("\n" + results.Summarize(r.Runs, m.Targets).Text(width) + results.ErrorsText(r.Runs, width))
		b.WriteString(results.SearchedText(r.Runs, width) + results.EdgesText(r.Runs))
	}
	b.WriteString("\nfiles:\n")
	for _, f := range files {
		fmt.Fprintf(&b, "%12d B  %s\n", f.Size, f.Name)
	}
	return printText(cmd.OutOrStdout(), b.String())
}

func completeness(m *rundir.Manifest) string {
	switch {
	case m.State == rundir.Complete:
		return "complete"
	case len(m.Absent) > 0:
		return "a partial merge"
	case m.State == rundir.Incomplete:
		return "interrupted, with the results so far"
	default:
		return "unfinished, with the runs that have ended"
	}
}

func took(m *rundir.Manifest) string {
	if m.Clock == nil {
		return "not recorded"
	}
	text := "started " + m.Clock.Started.Format("2006-01-02 15:04:05 MST")
	if m.Clock.Finished != nil {
		text += ", took " + results.HumanTime(m.Clock.Finished.Sub(m.Clock.Started).Seconds())
	}
	return text
}

func endings(runs []rundir.RunEntry) string {
	text := count(len(runs), "run")
	for _, status := range []results.Status{results.Done, results.Stalled, results.Interrupted} {
		n := 0
		for i := range runs {
			if runs[i].Status == status {
				n++
			}
		}
		if n > 0 {
			text += fmt.Sprintf(", %d %s", n, status)
		}
	}
	return text
}

type exportFlags struct {
	table, format, out string
	model              bool
	run                string
}

func newResultsExport() *cobra.Command {
	var f exportFlags
	cmd := takesOne(&cobra.Command{
		Use:   "export DIR",
		Short: "Export a table (csv, parquet, JSON) or a model (npy, csv)",
		Long: `Export a table of a run directory as csv, parquet or JSON. The tables are rounds (a
row for each round of each run), runs (a row for each run), devices (a row for
each device and round; of runs with over 200,000 rows with run.devices=true), and
for learners with metrics of their own metrics (a row for each value) and clients
(a row for each client and value).

With --model, export the final model of a run as npy (NumPy) or csv: one row of
weights for each task. It needs run.model=true.

docs/reading.md describes the columns and how to read them in other programs. For a
scenario that is in progress or was killed, the runs that have ended are exported.`,
		Example: `  fedsim results export runs/quickstart --format json
  fedsim results export runs/quickstart --table runs -o runs.csv
  fedsim results export runs/quickstart --table devices -o devices.csv
  fedsim results export runs/model --model --format npy -o w.npy`,
	}, "one run directory", completeDirectory, f.export)
	flags := cmd.Flags()
	flags.StringVar(&f.format, "format", "csv", strings.Join(rundir.Formats, ", ")+"; with --model "+strings.Join(rundir.ModelFormats, ", "))
	flags.BoolVar(&f.model, "model", false, "export the final model of a run, not a table")
	flags.StringVar(&f.run, "run", "", "with --model: the run, by its id in runs.csv (default the only run)")
	flags.StringVar(&f.table, "table", "rounds", strings.Join(rundir.Tables, ", "))
	addOut(cmd, &f.out)
	completeFlag(cmd, "format", oneOf(append(slices.Clone(rundir.Formats), "npy")))
	completeFlag(cmd, "table", oneOf(rundir.Tables))
	return cmd
}

func (f *exportFlags) export(cmd *cobra.Command, dir string) error {
	formats := rundir.Formats
	if f.model {
		formats = rundir.ModelFormats
	}
	err := checked(func(c *config.Checker) {
		c.OneOf("format", f.format, formats...)
		c.OneOf("table", f.table, rundir.Tables...)
		c.Require(!f.model || f.table == "rounds", "table", f.table, "cannot be combined with --model")
		c.Require(f.model || f.run == "", "run", f.run, "requires --model: tables have all runs")
	})
	if err != nil {
		return err
	}
	write := func(w io.Writer) error {
		if f.model {
			return rundir.ExportModel(w, rundir.Locate(dir), f.run, f.format)
		}
		return rundir.Export(w, rundir.Locate(dir), f.table, f.format)
	}
	if f.out == "" && f.format != "csv" && f.format != "json" && term.IsTerminal(int(os.Stdout.Fd())) {
		return usagef("--format=%s: cannot be shown on a terminal: name a file with -o", f.format)
	}
	return writeOut(cmd, f.out, write)
}
