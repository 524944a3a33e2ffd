package calibration

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"fedsim/config"
	"fedsim/internal/rooms/measure/attemptlog"
	"fedsim/internal/tools/orderstat"
)

// The message and the model of the scenario: fedavg on a linear model of d features has 8 d bytes
// in a message, 4 d FLOPs for a row and 5 d for a step.
const (
	valueBytes   = 8
	rowFLOPs     = 4
	stepFLOPs    = 5
	headerBytes  = 64
	mostFeatures = 1_000_000
)

// Scenario returns a scenario in timing mode that replays the setting of a run with its fleet, in
// the file fleet.toml beside it: clients, rows, sizes, work, protocol and failures. Sizes and work
// are medians over the run. The method is fedavg, or that of the settings of the run.
func (c *Calibration) Scenario(name string, run *attemptlog.Run) string {
	w := newWorkload(run, c.RowsAsFLOPs)
	var b strings.Builder
	line := func(format string, arguments ...any) { fmt.Fprintf(&b, format+"\n", arguments...) }
	line("# Replays the setting of run %s under the calibrated fleet.", strings.Trim(config.Literal(run.Name), `"`))
	line("name = %s\n", config.Literal(name))
	line("[data]\nsource = \"external\"\n\n[data.external]\nclients = %d\nrows = %s\nfeatures = %d\n", len(w.rows),
		config.Literal(w.rows), w.features)
	line("[fleet]\nname = \"fleet.toml\"")
	if len(w.clients) <= mostClasses {
		line("assignment = %s", config.Literal(w.clients))
	}
	line("")
	tables := map[string][]string{
		"devices":    {"flops_scale = " + config.Literal(w.flopsScale)},
		"network":    {fmt.Sprintf("wire.header_bytes = %d", w.header)},
		"federation": {`protocol = "wait-for-all"`},
		"run":        {`mode = "timing"`, fmt.Sprintf("rounds = %d", len(run.Rounds()))},
	}
	if w.bytesScale != 1 {
		tables["network"] = append(tables["network"], "bytes_scale = "+config.Literal(w.bytesScale))
	}
	if waiting := c.overheadKeys(); waiting != nil {
		tables["overhead"] = waiting
	}
	if drops := c.drops(run); drops != "" {
		tables["faults"] = []string{drops}
	}
	method, options := "fedavg", []string{"epochs = " + config.Literal(w.epochs), fmt.Sprintf("batch = %d", w.batch)}
	for _, s := range run.Settings {
		value := config.Literal(s.Value.Value())
		switch {
		case len(s.Path) == 4 && s.Path[0] == "methods" && s.Path[2] == "options":
			method, options = s.Path[1], append(options, s.Path[3]+" = "+value)
		case len(s.Path) > 1:
			tables[s.Path[0]] = append(tables[s.Path[0]], s.Path[1:].String()+" = "+value)
		}
	}
	for _, table := range slices.Sorted(maps.Keys(tables)) {
		line("[%s]\n%s\n", table, strings.Join(lastOfKey(tables[table]), "\n"))
	}
	line("[methods.%s]\noptions = { %s }", method, strings.Join(lastOfKey(options), ", "))
	return b.String()
}

// lastOfKey returns the lines without those whose key a later line has.
func lastOfKey(lines []string) []string {
	key := func(s string) string { k, _, _ := strings.Cut(s, " = "); return k }
	var out []string
	for i, s := range lines {
		if !slices.ContainsFunc(lines[i+1:], func(later string) bool { return key(later) == key(s) }) {
			out = append(out, s)
		}
	}
	return out
}

// overheadKeys returns the lines of waiting in the table [overhead]. Once a launch is known, so are its
// parts, which are 0 unless the log tells them apart: the values of a runtime would count them
// twice.
func (c *Calibration) overheadKeys() (lines []string) {
	w := &c.Waiting
	for _, k := range []struct {
		key   string
		value *Value
	}{
		{"client_poll_s", &w.ClientPollS}, {"server_poll_s", &w.ServerPollS},
		{"launch_poll_s", &w.LaunchPollS}, {"launch_s", &w.LaunchS}, {"launch_gflop", &w.LaunchGFLOP},
		{"cold_start_s", &w.ColdStartS},
	} {
		part := k.value == &w.LaunchPollS || k.value == &w.LaunchGFLOP
		if k.value.Known() || part && w.LaunchS.Known() {
			lines = append(lines, k.key+" = "+config.Literal(k.value.Or(0)))
		}
	}
	return lines
}

