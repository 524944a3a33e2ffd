// The program of an external model of these tests: a network with one hidden layer in plain loops,
// which shares no code with package mtl. It can also break the protocol in every way.

package experiment_test

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
	"time"

	"fedsim/internal/tools/rng"
)

// twin is the model: values are the weights and biases of the hidden layer, then of the output layer.
type twin struct {
	features, hidden, outputs int
	dtype, mark, fault, log   string
	rows                      string // of the program, as JSON; empty: fedsim has the rows
	idle                      bool   // gradients are not computed
	means                     bool   // it reports no squared losses
	mute                      bool   // it has no losses of rows
	// it has metrics of its own: the share of right predictions, in per cent, and the part
	metrics bool

	twinPlace
	places []twinPlace
	data   map[string]*twinPart
	from   *os.File
	asks   map[string]int
}

// twinPlace is where a request has w, the numbers of rows and the gradient.
type twinPlace struct {
	file     *os.File
	w, g, at int64
	byRow    int64
}

type twinPart struct {
	Rows []int32 `json:"rows"`
	X, Y int64
}

type twinRequest struct {
	Op       string `json:"op"`
	Features int    `json:"features"`
	Outputs  int    `json:"outputs"`
	Client   int    `json:"client"`
	Rows     int    `json:"rows"`
	Weighted bool   `json:"weighted"`
	Seed     uint64 `json:"seed"`
	Part     string `json:"part"`
	Clients  any    `json:"clients"`
	Place    int    `json:"place"`
	Files    []struct {
		Path       string
		Rows, W, G int64
		ByRow      int64 `json:"by_row"`
	} `json:"files"`
	Data *struct {
		Path                    string
		Train, Test, Validation *twinPart
	} `json:"data"`
}

func serveModel(arguments []string) {
	t := &twin{data: map[string]*twinPart{}, asks: map[string]int{}}
	flags := flag.NewFlagSet("model", flag.ExitOnError)
	flags.IntVar(&t.hidden, "hidden", 4, "")
	flags.StringVar(&t.dtype, "dtype", "float64", "")
	flags.StringVar(&t.mark, "mark", "1", "")
	flags.StringVar(&t.fault, "fault", "", "operation/fault/number of its request")
	flags.StringVar(&t.rows, "rows", "", "")
	flags.StringVar(&t.log, "log", "", "")
	flags.BoolVar(&t.idle, "idle", false, "")
	flags.BoolVar(&t.means, "means", false, "")
	flags.BoolVar(&t.mute, "mute", false, "")
	flags.BoolVar(&t.metrics, "metrics", false, "")
	_ = flags.Parse(arguments)
	if file, ok := strings.CutPrefix(t.mark, "@"); ok {
		text, _ := os.ReadFile(file)
		t.mark = string(text)
	}
	if t.log != "" {
		f, _ := os.OpenFile(t.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		_, _ = fmt.Fprintln(f, os.Getpid())
		_ = f.Close()
	}
	lines := bufio.NewReader(os.Stdin)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var q twinRequest
		if err := json.Unmarshal(line, &q); err != nil {
			panic(err)
		}
		t.asks[q.Op]++
		answer := t.answer(&q)
		text, err := json.Marshal(answer)
		if err != nil {
			panic(err)
		}
		fmt.Println(t.broken(&q, string(text)))
	}
}

