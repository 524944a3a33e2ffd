package command

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fedsim/config"
	"fedsim/devices/traces"
	"fedsim/internal/atomicfile"
)

func newTrace() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "trace",
		Short: "Sum up, convert and generate traces of devices",
		Long: `Sum up, convert and generate traces: when devices are available and charging, and
how fast they and their links are. docs/traces.md describes the file.`,
		Example: `  fedsim trace synthesise --devices 1000 --days 7 --seed 1 -o week.csv
  fedsim trace stats week.csv
  fedsim trace convert client_behave_trace -o fedscale.csv`,
	}
	cmd.AddCommand(newTraceStats(), newTraceConvert(), newTraceSynthesise())
	asGroup(cmd)
	return cmd
}

// traceFormats is how the commands that read traces describe what they take.
const traceFormats = `The file is fedsim's csv, one of FedScale's pickles (client_behave_trace,
client_device_capacity) or one of FLASH's JSON files (state_traces.json,
speed_distri.json). It streams: any size will do.`

// traceFlags are the flags of the commands that read traces.
type traceFlags struct {
	from   string
	skip   bool
	origin string
	flash  traces.FLASHOptions
}

func (f *traceFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.flash = traces.FLASHDefaults()
	flags.StringVar(&f.from, "from", traces.FormatAuto, "format: "+strings.Join(traces.Formats(), ", ")+", or "+traces.FormatAuto+": what the file looks like")
	flags.BoolVar(&f.skip, "skip", false, "leave out devices that cannot be read, and say how many on standard error")
	flags.StringSliceVar(&f.flash.Need, "need", f.flash.Need, "FLASH states that make a device available together: locked, screen-off, wifi, charging")
	flags.BoolVar(&f.flash.Battery, "battery", f.flash.Battery, "take FLASH's readings of batteries too")
	flags.StringVar(&f.origin, "origin", "", "FLASH clock time that is time 0, as 2020-01-02 or \"2020-01-02 15:04:05\" (default: midnight before the first message)")
	flags.Float64Var(&f.flash.Days, "days", f.flash.Days, "span of traces drawn from FLASH's speeds")
	flags.Float64Var(&f.flash.HoldS, "hold-s", f.flash.HoldS, "seconds for which a rate drawn from FLASH's speeds holds")
	flags.Uint64Var(&f.flash.Seed, "seed", f.flash.Seed, "seed of rates drawn from FLASH's speeds")
	completeFlag(cmd, "from", oneOf(append([]string{traces.FormatAuto}, traces.Formats()...)))
}

// open returns the devices of a file. Those left out are counted in left, the
// first with its reason.
func (f *traceFlags) open(path string, left *leftOut) (traces.Recordings, error) {
	from := func(c *config.Checker) {
		c.OneOf("from", f.from, append([]string{traces.FormatAuto}, traces.Formats()...)...)
	}
	if err := checked(from); err != nil {
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
	devices := traces.Open(path, f.from, f.flash)
	if f.skip {
		devices = traces.Skip(devices, left.count)
	}
	return devices, nil
}

// checked returns what validate reports, one line each; the keys are the names
// of flags.
func checked(validate func(*config.Checker)) error {
	c := config.NewChecker()
	validate(c)
	var lines []string
	for _, p := range c.Problems() {
		lines = append(lines, fmt.Sprintf("--%s=%v: %s", strings.ReplaceAll(p.Key, "_", "-"), p.Value, p.Want))
	}
	if len(lines) == 0 {
		return nil
	}
	return usagef("%s", strings.Join(lines, "\n"))
}

// leftOut counts devices that were left out.
type leftOut struct {
	devices int
	first   error
}

func (l *leftOut) count(err error) {
	if l.devices++; l.devices == 1 {
		l.first = err
	}
}

// explain says of a file of which nothing is left why that is.
func (l *leftOut) explain(path string, err error) error {
	if !errors.Is(err, traces.ErrEmpty) || l.devices == 0 {
		return err
	}
	return fmt.Errorf("%s: %w: all %d were left out, the first one because: %w", path, traces.ErrEmpty, l.devices, l.first)
}

func (l *leftOut) report(w io.Writer) error {
	if l.devices == 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "left out %d devices, the first one because: %v\n", l.devices, l.first)
	return err
}

func newTraceStats() *cobra.Command {
	var f traceFlags
	cmd := &cobra.Command{
		Use:   "stats FILE",
		Short: "Print the devices, the length and the content of a trace",
		Long: `Print the devices and the span of a trace, the share of time for which devices are
available and charging, how long at a time, and each hour of the day.

` + traceFormats,
		Example: `  fedsim trace stats week.csv
  fedsim trace stats state_traces.json --skip --need screen-off,wifi`,
		Args: takes(1, 1, "one file of traces"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var left leftOut
			devices, err := f.open(args[0], &left)
			if err != nil {
				return err
			}
			stats, err := traces.Summarise(devices)
			if err != nil {
				return left.explain(args[0], err)
			}
			if err := stats.WriteText(cmd.OutOrStdout()); err != nil {
				return err
			}
			return left.report(cmd.ErrOrStderr())
		},
	}
	f.add(cmd)
	return cmd
}

