package traces

import (
	"fmt"
	"math"
	"strings"

	"fedsim/engine"
	"fedsim/internal/tools/columns"
	"fedsim/internal/tools/heterogeneity"
)

const (
	hour     = engine.Time(3600e9)
	dayHours = 24
)

// Stats summarizes a sequence of traces.
type Stats struct {
	Devices  int
	Points   int         // change points
	Shortest engine.Time // span
	Longest  engine.Time
	Mean     float64 // mean span in seconds
	Kinds    []KindStats
	// StatMCR and StatMCT are measures of availability ([heterogeneity.Setting]) of the first
	// Measured devices; 0: the traces have no availability.
	Measured         int
	StatMCR, StatMCT float64
}

// KindStats summarizes one kind over all devices and their spans.
type KindStats struct {
	Kind Kind
	// Mean is the mean over time; for a binary kind, the share of time on.
	Mean     float64
	Min, Max float64
	// MeanOn and MeanOff are the mean durations in seconds for which a binary kind stays
	// on and off. Traces repeat; devices that never change are excluded. NaN if no
	// device changes, and for numbers.
	MeanOn, MeanOff float64
	Always, Never   int // devices that are always on, always off
	// ByHour is the mean over time in each hour of the virtual day; NaN in hours that no
	// trace covers.
	ByHour [dayHours]float64
}