func (t *twin) answer(q *twinRequest) object {
	if len(t.places) > 0 {
		t.twinPlace = t.places[q.Place]
	}
	switch q.Op {
	case "hello":
		t.features, t.outputs = q.Features, q.Outputs
		about := object{
			"v": 1, "name": "twin", "fingerprint": t.mark, "values": t.values(), "dtype": t.dtype,
			// as docs/methods.md counts
			"row_flops":         4*t.features*t.hidden + 2*t.hidden + 6*t.hidden*t.outputs + 2*t.outputs,
			"row_traffic_bytes": 8 * (2*(t.features+t.hidden) + 2*(t.hidden+t.outputs) + t.hidden),
			"squared_losses":    !t.means,
		}
		if t.metrics {
			about["metrics"] =
				json.RawMessage(`[{"name":"right","better":"higher","unit":"%"},{"name":"auc","better":"lower"}]`)
		}
		if t.rows != "" {
			t.features, t.outputs = 2, 2
			about["values"], about["rows"] = t.values(), json.RawMessage(t.rows)
		}
		if !t.mute {
			about["predictions"] = t.outputs
		}
		shape := func(name string, dims ...int) object { return object{"name": name, "shape": dims} }
		about["shapes"] = []object{
			shape("hidden.weight", t.hidden, t.features), shape("hidden.bias", t.hidden),
			shape("out.weight", t.outputs, t.hidden), shape("out.bias", t.outputs),
		}
		return about
	case "open":
		for _, f := range q.Files {
			file, err := os.OpenFile(f.Path, os.O_RDWR, 0)
			if err != nil {
				return object{"error": err.Error()}
			}
			t.places = append(t.places, twinPlace{file, f.W, f.G, f.Rows, f.ByRow})
		}
		if q.Data != nil {
			var err error
			if t.from, err = os.Open(q.Data.Path); err != nil {
				return object{"error": err.Error()}
			}
			t.data["train"], t.data["test"], t.data["validation"] = q.Data.Train, q.Data.Test, q.Data.Validation
		}
		return object{}
	case "init":
		t.write(t.w, t.initial(q.Seed))
		return object{}
	case "gradient":
		if t.idle {
			return object{"loss": 1}
		}
		rows := make([]int32, q.Rows)
		t.read(t.file, t.at, rows)
		var weights []float64
		if q.Weighted {
			weights = make([]float64, len(rows))
			t.read(t.file, t.byRow, weights)
		}
		loss, g := t.gradient(q.Client, rows, weights, t.weights())
		t.write(t.g, g)
		return object{"loss": number(loss)}
	case "losses":
		w, rows := t.weights(), t.rowsOf(q.Part, q.Client)
		var table []float64
		for i := range rows {
			x, y := t.row(q.Part, q.Client, i)
			_, p := t.forward(x, w)
			table = append(append(table, -math.Log(p[y]), float64(y)), p...)
		}
		t.write64(t.byRow, table)
		return object{"rows": rows}
	case "evaluate":
		w := t.weights()
		var rows []int
		var losses, errors, squares, right, parts []any
		for _, k := range q.Clients.([]any) {
			n, loss, square, wrong := t.measure(q.Part, int(k.(float64)), w)
			rows, losses, errors, squares = append(rows, n), append(losses, number(loss)), append(errors, wrong),
				append(squares, number(square))
			right = append(right, number(loss*0+100*float64(n-wrong)/float64(n)))
			parts = append(parts, float64(len(q.Part))/16)
		}
		about := object{"rows": rows, "losses": losses, "errors": errors}
		if !t.means {
			about["squared_losses"] = squares
		}
		if t.metrics {
			about["metrics"] = object{"right": right, "auc": parts}
		}
		return about
	default:
		return object{"error": "unknown operation " + q.Op}
	}
}

// number is a number in JSON: null for NaN.
func number(x float64) any {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return x
}

func (t *twin) values() int { return t.hidden*(t.features+1) + t.outputs*(t.hidden+1) }

// initial is that of the network of fedsim: U(-b, b) with b = sqrt(6/(in + out)), biases 0.
func (t *twin) initial(seed uint64) []float64 {
	w := make([]float64, t.values())
	at := 0
	for i, layer := range [][2]int{{t.features, t.hidden}, {t.hidden, t.outputs}} {
		stream := rng.New(seed, rng.Initial, -1, i)
		bound := math.Sqrt(6 / float64(layer[0]+layer[1]))
		for range layer[0] * layer[1] {
			w[at] = bound * (2*stream.Float64() - 1)
			at++
		}
		at += layer[1]
	}
	return w
}

