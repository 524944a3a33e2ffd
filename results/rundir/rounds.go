package rundir

import (
	"errors"
	"fmt"
	"io/fs"

	"fedsim/results"
)

// roundsTable is the table of all rounds of runs, in their order, without columns of which no round has a value.
func roundsTable(runs []results.Run) rowTable[results.Round] {
	return rowTable[results.Round]{
		name: "rounds", file: roundsFile, columns: results.KnownColumns(runs), keys: results.SweptKeys(runs),
		count: func(s *store) int64 { return int64(len(s.run.Rounds)) },
		rows: func(run *results.Run, each func(*results.Round) error) (err error) {
			for i := 0; i < len(run.Rounds) && err == nil; i++ {
				err = each(&run.Rounds[i])
			}
			return err
		},
	}
}

// metricRow is a value of a metric that a learner declares, or of a statistic over clients.
type metricRow struct {
	Round int
	TimeS float64
	results.NamedValue
}

// metricsTable is the table of all values of declared metrics, in the order of runs, rounds
// and declaration.
var metricsTable = rowTable[metricRow]{
	name: "metrics", file: metricsFile, absent: errNoMetrics,
	remedy: "set run.client_metrics; learners declare their own, and other metrics are in table rounds",
	columns: []results.Column[metricRow]{
		{Kind: results.KeyColumn, Name: "round", Doc: "rounds made so far, as in rounds.parquet",
			Field: func(r *metricRow) any { return &r.Round }},
		{Kind: results.TimeColumn, Name: "time_s", Unit: "s",
			Doc:   "virtual time at the end of the round, as in rounds.parquet",
			Field: func(r *metricRow) any { return &r.TimeS }},
		{Kind: results.KeyColumn, Name: "split",
			Doc:   "rows that the metric is measured on: train, validation, test; null: not said",
			Field: func(r *metricRow) any { return &r.Split }},
		{Kind: results.KeyColumn, Name: "name", Doc: "of the metric; unit and direction are in manifest.json",
			Field: func(r *metricRow) any { return &r.Name }},
		{Kind: results.MetricColumn, Name: "value", Doc: "in the unit of the metric",
			Field: func(r *metricRow) any { return &r.Value }},
	},
	count: func(s *store) (n int64) {
		for i := range s.run.Rounds {
			n += int64(len(s.run.Rounds[i].Metrics))
		}
		return n
	},
	rows: func(run *results.Run, each func(*metricRow) error) error {
		for i := range run.Rounds {
			r := &run.Rounds[i]
			for _, v := range r.Metrics {
				if err := each(&metricRow{r.Round, r.TimeS, v}); err != nil {
					return err
				}
			}
		}
		return nil
	},
}

var errNoMetrics = errors.New("has no metrics that a learner declares, nor statistics over clients")

// storesOf returns runs whose rows they hold.
func storesOf(runs []results.Run) []store {
	stores := make([]store, len(runs))
	for i := range runs {
		stores[i].run = &runs[i]
	}
	return stores
}

// readRuns reads the rows of a table of a directory, with the runs of the manifest that they are of.
func (t *rowTable[R]) readRuns(dir string, m *Manifest, runs []results.Run, add func(*results.Run, *R) error) error {
	if err := m.checkFile(dir, t.file); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s lists it: run %s again", err, manifestFile, scenarioFile)
	} else if err != nil {
		return err
	}
	at := 0
	return t.eachInFile(dir, "", func(of *results.Run, row *R) error {
		for at < len(runs) && runs[at].ID != of.ID {
			at++
		}
		if at == len(runs) {
			return fmt.Errorf("run = %q: must be a run of %s, in its order", of.ID, manifestFile)
		}
		return add(&runs[at], row)
	})
}

// readRounds sets the rounds of the runs of a manifest, without their metrics.
func readRounds(dir string, m *Manifest, runs []results.Run) error {
	rounds := roundsTable(nil)
	rounds.columns = results.RoundColumns
	return rounds.readRuns(dir, m, runs, func(run *results.Run, r *results.Round) error {
		run.Rounds = append(run.Rounds, *r)
		return nil
	})
}

// readMetrics sets the metrics of the rounds of the runs of a manifest.
func readMetrics(dir string, m *Manifest, runs []results.Run) error {
	if m.file(metricsFile) == nil {
		return nil
	}
	var of *results.Run
	at := 0
	return metricsTable.readRuns(dir, m, runs, func(run *results.Run, row *metricRow) error {
		if run != of {
			of, at = run, 0
		}
		for at < len(run.Rounds) && run.Rounds[at].Round != row.Round {
			at++
		}
		if at == len(run.Rounds) {
			return fmt.Errorf("round = %d: must be a round of %s, in its order", row.Round, roundsFile)
		}
		run.Rounds[at].Metrics = append(run.Rounds[at].Metrics, row.NamedValue)
		return nil
	})
}
