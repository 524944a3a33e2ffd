package command

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"fedsim/internal/tools/elementary"
)

// scalarLearner is a learner of a single number, which federated averaging moves to the mean of
// the clients' numbers. It needs no data. Each client draws noise and counts its commits.
// Args are its faults, by which it breaks the rules of the protocol; "log=FILE", a file
// that gets its process id; and "gate=FILE": the learner makes FILE.waiting in round 5, and
// waits there until FILE exists.
func scalarLearner(args []string) {
	s := &scalar{faults: args, runs: map[int]*scalarRun{}}
	for _, arg := range args {
		if path, ok := strings.CutPrefix(arg, "log="); ok {
			if err := os.WriteFile(path, fmt.Appendln(nil, os.Getpid()), 0o666); err != nil {
				panic(err)
			}
		}
		if path, ok := strings.CutPrefix(arg, "gate="); ok {
			s.gate = path
		}
	}
	if s.has("chatty") {
		fmt.Println("Loading the data ...")
	}
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			break
		}
		fmt.Println(s.answer(line))
	}
	for s.has("stays") {
		time.Sleep(time.Hour)
	}
}

type scalar struct {
	faults []string
	gate   string
	runs   map[int]*scalarRun
}

func (s *scalar) has(fault string) bool { return slices.Contains(s.faults, fault) }

// scalarRun is its state; the exported fields are saved.
type scalarRun struct {
	Seed      uint64
	Model     float64
	Counts    []int           // commits of each client
	Tentative map[int]float64 // by client
	Sent      map[int]float64 // the model that a client has, without rounds
	Sum       float64         // of committed models, weighted
	Weight    float64         // of these
	Drawn     int             // random numbers drawn by a fault
	step      float64
	asked     int // lines of this round
}

// target is the number of a client.
func target(client int) float64 { return float64(client + 1) }

type scalarRequest struct {
	Op      string
	Run     int
	Round   int
	Seed    uint64
	Clients json.RawMessage
	Client  int
	Weights []float64
	Path    string
	Options struct {
		Step *float64
	}
	Work []struct {
		Client int
		Steps  *int
		Seed   uint64
	}
}

// answer returns the response to a request.
func (s *scalar) answer(line []byte) string {
	var q scalarRequest
	if err := json.Unmarshal(line, &q); err != nil {
		panic(err)
	}
	if s.has("strict") && strings.Contains(string(line), "later") {
		return `{"error":"unknown field"}`
	}
	r := s.runs[q.Run]
	switch q.Op {
	case "hello":
		can := `"save","receive","loss","weights"`
		if s.has("rounds-only") {
			can = ""
		}
		hello := `{"v":1,"name":"scalar","can":[` + can + `],"metrics":[{"split":"train","name":"loss",` +
			`"better":"lower"},{"split":"test","name":"accuracy","better":"higher"}]}`
		if s.has("version") {
			hello = strings.Replace(hello, `"v":1`, `"v":2`, 1)
		}
		if s.has("wide") {
			hello = strings.Replace(hello, `"accuracy","better":"higher"`, `"error","better":"lower"`, 1)
		}
		return hello
	case "start":
		var n int
		if err := json.Unmarshal(q.Clients, &n); err != nil {
			panic(err)
		}
		r = &scalarRun{Seed: q.Seed, Counts: make([]int, n), Tentative: map[int]float64{}, Sent: map[int]float64{},
			step: 0.5}
		if q.Options.Step != nil {
			r.step = *q.Options.Step
		}
		s.runs[q.Run] = r
		return `{"step_flops":4,"down_bytes":8,"up_bytes":8}`
	case "finish":
		delete(s.runs, q.Run)
		return `{}`
	}
	if r == nil {
		return `{"error":"run has not started"}`
	}
	var clients []int
	if q.Clients != nil {
		if err := json.Unmarshal(q.Clients, &clients); err != nil {
			panic(err)
		}
	}
	switch q.Op {
	case "begin":
		r.asked = 0
		if s.has("half") && q.Round == 2 {
			fmt.Print(`{"down_by`)
			os.Exit(0)
		}
		if s.gate != "" && q.Round == 5 {
			s.wait()
		}
		return `{"down_bytes":8}`
	case "solve":
		return s.solve(r, &q)
	case "commit":
		for i, k := range clients {
			weight := 1.0
			if q.Weights != nil {
				weight = q.Weights[i]
			}
			r.Counts[k]++
			r.Sum += float64(weight * r.Tentative[k])
			r.Weight += weight
			delete(r.Tentative, k)
		}
		if s.has("two-lines") {
			return "{}\n{}"
		}
		return `{}`
	case "discard":
		for _, k := range clients {
			if s.has("discard") {
				r.Counts[k]++
			}
			if !s.has("again") {
				delete(r.Tentative, k)
			}
		}
		return `{}`
	case "end":
		if r.Weight > 0 {
			r.Model = r.Sum / r.Weight
		}
		r.Sum, r.Weight = 0, 0
		if s.has("late") {
			clear(r.Tentative)
		}
		if s.has("negative") {
			return `{"flops":-1}`
		}
		return `{"flops":2}`
	case "evaluate":
		return s.evaluate(r)
	case "loss":
		losses := make([]float64, len(clients))
		for i, k := range clients {
			losses[i] = square(r.Model - target(k))
		}
		if s.has("loss") {
			r.Model += 0.25
		}
		return fmt.Sprintf(`{"losses":%s}`, text(losses))
	case "send":
		r.Sent[q.Client] = r.Model
		return `{"down_bytes":8}`
	case "receive":
		r.Model += float64((r.Tentative[q.Client] - r.Model) / 4)
		r.Counts[q.Client]++
		delete(r.Tentative, q.Client)
		return `{"taken":true,"flops":3}`
	case "save":
		return s.save(r, q.Path)
	case "load":
		content, err := os.ReadFile(q.Path)
		if err != nil {
			return `{"error":"no such file"}`
		}
		if s.has("load") {
			return `{}`
		}
		r.Tentative, r.Sent = map[int]float64{}, map[int]float64{}
		if err := json.Unmarshal(content, r); err != nil {
			panic(err)
		}
		if r.Tentative == nil {
			r.Tentative = map[int]float64{}
		}
		return `{}`
	default:
		if s.has("unknown") {
			return `{}`
		}
		if s.has("dies") {
			fmt.Fprintf(os.Stderr, "KeyError: %q\n", q.Op)
			os.Exit(1)
		}
		return fmt.Sprintf(`{"error":"no operation %s"}`, q.Op)
	}
}

