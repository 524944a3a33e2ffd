package experiment

import (
	"strings"
	"testing"
	"time"
	"unsafe"

	"fedsim/data"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/racetest"
)

// The least memory of a run equals a computation by hand.
func TestLeastMemory(t *testing.T) {
	const base = `
[data.synthetic]
clients = 1000
features = 10
rows_min = 5
rows_max = 9
clusters = 1
factors = 1
[methods.mocha]
[run]
outer = 2
[problem]
optimum.when = "never"
`
	const task = float64(unsafe.Sizeof(data.Client{}))
	for _, c := range []struct {
		sets []string
		want float64
	}{
		{nil, 1000*(task+5*(8+8*10)) + 2*8*1000*10},
		{[]string{`data.precision="float32"`}, 1000*(task+5*(8+4*10)) + 2*8*1000*10},
		{[]string{"data.resident=false"}, 1000*(task+5*8) + 2*8*1000*10},
		{[]string{`problem.regularizer="graphical"`}, 1000*(task+5*(8+8*10)) + 2*8*1000*10 + 3*8*1000*1000},
		{[]string{`problem.regularizer="graphical"`, "run.outer=1"}, 1000*(task+5*(8+8*10)) + 2*8*1000*10},
		{[]string{"data.pool=true"}, 1000*(task+5*(8+8*10)) + 2*8*10},
		{[]string{`sweep.data.synthetic.clients=[1000, 2000]`, "data.resident=false"}, 2000*(task+5*8) + 2*8*2000*10},
		{[]string{`run.mode="timing"`, "run.outer=1", `federation.protocol="charged"`}, 160 * 1000},
		{[]string{`data.source="csv"`, `data.path="x.csv"`}, 0},
	} {
		s := scenarioOf(t, base, c.sets...)
		got := LeastMemory(s.Experiments)
		expect.That(t, got == c.want, "%v: %g bytes, want %g", c.sets, got, c.want)
	}
}

// The size of a file's models is known when it is read; a machine of a megabyte is too small.
func TestModelsThatDoNotFit(t *testing.T) {
	racetest.Skip(t, "checks errors and models, which one goroutine makes")
	for source, problem := range map[string]string{
		"[problem]\noptimum.when = \"never\"\n": "data.path",
		"[problem]\noptimum.sweeps = 10\n":      "data.path",
	} {
		s := scenarioOf(t, "[data.synthetic]\nclients = 20\nfeatures = 5000\nrows_min = 2\nrows_max = 2\n"+source+
			"[run]\nrounds = 1\n[methods.mocha]\n")
		err := Run(t.Context(), s.Experiments, Options{Workers: 1, Memory: 1e6, Clock: time.Now})
		if err == nil || !strings.Contains(err.Error(), problem) ||
			!strings.Contains(err.Error(),
				"20 models of 5000 values take at least 0.0016 GB, and the machine has 0.001 GB") {
			t.Errorf("%s: %v", source, err)
		}
		if err := Run(t.Context(), s.Experiments, Options{Workers: 1, Memory: 1e7, Clock: time.Now}); err != nil {
			t.Errorf("%s: with 10 MB: %v", source, err)
		}
	}
}
