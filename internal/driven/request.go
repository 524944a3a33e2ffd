package driven

import (
	"math"
	"slices"
	"strings"

	"fedsim/engine"
	"fedsim/federation"
	"fedsim/results"
)

// request is a line of the driver.
type request struct {
	op   string
	seen uint32 // names that are there, as bits of fields

	versions []int64
	driver   string
	method   string
	seed     uint64
	step     float64
	notes    map[string]string

	round    int
	epochs   int
	report   float64 // bytes
	kind     string
	policy   bool
	messages []federation.Message

	ids   []int64
	count int
	until engine.Time
	id    int64
	flops float64
	up    float64

	taken   []int64
	metrics []metric
	clients []results.ClientMetric
	named   []results.NamedMetric // the metrics of clients

	state string
	model string
}

// metric is a metric that hello declares, or a value of one in close.
type metric struct {
	results.NamedMetric
	value    float64
	hasValue bool
}

// The names of a request, as bits in the order of fieldNames.
const (
	hasOp = 1 << iota
	hasV
	hasDriver
	hasMethod
	hasSeed
	hasStep
	hasNotes
	hasMetrics
	hasRound
	hasKind
	hasPolicy
	hasMsgs
	hasIDs
	hasCount
	hasUntil
	hasID
	hasFLOPs
	hasUpBytes
	hasTaken
	hasClients
	hasState
	hasModel
	hasEpochs
	hasReport
)

var fieldNames = [...]string{
	"op", "v", "driver", "method", "seed", "step_flops", "notes", "metrics", "round", "kind", "policy", "msgs", "ids", "count", "until_ns",
	"id", "flops", "up_bytes", "taken", "clients", "state", "model_sha256", "epochs", "report_bytes",
}

// operation is an op with the names that its request must and may have.
type operation struct {
	name      string
	must, may uint32
}

const untilFields = hasIDs | hasCount | hasUntil

var operations = []operation{
	{"hello", hasV | hasDriver | hasMethod, hasSeed | hasStep | hasNotes | hasMetrics},
	{"nodes", 0, 0},
	{"select", hasRound, hasEpochs | hasReport},
	{"send", hasRound | hasKind | hasMsgs, 0},
	{"wait", 0, untilFields},
	{"exchange", hasRound | hasKind | hasMsgs, hasPolicy | hasCount | hasUntil},
	{"work", hasID | hasFLOPs | hasUpBytes, 0},
	{"advance", hasUntil, 0},
	{"cancel", hasIDs, 0},
	{"close", hasRound, hasTaken | hasFLOPs | hasMetrics | hasClients},
	{"finish", hasState, hasModel},
}

// operationNames lists the operations for errors.
func operationNames() string {
	names := make([]string, len(operations))
	for i := range operations {
		names[i] = operations[i].name
	}
	return strings.Join(names, ", ")
}

