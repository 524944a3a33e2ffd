package rundir

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"fedsim/internal/tools/columns"
	"fedsim/results"
)

// Names and prefixes of the columns of runs.csv beside those of rounds.csv.
const (
	totalPrefix    = "total_"
	stateToPrefix  = "state_to_"
	roundsToPrefix = "rounds_to_"
	timeToPrefix   = "time_s_to_"
	energyToPrefix = "energy_j_to_"
	bytesToPrefix  = "bytes_to_"
	tunedPrefix    = "tuned:"
)

var (
	runHead = []column{ // after the identity
		{name: "status", doc: "done, stalled or interrupted"},
		{name: "reason", doc: "why it stalled"},
		{name: "optimum", kind: realCell, doc: "reference optimum P*"},
		{name: "optimum_gap", kind: realCell, doc: "certified relative gap of the optimum"},
	}
	// Those of results.Stragglers; only when theta was measured.
	stragglerColumns = []column{
		{name: "p_max", kind: realCell, doc: "largest share over the clients of their rounds without progress"},
		{name: "theta_max", kind: realCell, doc: "largest mean over the clients of the theta of their other rounds"},
	}
	// Only when a method of the directory has a Limit.
	cappedColumn = column{name: "capped", kind: wholeCell, doc: "used updates whose local work reached the method's limit, such as max_epochs of cocoa, before its accuracy; empty for methods without such a limit"}
	runTail      = []column{{name: "wall_s", kind: realCell, unit: "s", doc: "of the real clock"}} // the last column
)

// costPrefix is the prefix of the columns of a declared cost to targets.
func costPrefix(c *results.Column[results.Round]) string { return c.Name + "_to_" }

// runTable determines the columns of runs.csv.
type runTable struct {
	keys, tuned []string
	targets     results.Targets
	measured    bool
	limited     bool
	known       []results.Column[results.Round]  // of rounds
	costs       []*results.Column[results.Round] // declared ones that are counted
}

func newRunTable(runs []results.Run, targets results.Targets) runTable {
	return runTable{
		keys: results.SweptKeys(runs), tuned: results.TunedKeys(runs), targets: targets,
		measured: slices.ContainsFunc(runs, func(r results.Run) bool { return r.Stragglers != nil }),
		known:    results.KnownColumns(runs),
		limited:  slices.ContainsFunc(runs, func(r results.Run) bool { return r.Limit != "" }),
		costs: slices.DeleteFunc(results.Heads(), func(c *results.Column[results.Round]) bool {
			return !slices.ContainsFunc(runs, func(r results.Run) bool { total := r.Total(); return c.Get(&total).Real() >= 0 })
		}),
	}
}

// columns returns the columns: the identity of the run, its end, its last round, the metrics of
// the last round that was evaluated, totals over all rounds, the cost of each target, the constants of stragglers, updates at their limit, tuned
// options, and the seconds of the real clock.
func (t runTable) columns() []column {
	list := append(identityColumns(t.keys), runHead...)
	for i, c := range columnsOf(t.known) {
		if t.known[i].Kind == results.CostColumn {
			c.name, c.doc = totalPrefix+c.name, "total over all rounds: "+c.doc
		}
		list = append(list, c)
	}
	for _, x := range t.targets {
		m, _ := results.MetricNamed(x.Metric)
		most := "most "
		if m.Higher {
			most = "least "
		}
		to := " until " + x.Metric + " was at " + most + columns.Exact(x.Value) + "; empty when it never was"
		list = append(list,
			column{name: stateToPrefix + x.Name(), doc: "reached, ended (before it, so that its cost is above that of the run) or never (stalled before it); empty for an interrupted run, and without the metric"},
			column{name: roundsToPrefix + x.Name(), kind: wholeCell, doc: "rounds" + to},
			column{name: timeToPrefix + x.Name(), kind: realCell, unit: "s", doc: "virtual time" + to},
			column{name: energyToPrefix + x.Name(), kind: realCell, unit: "J", doc: "energy of all devices" + to},
			column{name: bytesToPrefix + x.Name(), kind: realCell, unit: "B", doc: "bytes sent both ways" + to})
		for _, c := range t.costs {
			list = append(list, column{name: costPrefix(c) + x.Name(), kind: realCell, unit: c.Unit, doc: c.Label + to})
		}
	}
	if t.measured {
		list = append(list, stragglerColumns...)
	}
	if t.limited {
		list = append(list, cappedColumn)
	}
	for _, k := range t.tuned {
		list = append(list, column{name: tunedPrefix + k, doc: "chosen by tuning"})
	}
	return append(list, runTail...)
}

