package external

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"fedsim/algorithms"
	"fedsim/internal/tools/pipe"
	"fedsim/internal/tools/quote"
)

// modelRequest is a request to the program of an external model. Fields that it does not have are
// left out.
type modelRequest struct {
	Op       string       `json:"op"`
	V        []int        `json:"v,omitzero"`
	Clients  any          `json:"clients,omitzero"` // a list of them; in hello, their number
	Features int          `json:"features,omitzero"`
	Outputs  int          `json:"outputs,omitzero"`
	Real     bool         `json:"real,omitzero"`
	Files    []fileLayout `json:"files,omitzero"` // of each place
	Data     *dataLayout  `json:"data,omitzero"`
	Seed     *uint64      `json:"seed,omitzero"`
	Part     string       `json:"part,omitzero"`
	Client   *int         `json:"client,omitzero"`
	Place    *int         `json:"place,omitzero"` // whose file has w and takes the answer
}

// fileLayout says where the slots of a place are, in bytes from the start of its file.
type fileLayout struct {
	Path     string `json:"path"`
	Rows     int64  `json:"rows"`
	MostRows int    `json:"most_rows"`
	W        int64  `json:"w"`
	G        int64  `json:"g"`
	ByRow    int64  `json:"by_row,omitzero"` // 0: the program has no losses of rows
}

// dataLayout says where the rows of fedsim are.
type dataLayout struct {
	Path       string      `json:"path"`
	Features   int         `json:"features"`
	Train      *partLayout `json:"train"`
	Test       *partLayout `json:"test"`
	Validation *partLayout `json:"validation,omitzero"`
}

// partLayout says how many rows the clients of a part have, and where their features and targets are.
type partLayout struct {
	Rows []int32 `json:"rows"`
	X    int64   `json:"x"`
	Y    int64   `json:"y"`
}

// modelHello is the description of an external model by its program.
type modelHello struct {
	name, dtype, fingerprint string
	values                   int
	rowFLOPs, rowTraffic     float64 // bytes of memory
	squares                  bool
	buffers, predictions     int
	rows                     [3][]int32
	shapes                   []Shape // of all values, in their order; nil: it does not say
	metrics                  []algorithms.NamedMetric
}

// mostModelMetrics is the most metrics of a program's own.
const mostModelMetrics = 50

// computed are the names of measures that fedsim has of every model.
var computed = []string{"accuracy", "error", "loss"}

// readMetrics reads the metrics of a program, which have no split: evaluate measures them on each part.
func readMetrics(d *pipe.Decoder, h *modelHello) {
	h.metrics = pipe.List(d, h.metrics, "a list of metrics", metricFields[1:].Read)
	seen := map[string]bool{}
	for _, m := range h.metrics {
		switch {
		case slices.Contains(computed, m.Name):
			d.Fail("has %q: fedsim has this measure of every model; leave it out", m.Name)
		case m.Better != "higher" && m.Better != "lower":
			d.Fail("has %q with better = %q: must be \"higher\" or \"lower\"", m.Name, m.Better)
		case seen[m.Name]:
			d.Fail("has %q twice", m.Name)
		}
		seen[m.Name] = true
	}
	if len(h.metrics) > mostModelMetrics {
		d.Fail("has %d metrics: must be at most %d", len(h.metrics), mostModelMetrics)
	}
}

// Shape is a name of values, such as "conv1.weight", and their shape.
type Shape struct {
	Name string
	Dims []int64
}

// size returns the number of values, as a float that cannot overflow.
func (s *Shape) size() float64 {
	n := 1.0
	for _, d := range s.Dims {
		n *= float64(d)
	}
	return n
}

// nameOf returns the name and the indices of a value of a shape: "conv1.weight"[5,0,2,2], with the quotes.
func (s *Shape) nameOf(i int64) string {
	indices := make([]string, len(s.Dims))
	for j, d := range slices.Backward(s.Dims) {
		indices[j] = strconv.FormatInt(i%d, 10)
		i /= d
	}
	return fmt.Sprintf("%q[%s]", s.Name, strings.Join(indices, ","))
}

var shapeFields = pipe.Object[Shape]{
	pipe.Required("name", func(d *pipe.Decoder, s *Shape) { s.Name = nameOf(d, "the name of values", 200) }),
	pipe.Required("shape", func(d *pipe.Decoder, s *Shape) {
		s.Dims = pipe.List(d, s.Dims, "a list of lengths",
			func(d *pipe.Decoder, n *int64) { *n = d.Integer(1, math.MaxInt32, "a length of at least 1") })
	}),
}

// single reports whether values are float32.
func (h *modelHello) single() bool { return h.dtype == "float32" }

// text describes all that processes of a program must agree on.
func (h *modelHello) text() string {
	return fmt.Sprintf("%q %q, %d values of %s, of which %d have no gradient, %g FLOPs and %g bytes a row, metrics "+
		"%q, %d predictions", h.name, h.fingerprint, h.values, h.dtype, h.buffers, h.rowFLOPs, h.rowTraffic, h.metrics,
		h.predictions)
}

