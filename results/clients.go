package results

// ClientRow is a value of a metric by client in one round of a run.
type ClientRow struct {
	Round  int
	TimeS  float64 // virtual time at the end of the round, seconds
	Client int     // its number, from 0
	ClientFacts
	Rows  int    // of the split, see ClientMetric
	Split string // of the metric, as in NamedMetric
	Name  string
	Value float64 // NaN: not known
}

// ClientFacts are what a run knows of a client besides its values.
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