// drops returns the line with the drop probability of each client; empty if none dropped.
func (c *Calibration) drops(run *attemptlog.Run) string {
	var all []float64
	places := c.index().places
	for _, a := range lastAttempts(run) {
		p := 0.0
		if i, known := places[a.Client]; known {
			p = c.Clients[i].Drop.Or(0)
		}
		all = append(all, p)
	}
	if slices.Max(all) == 0 {
		return ""
	}
	return "drop_probability = " + config.Literal(all)
}

// workload is the work of a run as that of fedavg on a linear model.
type workload struct {
	clients    []string
	rows       []int64
	epochs     float64
	batch      int64
	features   int64
	header     int64
	bytesScale float64
	flopsScale float64
}

func newWorkload(run *attemptlog.Run, counted bool) workload {
	of := func(get func(*attemptlog.Attempt) float64) float64 {
		var values []float64
		for i := range run.Attempts {
			if x := get(&run.Attempts[i]); x > 0 {
				values = append(values, x)
			}
		}
		return orderstat.Median(values)
	}
	w := workload{bytesScale: 1, flopsScale: 1}
	w.epochs = orElse(of(func(a *attemptlog.Attempt) float64 { return a.Epochs }), 1)
	w.batch = int64(math.Round(orElse(of(func(a *attemptlog.Attempt) float64 { return a.Batch }), 32)))
	bytes := orElse(of(func(a *attemptlog.Attempt) float64 { return a.BytesDown }), headerBytes+valueBytes)
	w.features = int64(max(1, math.Floor((bytes-headerBytes)/valueBytes)))
	w.header = int64(max(0, math.Round(bytes-float64(valueBytes*w.features))))
	if w.features > mostFeatures {
		w.features, w.header = mostFeatures, headerBytes
		w.bytesScale = bytes / (valueBytes*mostFeatures + headerBytes)
	}
	perRow := float64(w.features) * (rowFLOPs + stepFLOPs/float64(batchOf(run, w.batch)))
	largest := of(func(a *attemptlog.Attempt) float64 { return a.FLOPs })
	for _, a := range lastAttempts(run) {
		w.clients = append(w.clients, a.Client)
		rows := a.Examples
		if !(rows > 0) { // rows in proportion to the work
			rows = orElse(math.Round(1000*a.FLOPs/largest), 1)
		}
		w.rows = append(w.rows, max(1, int64(rows)))
	}
	each := of(func(a *attemptlog.Attempt) float64 {
		rows := a.Examples
		if !(rows > 0) {
			rows = 1000 * a.FLOPs / largest
		}
		return a.FLOPs / (rows * w.epochs)
	})
	if counted || math.IsNaN(each) {
		each = 1
	}
	w.flopsScale = each / perRow
	return w
}

// batchOf returns the batch size in the settings of a run, or another without one: a row has the FLOPs of the log then.
func batchOf(run *attemptlog.Run, other int64) int64 {
	for _, s := range run.Settings {
		if n, ok := s.Value.Value().(int64); ok && len(s.Path) == 4 && s.Path[3] == "batch" && n > 0 {
			other = n
		}
	}
	return other
}

// orElse returns x, or another number if x is not positive.
func orElse(x, other float64) float64 {
	if x > 0 {
		return x
	}
	return other
}

// Base returns the run with most attempts, the first among equals: its setting is that of Scenario.
func Base(log *attemptlog.Log) *attemptlog.Run {
	return slices.MaxFunc(log.Runs,
		func(a, b *attemptlog.Run) int { return cmp.Compare(len(a.Attempts), len(b.Attempts)) })
}