// listed returns the names of bits.
func listed(bits uint32) string {
	var names []string
	for i, name := range fieldNames {
		if bits&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	if names == nil {
		return "none"
	}
	return strings.Join(names, ", ")
}

// Texts of errors, and bounds.
const (
	positive   = "a positive integer"
	wholeBytes = "an integer of bytes in [0, 2^53]"
	nonNegFLOP = "a finite number of FLOPs, not negative"
	nanosecond = "an integer of nanoseconds, not negative"
	mostBytes  = 1 << 53
)

// parse reads a line into r. Slices of r are reused.
func (r *request) parse(c *cursor, line []byte) *Error {
	*r = request{messages: r.messages[:0], ids: r.ids[:0], taken: r.taken[:0], versions: r.versions[:0], until: engine.Never}
	c.reset(line)
	if c.peek() == 0 && c.err == nil {
		c.fail(CodeSyntax, "the line is empty: must be a JSON object")
	}
	if c.open('{', "a JSON object") {
		for c.more('}') {
			r.field(c, c.key())
		}
	}
	if c.err == nil && c.peek() != 0 {
		c.syntax("the end of the line")
	}
	if c.err == nil {
		r.check(c)
	}
	if c.err != nil {
		c.err.op = r.op
		return c.err
	}
	return nil
}

// check requires the names that the operation needs, and no others.
func (r *request) check(c *cursor) {
	if r.seen&hasOp == 0 {
		c.err = &Error{Code: CodeType, Field: "op", Message: "is missing: must be one of " + operationNames()}
		return
	}
	for _, op := range operations {
		if op.name != r.op {
			continue
		}
		if missing := op.must &^ r.seen; missing != 0 {
			name, _, _ := strings.Cut(listed(missing), ",")
			c.err = &Error{Code: CodeType, Field: name, Message: "is missing"}
		}
		if more := r.seen &^ (op.must | op.may | hasOp); more != 0 {
			name, _, _ := strings.Cut(listed(more), ",")
			c.err = &Error{Code: CodeUnknownField, Field: name, Message: "is not a field here: known are " + listed(op.must|op.may)}
		}
		return
	}
	c.err = &Error{Code: CodeUnknownOp, Field: "op", Message: "is unknown: must be one of " + operationNames()}
}

// field reads the value of a name.
func (r *request) field(c *cursor, name []byte) {
	i := slices.Index(fieldNames[:], string(name))
	if i < 0 {
		known := ^uint32(0)
		if i := slices.IndexFunc(operations, func(o operation) bool { return o.name == r.op }); i >= 0 {
			known = operations[i].must | operations[i].may
		}
		c.unknown(name, listed(known))
		return
	}
	bit := uint32(1) << i
	c.enter(fieldNames[i], &r.seen, bit)
	switch bit {
	case hasOp:
		r.op = c.text()
	case hasV:
		r.versions = c.integers(r.versions, "a version")
	case hasDriver:
		r.driver = c.text()
	case hasMethod:
		r.method = c.text()
	case hasSeed:
		r.seed = uint64(c.integer(0, math.MaxInt64, "an integer in [0, 2^63)"))
	case hasStep:
		r.step = c.float(0, nonNegFLOP)
	case hasNotes:
		r.notes = c.texts()
	case hasMetrics:
		r.readMetrics(c)
	case hasRound:
		r.round = int(c.integer(0, math.MaxInt32, "an integer in [0, 2^31)"))
	case hasEpochs:
		r.epochs = int(c.integer(1, math.MaxInt32, positive))
	case hasReport:
		r.report = float64(c.integer(0, 1e9, "an integer in [0, 1e9]"))
	case hasKind:
		if r.kind = c.text(); r.kind == "" {
			c.fail(CodeType, "must not be empty")
		}
	case hasPolicy:
		r.policy = c.bool()
	case hasMsgs:
		r.readMessages(c)
	case hasIDs:
		r.ids = c.integers(r.ids, "an id")
	case hasCount:
		r.count = int(c.integer(1, math.MaxInt32, positive))
	case hasUntil:
		if !c.null() {
			r.until = engine.Time(c.integer(0, math.MaxInt64-1, nanosecond))
		}
	case hasID:
		r.id = c.integer(1, math.MaxInt64, positive)
	case hasFLOPs:
		r.flops = c.float(0, nonNegFLOP)
	case hasUpBytes:
		r.up = float64(c.integer(0, mostBytes, wholeBytes))
	case hasTaken:
		r.taken = c.integers(r.taken, "an id")
	case hasClients:
		r.readClients(c)
	case hasState:
		if r.state = c.text(); r.state != stateDone && r.state != stateFailed {
			c.fail(CodeType, "must be \"done\" or \"failed\"")
		}
	case hasModel:
		if r.model = c.text(); !isSHA256(r.model) {
			c.fail(CodeType, "must be 64 hexadecimal digits")
		}
	}
}

// The states of finish.
const (
	stateDone   = "done"
	stateFailed = "failed"
)

func isSHA256(s string) bool {
	return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == ""
}

// integers appends the positive integers of a list.
func (c *cursor) integers(to []int64, what string) []int64 {
	if c.open('[', "a list") {
		for c.more(']') {
			to = append(to, c.integer(1, math.MaxInt64, what+", a positive integer"))
		}
	}
	return to
}

// texts reads an object of strings.
func (c *cursor) texts() map[string]string {
	m := map[string]string{}
	if c.open('{', "an object of strings") {
		for c.more('}') {
			name := string(c.key())
			var seen uint32
			c.enter(name, &seen, 1)
			if _, twice := m[name]; twice {
				c.fail(CodeSyntax, "must be there once")
			}
			m[name] = c.text()
		}
	}
	return m
}

// The names of a message, as bits.
const (
	msgID = 1 << iota
	msgDevice
	msgDown
	msgFLOPs
	msgUp
	msgExpires
)

const messageNames = "id, device, down_bytes, flops, up_bytes, expires_ns"

// readMessages reads the messages of a send.
func (r *request) readMessages(c *cursor) {
	if !c.open('[', "a list of messages") {
		return
	}
	for c.more(']') {
		var m federation.Message
		var seen, null uint32
		if !c.open('{', "a message (an object)") {
			continue
		}
		for c.more('}') {
			switch name := c.key(); string(name) {
			case "id":
				c.enter("id", &seen, msgID)
				m.ID = c.integer(1, math.MaxInt64, positive)
			case "device":
				c.enter("device", &seen, msgDevice)
				m.Device = int(c.integer(0, math.MaxInt32, "the number of a device, an integer from 0 on"))
			case "down_bytes":
				c.enter("down_bytes", &seen, msgDown)
				m.BytesDown = float64(c.integer(0, mostBytes, wholeBytes))
			case "flops":
				c.enter("flops", &seen, msgFLOPs)
				if c.null() {
					null |= msgFLOPs
				} else {
					m.FLOPs = c.float(0, nonNegFLOP)
				}
			case "up_bytes":
				c.enter("up_bytes", &seen, msgUp)
				if c.null() {
					null |= msgUp
				} else {
					m.BytesUp = float64(c.integer(0, mostBytes, wholeBytes))
				}
			case "expires_ns":
				c.enter("expires_ns", &seen, msgExpires)
				if !c.null() {
					m.Expires = engine.Time(c.integer(1, math.MaxInt64-1, "null or a positive integer of nanoseconds"))
				}
			default:
				c.unknown(name, messageNames)
			}
		}
		c.require(seen, msgExpires-1, messageNames)
		if null != 0 && null != msgFLOPs|msgUp {
			c.fail(CodeType, "flops and up_bytes must both be null, or neither")
		}
		m.Undecided = null != 0
		r.messages = append(r.messages, m)
	}
}

// require reports the first name of an object that is missing. The bits are in the order
// of the names.
func (c *cursor) require(seen, must uint32, names string) {
	if missing := must &^ seen; missing != 0 && c.err == nil {
		for i, name := range strings.Split(names, ", ") {
			if missing&(1<<i) != 0 {
				c.fail(CodeType, "%s is missing", name)
				return
			}
		}
	}
}

const metricNames = "split, name, value, better, unit"

// readMetrics reads the metrics of hello and close.
func (r *request) readMetrics(c *cursor) {
	if !c.open('[', "a list of metrics") {
		return
	}
	for c.more(']') {
		var m metric
		var seen uint32
		if !c.open('{', "a metric (an object)") {
			continue
		}
		for c.more('}') {
			switch name := c.key(); string(name) {
			case "split":
				c.enter("split", &seen, 1)
				m.Split = c.text()
			case "name":
				c.enter("name", &seen, 2)
				m.Name = c.text()
			case "value":
				c.enter("value", &seen, 4)
				if m.value, m.hasValue = math.NaN(), true; !c.null() {
					m.value = c.float(-math.MaxFloat64, "a finite number or null")
				}
			case "better":
				c.enter("better", &seen, 8)
				m.Better = c.text()
			case "unit":
				c.enter("unit", &seen, 16)
				m.Unit = c.text()
			default:
				c.unknown(name, metricNames)
			}
		}
		c.require(seen, 3, metricNames)
		r.metrics = append(r.metrics, m)
	}
}

const clientNames = "split, name, devices, values, better, unit"

// readClients reads the metrics by client of close.
func (r *request) readClients(c *cursor) {
	if !c.open('[', "a list of metrics by client") {
		return
	}
	for c.more(']') {
		var m results.ClientMetric
		var of results.NamedMetric
		var seen uint32
		if !c.open('{', "a metric by client (an object)") {
			continue
		}
		for c.more('}') {
			switch name := c.key(); string(name) {
			case "split":
				c.enter("split", &seen, 1)
				of.Split = c.text()
			case "name":
				c.enter("name", &seen, 2)
				of.Name = c.text()
			case "devices":
				c.enter("devices", &seen, 4)
				if c.open('[', "a list of devices") {
					for c.more(']') {
						m.Clients = append(m.Clients, int32(c.integer(0, math.MaxInt32, "the number of a device, an integer from 0 on")))
					}
				}
			case "values":
				c.enter("values", &seen, 8)
				if c.open('[', "a list of numbers") {
					for c.more(']') {
						m.Values = append(m.Values, c.float(-math.MaxFloat64, "a finite number"))
					}
				}
			case "better":
				c.enter("better", &seen, 16)
				of.Better = c.text()
			case "unit":
				c.enter("unit", &seen, 32)
				of.Unit = c.text()
			default:
				c.unknown(name, clientNames)
			}
		}
		c.require(seen, 15, clientNames)
		m.Split, m.Name = of.Split, of.Name
		r.clients, r.named = append(r.clients, m), append(r.named, of)
	}
}
