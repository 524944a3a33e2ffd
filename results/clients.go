package results

// ClientRow is a value of a metric by client in one round of a run.
type ClientRow struct {
	Round  int
	TimeS  float64 // virtual time at the end of the round, seconds
	Client int     // its number, from 0
	ClientFacts
	Rows  int    // of the split, see ClientMetric; UnknownCount: not known
	Split string // of the metric, as in NamedMetric
	Name  string
	Value float64 // NaN: not known
}

// ClientColumns are the columns of client_values.parquet after those that identify the run.
var ClientColumns = []Column[ClientRow]{
	{Kind: KeyColumn, Name: "round", Doc: "rounds made so far, as in rounds.parquet",
		Field: func(r *ClientRow) any { return &r.Round }},
	{Kind: TimeColumn, Name: "time_s", Unit: "s",
		Doc:   "virtual time at the end of the round; relative units where federation.cost is not physical",
		Field: func(r *ClientRow) any { return &r.TimeS }},
	{Kind: KeyColumn, Name: "client", Doc: "its number, from 0; that of its device in devices.parquet",
		Field: func(r *ClientRow) any { return &r.Client }},
	{Kind: StateColumn, Name: "class", Doc: "the class of the client in the fleet; null: there are no classes",
		Field: func(r *ClientRow) any { return &r.Class }},
	{Kind: StateColumn, Name: "rows", Optional: true,
		Doc: "rows of the client in the split; its training rows where a learner has the split; null: " +
			"a program that drives the run does not say", Field: func(r *ClientRow) any { return &r.Rows }},
	{Kind: StateColumn, Name: "updates", Doc: "updates of the client that the server took so far",
		Field: func(r *ClientRow) any { return &r.Updates }},
	{Kind: StateColumn, Name: "compute_s", Unit: "s",
		Doc:   "one pass over the client's training rows at its usual speed; null: not known",
		Field: func(r *ClientRow) any { return &r.ComputeS }},
	{Kind: StateColumn, Name: "transfer_s", Unit: "s",
		Doc: "model to the client and update back at the usual rates of its link, without contention; null: " +
			"not known",
		Field: func(r *ClientRow) any { return &r.TransferS }},
	{Kind: KeyColumn, Name: "split",
		Doc:   "rows that the metric is measured on: train, validation, test; null: not said",
		Field: func(r *ClientRow) any { return &r.Split }},
	{Kind: KeyColumn, Name: "name", Doc: "of the metric; unit and direction are in manifest.json",
		Field: func(r *ClientRow) any { return &r.Name }},
	{Kind: MetricColumn, Name: "value", Doc: "in the unit of the metric; null: not known",
		Field: func(r *ClientRow) any { return &r.Value }},
}

// ClientFacts are the facts of a client in a run besides its values.
type ClientFacts struct {
	Class     string  // of the fleet; empty: there are none
	Updates   int     // of the client that the server took so far
	ComputeS  float64 // of one pass over its training rows, at its usual speed; NaN: not known
	TransferS float64 // of the model to the client and of its update back, each alone at usual rates; NaN: not known
}

// Metrics by client that a run computes itself, for methods whose model is linear in what it
// sends.
const (
	ClientError    = "error"    // share of wrong predictions, or root mean square error of real targets
	ClientAccuracy = "accuracy" // share of right predictions
	ClientLoss     = "loss"     // mean loss of the rows
	ClientAUC      = "auc"      // area under the ROC curve, of two classes
)

// ClientMetricNames are the names of these metrics.
var ClientMetricNames = []string{ClientError, ClientAccuracy, ClientLoss, ClientAUC}

// ClientMetricOf returns one of these metrics on the rows of a split.
func ClientMetricOf(split, name string) NamedMetric {
	better := "lower"
	if name == ClientAccuracy || name == ClientAUC {
		better = "higher"
	}
	return NamedMetric{Split: split, Name: name, Better: better}
}
