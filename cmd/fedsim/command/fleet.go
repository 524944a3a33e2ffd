package command

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"fedsim/devices/fleets"
	"fedsim/internal/tools/columns"
	"fedsim/plots"
)

func newFleet() *cobra.Command {
	return asGroup(&cobra.Command{
		Use:   "fleet",
		Short: "List and describe fleets of devices",
		Long: `List and describe fleets. A fleet consists of classes of devices; each class has a
share of the devices, a device profile, a link profile and spreads. docs/time.md#fleets
describes the file format.`,
		Example: `  fedsim fleet list
  fedsim fleet describe phones-2017
  fedsim fleet show phones-2017 > mine.toml
  fedsim fleet describe mine.toml --devices 100 --figure mine.png`,
	}, newFleetList(), newFleetShow(), newFleetDescribe())
}

func newFleetList() *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the built-in fleets",
		Example: "  fedsim fleet list",
		Args:    takes(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var texts []string
			for _, name := range fleets.Names() {
				f, _ := fleets.BuiltIn(name)
				texts = append(texts, f.Description)
			}
			return printText(cmd.OutOrStdout(), columns.Entries(fleets.Names(), texts, textWidth()))
		},
	}
}

func newFleetShow() *cobra.Command {
	return takesOne(&cobra.Command{
		Use:     "show NAME",
		Short:   "Print a built-in fleet with its sources, to start from",
		Example: "  fedsim fleet show phones-2017 > mine.toml",
	}, "the name of one built-in fleet", oneOf(fleets.Names()), func(cmd *cobra.Command, name string) error {
		text, ok := fleets.Source(name)
		if !ok {
			return usagef("%s; see fedsim fleet list", fleets.Unknown(name))
		}
		_, err := cmd.OutOrStdout().Write(text)
		return err
	})
}

// maxDescribed is the maximum number of devices of a description.
const maxDescribed = 10_000_000

func newFleetDescribe() *cobra.Command {
	var figure string
	devices, seed := 1000, uint64(1)
	complete := oneOfOr(fleets.Names(), cobra.ShellCompDirectiveDefault)
	cmd := takesOne(&cobra.Command{
		Use:   "describe NAME|FILE",
		Short: "Print the classes of a fleet and histograms of its devices",
		Long: `Print the classes of a fleet, and histograms of the speed and the link rates of its
devices. The fleet is built in or read from a file. The devices are those of a run
with the same seed, unless the fleet correlates their speed with their data.`,
		Example: `  fedsim fleet describe phones-2017
  fedsim fleet describe mine.csv --devices 10000 --seed 3 --figure mine.png`,
	}, "one fleet (a file or the name of a built-in fleet)", complete, func(cmd *cobra.Command, name string) error {
		if devices < 1 || devices > maxDescribed {
			return usagef("--devices=%d: must be in [1, %d]", devices, maxDescribed)
		}
		if _, err := pictureFiles(figure); err != nil {
			return err
		}
		f, err := fleets.Open(name)
		if err != nil {
			return err
		}
		if err := printText(cmd.OutOrStdout(), f.Text(devices, seed)); err != nil || figure == "" {
			return err
		}
		picture, err := plots.DrawChart(fleetChart(name, f, devices, seed))
		if err != nil {
			return err
		}
		_, err = savePicture(picture, figure)
		return err
	})
	cmd.Flags().IntVar(&devices, "devices", devices, "number of devices")
	cmd.Flags().Uint64Var(&seed, "seed", seed, "seed of the run")
	cmd.Flags().StringVar(&figure, "figure", "",
		"draw the distributions by class: a file ending in .png or .svg, or both formats without extension")
	return cmd
}

// fleetChart returns the distributions of the devices of a fleet: for each class, the
// cumulative share of its devices.
func fleetChart(name string, f *fleets.Fleet, n int, seed uint64) plots.Chart {
	chart := plots.Chart{
		File: "fleet", Title: fmt.Sprintf("%s: %s", filepath.Base(name), count(n, "device")),
		YLabel: "share of the class (%)", LogX: true, LinearY: true, Steps: true,
	}
	for i := range f.Classes {
		chart.Lines = append(chart.Lines, f.Classes[i].Name)
	}
	for _, d := range f.Distributions(n, seed) {
		panel := plots.ChartPanel{Title: strings.ToUpper(d.Quantity[:1]) + d.Quantity[1:]}
		for _, e := range d.Classes {
			percent := make([]float64, len(e.Up))
			for i, share := range e.Up {
				percent[i] = 100 * share
			}
			panel.Lines = append(panel.Lines, plots.ChartLine{X: e.X, Y: percent})
		}
		chart.Panels = append(chart.Panels, panel)
	}
	return chart
}
