package rundir

import (
	"errors"
	"math"

	"fedsim/results"
)

// AddClients sets ByClient of those runs that have values by client in a run directory or in the
// stage of an unfinished one, and the Thetas of the rounds in which theta was measured.
func AddClients(dir string, runs []results.Run) error {
	if err := addThetas(dir, runs); err != nil {
		return err
	}
	last := newLastClients(runs)
	err := valuesTable.each(dir, "", func(run *results.Run, row *results.ClientRow) error {
		if i, ok := last.index[run.ID]; ok {
			last.add(i, row)
		}
		return nil
	})
	if errors.Is(err, ErrNoClients) {
		return nil
	}
	last.set()
	return err
}

// addThetas sets the Thetas of the rounds in which theta was measured, which have a row by device
// with a theta.
func addThetas(dir string, runs []results.Run) error {
	left := map[string][]results.Round{} // rounds from that of the last row on, by run
	for i := range runs {
		if runs[i].Stragglers == nil {
			continue
		}
		left[runs[i].ID] = runs[i].Rounds
		for k := range runs[i].Rounds {
			runs[i].Rounds[k].Thetas = nil
		}
	}
	if len(left) == 0 {
		return nil
	}
	var round *results.Round // of the last row
	unknown := 0             // rows of it before the first theta
	return devicesTable.each(dir, "", func(run *results.Run, row *results.DeviceRow) error {
		rounds := left[run.ID]
		for len(rounds) > 0 && rounds[0].Round < row.Round {
			rounds = rounds[1:]
		}
		left[run.ID] = rounds
		if len(rounds) == 0 || rounds[0].Round != row.Round {
			return nil
		}
		if round != &rounds[0] {
			round, unknown = &rounds[0], 0
		}
		if round.Thetas == nil && math.IsNaN(row.Theta) {
			unknown++
			return nil
		}
		for ; unknown > 0; unknown-- {
			round.Thetas = append(round.Thetas, math.NaN())
		}
		round.Thetas = append(round.Thetas, row.Theta)
		return nil
	})
}

// lastClients collects the values by client of the last round that has any, metric by
// metric. Rows come in the order of runs and rounds.
type lastClients struct {
	runs  []results.Run
	index map[string]int          // of runs, by ID
	rows  [][][]results.ClientRow // by run and metric
}

func newLastClients(runs []results.Run) *lastClients {
	l := &lastClients{runs: runs, index: map[string]int{}, rows: make([][][]results.ClientRow, len(runs))}
	for i := range runs {
		l.index[runs[i].ID] = i
	}
	return l
}

// add adds a row of a run. It replaces rows of the metric in earlier rounds.
func (l *lastClients) add(run int, row *results.ClientRow) {
	for k := range l.rows[run] {
		if own := &l.rows[run][k]; (*own)[0].Split == row.Split && (*own)[0].Name == row.Name {
			if (*own)[0].Round != row.Round {
				*own = (*own)[:0]
			}
			*own = append(*own, *row)
			return
		}
	}
	l.rows[run] = append(l.rows[run], []results.ClientRow{*row})
}

// set sets ByClient of the runs.
func (l *lastClients) set() {
	for i, metrics := range l.rows {
		l.runs[i].ByClient = nil
		for _, rows := range metrics {
			l.runs[i].ByClient = append(l.runs[i].ByClient, rows...)
		}
	}
}
