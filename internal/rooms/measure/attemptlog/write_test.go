package attemptlog

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"strconv"
	"testing"

	"github.com/parquet-go/parquet-go"

	"fedsim/config"
	"fedsim/internal/tools/expect"
)

// writeCSV writes runs with equal settings in the layout of Columns, without columns that have no
// value in any row.
func writeCSV(w io.Writer, runs ...*Run) error {
	if len(runs) > 0 {
		for _, s := range runs[0].Settings {
			if _, err := fmt.Fprintf(w, "%s %s = %s\n", settingMark, s.Path,
				config.Literal(s.Value.Value())); err != nil {
				return err
			}
		}
	}
	var used []*Column
	var header []string
	for i := range Columns {
		c := &Columns[i]
		if c.Required || c.Name == runColumn || hasValues(runs, c) {
			used = append(used, c)
			header = append(header, c.Name)
		}
	}
	out := csv.NewWriter(w)
	if err := out.Write(header); err != nil {
		return err
	}
	row := make([]string, len(used))
	for _, r := range runs {
		for i := range r.Attempts {
			for k, c := range used {
				row[k] = cell(c, r, &r.Attempts[i])
			}
			if err := out.Write(row); err != nil {
				return err
			}
		}
	}
	out.Flush()
	return out.Error()
}

// hasValues reports whether a column has a value in any row.
func hasValues(runs []*Run, c *Column) bool {
	for _, r := range runs {
		for i := range r.Attempts {
			if cell(c, r, &r.Attempts[i]) != "" {
				return true
			}
		}
	}
	return false
}

// cell returns the text of a column of an attempt. Numbers have all their digits.
func cell(c *Column, r *Run, a *Attempt) string {
	switch field := c.Field(a).(type) {
	case *string:
		return *field
	case *Outcome:
		return string(*field)
	case *int:
		return strconv.Itoa(*field)
	case *float64:
		if math.IsNaN(*field) {
			return ""
		}
		if math.Abs(*field) < 1e15 && math.Abs(*field) >= 1e-6 { // without an exponent
			return strconv.FormatFloat(*field, 'f', -1, 64)
		}
		return strconv.FormatFloat(*field, 'g', -1, 64)
	default:
		return r.Name
	}
}

// A number that is not one is a missing value, in both precisions.
func TestMissingValuesOfParquet(t *testing.T) {
	for want, v := range map[string]parquet.Value{
		"":     parquet.ValueOf(math.NaN()),
		"0.5":  parquet.ValueOf(float32(0.5)),
		"0.25": parquet.ValueOf(0.25),
		"NaN":  parquet.ValueOf("NaN"),
	} {
		got := text(&v)
		expect.That(t, got == want, "%v: %q, want %q", v, got, want)
	}
	for _, v := range []parquet.Value{parquet.ValueOf(float32(math.NaN())), parquet.NullValue()} {
		got := text(&v)
		expect.That(t, got == "", "%v: %q, want nothing", v, got)
	}
}
