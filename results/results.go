// Package results owns the records of a run: [Round], [Run], [DeviceRow], [Metric],
// [Target], and the [Table] that summarizes runs. Package rundir stores them in a run
// directory and reads them back.
//
// It must not know how the numbers are computed, stored or drawn.
package results

import (
	"fmt"
	"math"
	"slices"
)

// Setting is a swept key of a run and its value. Settings of a run are in the order of
// the sweep.
type Setting struct {
	Key   string `json:"key"`   // dotted key, or the name of an axis
	Value string `json:"value"` // as written in the scenario, or the label of a point of an axis
}

// Status of a run.
type Status string

const (
	Done        Status = "done"        // ran to its last round or its stopping rule
	Stalled     Status = "stalled"     // no client can ever respond again
	Interrupted Status = "interrupted" // stopped by the user after its last complete round

	// UnderWay is the status of a run that has not ended, in live progress. No complete
	// run directory has it.
	UnderWay Status = "running"
)

// Reporting is where a run ends, and what tables show of its end.
type Reporting struct {
	StopAt Target `json:"stop_at,omitzero"` // the run ends there; none: it has its whole budget
	// evaluations whose mean stands for the end of the run, but in P; 0 or 1: the last one
	ReportLast int `json:"report_last,omitempty"`
	// that tables and figures show first (run.metric); empty: DefaultMetric
	MainMetric string `json:"metric,omitempty"`
}

// Clocked is what a run took of the real clock.
type Clocked struct {
	WallS float64 // seconds of the real clock
	// ProgramTime is the real time of the program of an external model; nil: the model is another, or it was
	// not measured.
	ProgramTime *ProgramTime
}

// Run is one method at one point of an experiment with one seed. In JSON it is without its numbers.
type Run struct {
	ID         string    `json:"id"` // unique in the directory: experiment/method/point/seed
	Experiment string    `json:"experiment"`
	Method     string    `json:"method"`    // the method's label in the scenario
	Algorithm  string    `json:"algorithm"` // the registered name
	Point      []Setting `json:"point,omitempty"`
	Tuning
	Seed uint64 `json:"seed"`
	Vary Vary   `json:"vary,omitempty"` // varied by the seed; empty: VarySystem
	// the data have real targets: errors are root mean square errors
	Real     bool           `json:"real_targets,omitempty"`
	Data     *DataSet       `json:"data,omitempty"`      // nil: nothing is known that the scenario does not say
	TestRows *TestRows      `json:"test_rows,omitempty"` // nil: there are none, or fedsim does not have them
	External *ExternalModel `json:"external,omitempty"`  // nil: the model is fedsim's own
	Protocol string         `json:"protocol,omitempty"`  // of its rounds (federation.protocol); empty: not known
	// TimeS counts relative units (federation.cost), not seconds
	Relative bool `json:"relative,omitempty"`
	// of a row, that the method minimizes (problem.loss): "hinge, one class against the rest"; empty: a program's own
	Loss string `json:"loss,omitempty"`
	// names the P that the method minimizes, or OwnObjective; empty: not known
	Objective string `json:"objective,omitempty"`
	Status    Status `json:"status"`
	Reason    string `json:"reason,omitempty"` // why the run stalled, empty otherwise
	Reference `json:"-"`
	Hashes    `json:"-"`
	Counts
	Reporting
	Model string `json:"model,omitempty"` // its file in the folder models; empty when it is not stored
	// clients with state at the end, in a lazy population; 0 in others
	Known    int       `json:"known_clients,omitempty"`
	Warnings []Warning `json:"warnings,omitempty"` // what a reader of its numbers must know
	Clocked  `json:"-"`
	// that its learner declares; nil for a learner without named metrics
	Metrics    []NamedMetric `json:"metrics,omitempty"`
	Stragglers *Stragglers   `json:"-"` // nil: theta was not measured
	Rounds     []Round       `json:"-"`

	// ByClient has the values by client of the last round that has any, metric by metric.
	// They may be many: nil unless rundir.AddClients has read them.
	ByClient []ClientRow `json:"-"`
}

