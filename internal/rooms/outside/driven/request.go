package driven

import (
	"math"
	"slices"
	"strings"

	"fedsim/devices"
	"fedsim/engine"
	"fedsim/federation/session"
	"fedsim/internal/tools/pipe"
	"fedsim/internal/tools/quote"
	"fedsim/results"
)

// request is a line of the driver.
type request struct {
	op   string
	seen uint64 // the fields that are there, as bits of fields

	versions []int64
	program  string
	method   string
	seed     uint64
	step     float64
	notes    map[string]string

	round    int
	epochs   int
	report   float64 // bytes
	kind     string
	policy   bool
	messages []session.Message

	ids   []int64
	count int
	until engine.Time
	id    int64
	work  devices.Work
	up    float64

	taken    []int64
	metrics  []metric
	broken   []int64 // ids of responses that report an error
	warnings []string
	clients  []results.ClientMetric
	named    []results.NamedMetric // the metrics of clients

	state string
	model string
}

// metric is a metric that hello declares, or a value of one in close.
type metric struct {
	results.NamedMetric
	value    float64
	hasValue bool
}

// clientMetric is a metric by client of close.
type clientMetric struct {
	of     results.NamedMetric
	values results.ClientMetric
}

// Texts of errors, and bounds.
const (
	positive   = "a positive integer"
	wholeBytes = "an integer of bytes in [0, 2^53]"
	someFLOPs  = "a number of FLOPs in [0, 1e24]"
	someSteps  = "a number of steps in [0, 1e24]"
	someMemory = "a number of bytes of memory in [0, 1e24]"
	nanosecond = "an integer of nanoseconds, not negative"
	aClient    = "the number of a client, an integer from 0 on"
	mostBytes  = 1 << 53

	mostWarning = 1000 // bytes
)