var modelHelloFields = pipe.Object[modelHello]{
	pipe.Required("v",
		func(d *pipe.Decoder, _ *modelHello) { d.Integer(version, version, "1, the version of the protocol") }),
	pipe.Required("name", func(d *pipe.Decoder, h *modelHello) { h.name = nameOf(d, "the name of the model", 100) }),
	pipe.Required("fingerprint", func(d *pipe.Decoder, h *modelHello) {
		h.fingerprint = nameOf(d, "what identifies the code, the libraries and the kind of processor", 300)
	}),
	pipe.Required("values", func(d *pipe.Decoder, h *modelHello) {
		h.values = int(d.Integer(1, math.MaxInt32, "a number of values in [1, 2147483647]"))
	}),
	pipe.Required("dtype", func(d *pipe.Decoder, h *modelHello) {
		if h.dtype = d.Text(); h.dtype != "float32" && h.dtype != "float64" {
			d.Fail("must be \"float32\" or \"float64\"")
		}
	}),
	pipe.Required("row_flops", func(d *pipe.Decoder, h *modelHello) {
		h.rowFLOPs = d.Float(math.SmallestNonzeroFloat64, pipe.MostAmount,
			"a number in (0, 1e24]: the FLOPs of the gradient of a row")
	}),
	pipe.Optional("row_traffic_bytes", func(d *pipe.Decoder, h *modelHello) { readTraffic(d, &h.rowTraffic) }),
	pipe.Optional("squared_losses", func(d *pipe.Decoder, h *modelHello) { h.squares = d.Bool() }),
	pipe.Optional("buffers", func(d *pipe.Decoder, h *modelHello) {
		h.buffers = int(d.Integer(0, math.MaxInt32, "how many values at the end have no gradient"))
	}),
	pipe.Optional("predictions", func(d *pipe.Decoder, h *modelHello) {
		h.predictions = int(d.Integer(1, math.MaxInt32, "how many numbers predict a row"))
	}),
	pipe.Optional("shapes", func(d *pipe.Decoder, h *modelHello) {
		h.shapes = pipe.List(d, h.shapes, "a list of names and shapes", shapeFields.Read)
	}),
	pipe.Optional("metrics", readMetrics),
	pipe.Optional("rows", func(d *pipe.Decoder, h *modelHello) { programRows.Read(d, &h.rows) }),
}

// nameOf reads a text of one line.
func nameOf(d *pipe.Decoder, what string, most int) string {
	text := d.Text()
	if text == "" || text != quote.Line(text) || len(text) > most {
		d.Fail("must be %s, in one line of at most %d bytes", what, most)
	}
	return text
}

// programRows are the rows of a program.
var programRows = pipe.Object[[3][]int32]{
	pipe.Required(partNames[0], func(d *pipe.Decoder, r *[3][]int32) { r[0] = rowsOf(d, 1) }),
	pipe.Required(partNames[1], func(d *pipe.Decoder, r *[3][]int32) { r[1] = rowsOf(d, 0) }),
	pipe.Optional(partNames[2], func(d *pipe.Decoder, r *[3][]int32) { r[2] = rowsOf(d, 0) }),
}

// rowsOf reads the rows of each client, at least so many.
func rowsOf(d *pipe.Decoder, least int64) []int32 {
	return pipe.List(d, []int32{}, "a list of rows, one number for each client", func(d *pipe.Decoder, n *int32) {
		*n = int32(d.Integer(least, math.MaxInt32, "a number of rows"))
	})
}

// measures are how well a model fits the rows of elements.
type measures struct {
	rows                    []int
	losses, errors, squares []float64
	own                     [][]float64 // of each metric
}

// measuresFieldsOf returns the fields of the answer to evaluate of a program with metrics of its own.
func measuresFieldsOf(metrics []algorithms.NamedMetric) pipe.Object[measures] {
	if len(metrics) == 0 {
		return measuresFields
	}
	var own pipe.Object[measures]
	for i, m := range metrics {
		own = append(own, pipe.Required(m.Name, func(d *pipe.Decoder, g *measures) { g.own[i] = losses(d) }))
	}
	return append(slices.Clip(measuresFields), pipe.Required("metrics", func(d *pipe.Decoder, g *measures) {
		g.own = make([][]float64, len(metrics))
		own.Read(d, g)
	}))
}

var measuresFields = pipe.Object[measures]{
	pipe.Required("rows", func(d *pipe.Decoder, g *measures) {
		g.rows = pipe.List(d, g.rows, "a list of rows",
			func(d *pipe.Decoder, n *int) { *n = int(d.Integer(0, math.MaxInt32, "a number of rows")) })
	}),
	pipe.Required("losses", func(d *pipe.Decoder, g *measures) { g.losses = losses(d) }),
	pipe.Required("errors", func(d *pipe.Decoder, g *measures) { g.errors = losses(d) }),
	pipe.Optional("squared_losses", func(d *pipe.Decoder, g *measures) { g.squares = losses(d) }),
}

// lossesFields are those of the answer to losses: how many rows the table has.
var lossesFields = pipe.Object[int]{
	pipe.Required("rows", func(d *pipe.Decoder, n *int) { *n = int(d.Integer(0, math.MaxInt32, "a number of rows")) }),
}

// gradientFields are those of the answer to a gradient.
var gradientFields = pipe.Object[float64]{pipe.Required("loss", readLoss)}

// readLoss reads a loss: null where it is NaN or infinite.
func readLoss(d *pipe.Decoder, x *float64) {
	if *x = math.NaN(); !d.Null() {
		*x = d.Float(-math.MaxFloat64, math.MaxFloat64, "a finite number, or null where it is not finite")
	}
}

func losses(d *pipe.Decoder) []float64 { return pipe.List(d, nil, "a list of numbers", readLoss) }