// appendRow appends the cells of columns. The cell of a target that the run did not reach,
// or of a value that it did not evaluate, is empty.
func (t runTable) appendRow(row []string, r *results.Run) []string {
	row = appendIdentity(row, r, t.keys)
	row = append(row, string(r.Status), r.Reason, columns.Exact(r.Optimum), columns.Exact(r.OptimumGap))
	last, ok := r.Last()
	evaluated, measured := r.LastEvaluated()
	total := r.Total()
	for i := range t.known {
		switch c := &t.known[i]; {
		case c.Kind == results.CostColumn:
			row = append(row, formatValue(c.Get(&total), c.Unit))
		case c.Kind == results.MetricColumn && measured:
			row = append(row, formatValue(c.Get(&evaluated), c.Unit))
		case ok:
			row = append(row, formatValue(c.Get(&last), c.Unit))
		default:
			row = append(row, "")
		}
	}
	for _, x := range t.targets {
		_, state := r.Spent(x)
		row = append(row, state.String())
		if c := r.CostTo(x); c.Reached {
			row = append(row, strconv.Itoa(int(c.Rounds)), formatDecimal(c.TimeS), columns.Exact(c.EnergyJ), columns.Exact(c.Bytes))
		} else {
			row = append(row, "", "", "", "")
		}
		for _, c := range t.costs {
			row = append(row, columns.Exact(r.CostTo(x).Declared[c.Name]))
		}
	}
	if t.measured {
		s := cmp.Or(r.Stragglers, &results.Stragglers{PMax: math.NaN(), ThetaMax: math.NaN()})
		row = append(row, columns.Exact(s.PMax), columns.Exact(s.ThetaMax))
	}
	switch {
	case t.limited && r.Limit != "":
		row = append(row, strconv.FormatInt(r.Capped, 10))
	case t.limited:
		row = append(row, "")
	}
	for _, k := range t.tuned {
		v, _ := r.TunedValue(k)
		row = append(row, v)
	}
	return append(row, columns.Exact(r.WallS))
}

// runsTable is the table of all runs.
func runsTable(runs []results.Run, targets results.Targets) table {
	t := newRunTable(runs, targets)
	return table{name: "runs", columns: t.columns(), rows: func(yield func([]string) error) error {
		var row []string
		for i := range runs {
			row = t.appendRow(row[:0], &runs[i])
			if err := yield(row); err != nil {
				return err
			}
		}
		return nil
	}}
}

// readRuns sets Optimum, OptimumGap and WallS of runs, which only runs.csv has. All other
// cells must follow from the manifest and rounds.csv.
func readRuns(path string, r io.Reader, runs []results.Run, targets results.Targets) error {
	table := newRunTable(runs, targets)
	columns := table.columns()
	t, err := newTableReader(path, r, columns)
	if err != nil {
		return err
	}
	optimum, optimumGap := slices.Index(t.header, "optimum"), slices.Index(t.header, "optimum_gap")
	var want []string
	for i := range runs {
		run := &runs[i]
		err := t.next()
		if err == io.EOF {
			return fmt.Errorf("%s: has %d rows: must have one for each of the %d runs of the manifest", path, i, len(runs))
		}
		if err != nil {
			return err
		}
		for _, own := range []struct {
			column int
			field  *float64
		}{{optimum, &run.Optimum}, {optimumGap, &run.OptimumGap}, {len(t.row) - 1, &run.WallS}} {
			if *own.field, err = parseNumber(t.row[own.column]); err != nil {
				return t.wrong(own.column, err.Error())
			}
		}
		want = table.appendRow(want[:0], run)
		if err := t.require(want, "as manifest.json and rounds.csv say"); err != nil {
			return err
		}
	}
	switch err := t.next(); err {
	case io.EOF:
		return nil
	case nil:
		return t.wrong(0, fmt.Sprintf("must not be here: the manifest has %d runs", len(runs)))
	default:
		return err
	}
}
