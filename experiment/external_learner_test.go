// The learner of these tests is a method of package algorithms behind the learner protocol, with
// the arithmetic of the method in fedsim itself. It can also break the protocol in every way.

package experiment_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"testing"

	"fedsim/algorithms"
	"fedsim/config"
	"fedsim/data"
	"fedsim/federation/learning"
	"fedsim/internal/tools/rng"
	"fedsim/internal/tools/state"
	"fedsim/mtl"
)

// TestMain makes the test binary a learner if learnerCommand has started it.
func TestMain(m *testing.M) {
	if len(os.Args) >= 2 && os.Args[1] == "learner-for-tests" {
		serve(os.Stdin, os.Stdout)
		os.Exit(0)
	}
	if len(os.Args) >= 2 && os.Args[1] == "model-for-tests" {
		serveModel(os.Args[2:])
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// options are those of the learner in the scenario.
type options struct {
	Method   string         `json:"method"`
	Options  map[string]any `json:"options"` // of the method
	Tasks    int            `json:"tasks"`   // of the generated data, as are the next
	Features int            `json:"features"`
	RowsMin  int            `json:"rows_min"`
	RowsMax  int            `json:"rows_max"`
	Fault    string         `json:"fault"` // "operation/fault/round"
	Log      string         `json:"log"`   // file that gets a line for each start
}

type request struct {
	Op      string          `json:"op"`
	Run     int             `json:"run"`
	Round   int             `json:"round"`
	ID      string          `json:"id"`
	Seed    uint64          `json:"seed"`
	Clients json.RawMessage `json:"clients"`
	Rows    []int32         `json:"rows"`
	Data    string          `json:"data"`
	Options options         `json:"options"`
	Work    []struct {
		Client int  `json:"client"`
		Steps  *int `json:"steps"`
	} `json:"work"`
	Client  int       `json:"client"`
	Weights []float64 `json:"weights"`
	Path    string    `json:"path"`
}

type object = map[string]any

// run is a run of the method.
type run struct {
	options
	seed    uint64
	problem *mtl.Problem
	method  *algorithms.Method
	coupled mtl.Coupling
	sent    []int // by client, models sent without rounds
}

func serve(in io.Reader, out io.Writer) {
	runs := map[int]*run{}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var q request
		if err := json.Unmarshal(line, &q); err != nil {
			panic(err)
		}
		answer := answer(runs, &q)
		text, err := json.Marshal(answer)
		if err != nil {
			panic(err)
		}
		if r := runs[q.Run]; r != nil {
			text = r.broken(&q, text)
		}
		if q.Op == "finish" {
			delete(runs, q.Run)
		}
		if _, err := out.Write(append(text, '\n')); err != nil {
			return
		}
	}
}

func answer(runs map[int]*run, q *request) any {
	switch q.Op {
	case "hello":
		can := []string{"save", "receive", "loss", "weights"}
		can = slices.DeleteFunc(can, func(a string) bool { return slices.Contains(os.Args[2:], a) })
		return object{"v": 1, "name": "test learner", "can": can,
			"metrics": []object{
				{"split": "test", "name": "error", "better": "lower"},
				{"split": "train", "name": "error", "better": "lower", "unit": ""},
				{"split": "train", "name": "loss", "better": "lower"},
				{"split": "test", "name": "accuracy", "better": "higher"},
			}}
	case "start":
		r, err := start(q)
		if err != nil {
			return object{"error": err.Error()}
		}
		runs[q.Run] = r
		d := 8 * r.problem.Features
		about := &r.method.About
		return object{"step_flops": about.Work.StepFLOPs, "down_bytes": d, "up_bytes": d,
			"one_model": about.Model == algorithms.OneModel}
	}
	r := runs[q.Run]
	if r == nil {
		return object{"error": fmt.Sprintf("%s of run %d, which has not started", q.Op, q.Run)}
	}
	return r.answer(q)
}

func start(q *request) (*run, error) {
	r := &run{options: q.Options, seed: q.Seed}
	if r.Log != "" {
		f, err := os.OpenFile(r.Log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
		if err != nil {
			return nil, err
		}
		if _, err = fmt.Fprintf(f, "%d %d %s\n", os.Getpid(), q.Run, q.ID); err != nil {
			return nil, err
		}
		if err := f.Close(); err != nil {
			return nil, err
		}
	}
	cfg := data.Defaults()
	cfg.Synthetic.Clients, cfg.Synthetic.Features, cfg.Synthetic.RowsMin, cfg.Synthetic.RowsMax = r.Tasks, r.Features,
		r.RowsMin, r.RowsMax
	split, err := data.Prepare(cfg)
	if err != nil {
		return nil, err
	}
	if now := split.Digest(); q.Data != "" && now != q.Data {
		return nil, fmt.Errorf("the rows have digest %s, not %s", now, q.Data)
	}
	if r.problem, err = mtl.NewProblem(mtl.Defaults(), *split); err != nil {
		return nil, err
	}
	if rows := r.problem.RowCounts(); !slices.Equal(rows, q.Rows) {
		return nil, fmt.Errorf("rows = %v: must be %v", q.Rows, rows)
	}
	if r.coupled, err = r.problem.Regularizer.Start(nil, r.problem.Tasks()); err != nil {
		return nil, err
	}
	if r.Method == "" {
		r.Method = "fedavg"
	}
	factory, ok := algorithms.Lookup(r.Method)
	if !ok {
		return nil, fmt.Errorf("no method %s", r.Method)
	}
	o := factory.Options()
	if len(r.Options) > 0 {
		root, err := config.Parse("", []byte("o = "+config.Literal(r.Options)))
		if err != nil {
			return nil, err
		}
		if err := config.Decode(root.Child("o"), "options", o).Err(); err != nil {
			return nil, err
		}
	}
	r.sent = make([]int, len(q.Rows))
	r.method, err = factory.Start(algorithms.Setup{
		Rows: r.problem.RowCounts(), Shape: r.problem.Shape, Problem: r.problem, Coupling: r.coupled, Workers: 1,
	}, o)
	return r, err
}

func (r *run) answer(q *request) any {
	var clients []int
	if q.Clients != nil {
		if err := json.Unmarshal(q.Clients, &clients); err != nil {
			panic(err)
		}
	}
	switch q.Op {
	case "begin":
		sent, _ := r.method.Begin() // no method here fails
		return object{"down_bytes": 8 * sent.Size}
	case "solve":
		var done []object
		for _, w := range q.Work {
			steps := algorithms.NoLimit
			if w.Steps != nil {
				steps = *w.Steps
			}
			number := q.Round - 1
			if q.Round == 0 {
				number = r.sent[w.Client] - 1
			}
			response := r.method.Solve(algorithms.Request{
				Device: w.Client, Steps: steps, Stream: rng.New(r.seed, rng.Solve, w.Client, number),
			})
			done = append(done, object{
				"client": w.Client, "steps": response.Steps, "flops": response.FLOPs, "up_bytes": 8 * response.Values,
			})
		}
		return object{"work": done}
	case "commit":
		for i, client := range clients {
			weight := 1.0
			if q.Weights != nil {
				weight = q.Weights[i]
			}
			r.method.Commit(client, weight)
		}
		return object{}
	case "discard":
		for _, client := range clients {
			r.method.Discard(client)
		}
		return object{}
	case "end":
		flops, _ := r.method.End()
		return object{"flops": flops}
	case "evaluate":
		m := r.method.Model()
		o := r.problem.Evaluate(nil, r.coupled, m.W, m.V, m.Duals)
		var devices []int
		var losses []float64
		for client := range r.problem.Clients() {
			devices, losses = append(devices, client), append(losses, r.loss(client))
		}
		return object{
			"metrics": []object{
				{"split": "test", "name": "error", "value": o.TestError},
				{"split": "train", "name": "error", "value": o.TrainError},
				{"split": "test", "name": "accuracy", "value": 1 - o.TestError},
			},
			"model_hash": fmt.Sprintf("%016x", learning.HashWeights(m.W, r.problem.StoredRows(m.W))),
			"clients":    []object{{"split": "train", "name": "loss", "clients": devices, "values": losses}},
		}
	case "loss":
		losses := []float64{}
		for _, client := range clients {
			losses = append(losses, r.loss(client))
		}
		return object{"losses": losses}
	case "send":
		r.sent[q.Client]++
		size, _ := r.method.Asynchronous.Send(q.Client)
		return object{"down_bytes": 8 * size}
	case "receive":
		taken, flops, _ := r.method.Asynchronous.Receive(q.Client)
		return object{"taken": taken, "flops": flops}
	case "save":
		var b bytes.Buffer
		if err := r.code(state.Writing(&b)); err != nil {
			return object{"error": err.Error()}
		}
		if err := os.WriteFile(q.Path, b.Bytes(), 0o666); err != nil {
			return object{"error": err.Error()}
		}
		sum := sha256.Sum256(b.Bytes())
		return object{"sha256": hex.EncodeToString(sum[:])}
	case "load":
		text, err := os.ReadFile(q.Path)
		if err == nil {
			err = r.code(state.Reading(bytes.NewReader(text)))
		}
		if err != nil {
			return object{"error": err.Error()}
		}
		return object{}
	case "finish":
		return object{}
	default:
		return object{"error": "no operation " + q.Op}
	}
}

func (r *run) loss(client int) float64 {
	return r.problem.LocalLoss(client, mtl.ModelRow(r.method.Model().W, r.problem.TaskOf(client)))
}

func (r *run) code(c *state.Coder) error {
	r.method.Stateful.State(c)
	c.Ints(r.sent)
	return c.Err()
}
