package methods

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fedsim/algorithms"
	"fedsim/algorithms/kit"
	"fedsim/data"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
	"fedsim/mtl"
)

// oracleFile has the values of an independent program in NumPy; FEDSIM_ORACLE is another such file.
const oracleFile = "testdata/methods-3.csv"

// oracleValues is a file of reference values: the data of its problems, and the rows of its cases in order.
type oracleValues struct {
	arrays map[string]json.RawMessage
	names  []string
	cases  map[string][]oracleRow
}

type oracleRow struct {
	step, who, name string
	text            string
	values          []float64
}

// oracleInput is the parameters of a case.
type oracleInput struct {
	Problem, Model, Weights string
	Hidden                  []int
	Eta, L2                 float64
	Epochs                  float64
	Batch                   int
	Sched                   [][]int

	M                                int
	Identical, Shared, Exact         bool
	Over, Average, Begin, Order, Who string
	Mixing                           [][]float64
	Starts                           [][]float64
	K, R                             int
	Inner, Lam, Mu                   float64
	Beta                             *float64
	OwnEpochs                        float64  `json:"own_epochs"`
	HeadEpochs                       *float64 `json:"head_epochs"`
	BodyEpochs                       *float64 `json:"body_epochs"`
	Joint                            float64
	Qr, Solve                        bool
	Personal, Graph                  any
	Strength, Rate                   *float64
	Zero                             *bool
	Seed0                            int
}

func readOracle(t testing.TB) *oracleValues {
	path := oracleFile
	if other := os.Getenv("FEDSIM_ORACLE"); other != "" {
		path = other
	}
	o := &oracleValues{arrays: map[string]json.RawMessage{}, cases: map[string][]oracleRow{}}
	for line := range strings.Lines(string(filetest.Read(t, path))) {
		if name, text, ok := strings.Cut(strings.TrimPrefix(line, "# "), " = "); ok && line[0] == '#' {
			o.arrays[name] = json.RawMessage(strings.TrimSpace(text))
		}
	}
	for _, row := range filetest.Rows(t, path)[1:] {
		if o.cases[row[0]] == nil {
			o.names = append(o.names, row[0])
		}
		r := oracleRow{step: row[1], who: row[3], name: row[5], text: row[6]}
		for field := range strings.FieldsSeq(row[6]) {
			if x, err := strconv.ParseFloat(field, 64); err == nil {
				r.values = append(r.values, x)
			}
		}
		o.cases[row[0]] = append(o.cases[row[0]], r)
	}
	return o
}

// set returns the clients of a problem.
func (o *oracleValues) set(t testing.TB, problem string) *data.Set {
	set := &data.Set{Name: problem, Real: problem == "R"}
	for k := 1; ; k++ {
		x, ok := o.arrays[fmt.Sprintf("%s X%d", problem, k)]
		if !ok {
			break
		}
		var rows [][]float64
		var y []float64
		expect.Must(t, json.Unmarshal(x, &rows) == nil &&
			json.Unmarshal(o.arrays[fmt.Sprintf("%s y%d", problem, k)], &y) == nil, "%s: client %d", problem, k)
		client := data.Client{Name: strconv.Itoa(k), X: data.NewMatrix(len(rows), len(rows[0])), Y: y}
		for i, row := range rows {
			copy(client.X.Row(i), row)
		}
		set.Features = len(rows[0])
		set.Clients = append(set.Clients, client)
		for _, class := range y {
			if problem == "S" && int(class) >= len(set.Classes) {
				set.Classes = []string{"0", "1", "2"}
			}
		}
	}
	return set
}

// oracleStart is the first values of a network: multiples of 1/16 in [-1/2, 1/2].
func oracleStart(n, seed int) []float64 {
	w := make([]float64, n)
	for j := range w {
		seed = (1103515245*seed + 12345) % (1 << 31)
		w[j] = float64((seed>>12)%17-8) / 16
	}
	return w
}

// begin sets the first values of a method's models.
func begin(a algorithms.Algorithm, w []float64) {
	switch a := a.(type) {
	case *fedRep:
		copy(a.w.Row(0), w)
		a.shared.gather(a.Weights(), w)
	case *fedU:
		for k := range a.x.Rows {
			copy(a.x.Row(k), w)
		}
	default:
		copy(a.(interface{ Weights() []float64 }).Weights(), w)
	}
}

