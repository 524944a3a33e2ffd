package rundir

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"fedsim/internal/tools/columns"
	"fedsim/results"
)

// hasNamed reports whether any round of the runs has a value of a declared metric.
func hasNamed(runs []results.Run) bool {
	for i := range runs {
		if countNamed(&runs[i]) > 0 {
			return true
		}
	}
	return false
}

// countNamed returns the number of values of declared metrics of a run.
func countNamed(r *results.Run) (n int) {
	for i := range r.Rounds {
		n += len(r.Rounds[i].Metrics)
	}
	return n
}

// metricsColumns are the columns of metrics.csv.
var metricsColumns = []column{
	{name: "run", doc: "the run's name, as in rounds.csv"},
	{name: "round", kind: wholeCell, doc: "rounds made so far, as in rounds.csv"},
	{name: "time_s", kind: realCell, unit: "s", doc: "virtual time at the end of the round, as in rounds.csv"},
	{name: "split", doc: "rows that the metric is measured on: train, validation, test, or empty"},
	{name: "name", doc: "of the metric; unit and direction are in manifest.json"},
	{name: "value", kind: realCell, doc: "in the unit of the metric"},
}

// metricsTable is the table of all values of declared metrics, in the order of runs, rounds
// and declaration.
func metricsTable(runs []results.Run) table {
	return table{name: "metrics", columns: metricsColumns, rows: func(yield func([]string) error) error {
		var row []string
		for i := range runs {
			for j := range runs[i].Rounds {
				round := &runs[i].Rounds[j]
				for _, v := range round.Metrics {
					row = append(row[:0], runs[i].ID, strconv.Itoa(round.Round), formatDecimal(round.TimeS), v.Split, v.Name, columns.Exact(v.Value))
					if err := yield(row); err != nil {
						return err
					}
				}
			}
		}
		return nil
	}}
}

// metricsReader reads metrics.csv into the rounds of rounds.csv.
type metricsReader struct {
	*tableReader
	runs     []results.Run
	manifest *Manifest
	declared []results.NamedMetric // of the run of the last row, with statistics over clients

	run, round, metric int // places of the last row
	rows               int // rows of its run so far
}

// readMetrics reads metrics.csv into the rounds of rounds.csv. Rows must be in the order of
// the table, and as many for each run as the manifest says.
func readMetrics(path string, r io.Reader, runs []results.Run, m *Manifest) error {
	t, err := newTableReader(path, r, metricsColumns)
	if err != nil {
		return err
	}
	reader := &metricsReader{tableReader: t, runs: runs, manifest: m, metric: -1}
	for {
		switch err := t.next(); {
		case err == io.EOF:
			return reader.close(func(*results.Run) bool { return false })
		case err != nil:
			return err
		}
		if err := reader.add(); err != nil {
			return err
		}
	}
}

// close ends the runs before the one that is wanted, whose rows must be as many as the manifest
// says.
func (t *metricsReader) close(wanted func(*results.Run) bool) error {
	for ; t.run < len(t.runs) && !wanted(&t.runs[t.run]); t.run++ {
		if want := t.manifest.Runs[t.run].Values; t.rows != want {
			return fmt.Errorf("%s: run %q has %d rows: must have %d, as manifest.json says", t.path, t.runs[t.run].ID, t.rows, want)
		}
		t.round, t.metric, t.rows = 0, -1, 0
	}
	return nil
}

// add adds the value of a row.
func (t *metricsReader) add() error {
	isOwn := func(r *results.Run) bool { return r.ID == t.row[0] }
	if !slices.ContainsFunc(t.runs[t.run:], func(r results.Run) bool { return isOwn(&r) }) {
		return t.wrong(0, "must be a run of the manifest, in its order")
	}
	if err := t.close(isOwn); err != nil {
		return err
	}
	if t.rows == 0 {
		t.declared = results.WithStatistics(t.runs[t.run].Metrics)
	}
	rounds := t.runs[t.run].Rounds
	for t.round < len(rounds) && strconv.Itoa(rounds[t.round].Round) != t.row[1] {
		t.round, t.metric = t.round+1, -1
	}
	if t.round == len(rounds) {
		return t.wrong(1, "must be a round of "+roundsFile+", in its order")
	}
	round := &rounds[t.round]
	if want := formatDecimal(round.TimeS); t.row[2] != want {
		return t.wrong(2, fmt.Sprintf("must be %q, as %s says", want, roundsFile))
	}
	for t.metric++; t.metric < len(t.declared) && (t.declared[t.metric].Split != t.row[3] || t.declared[t.metric].Name != t.row[4]); {
		t.metric++
	}
	if t.metric == len(t.declared) {
		return t.wrong(4, "must be a metric of the run in the manifest, in its order")
	}
	value, err := parseNumber(t.row[5])
	if err != nil || math.IsNaN(value) {
		return t.wrong(5, "must be a number")
	}
	round.Metrics = append(round.Metrics, results.NamedValue{Split: t.row[3], Name: t.row[4], Value: value})
	t.rows++
	return nil
}

// appendNamed appends the values of a round as a list of JSON: one for each declared metric,
// null without a value. Where there are statistics over clients, they are in the list, too.
func appendNamed(b []byte, declared []results.NamedMetric, values []results.NamedValue) []byte {
	if results.HasStatistics(declared, values) {
		declared = results.WithStatistics(declared)
	}
	at := 0
	for i := range declared {
		if i > 0 {
			b = append(b, ',')
		}
		if at < len(values) && values[at].Split == declared[i].Split && values[at].Name == declared[i].Name {
			b = appendJSON(b, values[at].Value)
			at++
		} else {
			b = append(b, "null"...)
		}
	}
	return b
}

// parseNamed is the inverse of appendNamed.
func parseNamed(declared []results.NamedMetric, list string) (values []results.NamedValue, err error) {
	cells := strings.Split(list, ",")
	if len(cells) > len(declared) {
		declared = results.WithStatistics(declared)
	}
	if len(cells) != len(declared) {
		return nil, fmt.Errorf("has %d values of metrics, must have %d", len(cells), len(declared))
	}
	for i, cell := range cells {
		m := &declared[i]
		value, err := parseNumber(jsonCell(cell))
		if err != nil {
			return nil, fmt.Errorf("%s = %s: %w", m.FullName(), cell, err)
		}
		if !math.IsNaN(value) {
			values = append(values, results.NamedValue{Split: m.Split, Name: m.Name, Value: value})
		}
	}
	return values, nil
}