// fields are the fields of all operations.
var fields = pipe.Object[request]{
	pipe.Optional("op", func(d *pipe.Decoder, r *request) { r.op = d.Text() }),
	pipe.Optional("v", func(d *pipe.Decoder, r *request) { r.versions = integers(d, r.versions, "a version") }),
	pipe.Optional("driver", func(d *pipe.Decoder, r *request) { r.program = d.Text() }),
	pipe.Optional("method", func(d *pipe.Decoder, r *request) { r.method = d.Text() }),
	pipe.Optional("seed", func(d *pipe.Decoder, r *request) {
		r.seed = uint64(d.Integer(0, math.MaxInt64, "an integer in [0, 2^63)"))
	}),
	pipe.Optional("step_flops", func(d *pipe.Decoder, r *request) { r.step = d.Float(0, pipe.MostAmount, someFLOPs) }),
	pipe.Optional("notes", func(d *pipe.Decoder, r *request) { r.notes = d.Texts() }),
	pipe.Optional("metrics", func(d *pipe.Decoder, r *request) {
		r.metrics = pipe.List(d, r.metrics, "a list of metrics", metricFields.Read)
	}),
	pipe.Optional("round", func(d *pipe.Decoder, r *request) {
		r.round = int(d.Integer(0, math.MaxInt32, "an integer in [0, 2^31)"))
	}),
	pipe.Optional("kind", func(d *pipe.Decoder, r *request) {
		if r.kind = d.Text(); r.kind == "" {
			d.Fail("must not be empty")
		}
	}),
	pipe.Optional("policy", func(d *pipe.Decoder, r *request) { r.policy = d.Bool() }),
	pipe.Optional("msgs", func(d *pipe.Decoder, r *request) {
		r.messages = pipe.List(d, r.messages, "a list of messages", readMessage)
	}),
	pipe.Optional("ids", func(d *pipe.Decoder, r *request) { r.ids = integers(d, r.ids, "an id") }),
	pipe.Optional("count", func(d *pipe.Decoder, r *request) { r.count = int(d.Integer(1, math.MaxInt32, positive)) }),
	pipe.Optional("until_ns", func(d *pipe.Decoder, r *request) {
		if !d.Null() {
			r.until = engine.Time(d.Integer(0, math.MaxInt64-1, nanosecond))
		}
	}),
	pipe.Optional("id", func(d *pipe.Decoder, r *request) { r.id = d.Integer(1, math.MaxInt64, positive) }),
	pipe.Optional("flops", func(d *pipe.Decoder, r *request) { r.work.FLOPs = d.Float(0, pipe.MostAmount, someFLOPs) }),
	pipe.Optional("steps", func(d *pipe.Decoder, r *request) { r.work.Steps = d.Float(0, pipe.MostAmount, someSteps) }),
	pipe.Optional("traffic_bytes",
		func(d *pipe.Decoder, r *request) { r.work.Traffic = d.Float(0, pipe.MostAmount, someMemory) }),
	pipe.Optional("up_bytes",
		func(d *pipe.Decoder, r *request) { r.up = float64(d.Integer(0, mostBytes, wholeBytes)) }),
	pipe.Optional("failed", func(d *pipe.Decoder, r *request) { r.broken = integers(d, r.broken, "an id") }),
	pipe.Optional("warnings", func(d *pipe.Decoder, r *request) {
		r.warnings = pipe.List(d, r.warnings, "a list of texts", func(d *pipe.Decoder, text *string) {
			if *text = d.Text(); *text == "" || *text != quote.Line(*text) || len(*text) > mostWarning {
				d.Fail("must be text in one line of at most %d bytes", mostWarning)
			}
		})
	}),
	pipe.Optional("taken", func(d *pipe.Decoder, r *request) { r.taken = integers(d, r.taken, "an id") }),
	pipe.Optional("clients", func(d *pipe.Decoder, r *request) {
		for _, m := range pipe.List(d, []clientMetric(nil), "a list of metrics by client", clientFields.Read) {
			m.values.Split, m.values.Name = m.of.Split, m.of.Name
			if m.values.Rows == nil { // the rows of the scenario are not those of the driver
				m.values.Rows = slices.Repeat([]int32{results.UnknownCount}, len(m.values.Values))
			}
			r.clients, r.named = append(r.clients, m.values), append(r.named, m.of)
		}
	}),
	pipe.Optional("state", func(d *pipe.Decoder, r *request) {
		if r.state = d.Text(); r.state != stateDone && r.state != stateFailed {
			d.Fail("must be \"done\" or \"failed\"")
		}
	}),
	pipe.Optional("model_sha256", func(d *pipe.Decoder, r *request) {
		if r.model = d.Text(); !isSHA256(r.model) {
			d.Fail("must be 64 hexadecimal digits")
		}
	}),
	pipe.Optional("epochs",
		func(d *pipe.Decoder, r *request) { r.epochs = int(d.Integer(1, math.MaxInt32, positive)) }),
	pipe.Optional("report_bytes", func(d *pipe.Decoder, r *request) {
		r.report = float64(d.Integer(0, 1e9, "an integer in [0, 1e9]"))
	}),
}

// Fields that the engine asks for.
var (
	hasOp     = fields.Bits("op")
	hasSeed   = fields.Bits("seed")
	hasIDs    = fields.Bits("ids")
	hasCount  = fields.Bits("count")
	hasUntil  = fields.Bits("until_ns")
	hasReport = fields.Bits("report_bytes")
)

// operation is an op with the fields that its request must and may have.
type operation struct {
	name      string
	must, may uint64
}