// row returns the features and the class of a row of a client.
func (t *twin) row(part string, client, i int) (x []float64, y int) {
	x = make([]float64, t.features)
	if t.from == nil { // rows of the program
		x[0], x[1] = math.Sin(float64(7*client+i)), math.Cos(float64(3*i+client))
		return x, (client + i) % 2
	}
	p := t.data[part]
	for _, n := range p.Rows[:client] {
		i += int(n)
	}
	if t.dtype == "float32" {
		narrow := make([]float32, t.features)
		t.read(t.from, p.X+int64(4*i*t.features), narrow)
		for j, v := range narrow {
			x[j] = float64(v)
		}
	} else {
		t.read(t.from, p.X+int64(8*i*t.features), x)
	}
	var class [1]float64
	t.read(t.from, p.Y+int64(8*i), class[:])
	return x, int(class[0])
}

// forward returns the hidden activations and the probabilities of the classes.
func (t *twin) forward(x, w []float64) (h, p []float64) {
	d, n, c := t.features, t.hidden, t.outputs
	h, p = make([]float64, n), make([]float64, c)
	above := w[n*(d+1):]
	for j := range h {
		a := w[n*d+j]
		for k, v := range x {
			a += w[j*d+k] * v
		}
		h[j] = math.Max(0, a)
	}
	most := math.Inf(-1)
	for j := range p {
		p[j] = above[c*n+j]
		for k, v := range h {
			p[j] += above[j*n+k] * v
		}
		most = math.Max(most, p[j])
	}
	sum := 0.0
	for j := range p {
		p[j] = math.Exp(p[j] - most)
		sum += p[j]
	}
	for j := range p {
		p[j] /= sum
	}
	return h, p
}

// gradient returns the mean loss of rows, each times its weight, and its gradient; nil weights are 1.
func (t *twin) gradient(client int, rows []int32, weights, w []float64) (loss float64, g []float64) {
	d, n, c := t.features, t.hidden, t.outputs
	g = make([]float64, len(w))
	for k, i := range rows {
		x, y := t.row("train", client, int(i))
		h, p := t.forward(x, w)
		weight := 1.0
		if weights != nil {
			weight = weights[k]
		}
		loss -= weight * math.Log(p[y])
		p[y]--
		for j := range p {
			p[j] *= weight
			g[n*(d+1)+c*n+j] += p[j]
			for k := range h {
				g[n*(d+1)+j*n+k] += p[j] * h[k]
			}
		}
		for k := range h {
			back := 0.0
			for j := range p {
				back += p[j] * w[n*(d+1)+j*n+k]
			}
			if h[k] == 0 {
				continue
			}
			g[n*d+k] += back
			for j, v := range x {
				g[k*d+j] += back * v
			}
		}
	}
	for j := range g {
		g[j] /= float64(len(rows))
	}
	return loss / float64(len(rows)), g
}

// rowsOf returns the rows of a client.
func (t *twin) rowsOf(part string, client int) int {
	if t.from == nil { // rows of the program
		return 5
	}
	return int(t.data[part].Rows[client])
}

func (t *twin) measure(part string, client int, w []float64) (rows int, loss, square float64, wrong int) {
	if rows = t.rowsOf(part, client); rows == 0 {
		return 0, 0, 0, 0
	}
	for i := range rows {
		x, y := t.row(part, client, i)
		_, p := t.forward(x, w)
		of := -math.Log(p[y])
		loss += of
		square += of * of
		best := 0
		for j := range p {
			if p[j] > p[best] {
				best = j
			}
		}
		if best != y {
			wrong++
		}
	}
	return rows, loss / float64(rows), square / float64(rows), wrong
}

func (t *twin) weights() []float64 {
	w := make([]float64, t.values())
	if t.dtype == "float64" {
		t.read(t.file, t.w, w)
		return w
	}
	narrow := make([]float32, len(w))
	t.read(t.file, t.w, narrow)
	for i, v := range narrow {
		w[i] = float64(v)
	}
	return w
}