// options returns the method of a case and its options; an empty name: fedsim does not have it.
func (in *oracleInput) options(t testing.TB, name string, values int) (string, algorithms.Options) {
	family, rest, _ := strings.Cut(name, "/")
	if strings.HasPrefix(rest, "fedavg") {
		family = "fedavg"
	}
	if in.Qr || in.Solve || in.Mixing != nil {
		return "", nil
	}
	average := kit.AverageOptions{LocalSGDOptions: kit.LocalSGDOptions{Epochs: in.Epochs, Batch: in.Batch, Step: in.Eta,
		L2: in.L2, ScheduleOptions: kit.ScheduleOptions{Schedule: kit.Constant}}, Weights: in.Weights}
	personal := PersonalOptions{average, personalModels}
	or := func(x *float64, usual float64) float64 {
		if x == nil {
			return usual
		}
		return *x
	}
	text := func(s, usual string) string {
		if s == "" {
			return usual
		}
		return s
	}
	switch family {
	case "fedavg":
		return family, &fedAvgOptions{average}
	case "ditto":
		return family, &dittoOptions{personal, in.Lam, in.OwnEpochs, in.Eta, ""}
	case "local":
		return "fedu", &fedUOptions{LocalSGDOptions: average.LocalSGDOptions, Graph: graphNone, Degree: 1,
			Order: orderAfter, Neighbors: neighborsAll}
	case "fedem":
		return family, &fedEMOptions{componentOptions{average, 0}, max(1, in.M), text(in.Over, overPresent),
			sharesStep}
	case "ifca":
		shared := sharedNone
		if in.Shared {
			shared = sharedBody
		}
		return family, &ifcaOptions{componentOptions{average, 0}, max(1, in.M), text(in.Average, averageModel), shared}
	case "pfedme":
		o := &pFedMeOptions{LocalRounds: in.R, Batch: in.Batch, Step: in.Eta, InnerSteps: in.K, InnerStep: in.Inner,
			Lambda: in.Lam, Start: text(in.Begin, startCarry), Beta: or(in.Beta, 1), L2: in.L2 + in.Mu,
			ScheduleOptions: average.ScheduleOptions, Weights: in.Weights, Evaluate: personalModels}
		if in.Inner == 0 {
			o.InnerStep = 1 / (2 * in.Lam)
		}
		if in.Exact { // steps of the size of 1/lambda converge fast or slowly, by lambda
			o.InnerStep, o.InnerSteps = 1/(in.Lam+4), 100
		}
		return family, o
	case "fedrep", "fedper":
		part := fedPerOptions{PersonalOptions: personal, Personal: personalHead}
		switch p := in.Personal.(type) {
		case string:
			part.Personal = p
		case []any:
			part.Personal = personalFeatures
			for _, f := range p {
				part.Features = append(part.Features, int(f.(float64)))
			}
		}
		if in.Joint > 0 {
			part.Epochs = in.Joint
			return "fedper", &part
		}
		part.Epochs = or(in.BodyEpochs, 1)
		return "fedrep", &fedRepOptions{part, or(in.HeadEpochs, 2)}
	case "fedu":
		o := &fedUOptions{LocalSGDOptions: average.LocalSGDOptions, Graph: graphRing, Degree: 1,
			Strength: or(in.Strength, 0.5), Order: text(in.Order, orderAfter), Neighbors: text(in.Who, neighborsAll)}
		if in.Rate != nil {
			o.Strength = *in.Rate / (in.Eta * in.Epochs)
		}
		switch g := in.Graph.(type) {
		case string:
			o.Graph = g
		case []any:
			var lines strings.Builder
			for _, row := range g {
				fields := strings.Fields(strings.Trim(fmt.Sprint(row), "[]"))
				lines.WriteString(strings.Join(fields, ",") + "\n")
			}
			o.Graph = filetest.New(t, "graph.csv", lines.String())
		}
		return family, o
	}
	return "", nil
}

// oracleRun is a method in a case.
type oracleRun struct {
	algorithms.Algorithm
	p     *mtl.Problem
	rows  []oracleRow
	in    oracleInput
	local *pFedMe // evaluated by w_k
	seen  int
	most  float64
}