// Summarize reads a sequence, which must satisfy the rules of [Collect].
func Summarize(seq Sequence) (*Stats, error) {
	s := &Stats{}
	var sums [kinds]summary
	var measured []heterogeneity.Intervals
	kinds, err := eachOf(seq, func(r *Trace) error {
		if s.Devices++; s.Devices == 1 {
			s.Shortest = r.Span
		}
		s.Shortest, s.Longest = min(s.Shortest, r.Span), max(s.Longest, r.Span)
		s.Mean += r.Span.Seconds()
		if steps := r.Steps[Available]; len(steps) > 0 && len(measured) < heterogeneity.Measured {
			measured = append(measured, intervalsOf(steps, r.Span))
		}
		for k, steps := range r.Steps {
			s.Points += len(steps)
			if len(steps) > 0 {
				sums[k].add(Kind(k), steps, r.Span)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.Mean /= float64(s.Devices)
	if s.Measured = len(measured); s.Measured > 0 {
		setting := heterogeneity.For(s.Measured)
		s.StatMCR, s.StatMCT = setting.StatMC(measured)
	}
	for _, k := range AllKinds() {
		if kinds.Has(k) {
			s.Kinds = append(s.Kinds, sums[k].stats(k))
		}
	}
	return s, nil
}

// intervalsOf returns the intervals in which steps are 1.
func intervalsOf(steps []Step, span engine.Time) heterogeneity.Intervals {
	v := heterogeneity.Intervals{Period: span.Seconds()}
	for i, s := range steps {
		to := span
		if i+1 < len(steps) {
			to = steps[i+1].At
		}
		switch last := len(v.On) - 1; {
		case s.Value == 0:
		case last >= 0 && v.On[last][1] == s.At.Seconds():
			v.On[last][1] = to.Seconds()
		default:
			v.On = append(v.On, [2]float64{s.At.Seconds(), to.Seconds()})
		}
	}
	return v
}

// summary accumulates one kind.
type summary struct {
	devices         int
	min, max        float64
	area, time      [dayHours]float64 // by hour of the day: value times seconds, seconds
	length          [2]float64        // seconds off and on, of devices that change
	runs            [2]int            // number of intervals off and on
	always, neverOn int
}

func (su *summary) add(k Kind, steps []Step, span engine.Time) {
	if su.devices++; su.devices == 1 {
		su.min, su.max = steps[0].Value, steps[0].Value
	}
	changes := 0
	for i, s := range steps {
		to, next := span, steps[0].Value
		if i+1 < len(steps) {
			to, next = steps[i+1].At, steps[i+1].Value
		}
		su.min, su.max = min(su.min, s.Value), max(su.max, s.Value)
		su.spread(s.At, to, s.Value)
		if k.Binary() && next != s.Value {
			su.runs[int(s.Value)]++
			changes++
		}
	}
	switch {
	case !k.Binary():
	case changes == 0 && steps[0].Value == 1:
		su.always++
	case changes == 0:
		su.neverOn++
	default:
		for i, s := range steps {
			to := span
			if i+1 < len(steps) {
				to = steps[i+1].At
			}
			su.length[int(s.Value)] += (to - s.At).Seconds()
		}
	}
}

// spread adds a value that holds in [from, to) to the hours of the day.
func (su *summary) spread(from, to engine.Time, value float64) {
	if days := (to - from) / (dayHours * hour); days > 0 {
		for h := range su.time {
			su.time[h] += float64(float64(days) * hour.Seconds())
			su.area[h] += float64(float64(days) * float64(value*hour.Seconds()))
		}
		from += days * dayHours * hour
	}
	for from < to {
		h := from / hour
		until := min(to, (h+1)*hour)
		seconds := (until - from).Seconds()
		su.time[h%dayHours] += seconds
		su.area[h%dayHours] += float64(value * seconds)
		from = until
	}
}

func (su *summary) stats(k Kind) KindStats {
	s := KindStats{Kind: k, Min: su.min, Max: su.max, Always: su.always, Never: su.neverOn, MeanOn: math.NaN(),
		MeanOff: math.NaN()}
	area, time := 0.0, 0.0
	for h := range su.time {
		area, time = area+su.area[h], time+su.time[h]
		s.ByHour[h] = su.area[h] / su.time[h]
	}
	s.Mean = area / time
	if su.runs[0] > 0 && su.runs[1] > 0 {
		s.MeanOff, s.MeanOn = su.length[0]/float64(su.runs[0]), su.length[1]/float64(su.runs[1])
	}
	return s
}

// Text returns the statistics as a text.
func (s *Stats) Text() string {
	var b strings.Builder
	var names, texts []string
	row := func(name, format string, arguments ...any) {
		names, texts = append(names, name), append(texts, fmt.Sprintf(format, arguments...))
	}
	row("devices", "%d", s.Devices)
	row("change points", "%d", s.Points)
	if s.Shortest == s.Longest {
		row("span", "%s", length(s.Mean))
	} else {
		row("span", "%s to %s, mean %s", length(s.Shortest.Seconds()), length(s.Longest.Seconds()), length(s.Mean))
	}
	for _, k := range s.Kinds {
		if k.Kind.Binary() {
			row(k.Kind.String(), "%.1f %% of the time", 100*k.Mean)
			if !math.IsNaN(k.MeanOn) {
				row("", "on for %s at a time, off for %s, on average", length(k.MeanOn), length(k.MeanOff))
			}
			if k.Always+k.Never > 0 {
				row("", "%d devices always, %d never", k.Always, k.Never)
			}
		} else {
			row(k.Kind.String(), "mean %.4g over time, %.4g to %.4g", k.Mean, k.Min, k.Max)
		}
	}
	if s.Measured > 0 {
		row("StatMC-R", "%.3f of %s; 1: all trips of up to 120 s in time (docs/time.md#levels)", s.StatMCR,
			columns.Count(s.Measured, "device"))
		row("StatMC-T", "%.4g; 7: always available", s.StatMCT)
	}
	b.WriteString(columns.Entries(names, texts, columns.Width))
	for _, k := range s.Kinds {
		k.histogram(&b)
	}
	return b.String()
}

// histogram writes the mean of each hour of the day, with a bar.
func (k *KindStats) histogram(b *strings.Builder) {
	const width = 50
	full := 1.0
	if !k.Kind.Binary() && k.Kind != BatteryLevel {
		full = 0
		for _, x := range k.ByHour {
			if x > full {
				full = x
			}
		}
	}
	fmt.Fprintf(b, "\n%v by hour of the day\n", k.Kind)
	for h, x := range k.ByHour {
		if math.IsNaN(x) {
			continue
		}
		bar := 0
		if full > 0 {
			bar = int(math.Round(width * x / full))
		}
		number := fmt.Sprintf("%.4g", x)
		if k.Kind.Binary() {
			number = fmt.Sprintf("%.1f %%", 100*x)
		}
		line := fmt.Sprintf("  %02d h  %8s  %s", h, number, strings.Repeat("#", bar))
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

// length formats seconds in the most readable unit.
func length(s float64) string {
	for _, unit := range []struct {
		seconds float64
		name    string
	}{{86400, "days"}, {3600, "h"}, {60, "min"}} {
		if s >= unit.seconds*2 {
			return fmt.Sprintf("%.4g %s", s/unit.seconds, unit.name)
		}
	}
	return fmt.Sprintf("%.4g s", s)
}
