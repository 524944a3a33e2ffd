package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"fedsim/config"
	"fedsim/data"
	"fedsim/experiment/scenario"
	"fedsim/internal/tools/atomicfile"
	"fedsim/internal/tools/parallel"
	"fedsim/plots"
)

func newData() *cobra.Command {
	return asGroup(&cobra.Command{
		Use:   "data",
		Short: "Describe, generate and export data sets",
		Example: `  fedsim data describe --set data.source=uci-har --set data.path=har.zip
  fedsim data generate --set data.preset=vehicle-sensor -o vehicles.csv`,
	}, newDataDescribe(), newDataGenerate(), newDataExport())
}

func newDataDescribe() *cobra.Command {
	var figure string
	cmd := ofData(&cobra.Command{
		Use:   "describe [SCENARIO]",
		Short: "Print clients, features, rows and targets of a data set",
		Long: `Print the tasks, features, rows and targets (class balance, or mean and deviation)
of the data set of a scenario, as loaded and as used for training. Without a
scenario, use the defaults of [data].

--figure draws the training rows of each client by class, or the distribution of
its real targets.`,
		Example: `  fedsim data describe quickstart
  fedsim data describe --set data.source=uci-har --set data.path=har.zip
  fedsim data describe --set data.source=csv --set data.path=mine.csv
  fedsim data describe --set data.target=real
  fedsim data describe mine.toml --figure labels.png`,
		Args: takes(0, 1, "at most one scenario"),
	}, func(cmd *cobra.Command, cfg data.Config) error {
		if _, err := pictureFiles(figure); err != nil {
			return err
		}
		found, err := unlessInterrupted(cmd, func() (described, error) { return describe(cfg) })
		if err != nil {
			return err
		}
		if err := printText(cmd.OutOrStdout(), found.text); err != nil || figure == "" {
			return err
		}
		picture, err := plots.DrawLabels(labelsOf(found.train))
		if err != nil {
			return err
		}
		saved, err := savePicture(picture, figure)
		for _, name := range saved {
			err = errors.Join(err, printText(cmd.OutOrStdout(), "figure: "+name+"\n"))
		}
		return err
	})
	cmd.Flags().StringVar(&figure, "figure", "",
		"draw the labels of each client: a file ending in .png or .svg, or both formats without extension")
	return cmd
}

// unlessInterrupted returns the result of compute, or an error if it was interrupted.
func unlessInterrupted[V any](cmd *cobra.Command, compute func() (V, error)) (V, error) {
	v, err := parallel.Await(cmd.Context(), compute)
	if errors.Is(err, context.Canceled) {
		err = interrupted{"interrupted; nothing is written", err}
	}
	return v, err
}

// described is the description of a data set, and its training rows.
type described struct {
	text  string
	train *data.Set
}

func describe(cfg data.Config) (described, error) {
	set, err := data.Load(cfg)
	if err != nil {
		return described{}, err
	}
	loaded := data.Describe(set).String() // before Prepare, which loads the set again
	split, err := data.Prepare(cfg)
	if err != nil {
		return described{}, err
	}
	text := fmt.Sprintf("as loaded\n\n%s\nas used for training\n\n%s", loaded, data.Describe(split.Train))
	if held := split.Validation; held != nil {
		text += fmt.Sprintf("\nheld out for validation: %d rows; %d of %d clients have too few rows to give any\n",
			held.Rows(), split.WithoutValidation(), len(held.Clients))
	}
	return described{text, split.Train}, nil
}

// labelsOf returns the figure of the labels of a set.
func labelsOf(set *data.Set) plots.Labels {
	l := plots.Labels{Title: set.Name, Rows: set.ClassCounts()}
	for t := range set.Clients {
		l.Clients = append(l.Clients, set.Clients[t].Name)
		if set.Real {
			l.Targets = append(l.Targets, set.Clients[t].Y)
		}
	}
	switch {
	case set.Real:
	case set.Classes != nil:
		l.Classes = set.Classes
	case set.Signs[1] != "":
		l.Classes = set.Signs[:]
	default:
		l.Classes = []string{"-1", "+1"}
	}
	return l
}