// check compares values with those of a row of the case.
func (r *oracleRun) check(t testing.TB, step, who any, name string, got ...float64) {
	t.Helper()
	for _, row := range r.rows {
		if row.step != fmt.Sprint(step) || row.who != fmt.Sprint(who) || row.name != name {
			continue
		}
		r.seen++
		expect.Must(t, len(got) == len(row.values), "step %v, %v, %s: %d values, want %d", step, who, name, len(got),
			len(row.values))
		tolerance := 1e-10
		if r.in.Lam >= 1e6 {
			tolerance = 1e-6 // eta lambda (w - theta) cancels eight digits
		}
		for i, want := range row.values {
			off := math.Abs(got[i]-want) / math.Max(1, math.Abs(want))
			if r.most = max(r.most, off); off > tolerance {
				t.Errorf("step %v, %v, %s[%d] = %.17g, want %.17g", step, who, name, i, got[i], want)
			}
		}
		return
	}
}

// round runs a round, and compares the models after it.
func (r *oracleRun) round(t testing.TB, step int) {
	in := r.in.Sched[(step-1)%len(r.in.Sched)]
	responds := func(k int) bool { return slices.Contains(in, k+1) }
	r.Begin()
	for _, k := range in {
		r.Solve(request(k-1, step-1, algorithms.NoLimit, 0))
		switch a := r.Algorithm.(type) {
		case *fedEM:
			q := []float64{}
			for m := range a.opts.Components {
				q = append(q, a.space[0].q.Row(m)[:r.p.Train.Clients[k-1].X.Rows]...)
			}
			r.check(t, step, k, "q", q...)
		case *ifca:
			losses := []float64{}
			for m := range a.opts.Clusters {
				losses = append(losses, r.p.LocalLoss(k-1, a.Vector(m)))
			}
			r.check(t, step, k, "losses", losses...)
			r.check(t, step, k, "cluster", float64(a.chosen[k-1]+1))
		}
	}
	for _, k := range in {
		r.Commit(k-1, 1)
	}
	r.End()
	if r.local != nil {
		round(r.local, r.p, step-1, algorithms.NoLimit, responds)
	}
	r.models(t, step, in)
}

// models compares the models after a round.
func (r *oracleRun) models(t testing.TB, step any, in []int) {
	all := strings.Trim(fmt.Sprint(in), "[]")
	switch a := r.Algorithm.(type) {
	case *fedEM:
		for m := range a.opts.Components {
			r.check(t, step, m+1, "w", a.Vector(m)...)
		}
		for _, k := range in {
			r.check(t, step, k, "pi", a.held.At(k-1, nil)...)
		}
	case *ifca:
		for m := range a.opts.Clusters {
			r.check(t, step, m+1, "w", a.Vector(m)...)
		}
	case *fedRep:
		r.check(t, step, all, "shared", a.Weights()...)
		for _, k := range in {
			own := []float64{}
			if a.held != nil {
				own = a.held.At(k-1, nil)
			}
			r.check(t, step, k, "own", own...)
		}
	case *fedU:
		for _, k := range in {
			r.check(t, step, k, "w", a.x.Row(k-1)...)
			r.check(t, step, k, "v", a.x.Row(k-1)...)
		}
	default:
		r.check(t, step, all, "w", a.Model().W.Row(0)...)
		w := evaluated(a)
		for _, k := range in {
			if w.Rows == 1 {
				break
			}
			r.check(t, step, k, "v", w.Row(k-1)...)
			r.check(t, step, k, "theta", w.Row(k-1)...)
			if r.local != nil {
				r.check(t, step, k, "u", evaluated(r.local).Row(k-1)...)
			}
		}
	}
}

// last compares the models of the evaluation.
func (r *oracleRun) last(t testing.TB, step int) {
	switch a := r.Algorithm.(type) {
	case *fedEM:
		q := r.p.NewSample(0, 0).Quality(testPool, a.Model().W, false)
		for k, loss := range q.Train.Loss {
			r.check(t, step, k+1, "mixture-loss", loss)
		}
	case *ifca:
		value, err := a.Evaluate()
		expect.Must(t, err == nil, "%v", err)
		for k, cluster := range value.Clients[0].Values {
			r.check(t, step, k+1, "cluster-evaluated", cluster)
		}
	}
}

