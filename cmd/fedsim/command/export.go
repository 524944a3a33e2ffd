package command

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fedsim/config"
	"fedsim/experiment/into"
	"fedsim/experiment/scenario"
	"fedsim/internal/tools/columns"
	"fedsim/results"
	"fedsim/results/rundir"
)

// shownTables are the tables of fedsim show, as sections; the others are those of [rundir.Tables] and the model.
var shownTables = map[string]func(results.Summary) results.Sections{
	"times": results.Summary.Times, "ends": results.Summary.Ends,
}

// modelTable is the final model of a run.
const modelTable = "model"

// exportTables are the names of all tables.
func exportTables() []string {
	return slices.Concat([]string{"times", "ends"}, rundir.Tables, []string{modelTable})
}

// exportFormats are the formats of a table, which suffixes name.
func exportFormats(table string) []string {
	switch {
	case table == modelTable:
		return rundir.ModelFormats
	case shownTables[table] != nil:
		return []string{"csv", "md", "tex", "json"}
	default:
		return append(slices.Clone(rundir.Formats), "md", "tex")
	}
}

func newExport() *cobra.Command {
	var out, run string
	cmd := &cobra.Command{
		Use:   "export DIR TABLE -o FILE",
		Short: "Write a table (csv, md, tex, json, parquet) or a model (npy)",
		Long: `Write a table of a run directory to a file; its suffix is the format. Without -o, print
csv. While a run is in progress or was killed, the table has the runs that have ended.

  times    the time, bytes and energy to the target, as fedsim show prints them
  ends     the models and costs at the end of the runs
  runs     a row for each run
  rounds   a row for each round of each run
  devices  a row for each device and round (run.devices)
  clients  a row for each client that the data name
  metrics  a row for each value of a learner's metrics, or of statistics
  client_values
           a row for each client and value (run.client_metrics)
  model    the final model of a run: a row of weights for each task`,
		Example: `  fedsim export runs/quickstart times -o times.tex
  fedsim export runs/quickstart rounds -o rounds.parquet
  fedsim export runs/model model -o w.npy`,
		Args: func(cmd *cobra.Command, args []string) error {
			what := "a run directory and a table: " + strings.Join(exportTables(), ", ")
			if err := takes(2, 2, what)(cmd, args); err != nil {
				return err
			}
			if !slices.Contains(exportTables(), args[1]) {
				return usagef("%s", config.UnknownName("table", args[1], args[1], exportTables()))
			}
			return nil
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, word string) (
			[]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return completeDirectory(cmd, args, word)
			}
			return matching(exportTables(), word), cobra.ShellCompDirectiveNoFileComp
		},
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		dir, table := rundir.Locate(args[0]), args[1]
		format, formats := strings.TrimPrefix(filepath.Ext(out), "."), exportFormats(table)
		switch {
		case out == "":
			format = "csv"
		case !slices.Contains(formats, format):
			return usagef("--out=%s: table %s: must end in .%s", out, table, strings.Join(formats, ", ."))
		}
		if table != modelTable && run != "" {
			return usagef("--run=%s: goes with the table model: the others have all runs", run)
		}
		return writeOut(cmd, out, func(w io.Writer) error { return export(w, dir, table, format, run) })
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "`FILE` file to write (default: csv on standard output)")
	cmd.Flags().StringVar(&run, "run", "", "`ID` with model: the run, by its id in runs.csv (default the only run)")
	completeFlag(cmd, "run", completeRun)
	return cmd
}

// export writes a table in a format.
func export(w io.Writer, dir, table, format, run string) error {
	text := format == "md" || format == "tex"
	var sections results.Sections
	switch of := shownTables[table]; {
	case table == modelTable:
		return rundir.ExportModel(w, dir, run, format)
	case of != nil:
		r, err := rundir.Read(dir)
		if err != nil {
			return err
		}
		s, err := scenario.ParseRecorded(dir, r.Scenario)
		if err != nil {
			return err
		}
		sections = of(into.Summarize(s, r.Runs))
	case text:
		var b bytes.Buffer
		if err := rundir.Export(&b, dir, table, "csv"); err != nil {
			return err
		}
		rows, err := csv.NewReader(&b).ReadAll()
		if err != nil {
			return err
		}
		sections = results.Sections{{Table: columns.Table{Label: rows[0][0],
			Groups: []columns.Group{{Heads: rows[0][1:]}}, Blocks: []columns.Block{{Rows: rows[1:]}}}}}
	default:
		return rundir.Export(w, dir, table, format)
	}
	return writeSections(w, sections, format)
}

// writeSections writes sections in a format: as text with all that is said of them, or their cells alone, those of
// several with the name of theirs.
func writeSections(w io.Writer, sections results.Sections, format string) error {
	switch format {
	case "md":
		return printText(w, sections.Markdown())
	case "tex":
		return printText(w, sections.LaTeX())
	}
	var rows []string
	for i := range sections {
		cells := sections[i].Cells()
		for k := range cells {
			if len(sections) > 1 {
				first := "experiment"
				if k > 0 {
					first = sections[i].Name
				}
				cells[k] = append([]string{first}, cells[k]...)
			}
			if format == "json" && k > 0 {
				object, err := jsonObject(cells[0], cells[k])
				if err != nil {
					return err
				}
				rows = append(rows, object)
			}
		}
		if format == "csv" {
			if err := csv.NewWriter(w).WriteAll(cells); err != nil {
				return err
			}
		}
	}
	if format == "csv" {
		return nil
	}
	var text bytes.Buffer
	if err := json.Indent(&text, []byte("["+strings.Join(rows, ",")+"]"), "", "  "); err != nil {
		return err
	}
	return printf(w, "%s\n", text.Bytes())
}

// jsonObject returns an object of text with its keys in their order.
func jsonObject(keys, values []string) (string, error) {
	members := make([]string, len(keys))
	for i, key := range keys {
		k, err := json.Marshal(key)
		if err != nil {
			return "", err
		}
		v, err := json.Marshal(values[i])
		if err != nil {
			return "", err
		}
		members[i] = string(k) + ":" + string(v)
	}
	return "{" + strings.Join(members, ",") + "}", nil
}

// absentText names the first absent run of a partial merge, and counts the rest.
func absentText(absent []string) string {
	if len(absent) == 0 {
		return ""
	}
	text := absent[0]
	if more := len(absent) - 1; more > 0 {
		text += fmt.Sprintf(" and %d more, see %q in manifest.json", more, "absent")
	}
	return text
}

// noteAbsent warns that a run directory is a partial merge.
func noteAbsent(out io.Writer, dir string, m *rundir.Manifest) {
	if len(m.Absent) == 0 {
		return
	}
	printError(out, fmt.Errorf("warning: %s is a partial merge: absent: %s", dir, absentText(m.Absent)))
}
