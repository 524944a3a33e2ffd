package command

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fedsim/config"
	"fedsim/internal/rooms/traces"
)

func newTrace() *cobra.Command {
	return asGroup(&cobra.Command{
		Use:   "trace",
		Short: "Summarize, convert and generate device traces",
		Long: `Summarize, convert and generate device traces. A trace records when devices are
available and charging, and the speeds of devices and links over time.
docs/traces.md describes the file format.`,
		Example: `  fedsim trace synthesize --devices 1000 --days 7 --seed 1 -o week.csv
  fedsim trace stats week.csv
  fedsim trace convert client_behave_trace -o fedscale.csv`,
	}, newTraceStats(), newTraceConvert(), newTraceSynthesize(), newTraceGrid())
}

// traceFormats describes the input of the commands that read traces.
const traceFormats = `The file is a csv file of fedsim, a pickle of FedScale (client_behave_trace,
client_device_capacity) or a JSON file of FLASH (state_traces.json,
speed_distri.json), or a csv file of Electricity Maps. It is read as a stream and may
be larger than memory.`

// traceFlags are the flags of the commands that read traces.
type traceFlags struct {
	from   string
	skip   bool
	origin string
	flash  traces.FLASHOptions
}

// reads makes a command read the file of traces in its argument, with the flags, and use its devices.
func (f *traceFlags) reads(cmd *cobra.Command, use func(traces.Sequence) error) {
	cmd.Args = takes(1, 1, "one file of traces")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var skipped omitted
		devices, err := f.open(cmd, args[0], &skipped)
		if err != nil {
			return err
		}
		if err := use(devices); err != nil {
			return skipped.explain(args[0], err)
		}
		return skipped.report(cmd.ErrOrStderr())
	}
	flags := cmd.Flags()
	f.flash = traces.FLASHDefaults()
	flags.StringVar(&f.from, "from", traces.FormatAuto, "format: "+strings.Join(traces.Formats(), ", ")+", or "+traces.FormatAuto+" to detect it")
	flags.BoolVar(&f.skip, "skip", false, "omit devices with errors, and print their number on standard error")
	flags.StringSliceVar(&f.flash.Need, "need", f.flash.Need, "FLASH states that a device must have to be available: locked, screen-off, wifi, charging")
	flags.BoolVar(&f.flash.Battery, "battery", f.flash.Battery, "include FLASH battery levels")
	flags.StringVar(&f.origin, "origin", "", "FLASH date that is time 0, as 2020-01-02 or \"2020-01-02 15:04:05\" (default midnight before the first message)")
	flags.Float64Var(&f.flash.Days, "days", f.flash.Days, "length in days of traces generated from FLASH speeds")
	flags.Float64Var(&f.flash.HoldS, "hold-s", f.flash.HoldS, "seconds between rate changes in traces generated from FLASH speeds")
	flags.Uint64Var(&f.flash.Seed, "seed", f.flash.Seed, "seed for traces generated from FLASH speeds")
	completeFlag(cmd, "from", oneOf(formats()))
}

// formats returns the values of --from.
func formats() []string { return append([]string{traces.FormatAuto}, traces.Formats()...) }

// open returns the devices of a file. It counts the omitted devices in skipped.
func (f *traceFlags) open(cmd *cobra.Command, path string, skipped *omitted) (traces.Sequence, error) {
	if err := checked(func(c *config.Checker) { c.OneOf("from", f.from, formats()...) }); err != nil {
		return nil, err
	}
	if f.origin != "" {
		var err error
		if f.flash.Origin, err = time.Parse(time.DateTime, f.origin); err != nil {
			if f.flash.Origin, err = time.Parse(time.DateOnly, f.origin); err != nil {
				return nil, usagef("--origin=%s: must be a date such as 2020-01-02, or \"2020-01-02 15:04:05\"", f.origin)
			}
		}
	}
	if err := checked(f.flash.Validate); err != nil {
		return nil, err
	}
	if err := f.applies(cmd, path); err != nil {
		return nil, err
	}
	devices := traces.Open(path, f.from, f.flash)
	if f.skip {
		devices = traces.SkipInvalid(devices, skipped.count)
	}
	return devices, nil
}