// limits compares the models after very many rounds.
func (r *oracleRun) limits(t testing.TB, step int) {
	limit := slices.ContainsFunc(r.rows, func(row oracleRow) bool { return row.step == "limit" })
	before := snapshot(r.Algorithm)
	for h := 0; limit && h < 60_000; h++ {
		round(r.Algorithm, r.p, step+h, algorithms.NoLimit, nil)
		if h%100 == 99 {
			now := snapshot(r.Algorithm)
			if same(now, before) == nil {
				break
			}
			before = now
		}
	}
	if !limit {
		return
	}
	switch a := r.Algorithm.(type) {
	case *pFedMe:
		r.check(t, "limit", "", "w", a.Weights()...)
		for k := range r.p.Clients() { // theta of w
			a.opts.LocalRounds = 1
			theta := newPersonalAt(a, k)
			r.check(t, "limit", k+1, "prox-of-limit", theta...)
		}
	case *fedU:
		distance := 0.0
		for k := range r.p.Clients() {
			r.check(t, "limit", k+1, "w", a.x.Row(k)...)
			for _, row := range r.rows {
				if row.name == "laplacian-optimum" && row.who == strconv.Itoa(k+1) {
					r.seen++
					for j, x := range row.values {
						distance += (x - a.x.Row(k)[j]) * (x - a.x.Row(k)[j])
					}
				}
			}
		}
		r.check(t, "limit", "", "distance", math.Sqrt(distance))
	}
}

// newPersonalAt returns theta of a device after one local round from the present w.
func newPersonalAt(a *pFedMe, device int) []float64 {
	w := a.Weights()
	inner := &a.inner.Scratch[0]
	copy(inner.U, w)
	n := a.Problem.Train.Clients[device].X.Rows
	rows := make([]int32, n)
	for i := range rows {
		rows[i] = int32(i)
	}
	inner.Gradient.For(device, algorithms.Stream{})
	a.localRound(algorithms.Request{Device: device},
		kit.MiniBatch{Client: &a.Problem.Train.Clients[device], Rows: rows}, w, make([]float64, len(w)))
	return inner.U
}

// The methods equal an independent program round by round, but for rounding.
func TestMethodsEqualTheOracle(t *testing.T) {
	o := readOracle(t)
	for _, name := range o.names {
		if strings.HasPrefix(name, "cold/") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := oracleRun{rows: o.cases[name]}
			expect.Must(t, json.Unmarshal([]byte(run.rows[0].text), &run.in) == nil, "%s", run.rows[0].text)
			in := &run.in
			set := o.set(t, in.Problem)
			cfg := mtl.Defaults()
			cfg.Loss = map[string]string{"R": mtl.LossSquared, "B": mtl.LossLogistic, "S": mtl.LossSoftmax}[in.Problem]
			cfg.Regularizer = mtl.RegIndependent
			if in.Model == mtl.ModelMLP {
				cfg.Model = mtl.ModelMLP
				copy(cfg.Hidden[:], in.Hidden)
			}
			run.p = mustProblem(t, cfg, data.Split{Train: set, Test: set})
			method, opts := in.options(t, name, run.p.Values())
			if method == "" {
				t.Skip("not built: FedEM without a server, the paper's linear FedRep")
			}
			c := warmed(t, run.p)
			begun := func(opts algorithms.Options) algorithms.Algorithm {
				f, _ := algorithms.Lookup(method)
				m := expect.Value(f.Start(algorithms.Setup{Problem: run.p, Shape: run.p.Shape, Rows: run.p.RowCounts(),
					Coupling: c, Workers: testPool.Size(), Pool: testPool}, opts))(t)
				w := []float64{}
				for _, row := range run.rows {
					if row.step == "0" && row.name == "w" {
						w = append(w, row.values...)
					}
				}
				if len(w) == 0 && in.Model == mtl.ModelMLP {
					w = oracleStart(run.p.Values(), 101)
				}
				if len(w) > 0 {
					begin(m.Algorithm, w)
				}
				return m.Algorithm
			}
			run.Algorithm = begun(opts)
			if me, ok := opts.(*pFedMeOptions); ok {
				local := *me
				local.Evaluate = localModels
				run.local = begun(&local).(*pFedMe)
			}
			last := 0
			for _, row := range run.rows {
				if step, err := strconv.Atoi(row.step); err == nil {
					last = max(last, step)
				}
			}
			run.check(t, 0, "", "w", run.Model().W.Row(0)...)
			for step := 1; step <= last; step++ {
				run.round(t, step)
			}
			run.last(t, last)
			run.limits(t, last)
			firsts := 0
			for _, row := range run.rows {
				if row.step == "0" && row.who != "" || row.name == "parameters" {
					firsts++
				}
			}
			expect.That(t, run.seen+firsts == len(run.rows), "%d of %d rows were compared", run.seen+firsts,
				len(run.rows))
			t.Logf("within %.2g", run.most)
		})
	}
}