var operations = []operation{
	{"hello", fields.Bits("v", "driver", "method"), fields.Bits("seed", "step_flops", "notes", "metrics")},
	{"available", 0, 0},
	{"select", fields.Bits("round"), fields.Bits("epochs", "report_bytes")},
	{"send", fields.Bits("round", "kind", "msgs"), 0},
	{"wait", 0, fields.Bits("ids", "count", "until_ns")},
	{"exchange", fields.Bits("round", "kind", "msgs"), fields.Bits("policy", "count", "until_ns")},
	{"work", fields.Bits("id", "flops", "up_bytes"), fields.Bits("steps", "traffic_bytes")},
	{"advance", fields.Bits("until_ns"), 0},
	{"cancel", fields.Bits("ids"), 0},
	{"close", fields.Bits("round"), fields.Bits("taken", "failed", "flops", "metrics", "clients")},
	{"finish", fields.Bits("state"), fields.Bits("model_sha256", "warnings")},
}

func operationOf(name string) (operation, bool) {
	i := slices.IndexFunc(operations, func(o operation) bool { return o.name == name })
	if i < 0 {
		return operation{}, false
	}
	return operations[i], true
}

// operationNames lists the operations for errors.
func operationNames() string {
	names := make([]string, len(operations))
	for i := range operations {
		names[i] = operations[i].name
	}
	return strings.Join(names, ", ")
}

// parse reads a line into r. Slices of r are reused.
func (r *request) parse(d *pipe.Decoder, line []byte) *Error {
	*r = request{messages: r.messages[:0], ids: r.ids[:0], taken: r.taken[:0], versions: r.versions[:0],
		until: engine.Never}
	seen, failed := fields.Decode(d, line, r)
	r.seen = seen
	op, known := operationOf(r.op)
	if failed == nil {
		if failed = r.check(op, known); failed == nil {
			return nil
		}
	} else if known && failed.Kind == pipe.UnknownField && !strings.ContainsAny(failed.Field, ".[") {
		failed.Message = op.unknown()
	}
	return &Error{Code: Code(failed.Kind), Field: failed.Field, Message: failed.Message, op: r.op}
}

// check requires the fields that the operation needs, and no others.
func (r *request) check(op operation, known bool) *pipe.Error {
	missing, more := op.must&^r.seen, r.seen&^(op.must|op.may|hasOp)
	switch {
	case r.seen&hasOp == 0:
		return &pipe.Error{Kind: pipe.Type, Field: "op", Message: "is missing: must be one of " + operationNames()}
	case !known:
		return &pipe.Error{Kind: pipe.Kind(CodeUnknownOp), Field: "op",
			Message: "is unknown: must be one of " + operationNames()}
	case more != 0:
		return &pipe.Error{Kind: pipe.UnknownField, Field: fields.Names(more)[0], Message: op.unknown()}
	case missing != 0:
		return &pipe.Error{Kind: pipe.Type, Field: fields.Names(missing)[0], Message: "is missing"}
	}
	return nil
}

// unknown is the message of an error about a field that the operation does not have.
func (o operation) unknown() string { return pipe.Unknown(fields.Names(o.must | o.may)) }

// The states of finish.
const (
	stateDone   = "done"
	stateFailed = "failed"
)

func isSHA256(s string) bool {
	return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == ""
}

func integers(d *pipe.Decoder, to []int64, what string) []int64 {
	return pipe.List(d, to, "a list", func(d *pipe.Decoder, n *int64) {
		*n = d.Integer(1, math.MaxInt64, what+", a positive integer")
	})
}