// applies refuses flags that have no effect on a file of its format.
func (f *traceFlags) applies(cmd *cobra.Command, path string) error {
	format := f.from
	if format == traces.FormatAuto {
		format = traces.Detect(path)
	}
	refuse := func(flag string, of ...string) error {
		if format == "" || slices.Contains(of, format) || !cmd.Flags().Changed(flag) {
			return nil
		}
		return usagef("--%s: has no effect on a file of the format %s (%s): leave it out, or name a file of %s", flag, format, path, strings.Join(of, " or "))
	}
	err := refuse("skip", traces.FormatFedScale, traces.FormatFLASH)
	for _, flag := range []string{"need", "battery", "origin", "days", "hold-s", "seed"} {
		err = cmp.Or(err, refuse(flag, traces.FormatFLASH))
	}
	return err
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

// omitted counts devices that are omitted.
type omitted struct {
	devices int
	first   error
}

func (l *omitted) count(err error) {
	if l.devices++; l.devices == 1 {
		l.first = err
	}
}

// explain adds the first reason to the error of a file without any valid device.
func (l *omitted) explain(path string, err error) error {
	if !errors.Is(err, traces.ErrEmpty) || l.devices == 0 {
		return err
	}
	return fmt.Errorf("%s: %w: all %d were omitted; reason for the first: %w", path, traces.ErrEmpty, l.devices, l.first)
}

func (l *omitted) report(w io.Writer) error {
	if l.devices == 0 {
		return nil
	}
	return printf(w, "omitted %s; reason for the first: %v\n", count(l.devices, "device"), l.first)
}

func newTraceStats() *cobra.Command {
	var f traceFlags
	cmd := &cobra.Command{
		Use:   "stats FILE",
		Short: "Print statistics of a trace",
		Long: `Print the number of devices and the length of a trace, the share of time that
devices are available and charging, how long each period lasts, and the average for
each hour of the day.

` + traceFormats,
		Example: `  fedsim trace stats week.csv
  fedsim trace stats state_traces.json --skip --need screen-off,wifi`,
	}
	f.reads(cmd, func(devices traces.Sequence) error {
		stats, err := traces.Summarize(devices)
		if err != nil {
			return err
		}
		return printText(cmd.OutOrStdout(), stats.Text())
	})
	return cmd
}

func newTraceConvert() *cobra.Command {
	var f traceFlags
	var out string
	cmd := &cobra.Command{
		Use:   "convert IN",
		Short: "Convert a trace of another program to csv",
		Long: `Convert a trace to the csv format of fedsim.

` + traceFormats + `
The decoder of pickles cannot execute code. It accepts numbers, strings, lists and
dicts, and rejects everything else.`,
		Example: `  fedsim trace convert client_behave_trace -o availability.csv
  fedsim trace convert client_device_capacity -o capacity.csv
  fedsim trace convert state_traces.json --skip --origin 2020-01-28 -o flash.csv
  fedsim trace convert speed_distri.json --days 7 --seed 1 -o speeds.csv`,
	}
	f.reads(cmd, func(devices traces.Sequence) error { return writeTraces(cmd, out, devices) })
	addOut(cmd, &out)
	return cmd
}

// writeTraces writes csv to a file or standard output. It returns an error of the
// devices unchanged, since that error has its own position.
func writeTraces(cmd *cobra.Command, out string, devices traces.Sequence) error {
	var fault error
	noted := func(yield func(*traces.Trace, error) bool) {
		for r, err := range devices {
			fault = err
			if !yield(r, err) {
				return
			}
		}
	}
	err := writeOut(cmd, out, func(w io.Writer) error { return traces.WriteCSV(w, noted) })
	return cmp.Or(fault, err)
}

// generates makes a command write the traces that generate returns, if its flags are valid.
func generates(cmd *cobra.Command, validate func(*config.Checker), generate func() traces.Sequence) {
	var out string
	addOut(cmd, &out)
	cmd.Args = takes(0, 0, "no arguments")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := checked(validate); err != nil {
			return err
		}
		return writeTraces(cmd, out, generate())
	}
}

