package external

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"fedsim/algorithms"
	"fedsim/internal/rooms"
	"fedsim/internal/tools/pipe"
	"fedsim/internal/tools/quote"
)

// version is the version of the protocol.
const version = 1

// The abilities of learners beyond rounds.
const (
	canSave    = "save"
	canReceive = "receive"
	canLoss    = "loss"
	canWeights = "weights"
	canModel   = "model"
	canCoded   = "coded"
)

var abilities = []string{canSave, canReceive, canLoss, canWeights, canModel, canCoded}

// request is a request of any operation. Fields that it does not have are left out.
type request struct {
	Op      string         `json:"op"`
	V       []int          `json:"v,omitzero"`
	Run     int            `json:"run,omitzero"`
	Round   *int           `json:"round,omitzero"`
	ID      string         `json:"id,omitzero"`
	Seed    *uint64        `json:"seed,omitzero"`
	Clients any            `json:"clients,omitzero"` // a list of them; in start, their number
	Rows    []int32        `json:"rows,omitzero"`
	Feature *int           `json:"features,omitzero"`
	Labels  any            `json:"labels,omitzero"` // those of data.Set.Labels, where there are any
	Model   *learned       `json:"model,omitzero"`
	Options jsontext.Value `json:"options,omitzero"`
	Work    []workOrder    `json:"work,omitzero"`
	Client  *int           `json:"client,omitzero"`
	Path    string         `json:"path,omitzero"`
	Weights []float64      `json:"weights,omitzero"`
}

// workOrder asks a client for its local work.
type workOrder struct {
	Client int    `json:"client"`
	Steps  *int   `json:"steps"` // null: as many as it likes
	Seed   uint64 `json:"seed"`
	// Streams are the states of the generators of mini-batches and of the seeds of gradients, for a learner of
	// the problem's model.
	Streams []string `json:"streams,omitzero"`
}

// learned is the model of the problem, which a learner trains and fedsim evaluates.
type learned struct {
	Command     []string `json:"command,omitzero"` // of the program of an external model
	Fingerprint string   `json:"fingerprint,omitzero"`
	Loss        string   `json:"loss,omitzero"` // of a linear model
	rooms.Told
	ValueBytes int         `json:"value_bytes"` // of a number in a message
	Path       string      `json:"path"`        // of a file that begins with the float64 of the model
	Values     int         `json:"values"`
	Coded      *passage    `json:"coded,omitzero"` // with compression
	Data       *dataLayout `json:"data,omitzero"`  // nil: the program has the rows
}

// hello is the answer of a learner that has started.
type hello struct {
	name    string
	can     []string
	metrics []algorithms.NamedMetric
}

var helloFields = pipe.Object[hello]{
	pipe.Required("v",
		func(d *pipe.Decoder, _ *hello) { d.Integer(version, version, "1, the version of the protocol") }),
	pipe.Required("name", func(d *pipe.Decoder, h *hello) { h.name = nameOf(d, "the name of the learner", 100) }),
	pipe.Optional("can", func(d *pipe.Decoder, h *hello) {
		h.can = pipe.List(d, h.can, "a list of abilities", func(d *pipe.Decoder, can *string) {
			if *can = d.Text(); !slices.Contains(abilities, *can) {
				d.Fail("must be one of %q", abilities)
			}
			if slices.Index(h.can, *can) >= 0 {
				d.Fail("has %q twice", *can)
			}
		})
	}),
	pipe.Optional("metrics", func(d *pipe.Decoder, h *hello) {
		h.metrics = pipe.List(d, h.metrics, "a list of metrics", metricFields.Read)
	}),
}

var metricFields = pipe.Object[algorithms.NamedMetric]{
	pipe.Optional("split", func(d *pipe.Decoder, m *algorithms.NamedMetric) { m.Split = d.Text() }),
	pipe.Optional("name", func(d *pipe.Decoder, m *algorithms.NamedMetric) { m.Name = d.Text() }),
	pipe.Optional("better", func(d *pipe.Decoder, m *algorithms.NamedMetric) { m.Better = d.Text() }),
	pipe.Optional("unit", func(d *pipe.Decoder, m *algorithms.NamedMetric) { m.Unit = d.Text() }),
}

// checkShare reports a value of an accuracy, an error or an AUC that is no share. An error of real targets is none.
func checkShare(m algorithms.NamedMetric, real bool, x float64) error {
	most, bounded := map[string]float64{"": 1, "%": 100}[m.Unit]
	if !bounded || m.Name != "accuracy" && m.Name != "auc" && (m.Name != "error" || real) {
		return nil
	}
	const rounding = 1e-6 // of means in single precision
	if x < -rounding*most || x > (1+rounding)*most {
		return fmt.Errorf("%s = %g: must be in [0, %g]", strings.TrimPrefix(m.Split+"_"+m.Name, "_"), x, most)
	}
	return nil
}