func (t *twin) write(at int64, x []float64) {
	for i, v := range x {
		b := binary.NativeEndian.AppendUint64(nil, math.Float64bits(v))
		if t.dtype == "float32" {
			b = binary.NativeEndian.AppendUint32(nil, math.Float32bits(float32(v)))
		}
		if _, err := t.file.WriteAt(b, at+int64(i*len(b))); err != nil {
			panic(err)
		}
	}
}

// write64 writes numbers to a byte of the file, whatever the type of the model.
func (t *twin) write64(at int64, x []float64) {
	for i, v := range x {
		b := binary.NativeEndian.AppendUint64(nil, math.Float64bits(v))
		if _, err := t.file.WriteAt(b, at+int64(i*len(b))); err != nil {
			panic(err)
		}
	}
}

// read reads numbers from a byte of a file.
func (t *twin) read(f *os.File, at int64, into any) {
	b := make([]byte, binary.Size(into))
	if _, err := f.ReadAt(b, at); err != nil {
		panic(err)
	}
	if _, err := binary.Decode(b, binary.NativeEndian, into); err != nil {
		panic(err)
	}
}

// broken returns the answer with the fault that is asked for, if this is its place.
func (t *twin) broken(q *twinRequest, text string) string {
	var op, fault string
	var number int
	if n, _ := fmt.Sscanf(strings.ReplaceAll(t.fault, "/", " "), "%s %s %d", &op, &fault, &number); n < 3 ||
		op != q.Op || number != t.asks[op] {
		return text
	}
	switch fault {
	case "exit":
		fmt.Fprintln(os.Stderr, "out of memory, said the model")
		os.Exit(7)
	case "hang":
		time.Sleep(time.Hour)
	case "garbage":
		return "Traceback (most recent call last):"
	case "error":
		return `{"error":"shape mismatch\nsecond line"}`
	case "nan":
		t.write(t.g+8*int64(t.features+1), []float64{math.NaN()})
		return `{"loss":null}`
	case "cut":
		if err := t.file.Truncate(t.g); err != nil {
			panic(err)
		}
	case "scribble": // over all of its own file, and then the right answer
		t.write(0, make([]float64, (int(t.g)+8*t.values())/8))
		_, g := t.gradient(q.Client, []int32{0}, nil, make([]float64, t.values()))
		t.write(t.g, g)
	case "values":
		return strings.Replace(text, `"values":`, `"values":12500000000,"x":`, 1)
	case "shapes":
		return strings.Replace(text, `"shapes":[`, `"shapes":[{"name":"a","shape":[4,10]},{"name":"b","shape":[]},`, 1)
	case "dtype":
		return strings.Replace(text, `"float64"`, `"float16"`, 1)
	case "field":
		return strings.Replace(text, "{", `{"gradient":[1],`, 1)
	case "loss":
		return strings.Replace(text, `"loss":`, `"loss":NaN,"x":`, 1)
	case "rows":
		return strings.Replace(text, `"rows":[`, `"rows":[1`, 1)
	case "metric":
		return strings.Replace(text, `"right":[`, `"left":[`, 1)
	case "null":
		return strings.Replace(text, `"auc":[0.3125,`, `"auc":[null,`, 1)
	case "shorter":
		return strings.Replace(text, `"auc":[0.3125,`, `"auc":[`, 1)
	case "better":
		return strings.Replace(text, `"better":"lower"`, `"better":"up"`, 1)
	case "computed":
		return strings.Replace(text, `"name":"auc"`, `"name":"error"`, 1)
	case "table": // a target that is no class
		t.write64(t.byRow+8, []float64{float64(t.outputs)})
	case "more":
		return strings.Replace(text, `"rows":`, `"rows":9`, 1)
	case "shares":
		t.write64(t.byRow+16, []float64{2})
	case "few":
		return `{"rows":[],"losses":[],"errors":[]}`
	default:
		panic("no fault " + fault)
	}
	return text
}