func newDataGenerate() *cobra.Command {
	var out string
	cmd := ofData(&cobra.Command{
		Use:   "generate [SCENARIO]",
		Short: "Write a generated data set as csv",
		Long: `Write the generated data set of a scenario as csv, before any split or scaling. The
columns are the task, the label and the features. Without a scenario, use the
defaults of [data].`,
		Example: `  fedsim data generate --set data.preset=vehicle-sensor -o vehicles.csv
  fedsim data generate --set data.synthetic.clients=5 > small.csv`,
		Args: takes(0, 1, "at most one scenario"),
	}, func(cmd *cobra.Command, cfg data.Config) error {
		if !cfg.Generates() {
			return config.Problem{Key: "data.source", Value: cfg.Source,
				Want: fmt.Sprintf("must be %q or %q to generate data", data.SourceSynthetic, data.SourceAlphaBeta)}
		}
		set, err := unlessInterrupted(cmd, func() (*data.Set, error) { return data.Load(cfg) })
		if err != nil {
			return err
		}
		return writeOut(cmd, out, func(w io.Writer) error { return data.WriteCSV(w, set) })
	})
	addOut(cmd, &out)
	return cmd
}

func newDataExport() *cobra.Command {
	var out string
	cmd := ofData(&cobra.Command{
		Use:   "export SCENARIO",
		Short: "Write the rows that methods train and test on, for learners",
		Long: `Write the rows of a scenario as methods use them, after split and scaling, as
arrays of NumPy: train_x.npy, train_y.npy, test_x.npy, test_y.npy and data.json,
and validation_x.npy and validation_y.npy with data.validation_fraction.
Training rows are in the order of the clients; data.json has the number of each,
and the digest that a learner is told when a run starts (docs/protocols.md#learner).

With run.vary = "split" or "all" the seeds have different rows: set data.split_seed and
data.seed for those of another seed than 1.`,
		Example: `  fedsim data export quickstart --out rows
  fedsim data export quickstart --set data.split_seed=2 --out rows-of-seed-2`,
		Args: takes(1, 1, "one scenario"),
	}, func(cmd *cobra.Command, cfg data.Config) error {
		if out == "" {
			return usagef("--out: must name the folder for the files")
		}
		split, err := unlessInterrupted(cmd, func() (*data.Split, error) { return data.Prepare(cfg) })
		if err != nil {
			return err
		}
		if err := os.MkdirAll(out, 0o777); err != nil {
			return err
		}
		// The digest of earlier rows must not stay beside new ones.
		if err := os.Remove(filepath.Join(out, "data.json")); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return data.Export(split, func(name string, fill func(io.Writer) error) error {
			return atomicfile.Write(filepath.Join(out, name), fill)
		})
	})
	cmd.Flags().StringVarP(&out, "out", "o", "", "folder to write; it is made")
	completeFlag(cmd, "out", completeDirectory)
	return cmd
}

// ofData makes a command run on the table [data] of the scenario in its arguments.
func ofData(cmd *cobra.Command, run func(*cobra.Command, data.Config) error) *cobra.Command {
	var sets []string
	addSet(cmd, &sets, "data.")
	cmd.ValidArgsFunction = first(completeScenario)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cfg, err := dataConfig(args, sets)
		if err != nil {
			return err
		}
		return run(cmd, cfg)
	}
	return cmd
}

// dataConfig returns the table [data] of the scenario in args, or the defaults, with
// the overrides applied.
func dataConfig(args, sets []string) (data.Config, error) {
	for _, set := range sets {
		a, err := config.ParseOverride(set)
		if err != nil {
			return data.Config{}, err
		}
		if a.Path[0] != "data" {
			return data.Config{}, config.Errors{{Place: a.Value.Place, Text: "must be a key of the table data"}}
		}
	}
	name := ""
	if len(args) > 0 {
		name = args[0]
	}
	return scenario.LoadData(name, sets)
}