// Tuning is what tuning chose for a run, and from what; the zero value without tuning.
type Tuning struct {
	Tuned    []Setting `json:"tuned,omitempty"`    // the chosen options
	Edges    []Edge    `json:"edges,omitempty"`    // options of Tuned whose value is the lowest or highest tried
	Searched []Range   `json:"searched,omitempty"` // values of the options of Tuned that were tried
	Trials   int       `json:"trials,omitempty"`   // candidates that were tried
	Chosen   bool      `json:"chosen,omitempty"`   // candidates were tried under this seed, too: it favors the winner
}

// Reference is the optimum that a run is compared with.
type Reference struct {
	Optimum    float64 // P*; NaN when it was not computed
	OptimumGap float64 // its certified relative gap; NaN likewise
	// AtOptimum has the errors and metrics of the model at the optimum of the run's problem; nil when it is
	// not known, or the method minimizes something else.
	AtOptimum *Round
}

// Hashes identify the results of a run: equal runs have equal hashes.
type Hashes struct {
	EventHash uint64 // of the stream of events
	ModelHash uint64 // of the bits of the final W
}

// Counts are the events and the steps of a run.
type Counts struct {
	Events int64 `json:"events"` // number of events
	Steps  int64 `json:"steps"`  // coordinate steps or rows on all devices, including lost work
	// the option that limits local work, for a method that solves to an accuracy; else empty
	Limit  string `json:"limit,omitempty"`
	Capped int64  `json:"capped,omitempty"` // used updates whose local work reached that limit before its accuracy
}

// ExternalModel is a model whose losses and gradients a program computes.
type ExternalModel struct {
	Program string  `json:"program"`          // identifies the program and its model
	Shapes  []Shape `json:"shapes,omitempty"` // of the values, in their order; nil: the program does not say
}

// Shape is a name of values of an external model, and their shape.
type Shape struct {
	Name string  `json:"name"`
	Dims []int64 `json:"shape"`
}

// ProgramTime is the real time for which the program of an external model was asked, summed over its
// processes.
type ProgramTime struct {
	EvaluateS float64 `json:"evaluate_s"` // seconds of evaluations
	GradientS float64 `json:"gradient_s"` // seconds of gradients
}

// ProgramTimeText says how long the programs of the models of runs were asked; "" if none was.
func ProgramTimeText(runs []Run) string {
	var sum ProgramTime
	for i := range runs {
		if of := runs[i].ProgramTime; of != nil {
			sum.EvaluateS += of.EvaluateS
			sum.GradientS += of.GradientS
		}
	}
	if sum == (ProgramTime{}) {
		return ""
	}
	return fmt.Sprintf("the program of the model took %s for evaluations and %s for gradients",
		HumanTime(sum.EvaluateS), HumanTime(sum.GradientS))
}

// Round is the state after a round. Round 0 is the state before the first round. A value
// that a method does not have (the dual of a primal method), or that was not evaluated
// in the round, is NaN.
type Round struct {
	Outer         int     // coupling updates made so far
	Round         int     // rounds made so far, over all outer iterations
	TimeS         float64 // virtual time at the end of the round, seconds
	Primal        float64 // P(W)
	Dual          float64 // D(alpha)
	Gap           float64 // P + D
	Suboptimality float64 // (P - P*) / |P* - R(0)|; R(0), the terms in Omega alone, is mostly 0
	// Errors by rows: the share of all rows with wrong signs or classes, or the root of the mean of their
	// squared errors when Run.Real. Validation rows are those that choices may look at.
	TrainError, TestError, ValidationError float64
	// Means over clients of the errors of their rows.
	TrainErrorClients, TestErrorClients, ValidationErrorClients float64
	// devices that could be asked when the round began; UnknownCount where nobody counts
	Available    int
	Participants int // devices whose update the server used
	// devices that dropped out, became unavailable or were depleted
	Dropped   int
	Late      int     // devices whose response was late
	Staleness float64 // mean of the updates that the server used; see RoundColumns
	FLOPs     float64 // on all devices, this round
	BytesDown float64 // this round
	BytesUp   float64
	EnergyJ   float64   // all devices, this round
	Values    []float64 // of declared columns; shorter: not known
	// Thetas are the accuracies of the local solves by device, theta_t^h of eq.
	// localSolutionQuality2a: 0 exact, 1 no progress or no update that the server used, more than 1
	// for a method whose update made the subproblem worse, NaN for an update of an earlier round.
	// nil: not measured, or not read; see rundir.AddClients.
	Thetas  []float64
	Metrics []NamedValue // in the order in which they are declared; nil when there are none

	// ClientMetrics are the values by client, and Client returns what else is known of a
	// client, at the end of the round. Observers of a run see them in the round that they are
	// of; the rounds of a finished Run do not hold them. See rundir.ClientWriter.
	ClientMetrics []ClientMetric
	Client        func(client int) ClientFacts
}

