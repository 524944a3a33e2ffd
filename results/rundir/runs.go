package rundir

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"fedsim/internal/tools/columns"
	"fedsim/results"
)

// Names and prefixes of the columns of runs.csv beside those of rounds.parquet.
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
	runLast = []column{ // after the targets
		{name: "p_max", kind: realCell, doc: "largest share over the clients of their rounds without progress"},
		{name: "theta_max", kind: realCell, doc: "largest mean over the clients of the theta of their other rounds"},
		{name: "capped", kind: wholeCell,
			doc: "used updates whose local work reached the method's limit, such as max_epochs of cocoa, " +
				"before its accuracy; empty for methods without such a limit"},
	}
	runTail = []column{{name: "wall_s", kind: realCell, unit: "s", doc: "of the real clock"}} // the last column
)

// costPrefix is the prefix of the columns of a declared cost to targets.
func costPrefix(c *results.Column[results.Round]) string { return c.Name + "_to_" }

// runTable determines the columns of runs.csv.
type runTable struct {
	keys, tuned []string
	targets     results.Targets
}

func newRunTable(runs []results.Run, targets results.Targets) runTable {
	return runTable{results.SweptKeys(runs), results.TunedKeys(runs), targets}
}

// columns returns the columns: the identity of the run, its end, its last round, the metrics of
// the last round that was evaluated, totals over all rounds, the cost of each target, the constants of stragglers,
// updates at their limit, tuned options, and the seconds of the real clock.
func (t runTable) columns() []column {
	list := append(identityColumns(t.keys), runHead...)
	for i, c := range columnsOf(results.RoundColumns) {
		if results.RoundColumns[i].Kind == results.CostColumn {
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
			column{name: stateToPrefix + x.Name(), doc: "reached, ended (before it, so that its cost is above that " +
				"of the run) or never (stalled before it); empty for an interrupted run, and without the metric"},
			column{name: roundsToPrefix + x.Name(), kind: wholeCell, doc: "rounds" + to},
			column{name: timeToPrefix + x.Name(), kind: realCell, unit: "s", doc: "virtual time" + to},
			column{name: energyToPrefix + x.Name(), kind: realCell, unit: "J", doc: "energy of all devices" + to},
			column{name: bytesToPrefix + x.Name(), kind: realCell, unit: "B", doc: "bytes sent both ways" + to})
		for _, c := range results.Heads() {
			list = append(list, column{name: costPrefix(c) + x.Name(), kind: realCell, unit: c.Unit, doc: c.Label + to})
		}
	}
	list = append(list, runLast...)
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
	for i := range results.RoundColumns {
		switch c := &results.RoundColumns[i]; {
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
			row = append(row, strconv.Itoa(int(c.Rounds)), formatDecimal(c.TimeS), columns.Exact(c.EnergyJ),
				columns.Exact(c.Bytes))
		} else {
			row = append(row, "", "", "", "")
		}
		for _, c := range results.Heads() {
			row = append(row, columns.Exact(r.CostTo(x).Declared[c.Name]))
		}
	}
	s, capped := cmp.Or(r.Stragglers, &results.Stragglers{PMax: math.NaN(), ThetaMax: math.NaN()}), ""
	if r.Limit != "" {
		capped = strconv.FormatInt(r.Capped, 10)
	}
	row = append(row, columns.Exact(s.PMax), columns.Exact(s.ThetaMax), capped)
	for _, k := range t.tuned {
		v, _ := r.TunedValue(k)
		row = append(row, v)
	}
	return append(row, columns.Exact(r.WallS))
}

// runsTable is the table of all runs, without columns that are empty in all rows.
func runsTable(runs []results.Run, targets results.Targets) table {
	t := newRunTable(runs, targets)
	columns, rows := t.columns(), make([][]string, len(runs))
	for i := range runs {
		rows[i] = t.appendRow(nil, &runs[i])
	}
	empty := func(at int) bool {
		return at < len(columns)-1 && !slices.ContainsFunc(rows, func(row []string) bool { return row[at] != "" })
	}
	of := table{name: "runs"}
	var at []int
	for i := range columns {
		if !empty(i) {
			at, of.columns = append(at, i), append(of.columns, columns[i])
		}
	}
	of.rows = func(yield func([]string) error) error {
		cells := make([]string, len(at))
		for _, row := range rows {
			for i, from := range at {
				cells[i] = row[from]
			}
			if err := yield(cells); err != nil {
				return err
			}
		}
		return nil
	}
	return of
}
