package rundir

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"fedsim/internal/tools/columns"
	"fedsim/results"
)

// columnsOf returns the columns of records.
func columnsOf[R any](list []results.Column[R]) []column {
	columns := make([]column, len(list))
	for i := range list {
		c := &list[i]
		columns[i] = column{name: c.Name, kind: kind(c.Type()), unit: c.Unit, doc: c.Doc, optional: c.MayLack()}
	}
	return columns
}

// formatValue returns the cell of a value in a column with a unit; empty when it is not known.
func formatValue(v results.Value, unit string) string {
	switch {
	case v.IsUnknown():
		return ""
	case v.Type() == results.TextType:
		return v.Text()
	case v.Type() == results.WholeType:
		return strconv.FormatInt(v.Whole(), 10)
	case unit == "s":
		return formatDecimal(v.Real())
	default:
		return columns.Exact(v.Real())
	}
}

// appendCells appends the cells of a record.
func appendCells[R any](row []string, columns []results.Column[R], r *R) []string {
	for i := range columns {
		row = append(row, formatValue(columns[i].Get(r), columns[i].Unit))
	}
	return row
}

// formatDecimal is columns.Exact without an exponent, for seconds.
func formatDecimal(v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// parseNumber is the inverse of columns.Exact and formatDecimal.
func parseNumber(cell string) (float64, error) {
	if cell == "" {
		return math.NaN(), nil
	}
	v, err := strconv.ParseFloat(cell, 64)
	if err != nil || math.IsNaN(v) {
		return 0, fmt.Errorf("must be a number, or empty when not known")
	}
	return v, nil
}

// The columns that identify the run of a row.
var (
	identityHead = []column{ // before the swept keys
		{name: "run", doc: "the run's name, unique in the directory"},
		{name: "experiment", doc: "of the scenario"},
		{name: "method", doc: "the method's label in the scenario"},
		{name: "algorithm", doc: "its registered name"},
	}
	identityTail = []column{{name: "seed", kind: seedCell, doc: "of the repetition"}} // behind them
)

// Reserved reports whether rounds.parquet or runs.csv has a column of that name. No swept key
// or axis may have it.
func Reserved(name string) bool {
	for _, fixed := range [][]column{identityHead, identityTail, runHead, runLast, runTail} {
		for _, c := range fixed {
			if name == c.name {
				return true
			}
		}
	}
	for i := range results.RoundColumns {
		if c := &results.RoundColumns[i]; name == c.Name || name == totalPrefix+c.Name {
			return true
		}
	}
	for _, p := range []string{stateToPrefix, roundsToPrefix, timeToPrefix, energyToPrefix, bytesToPrefix,
		tunedPrefix} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return slices.ContainsFunc(results.Heads(),
		func(c *results.Column[results.Round]) bool { return strings.HasPrefix(name, costPrefix(c)) })
}

// identityColumns returns the columns that identify the run of a row, given the swept
// keys of all runs.
func identityColumns(keys []string) []column {
	columns := slices.Clone(identityHead)
	for _, k := range keys {
		columns = append(columns,
			column{name: k, doc: "swept by the scenario; empty where the run's experiment does not"})
	}
	return append(columns, identityTail...)
}

// appendIdentity appends the cells of identityColumns. The cell of a key that the run's
// experiment does not sweep is empty.
func appendIdentity(row []string, r *results.Run, keys []string) []string {
	row = append(row, r.ID, r.Experiment, r.Method, r.Algorithm)
	for _, k := range keys {
		v, _ := r.Value(k)
		row = append(row, v)
	}
	return append(row, strconv.FormatUint(r.Seed, 10))
}