func newTraceConvert() *cobra.Command {
	var f traceFlags
	var out string
	cmd := &cobra.Command{
		Use:   "convert IN",
		Short: "Write a trace of FedScale or FLASH as fedsim's csv",
		Long: `Write a trace as fedsim's csv.

` + traceFormats + `
Pickles are read by a decoder that can run nothing: numbers, texts, lists and
dicts are taken, everything else is refused.`,
		Example: `  fedsim trace convert client_behave_trace -o availability.csv
  fedsim trace convert client_device_capacity -o capacity.csv
  fedsim trace convert state_traces.json --skip --origin 2020-01-28 -o flash.csv
  fedsim trace convert speed_distri.json --days 7 --seed 1 -o speeds.csv`,
		Args: takes(1, 1, "one file of traces"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var left leftOut
			devices, err := f.open(args[0], &left)
			if err != nil {
				return err
			}
			if err := writeTraces(cmd, out, devices); err != nil {
				return left.explain(args[0], err)
			}
			return left.report(cmd.ErrOrStderr())
		},
	}
	f.add(cmd)
	addOut(cmd, &out)
	return cmd
}

func addOut(cmd *cobra.Command, out *string) {
	cmd.Flags().StringVarP(out, "out", "o", "", "file to write (default standard output)")
}

// writeTraces writes csv to a file or standard output. What is wrong with the
// devices says itself where it is, and not that writing failed.
func writeTraces(cmd *cobra.Command, out string, devices traces.Recordings) error {
	var fault error
	noted := func(yield func(*traces.Recording, error) bool) {
		for r, err := range devices {
			fault = err
			if !yield(r, err) {
				return
			}
		}
	}
	write := func(w io.Writer) error { return traces.WriteCSV(w, noted) }
	if out == "" {
		return write(cmd.OutOrStdout())
	}
	err := atomicfile.Write(out, write)
	if fault != nil {
		return fault
	}
	return err
}

func newTraceSynthesise() *cobra.Command {
	s := traces.SynthesisDefaults()
	var out string
	cmd := &cobra.Command{
		Use:   "synthesise",
		Short: "Generate traces: come and go, a daily pattern, charging, rates",
		Long: `Generate traces as fedsim's csv. Devices come and go as a two-state Markov chain
whose rates follow the local hour of the day; chargers are plugged in once a day;
rates are log-normal and drawn anew from time to time. Time 0 is midnight at zone
offset 0. A device's trace depends on the seed and its number alone.`,
		Example: `  fedsim trace synthesise --devices 1000 --days 7 --seed 1 -o week.csv
  fedsim trace synthesise --mean-up-s 3600 --mean-down-s 10800 -o markov.csv
  fedsim trace synthesise --zones-h=-8,0,8 --down-mbps 20 -o world.csv`,
		Args: takes(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checked(s.Validate); err != nil {
				return err
			}
			return writeTraces(cmd, out, traces.Synthesise(s))
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&s.Devices, "devices", s.Devices, "how many devices")
	flags.Float64Var(&s.Days, "days", s.Days, "span of the traces")
	flags.Uint64Var(&s.Seed, "seed", s.Seed, "seed of all draws")
	flags.Float64Var(&s.Presence.MeanUpS, "mean-up-s", s.Presence.MeanUpS, "mean time in seconds for which a device is available; 0: availability is not generated")
	flags.Float64Var(&s.Presence.MeanDownS, "mean-down-s", s.Presence.MeanDownS, "mean time in seconds for which it is not")
	flags.Float64Var(&s.Presence.Daily, "daily", s.Presence.Daily, "how much coming and going follow the day, from 0 to 1")
	flags.Float64Var(&s.Presence.PeakHour, "peak-hour", s.Presence.PeakHour, "local hour at which devices come back most and leave least")
	flags.Float64SliceVar(&s.Presence.ZonesH, "zones-h", s.Presence.ZonesH, "offsets of local time in hours; each device draws one")
	flags.Float64Var(&s.ChargeH, "charge-h", s.ChargeH, "mean hours on the charger a day; 0: charging is not generated")
	flags.Float64Var(&s.PlugHour, "plug-hour", s.PlugHour, "mean local hour at which the charger is plugged in")
	flags.Float64Var(&s.ChargeSpreadH, "charge-spread-h", s.ChargeSpreadH, "standard deviation of both, hours")
	flags.Float64Var(&s.DownMbps, "down-mbps", s.DownMbps, "mean rate from the server to a device; 0: not generated")
	flags.Float64Var(&s.UpMbps, "up-mbps", s.UpMbps, "mean rate from a device to the server; 0: not generated")
	flags.Float64Var(&s.RateCV, "rate-cv", s.RateCV, "sigma/mu of a rate over time")
	flags.Float64Var(&s.RateS, "rate-s", s.RateS, "mean time in seconds for which a rate holds")
	addOut(cmd, &out)
	return cmd
}