// messageFields are the fields of a message. A size that is null is NaN.
var messageFields = pipe.Object[session.Message]{
	pipe.Required("id", func(d *pipe.Decoder, m *session.Message) { m.ID = d.Integer(1, math.MaxInt64, positive) }),
	pipe.Required("client", func(d *pipe.Decoder, m *session.Message) {
		m.Client = int(d.Integer(0, math.MaxInt32, aClient))
	}),
	pipe.Required("down_bytes", func(d *pipe.Decoder, m *session.Message) {
		m.BytesDown = float64(d.Integer(0, mostBytes, wholeBytes))
	}),
	pipe.Required("flops", func(d *pipe.Decoder, m *session.Message) {
		if m.FLOPs = math.NaN(); !d.Null() {
			m.FLOPs = d.Float(0, pipe.MostAmount, someFLOPs)
		}
	}),
	pipe.Required("up_bytes", func(d *pipe.Decoder, m *session.Message) {
		if m.BytesUp = math.NaN(); !d.Null() {
			m.BytesUp = float64(d.Integer(0, mostBytes, wholeBytes))
		}
	}),
	pipe.Optional("steps",
		func(d *pipe.Decoder, m *session.Message) { m.Steps = d.Float(0, pipe.MostAmount, someSteps) }),
	pipe.Optional("traffic_bytes",
		func(d *pipe.Decoder, m *session.Message) { m.Traffic = d.Float(0, pipe.MostAmount, someMemory) }),
	pipe.Optional("expires_ns", func(d *pipe.Decoder, m *session.Message) {
		if !d.Null() {
			m.Expires = engine.Time(d.Integer(1, math.MaxInt64-1, "null or a positive integer of nanoseconds"))
		}
	}),
}

func readMessage(d *pipe.Decoder, m *session.Message) {
	messageFields.Read(d, m)
	if m.Undecided = math.IsNaN(m.FLOPs); m.Undecided != math.IsNaN(m.BytesUp) {
		d.Fail("flops and up_bytes must both be null, or neither")
	}
	if m.Undecided {
		if m.Steps != 0 || m.Traffic != 0 {
			d.Fail("steps and traffic_bytes must be left out where flops is null: they come with \"work\"")
		}
		m.Work, m.BytesUp = devices.Work{}, 0
	}
}

// metricFields are the fields of a metric of hello and close. A value that is null is NaN.
var metricFields = pipe.Object[metric]{
	pipe.Required("split", func(d *pipe.Decoder, m *metric) { m.Split = d.Text() }),
	pipe.Required("name", func(d *pipe.Decoder, m *metric) { m.Name = d.Text() }),
	pipe.Optional("value", func(d *pipe.Decoder, m *metric) {
		if m.value, m.hasValue = math.NaN(), true; !d.Null() {
			m.value = d.Float(-math.MaxFloat64, math.MaxFloat64, "a finite number or null")
		}
	}),
	pipe.Optional("better", func(d *pipe.Decoder, m *metric) { m.Better = d.Text() }),
	pipe.Optional("unit", func(d *pipe.Decoder, m *metric) { m.Unit = d.Text() }),
}

var clientFields = pipe.Object[clientMetric]{
	pipe.Required("split", func(d *pipe.Decoder, m *clientMetric) { m.of.Split = d.Text() }),
	pipe.Required("name", func(d *pipe.Decoder, m *clientMetric) { m.of.Name = d.Text() }),
	pipe.Required("clients", func(d *pipe.Decoder, m *clientMetric) {
		m.values.Clients = pipe.List(d, m.values.Clients, "a list of clients", func(d *pipe.Decoder, k *int32) {
			*k = int32(d.Integer(0, math.MaxInt32, aClient))
		})
	}),
	pipe.Required("values", func(d *pipe.Decoder, m *clientMetric) {
		m.values.Values = pipe.List(d, m.values.Values, "a list of numbers", func(d *pipe.Decoder, x *float64) {
			*x = d.Float(-math.MaxFloat64, math.MaxFloat64, "a finite number")
		})
	}),
	pipe.Optional("rows", func(d *pipe.Decoder, m *clientMetric) {
		m.values.Rows = pipe.List(d, m.values.Rows, "a list of rows", func(d *pipe.Decoder, n *int32) {
			if *n = results.UnknownCount; !d.Null() {
				*n = int32(d.Integer(0, math.MaxInt32, "a number of rows or null"))
			}
		})
	}),
	pipe.Optional("better", func(d *pipe.Decoder, m *clientMetric) { m.of.Better = d.Text() }),
	pipe.Optional("unit", func(d *pipe.Decoder, m *clientMetric) { m.of.Unit = d.Text() }),
}
