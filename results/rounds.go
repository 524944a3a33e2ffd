package results

import (
	"encoding/csv"
	"io"
)

func roundsHeader(keys []string) []string {
	header := identityColumns(keys)
	for _, c := range roundColumns {
		header = append(header, c.name)
	}
	return header
}

// writeRounds writes rounds.csv: the rows of each run in the order of the runs.
func writeRounds(w io.Writer, runs []Run) error {
	keys := sweptKeys(runs, pointOf)
	out := csv.NewWriter(w)
	row := roundsHeader(keys)
	if err := out.Write(row); err != nil {
		return err
	}
	for i := range runs {
		run := &runs[i]
		row = appendIdentity(row[:0], run, keys)
		identity := len(row)
		for j := range run.Rounds {
			row = row[:identity]
			for _, c := range roundColumns {
				row = append(row, c.format(&run.Rounds[j]))
			}
			if err := out.Write(row); err != nil {
				return err
			}
		}
	}
	out.Flush()
	return out.Error()
}

// readRounds reads rounds.csv into the Rounds of the runs, which the manifest
// has named. Rows must come in the order of the runs and say the same about
// them as the manifest does.
func readRounds(path string, r io.Reader, runs []Run) error {
	keys := sweptKeys(runs, pointOf)
	t, err := newTableReader(path, r, roundsHeader(keys))
	if err != nil {
		return err
	}
	var (
		current  = -1 // the run of the last row
		identity []string
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
		if err := t.require(0, identity, "as manifest.json says"); err != nil {
			return err
		}
		var round Round
		for i, c := range roundColumns {
			if err := c.parse(&round, t.row[len(identity)+i]); err != nil {
				return t.wrong(len(identity)+i, err.Error())
			}
		}
		runs[current].Rounds = append(runs[current].Rounds, round)
	}
}