// RoundColumns are the columns of rounds.parquet after those that identify the run. Labels of metrics
// are those of Metrics.
var RoundColumns = []Column[Round]{
	{Kind: StateColumn, Name: "outer", Doc: "coupling updates made so far",
		Field: func(r *Round) any { return &r.Outer }},
	{Kind: KeyColumn, Name: "round", Label: "rounds",
		Doc:   "rounds made so far, over all outer iterations; 0 is the state before the first",
		Field: func(r *Round) any { return &r.Round }},
	{Kind: TimeColumn, Name: "time_s", Unit: "s", Label: "virtual time",
		Doc:   "virtual time at the end of the round; relative units where federation.cost is not physical",
		Field: func(r *Round) any { return &r.TimeS }},
	{Kind: MetricColumn, Name: "primal", Doc: "objective P(W)", Field: func(r *Round) any { return &r.Primal }},
	{Kind: MetricColumn, Name: "dual", Doc: "dual objective D(alpha); empty for methods without dual variables",
		Field: func(r *Round) any { return &r.Dual }},
	{Kind: MetricColumn, Name: "gap", Doc: "duality gap P + D", Field: func(r *Round) any { return &r.Gap }},
	{Kind: MetricColumn, Name: Suboptimality, Doc: "(P - P*) / |P* - R(0)|",
		Field: func(r *Round) any { return &r.Suboptimality }},
	{Kind: MetricColumn, Name: "train_error", Doc: "share of all training rows with wrong signs or classes; " +
		"of real targets, the root mean square error of all rows", Field: func(r *Round) any { return &r.TrainError }},
	{Kind: MetricColumn, Name: "test_error", Doc: "the same on test rows",
		Field: func(r *Round) any { return &r.TestError }},
	{Kind: MetricColumn, Name: "validation_error", Doc: "the same on validation rows",
		Field: func(r *Round) any { return &r.ValidationError }},
	{Kind: MetricColumn, Name: "train_error_clients",
		Doc:   "mean over clients of the error on the training rows of each, whatever their number",
		Field: func(r *Round) any { return &r.TrainErrorClients }},
	{Kind: MetricColumn, Name: "test_error_clients", Doc: "the same on test rows",
		Field: func(r *Round) any { return &r.TestErrorClients }},
	{Kind: MetricColumn, Name: "validation_error_clients", Doc: "the same on validation rows",
		Field: func(r *Round) any { return &r.ValidationErrorClients }},
	{Kind: StateColumn, Name: "available", Label: "clients available", Optional: true,
		Doc: "clients that could be selected when the round began: available, and without a response that they still " +
			"owe; empty in round 0, under protocol asynchronous, and where a program chooses the clients itself",
		Field: func(r *Round) any { return &r.Available }},
	{Kind: CostColumn, Name: "participants", Label: "responses used", Doc: "clients whose update the server used",
		Field: func(r *Round) any { return &r.Participants }},
	{Kind: CostColumn, Name: "dropped", Label: "clients dropped",
		Doc:   "clients that dropped out, became unavailable, or whose battery was depleted",
		Field: func(r *Round) any { return &r.Dropped }},
	{Kind: CostColumn, Name: "late", Label: "late responses", Doc: "clients whose response was late",
		Field: func(r *Round) any { return &r.Late }},
	{Kind: StateColumn, Name: "staleness", Label: "staleness of updates", Optional: true,
		Doc: "mean over the updates that the server used of how old each was: by how many rounds it was late; " +
			"without rounds, how many others the server had used since it sent the client the model; empty " +
			"without an update",
		Field: func(r *Round) any { return &r.Staleness }},
	{Kind: CostColumn, Name: "flops", Unit: "FLOP", Label: "work of all devices",
		Doc:   "on all devices in the round, one multiply or one add being 1",
		Field: func(r *Round) any { return &r.FLOPs }},
	{Kind: CostColumn, Name: "bytes_down", Unit: "B", Label: "data sent to devices",
		Doc: "sent to devices in the round", Field: func(r *Round) any { return &r.BytesDown }},
	{Kind: CostColumn, Name: "bytes_up", Unit: "B", Label: "data sent to the server",
		Doc: "sent by devices in the round", Field: func(r *Round) any { return &r.BytesUp }},
	{Kind: CostColumn, Name: "energy_j", Unit: "J", Label: "energy of all devices",
		Doc: "drawn by all devices in the round", Field: func(r *Round) any { return &r.EnergyJ }},
}

