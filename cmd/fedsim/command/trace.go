package command

import (
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"fedsim/config"
	"fedsim/internal/rooms/traces"
)

func newTrace() *cobra.Command {
	return asGroup(&cobra.Command{
		Use:   "trace",
		Short: "Describe and generate traces of availability and rates",
		Long: `Summarize and generate device traces. A trace records when devices are available and
charging, and the speeds of devices and links over time. docs/time.md#traces describes the
file format, and how python -m pyfedsim.traces converts files of FedScale and FLASH.`,
		Example: `  fedsim trace synthesize --devices 1000 --days 7 --seed 1 -o week.csv
  fedsim trace stats week.csv`,
	}, newTraceStats(), newTraceSynthesize())
}

// checked returns the problems that validate reports, one line each. The keys are
// named as flags.
func checked(validate func(*config.Checker)) error {
	c := config.NewChecker()
	validate(c)
	var all []error
	for _, p := range c.Problems() {
		all = append(all, usagef("--%s=%v: %s", strings.ReplaceAll(p.Key, "_", "-"), p.Value, p.Want))
	}
	return errors.Join(all...)
}

func newTraceStats() *cobra.Command {
	return &cobra.Command{
		Use:   "stats FILE",
		Short: "Print statistics of a trace",
		Long: `Print the number of devices and the length of a trace, the share of time that
devices are available and charging, how long each period lasts, and the average for
each hour of the day.

The file is a csv file of fedsim or of Electricity Maps. It is read as a stream and
may be larger than memory.`,
		Example: `  fedsim trace stats week.csv`,
		Args:    takes(1, 1, "one file of traces"),
		RunE: func(cmd *cobra.Command, args []string) error {
			stats, err := traces.Summarize(traces.Open(args[0]))
			if err != nil {
				return err
			}
			return printText(cmd.OutOrStdout(), stats.Text())
		},
	}
}

func newTraceSynthesize() *cobra.Command {
	s := traces.SynthesisDefaults()
	var out string
	cmd := &cobra.Command{
		Use:   "synthesize",
		Short: "Generate traces of availability, charging and rates",
		Long: `Generate traces in the csv format of fedsim. Availability is a two-state Markov
chain whose rates vary with the local hour of the day. Devices charge once a day.
Link rates are log-normal and change at random times. Time 0 is midnight at zone
offset 0. The trace of a device depends only on the seed and the device number.`,
		Example: `  fedsim trace synthesize --devices 1000 --days 7 --seed 1 -o week.csv
  fedsim trace synthesize --mean-up-s 3600 --mean-down-s 10800 -o markov.csv
  fedsim trace synthesize --zones-h=-8,0,8 --down-mbps 20 -o world.csv`,
		Args: takes(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checked(s.Validate); err != nil {
				return err
			}
			return writeOut(cmd, out, func(w io.Writer) error { return traces.WriteCSV(w, traces.Synthesize(s)) })
		},
	}
	addOut(cmd, &out)
	flags := cmd.Flags()
	flags.IntVar(&s.Devices, "devices", s.Devices, "number of devices")
	flags.Float64Var(&s.Days, "days", s.Days, "length of the traces in days")
	flags.Uint64Var(&s.Seed, "seed", s.Seed, "seed")
	flags.Float64Var(&s.Availability.MeanUpS, "mean-up-s", s.Availability.MeanUpS,
		"mean seconds that a device is available; 0: do not generate availability")
	flags.Float64Var(&s.Availability.MeanDownS, "mean-down-s", s.Availability.MeanDownS,
		"mean seconds that a device is unavailable")
	flags.Float64Var(&s.Availability.Daily, "daily", s.Availability.Daily, "strength of the daily pattern, from 0 to 1")
	flags.Float64Var(&s.Availability.PeakHour, "peak-hour", s.Availability.PeakHour,
		"local hour at which most devices become available")
	flags.Float64SliceVar(&s.Availability.ZonesH, "zones-h", s.Availability.ZonesH,
		"offsets of local time in hours; each device has one of them at random")
	flags.Float64Var(&s.ChargeH, "charge-h", s.ChargeH, "mean hours of charging a day; 0: do not generate charging")
	flags.Float64Var(&s.PlugHour, "plug-hour", s.PlugHour, "mean local hour at which charging begins")
	flags.Float64Var(&s.ChargeSpreadH, "charge-spread-h", s.ChargeSpreadH,
		"standard deviation of --charge-h and --plug-hour in hours")
	flags.Float64Var(&s.DownMbps, "down-mbps", s.DownMbps, "mean downlink rate; 0: do not generate")
	flags.Float64Var(&s.UpMbps, "up-mbps", s.UpMbps, "mean uplink rate; 0: do not generate")
	flags.Float64Var(&s.RateCV, "rate-cv", s.RateCV, "coefficient of variation of a rate over time")
	flags.Float64Var(&s.RateS, "rate-s", s.RateS, "mean seconds between changes of a rate")
	return cmd
}
