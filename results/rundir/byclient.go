package rundir

import (
	"errors"

	"fedsim/results"
)

// AddClients sets ByClient of the runs that the clients.parquet of a run directory has. A
// directory without the file has none.
func AddClients(dir string, runs []results.Run) error {
	last := newLastClients(runs)
	err := clientsTable.each(dir, "", func(run string, row *results.ClientRow) error {
		if i, ok := last.index[run]; ok {
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

// AddClients sets ByClient of the runs, which are some of Runs, before clients.parquet exists.
func (w *Writer) AddClients(runs []results.Run) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	last := newLastClients(runs)
	for _, place := range w.placesOfSpools() {
		if i, ok := last.index[w.runs[place].ID]; ok {
			err := w.eachSpool(place, func(row *results.ClientRow) error {
				last.add(i, row)
				return nil
			})
			if err != nil {
				return err
			}
		}
	}
	last.set()
	return nil
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