// NewRound returns a round whose metrics, and counts that may be unknown, are unknown; the other
// fields are zero.
func NewRound() Round { return newRound }

var newRound = func() (r Round) {
	for i := range RoundColumns {
		if c := &RoundColumns[i]; c.Kind == MetricColumn || c.Optional {
			c.Set(&r, Unknown(c.Type()))
		}
	}
	return r
}()

// Evaluated reports whether the model was evaluated after the round: some metric is known.
func (r *Round) Evaluated() bool {
	return len(r.Metrics) > 0 || slices.ContainsFunc(metrics, func(m Metric) bool { return !math.IsNaN(m.Of(r)) })
}

// Last returns the last round, whose model need not have been evaluated; see LastEvaluated.
func (r *Run) Last() (round Round, ok bool) {
	if n := len(r.Rounds); n > 0 {
		return r.Rounds[n-1], true
	}
	return Round{}, false
}

// LastEvaluated returns the last round after which the model was evaluated; ok is false in timing mode.
func (r *Run) LastEvaluated() (round Round, ok bool) {
	for i := len(r.Rounds) - 1; i >= 0; i-- {
		if r.Rounds[i].Evaluated() {
			return r.Rounds[i], true
		}
	}
	return Round{}, false
}

// Total returns the sums of costs over all rounds; without rounds, optional ones are unknown. The
// other fields are zero.
func (r *Run) Total() Round {
	var sum Round
	for i := range RoundColumns {
		c := &RoundColumns[i]
		if c.Kind != CostColumn {
			continue
		}
		total := Value{typ: c.Type()}
		if c.Optional && len(r.Rounds) == 0 {
			total = Unknown(c.Type())
		}
		for k := range r.Rounds {
			total = total.plus(c.Get(&r.Rounds[k]))
		}
		c.Set(&sum, total)
	}
	return sum
}

// SeedsOf returns the seeds of runs, in their order.
func SeedsOf(runs []Run) (seeds []uint64) {
	for i := range runs {
		seeds = append(seeds, runs[i].Seed)
	}
	slices.Sort(seeds)
	return slices.Compact(seeds)
}

// SweptKeys returns the swept keys of the runs, in the order of their first appearance.
func SweptKeys(runs []Run) []string {
	return settingKeys(runs, func(r *Run) []Setting { return r.Point })
}

// TunedKeys returns the tuned options of the runs, in the order of their first appearance.
func TunedKeys(runs []Run) []string {
	return settingKeys(runs, func(r *Run) []Setting { return r.Tuned })
}

func settingKeys(runs []Run, settings func(*Run) []Setting) []string {
	var keys []string
	for i := range runs {
		for _, s := range settings(&runs[i]) {
			if !slices.Contains(keys, s.Key) {
				keys = append(keys, s.Key)
			}
		}
	}
	return keys
}

// Value returns the value of a swept key, or ok = false when the run does not sweep it.
func (r *Run) Value(key string) (value string, ok bool) { return settingOf(r.Point, key) }

// ValueOf returns the value of a swept key, or of "method"; empty: the run does not sweep it.
func (r *Run) ValueOf(key string) string {
	if key == "method" {
		return r.Method
	}
	v, _ := r.Value(key)
	return v
}

// TunedValue returns the value of a tuned option, or ok = false when it was not tuned.
func (r *Run) TunedValue(key string) (value string, ok bool) { return settingOf(r.Tuned, key) }

func settingOf(settings []Setting, key string) (value string, ok bool) {
	i := slices.IndexFunc(settings, func(s Setting) bool { return s.Key == key })
	if i < 0 {
		return "", false
	}
	return settings[i].Value, true
}