// usual is a learner's description of a run that it has started.
type usual struct {
	stepFLOPs float64
	batch     int     // steps of a mini-batch
	traffic   float64 // bytes of memory that a step reads and writes
	down, up  int     // bytes
	oneModel  bool
	local     *localSteps // of a learner of the problem's model
}

// localSteps are the mini-batch steps of a client.
type localSteps struct {
	epochs float64 // passes over its rows; 0: as many as the protocol allows
	batch  int     // rows; 0: all of the client
	update float64 // FLOPs of a step beside those of its gradient
}

var localFields = pipe.Object[localSteps]{
	pipe.Required("epochs", func(d *pipe.Decoder, l *localSteps) { l.epochs = d.Float(0, 1e6, "in [0, 1e6]") }),
	pipe.Required("batch", func(d *pipe.Decoder, l *localSteps) {
		l.batch = int(d.Integer(0, math.MaxInt32, "a number of rows; 0: all of the client"))
	}),
	pipe.Required("update_flops", func(d *pipe.Decoder, l *localSteps) { readFLOPs(d, &l.update) }),
}

var startFields = pipe.Object[usual]{
	pipe.Required("step_flops", func(d *pipe.Decoder, u *usual) {
		u.stepFLOPs = d.Float(math.SmallestNonzeroFloat64, pipe.MostAmount,
			"a number in (0, 1e24]: the most FLOPs of one step")
	}),
	pipe.Required("down_bytes", func(d *pipe.Decoder, u *usual) { readBytes(d, &u.down) }),
	pipe.Required("up_bytes", func(d *pipe.Decoder, u *usual) { readBytes(d, &u.up) }),
	pipe.Optional("batch_steps", func(d *pipe.Decoder, u *usual) {
		u.batch = int(d.Integer(1, math.MaxInt32, "a positive integer: the steps of a mini-batch"))
	}),
	pipe.Optional("step_traffic_bytes", func(d *pipe.Decoder, u *usual) { readTraffic(d, &u.traffic) }),
	pipe.Optional("one_model", func(d *pipe.Decoder, u *usual) { u.oneModel = d.Bool() }),
	pipe.Optional("local", func(d *pipe.Decoder, u *usual) {
		u.local = new(localSteps)
		localFields.Read(d, u.local)
	}),
}

// work is the local work of a client.
type work struct {
	client int
	algorithms.Response
}

var workFields = pipe.Object[work]{
	pipe.Required("client", func(d *pipe.Decoder, w *work) { w.client = int(d.Integer(0, math.MaxInt32, aClient)) }),
	pipe.Required("steps", func(d *pipe.Decoder, w *work) {
		w.Steps = int(d.Integer(0, most, "a whole number of steps in [0, 2^53]"))
	}),
	pipe.Required("flops", func(d *pipe.Decoder, w *work) { readFLOPs(d, &w.FLOPs) }),
	pipe.Required("up_bytes", func(d *pipe.Decoder, w *work) { readBytes(d, &w.Values) }),
	pipe.Optional("batches", func(d *pipe.Decoder, w *work) {
		w.Batches = int(d.Integer(1, math.MaxInt32, "a positive integer of mini-batches"))
	}),
	pipe.Optional("traffic_bytes", func(d *pipe.Decoder, w *work) { readTraffic(d, &w.Traffic) }),
}

var solveFields = pipe.Object[[]work]{
	pipe.Required("work",
		func(d *pipe.Decoder, all *[]work) { *all = pipe.List(d, *all, "a list of work", workFields.Read) }),
}

var evaluateFields = pipe.Object[algorithms.Evaluation]{
	pipe.Optional("metrics", func(d *pipe.Decoder, e *algorithms.Evaluation) {
		e.Values = pipe.List(d, e.Values, "a list of metrics", valueFields.Read)
	}),
	pipe.Optional("model_hash", func(d *pipe.Decoder, e *algorithms.Evaluation) {
		text := d.Text()
		hash, err := strconv.ParseUint(text, 16, 64)
		if e.Hash = hash; text != "" && (err != nil || len(text) != 16) {
			d.Fail("must be 16 hexadecimal digits, not %q", quote.Cut(text))
		}
	}),
	pipe.Optional("clients", func(d *pipe.Decoder, e *algorithms.Evaluation) {
		e.Clients = pipe.List(d, e.Clients, "a list of metrics by client", clientFields.Read)
	}),
}

