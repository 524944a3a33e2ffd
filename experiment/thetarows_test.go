package experiment

import (
	"math"
	"testing"

	"fedsim/internal/tools/expect"
)

// Without run.devices, a run has rows by device of the rounds in which theta is measured, which
// are those that it has with run.devices.
func TestRowsOfMeasuredRounds(t *testing.T) {
	t.Parallel()
	rowsWith := func(devices string) *runRows {
		s := scenarioOf(t, "[data.synthetic]\nclients = 3\nfeatures = 4\nrows_min = 8\nrows_max = 12\n[run]\n"+
			"rounds = 7\ntheta_every = 3\ndevices = "+devices+"\n[methods.mocha]\n")
		_, rows, err := rowsOf(s.Experiments, 1)
		expect.NoError(t, err)
		return rows[0]
	}
	measured, all := rowsWith("false"), rowsWith("true")
	unsaid := rowsWith(`"auto"`)
	expect.That(t, len(unsaid.rows) == len(measured.rows), "%d rows with \"auto\"", len(unsaid.rows))
	expect.Must(t, len(measured.rows) == 2*3 && len(all.rows) == 7*3,
		"%d rows, and %d with run.devices", len(measured.rows), len(all.rows))
	for i, row := range measured.rows {
		expect.That(t, row == all.rows[6+i%3+9*(i/3)] && !math.IsNaN(row.Theta), "row %d: %+v", i, row)
	}
}