// wait waits at the gate.
func (s *scalar) wait() {
	if err := os.WriteFile(s.gate+".waiting", nil, 0o666); err != nil {
		panic(err)
	}
	for {
		if _, err := os.Stat(s.gate); err == nil {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func square(x float64) float64 { return x * x }

func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// solve does the local work of clients.
func (s *scalar) solve(r *scalarRun, q *scalarRequest) string {
	r.asked++
	var done []string
	for i, w := range q.Work {
		noise := float64(w.Seed%1000) / 1e4
		switch {
		case s.has("random"):
			noise = rand.Float64()
		case s.has("generator"): // one generator for all clients
			r.Drawn++
			noise = float64(r.Drawn)
		case s.has("line"):
			noise += float64(i)
		}
		steps := 3 + w.Client%2
		if s.has("tired") && r.asked > 1 {
			steps--
		}
		if w.Steps != nil && !s.has("limit") {
			steps = min(steps, *w.Steps)
		}
		from, sent := r.Sent[w.Client]
		if !sent {
			from = r.Model
		}
		if s.has("again") {
			from += r.Tentative[w.Client]
		}
		local := from
		for range steps {
			local += float64(r.step * (target(w.Client) + noise/float64(1+r.Counts[w.Client]) - local))
		}
		r.Tentative[w.Client] = local
		if s.has("early") {
			r.Model += local
		}
		done = append(done, fmt.Sprintf(`{"client":%d,"steps":%d,"flops":%d,"up_bytes":8}`, w.Client, steps, 4*steps))
	}
	if s.has("order") {
		slices.Reverse(done)
	}
	answer := `{"work":[` + strings.Join(done, ",") + `]}`
	for fault, change := range map[string][2]string{
		"unknown-field": {`"flops"`, `"flop"`}, "fraction": {`"up_bytes":8`, `"up_bytes":8.5`},
		"minus": {`"up_bytes":8`, `"up_bytes":-8`},
	} {
		if s.has(fault) {
			answer = strings.Replace(answer, change[0], change[1], 1)
		}
	}
	for s.has("hang") && q.Round == 2 {
		time.Sleep(time.Hour)
	}
	return answer
}

// evaluate returns the metrics of the model.
func (s *scalar) evaluate(r *scalarRun) string {
	losses := make([]float64, len(r.Counts))
	devices := make([]int, len(r.Counts))
	mean := 0.0
	for k := range losses {
		devices[k], losses[k] = k, square(r.Model-target(k))
		mean += losses[k] / float64(len(losses))
	}
	if s.has("evaluate") {
		r.Model += 0.125
	}
	name, value := "accuracy", text(elementary.Exp(-mean))
	if s.has("nan") {
		value = "NaN"
	}
	if s.has("wide") { // errors of real targets
		name, value = "error", text(1+mean)
	}
	if s.has("undeclared") {
		name = "acuracy"
	}
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, r.Model, r.Counts)
	hash := fmt.Sprintf(`,"model_hash":"%016x"`, h.Sum64())
	if s.has("no-hash") {
		hash = ""
	}
	return fmt.Sprintf(`{"metrics":[{"split":"train","name":"loss","value":%s},{"split":"test","name":%q,`+
		`"value":%s}],"clients":[{"split":"train","name":"loss","clients":%s,"values":%s}]%s}`,
		text(mean), name, value, text(devices), text(losses), hash)
}

// save writes the state to a file.
func (s *scalar) save(r *scalarRun, path string) string {
	saved := *r
	if s.has("tentative") {
		saved.Tentative = nil
	}
	content := []byte(text(saved))
	if err := os.WriteFile(path, content, 0o666); err != nil {
		return fmt.Sprintf(`{"error":%q}`, err)
	}
	if s.has("save") {
		r.Model++
	}
	sum := sha256.Sum256(content)
	if s.has("digest") {
		sum[0]++
	}
	return fmt.Sprintf(`{"sha256":%q}`, hex.EncodeToString(sum[:]))
}
