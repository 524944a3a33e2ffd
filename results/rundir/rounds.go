package rundir

import (
	"io"

	"fedsim/results"
)

// roundsTable is the table of all rounds, in the order of the runs.
func roundsTable(runs []results.Run) table {
	keys, known := results.SweptKeys(runs), results.KnownColumns(runs)
	return table{name: "rounds", columns: append(identityColumns(keys), columnsOf(known)...), rows: func(yield func([]string) error) error {
		var row []string
		for i := range runs {
			run := &runs[i]
			row = appendIdentity(row[:0], run, keys)
			identity := len(row)
			for j := range run.Rounds {
				row = appendCells(row[:identity], known, &run.Rounds[j])
				if err := yield(row); err != nil {
					return err
				}
			}
		}
		return nil
	}}
}

// readRounds sets the Rounds of the runs of the manifest. The rows must be in the order of
// the runs and agree with the manifest.
func readRounds(path string, r io.Reader, runs []results.Run) error {
	keys := results.SweptKeys(runs)
	t, err := newTableReader(path, r, append(identityColumns(keys), columnsOf(results.RoundColumns)...))
	if err != nil {
		return err
	}
	var (
		current  = -1 // the run of the last row
		identity []string
		head     = len(identityColumns(keys))
	)
	for {
		err := t.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if current < 0 || t.row[0] != identity[0] {
			next := current + 1
			for next < len(runs) && runs[next].ID != t.row[0] {
				next++
			}
			if next == len(runs) {
				return t.wrong(0, "must be a run of the manifest, in its order")
			}
			current = next
			identity = appendIdentity(identity[:0], &runs[current], keys)
		}
		if err := t.require(identity, "as manifest.json says"); err != nil {
			return err
		}
		var round results.Round
		for i := range results.RoundColumns {
			if err := parseCell(&results.RoundColumns[i], &round, t.row[head+i]); err != nil {
				return t.wrong(head+i, err.Error())
			}
		}
		runs[current].Rounds = append(runs[current].Rounds, round)
	}
}