func newTraceGrid() *cobra.Command {
	s := traces.GridSynthesisDefaults()
	cmd := &cobra.Command{
		Use:   "grid",
		Short: "Generate an example of carbon intensities by place and hour",
		Long: `Generate an example of the carbon intensity of grids by place and hour, in the csv
format of fedsim. No grid has these values: the names of the places say "generated".
They follow a cosine over the hours of a day. docs/energy.md says where real ones are.`,
		Example: `  fedsim trace grid -o grid.csv
  fedsim trace grid --g-per-kwh 20,1200 --swing 0 -o two.csv`,
	}
	generates(cmd, func(c *config.Checker) { s.Validate(c) },
		func() traces.Sequence { return traces.SynthesizeGrid(s) })
	flags := cmd.Flags()
	flags.Float64SliceVar(&s.GPerKWh, "g-per-kwh", s.GPerKWh, "mean intensity of each place in g CO2e per kWh")
	flags.Float64Var(&s.Swing, "swing", s.Swing, "amplitude over the day as a share of the mean, from 0 to 1")
	flags.Float64Var(&s.PeakHour, "peak-hour", s.PeakHour, "hour of the largest intensity")
	flags.Float64Var(&s.Days, "days", s.Days, "length of the traces in days")
	return cmd
}

func newTraceSynthesize() *cobra.Command {
	s := traces.SynthesisDefaults()
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
	}
	generates(cmd, func(c *config.Checker) { s.Validate(c) }, func() traces.Sequence { return traces.Synthesize(s) })
	flags := cmd.Flags()
	flags.IntVar(&s.Devices, "devices", s.Devices, "number of devices")
	flags.Float64Var(&s.Days, "days", s.Days, "length of the traces in days")
	flags.Uint64Var(&s.Seed, "seed", s.Seed, "seed")
	flags.Float64Var(&s.Availability.MeanUpS, "mean-up-s", s.Availability.MeanUpS, "mean seconds that a device is available; 0: do not generate availability")
	flags.Float64Var(&s.Availability.MeanDownS, "mean-down-s", s.Availability.MeanDownS, "mean seconds that a device is unavailable")
	flags.Float64Var(&s.Availability.Daily, "daily", s.Availability.Daily, "strength of the daily pattern, from 0 to 1")
	flags.Float64Var(&s.Availability.PeakHour, "peak-hour", s.Availability.PeakHour, "local hour at which most devices become available")
	flags.Float64SliceVar(&s.Availability.ZonesH, "zones-h", s.Availability.ZonesH, "offsets of local time in hours; each device has one of them at random")
	flags.Float64Var(&s.ChargeH, "charge-h", s.ChargeH, "mean hours of charging a day; 0: do not generate charging")
	flags.Float64Var(&s.PlugHour, "plug-hour", s.PlugHour, "mean local hour at which charging begins")
	flags.Float64Var(&s.ChargeSpreadH, "charge-spread-h", s.ChargeSpreadH, "standard deviation of --charge-h and --plug-hour in hours")
	flags.Float64Var(&s.DownMbps, "down-mbps", s.DownMbps, "mean downlink rate; 0: do not generate")
	flags.Float64Var(&s.UpMbps, "up-mbps", s.UpMbps, "mean uplink rate; 0: do not generate")
	flags.Float64Var(&s.RateCV, "rate-cv", s.RateCV, "coefficient of variation of a rate over time")
	flags.Float64Var(&s.RateS, "rate-s", s.RateS, "mean seconds between changes of a rate")
	return cmd
}
