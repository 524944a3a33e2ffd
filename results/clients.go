package results

// ClientRow is a value of a metric by client in one round of a run.
type ClientRow struct {
	Round  int
	TimeS  float64 // virtual time at the end of the round, seconds
	Client int     // its number, from 0
	Split  string  // of the metric, as in NamedMetric
	Name   string
	Value  float64 // NaN: not known
}