var valueFields = pipe.Object[algorithms.NamedValue]{
	pipe.Optional("split", func(d *pipe.Decoder, v *algorithms.NamedValue) { v.Split = d.Text() }),
	pipe.Optional("name", func(d *pipe.Decoder, v *algorithms.NamedValue) { v.Name = d.Text() }),
	pipe.Required("value", func(d *pipe.Decoder, v *algorithms.NamedValue) {
		if v.Value = math.NaN(); !d.Null() {
			v.Value = d.Float(-math.MaxFloat64, math.MaxFloat64, "a finite number or null")
		}
	}),
}

var clientFields = pipe.Object[algorithms.ClientMetric]{
	pipe.Optional("split", func(d *pipe.Decoder, m *algorithms.ClientMetric) { m.Split = d.Text() }),
	pipe.Optional("name", func(d *pipe.Decoder, m *algorithms.ClientMetric) { m.Name = d.Text() }),
	pipe.Required("clients", func(d *pipe.Decoder, m *algorithms.ClientMetric) {
		m.Clients = pipe.List(d, m.Clients, "a list of clients",
			func(d *pipe.Decoder, k *int32) { *k = int32(d.Integer(0, math.MaxInt32, aClient)) })
	}),
	pipe.Required("values", func(d *pipe.Decoder, m *algorithms.ClientMetric) { m.Values = numbers(d) }),
}

// The answers of one number or text, and the empty one.
var (
	messageFields = pipe.Object[int]{pipe.Required("down_bytes", readBytes)}
	endFields     = pipe.Object[float64]{pipe.Required("flops", readFLOPs)}
	lossFields    = pipe.Object[[]float64]{
		pipe.Required("losses", func(d *pipe.Decoder, all *[]float64) { *all = numbers(d) }),
	}
	saveFields = pipe.Object[string]{
		pipe.Required("sha256", func(d *pipe.Decoder, digest *string) { *digest = d.Text() }),
	}
	none = reader(pipe.Object[struct{}]{}.Into(new(struct{})))
)

// receipt is the answer to a response.
type receipt struct {
	taken bool
	flops float64
}

var receiveFields = pipe.Object[receipt]{
	pipe.Required("taken", func(d *pipe.Decoder, r *receipt) { r.taken = d.Bool() }),
	pipe.Required("flops", func(d *pipe.Decoder, r *receipt) { readFLOPs(d, &r.flops) }),
}

const aClient = "the number of a client, from 0 on"

func readBytes(d *pipe.Decoder, n *int) {
	*n = int(d.Integer(0, min(most, math.MaxInt), "a whole number of bytes in [0, 2^53]")) // less on 32 bits
}

func readFLOPs(d *pipe.Decoder, x *float64) {
	*x = d.Float(0, pipe.MostAmount, "a number of FLOPs in [0, 1e24]")
}

func readTraffic(d *pipe.Decoder, x *float64) {
	*x = d.Float(0, pipe.MostAmount, "a number of bytes of memory in [0, 1e24]")
}

func numbers(d *pipe.Decoder) []float64 {
	return pipe.List(d, nil, "a list of numbers",
		func(d *pipe.Decoder, x *float64) { *x = d.Float(-math.MaxFloat64, math.MaxFloat64, "a finite number") })
}

// reader reads the line of an answer.
type reader func(d *pipe.Decoder, line []byte) *pipe.Error

// ReportedError is an error that a learner reports.
type ReportedError struct{ Text string }

// Error returns the text in one line.
func (e *ReportedError) Error() string {
	if e.Text == "" {
		return "it reports an error without a text"
	}
	return "it reports: " + quote.Line(e.Text)
}

// reported returns the error that a line reports, if it does.
func reported(line []byte) error {
	var answer struct {
		Error *string `json:"error"`
	}
	if bytes.Contains(line, []byte(`"error"`)) &&
		json.Unmarshal(line, &answer, jsontext.AllowInvalidUTF8(true)) == nil && answer.Error != nil {
		return &ReportedError{*answer.Error}
	}
	return nil
}

// read reads a line. The error names the defect of the line, or is the error that the
// learner reports.
func (r reader) read(d *pipe.Decoder, line []byte) error {
	if err := reported(line); err != nil {
		return err
	}
	switch err := r(d, line); {
	case err == nil:
		return nil
	case err.Field == "" || err.Kind == pipe.Syntax:
		return fmt.Errorf("answers %s: %w", excerpt(line), err)
	default:
		return fmt.Errorf("answers with %w", err)
	}
}

// excerpt returns the start of a line for an error.
func excerpt(line []byte) string {
	const most = 100
	if len(line) > most {
		return fmt.Sprintf("%q...", line[:most])
	}
	return fmt.Sprintf("%q", line)
}
